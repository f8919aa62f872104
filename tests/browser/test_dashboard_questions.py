"""What readers of the dashboard ask themselves: the share above a value, a quantile, how many more answers."""

import re
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Locator, Route, expect

from dither_client import Analyst
from dither_client.posterior.digits import median_and_band
from dither_client.posterior.wire import ParameterSummary
from testing.browser.axe import violations
from testing.browser.dashboard import open_parameters, wait_learnt
from testing.browser.survey import Survey
from testing.patience import PATIENCE
from tests.browser.conftest import OpenPage


def test_two_questions_are_answered_as_python_does(survey: Survey, open_page: OpenPage) -> None:
    """By sliders, with the keyboard, and by fields, of values with an atom, without a family and of whole numbers."""
    shapes: list[dict[str, Any]] = [
        {"decimals": 2, "unit": "€"},
        {"family": None, "transform": None, "range": None, "minimum": 0, "atoms": [450.5], "epsilon": 5},
        {"family": "poisson", "transform": None, "range": [0, 1000]},
    ]
    for fields in shapes:
        collection, page = (
            survey.create(visibility="public", particles=1_000, **fields),
            open_page(viewport={"width": 360, "height": 800}),
        )
        survey.arrive(collection, 300)
        page.goto(f"{survey.url}/collections/{collection}")
        expect(page.locator(f'[data-answers="{300}"]')).to_be_visible()
        expect(page.locator("#ask")).to_be_visible()
        with Analyst(survey.url) as analyst:
            posterior = analyst.posterior(collection)
        counted = fields.get("family") == "poisson"  # nearly everybody is close to the median then
        for value in (posterior.quantile(each).q50 for each in (0.1, 0.5, 0.9)) if counted else (250.0, 450.5, 900.0):
            page.get_by_label("More than").fill(f"{value:,}")
            known = posterior.share_above(value)
            shown = numbers(page.locator("#above-said"))
            assert shown == pytest.approx(
                [100 * known.q50, value, 90, 100 * known.q05, 100 * known.q95], abs=0.06, rel=1e-4
            )
        for level in (10.0, 50.0, 87.5):
            page.get_by_label("At or below it").fill(str(level))
            found = posterior.quantile(level / 100)
            shown = numbers(page.locator("#level-said"))
            tolerance = 0.1 * (found.q95 - found.q05) + 0.5  # bands are read the other way round
            assert shown == pytest.approx([level, found.q50, 90, found.q05, found.q95], abs=tolerance)
        slider = page.get_by_role("slider", name="Value, share above")
        slider.press("Home")
        most = numbers(page.locator("#above-said"))
        slider.press("End")
        least = numbers(page.locator("#above-said"))
        charts = page.request.get(f"{survey.url}/collections/{collection}/charts.json").json()
        along = (charts["population"] or charts["distribution"])["x"]
        assert [most[1], least[1]] == pytest.approx([along[0], along[-1]], rel=0.01, abs=1)
        for end in (most, least):  # exactly what is known there, however little 300 answers say of it
            known = posterior.share_above(end[1])
            assert end == pytest.approx([100 * known.q50, end[1], 90, 100 * known.q05, 100 * known.q95], abs=0.06)
        assert most[1] < posterior.quantile(0.5).q50 < least[1]
        assert (slider.get_attribute("aria-valuetext") or "").startswith(page.get_by_label("More than").input_value())
        page.get_by_role("slider", name="Share of the people in %").press("Home")
        expect(page.get_by_label("At or below it")).to_have_value("1")
        for typed, meant in (("1,250", 1250), ("1250,5", 1250.5), ("1.250,00", 1250), ("1 250,5", 1250.5), ("−3", -3)):
            page.get_by_label("More than").fill(typed)
            assert numbers(page.locator("#above-said"))[1] == meant, typed
        page.get_by_label("More than").fill("1.2.3")
        expect(page.locator("#above-said")).to_have_text("Write a number, such as 600.")
        page.get_by_label("More than").fill("a lot")
        expect(page.locator("#above-said")).to_have_text("Write a number, such as 600.")
        assert violations(page) == []


def test_beyond_the_ends_of_what_is_known_there_are_bounds(survey: Survey, open_page: OpenPage) -> None:
    """The same as in Python, rounded to the side on which it holds; where nobody can be, that is said."""
    anywhere: dict[str, Any] = {"family": None, "transform": None, "range": None, "unit": "€", "epsilon": 2}
    shapes: list[tuple[dict[str, Any], list[float], list[str]]] = [
        (anywhere, [-1e6, 1e6, 1e9], []),
        (anywhere | {"minimum": 0}, [1e6], ["100% of the people have more than -1 €."]),
        (
            anywhere | {"minimum": 20, "maximum": 80},
            [],
            [
                "100% of the people have more than 19.5 €.",
                "0% of the people have more than 80 €.",
                "0% of the people have more than 1,000 €.",
            ],
        ),
        (
            {"family": "poisson", "transform": None, "range": [0, 100]},
            [5, 1e6],
            ["100% of the people have more than -0.5."],
        ),
    ]
    for fields, values, told in shapes:
        collection, page = survey.create(visibility="public", **fields), open_page()
        survey.arrive(collection, 300, lambda rng: round(min(max(rng.gauss(50, 7), 20), 80)))
        page.goto(f"{survey.url}/collections/{collection}")
        expect(page.locator(f'[data-answers="{300}"]')).to_be_visible()
        field, said = page.get_by_label("More than"), page.locator("#above-said")
        with Analyst(survey.url) as analyst:
            posterior = analyst.posterior(collection)
        assert posterior.distribution is not None
        first, last = posterior.distribution.x[0], posterior.distribution.x[-1]
        unit = f" {fields['unit']}" if "unit" in fields else ""
        for value in values:
            field.fill(f"{value:,.0f}")
            known = posterior.share_above(value)
            assert known.interval(0.9) == ((0, known.q95) if value > last else (known.q05, 1))
            bound, *others = numbers(said)
            if value > last:
                assert 100 * known.q95 - 1e-6 <= bound <= 100 * known.q95 + 0.1
                words = rf"At most [\d.]+% of the people have more than {value:,.0f}{unit} \(90% sure\). Above "
            else:
                assert 100 * known.q05 - 0.1 <= bound <= 100 * known.q05 + 1e-6
                words = rf"At least [\d.]+% of the people have more than {value:,.0f}{unit} \(90% sure\). Below "
            expect(said).to_have_text(re.compile(rf"^{words}-?[\d,.]+{unit} nothing more precise is known\.$"))
            assert others == pytest.approx([value, 90, last if value > last else first], abs=0.5)
        for sentence in told:
            field.fill((re.search(r"than (-?[\d,.]*\d)", sentence) or ["", ""])[1])
            expect(said).to_have_text(sentence)
        for level in () if "minimum" in fields else ("0.001", "99.999"):
            page.get_by_label("At or below it").fill(level)
            expect(page.locator("#level-said")).to_contain_text(f"Where {level}% of the people are is not known:")


def test_what_the_goal_names_is_told_beyond_the_ends(survey: Survey, open_page: OpenPage) -> None:
    goal = {"quantiles": [0.9999], "above": [3000, 5000]}
    collection, page = survey.create(visibility="public", goal=goal), open_page()
    survey.arrive(collection, 300)
    page.goto(f"{survey.url}/collections/{collection}")
    expect(page.locator(f'[data-answers="{300}"]')).to_be_visible()
    with Analyst(survey.url) as analyst:
        posterior = analyst.posterior(collection)
    field, said = page.get_by_label("More than"), page.locator("#above-said")
    for value in (3000, 5000):
        field.fill(f"{value:,.0f}")
        known = posterior.above[value]
        expect(said).to_contain_text("(90% sure: ")
        shown = [100 * known.q50, value, 90, 100 * known.q05, 100 * known.q95]
        assert numbers(said) == pytest.approx(shown, abs=0.06)
    field.fill("1,000,000")
    expect(said).to_contain_text("At most ")
    page.get_by_label("At or below it").fill("99.99")
    found = posterior.quantiles[0.9999]
    shown = [99.99, found.q50, 90, found.q05, found.q95]
    assert numbers(page.locator("#level-said")) == pytest.approx(shown, abs=0.6)


def test_a_share_and_its_ends_have_as_many_decimals(survey: Survey, open_page: OpenPage) -> None:
    """Two where all three are near 0 or 100%, else one: a share near 0 with a wide band had two, and its end one."""
    shape = {"family": None, "transform": None, "range": None, "minimum": 0}
    collection, page = survey.create(visibility="public", **shape), open_page()
    survey.arrive(collection, 300)
    page.goto(f"{survey.url}/collections/{collection}")
    wait_learnt(page, 300)
    lengths = set[int]()
    with Analyst(survey.url) as analyst:
        posterior = analyst.posterior(collection)
    assert posterior.distribution is not None
    for value in (0, *posterior.distribution.x[2::4], posterior.distribution.x[-1]):
        page.get_by_label("More than").fill(str(value))
        said = page.locator("#above-said").inner_text()
        found = re.match(r"(\d+\.\d+)% .* \(90% sure: (\d+\.\d+) to (\d+\.\d+)%\)\.$", said)
        assert found, said
        [decimals] = {len(each.partition(".")[2]) for each in found.groups()}
        known = posterior.share_above(value)
        assert decimals == (2 if min(known.q95, 1 - known.q05) < 0.015 else 1), said
        lengths.add(decimals)
    assert lengths == {1, 2}


def test_where_everybody_has_0_the_page_says_so(survey: Survey, open_page: OpenPage) -> None:
    shape = {"family": None, "transform": None, "range": None, "minimum": 0, "epsilon": 8}
    collection, page = survey.create(visibility="public", **shape), open_page()
    survey.arrive(collection, 600, lambda _: 0.0)
    page.goto(f"{survey.url}/collections/{collection}")
    expect(page.locator('[data-answers="600"]')).to_be_visible()
    expect(page.get_by_text("Nearly everybody has 0 (90% sure: nine in ten or more).")).to_be_visible()
    expect(page.locator("#numbers table")).to_contain_text("Half have at most")
    report = page.request.get(f"{survey.url}/collections/{collection}/report").text()
    assert "Nearly everybody has 0" in report
    assert "Half have at most" in report


def test_tiny_values_and_nothing_are_written_as_python_does(survey: Survey, open_page: OpenPage) -> None:
    collection, page = survey.create(visibility="public"), open_page()
    page.goto(f"{survey.url}/collections/{collection}")
    module = page.locator('link[rel="modulepreload"][href*="population"]').get_attribute("href")
    write = "async ([module, x, q05, q95, largest]) => (await import(module)).written(x, { q05, q95 }, 12, largest)"
    cases = [
        (3.64e-6, 2.98e-7, 2.01e-5, 7.2e-6),
        (7.2e-6, 1.21e-6, 1.04e-3, 7.2e-6),
        (2.4e-9, 2.4e-9, 8.2e-6, 7.2e-6),
        (9.9e-303, 9.9e-303, 9.9e-303, 100.0),
        (50.0, 45.0, 55.0, 95.0),
    ]
    for x, low, high, largest in cases:
        shown = [page.evaluate(write, [module, each, low, high, largest]) for each in (low, x, high)]
        summary = ParameterSummary(x, 1, low, low, x, high, high)
        middle, band = median_and_band(summary, 12, set(), largest)
        assert (shown[1], shown[0] if shown[0] == shown[2] else f"{shown[0]} to {shown[2]}") == (middle, band)


def numbers(place: Locator) -> list[float]:
    return [float(number.replace(",", "")) for number in re.findall(r"-?\d[\d,]*\.?\d*", place.inner_text())]


def test_a_question_stays_while_answers_come(survey: Survey, open_page: OpenPage) -> None:
    collection, page = survey.create(visibility="public"), open_page()
    survey.arrive(collection, 200)
    page.goto(f"{survey.url}/collections/{collection}")
    page.get_by_label("More than").fill("777")
    survey.arrive(collection, 200)
    wait_learnt(page, 400)
    expect(page.get_by_label("More than")).to_have_value("777")
    expect(page.locator("#above-said")).to_contain_text("more than 777 (90% sure")


def test_a_slider_says_how_many_more_answers(survey: Survey, answered: str, open_page: OpenPage) -> None:
    page, sizes = open_page(), list[int]()
    page.on("response", lambda response: sizes.append(int(response.headers.get("content-length", 0))))
    page.goto(f"{survey.url}/collections/{answered}")
    open_parameters(page)
    needed, slider = page.locator("#needed"), page.get_by_label("Target precision")
    expect(needed).to_contain_text("more answers")
    assert 60_000 < sum(sizes) < 300_000  # everything that the page is made of
    slider.focus()
    slider.press("End")
    most = int((re.search(r"about ([\d,]+)", needed.inner_text()) or [""])[1].replace(",", ""))
    plan = httpx2.get(f"{survey.url}/collections/{answered}/precision.json", timeout=PATIENCE).json()
    assert most == pytest.approx(plan["mu"]["more"][-1], rel=0.05)
    slider.press("Home")
    expect(needed).to_contain_text("is already known")
    page.get_by_label("Parameter to estimate").select_option("sigma")
    expect(needed).to_contain_text("sigma to within")


SLOW = {"time": [1.8e9], "per_minute": [1.0], "said": ["1 a minute"], "unit": "minute", "minutes": 1}


@pytest.mark.parametrize(("left", "told"), [(None, True), (1e9, True), (5.0, False)])
def test_a_pace_is_told_only_as_far_as_the_running_period_lasts(
    survey: Survey, answered: str, open_page: OpenPage, left: float | None, told: bool
) -> None:
    """One answer a minute is too slow for five minutes; without drift nothing ends."""

    def slow(route: Route) -> None:
        reply = route.fetch()
        charts = reply.json() | {"minutes_left": left, "pace": SLOW}
        route.fulfill(response=reply, json=charts)

    page = open_page()
    page.route("**/charts.json*", slow)
    page.goto(f"{survey.url}/collections/{answered}")
    open_parameters(page)
    page.get_by_label("Target precision").press("End")
    needed = page.locator("#needed")
    expect(needed).to_contain_text(re.compile(r"takes about [\d,]{3,} more answers"))
    assert ("at the present pace" in needed.inner_text()) == told
