"""The dashboard in a real browser, while a simulated population answers. Every wait is for something to be seen."""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest
from playwright.sync_api import ConsoleMessage, Locator, Page, expect

from dither_client import Analyst
from dither_client.commands import run
from dither_client.posterior.digits import summary_numbers
from dither_client.posterior.wire import ParameterSummary
from testing.browser.axe import violations
from testing.browser.survey import Survey, open_survey
from testing.patience import PATIENCE, until
from testing.servers.defaults import ADMIN_TOKEN
from testing.servers.served import serving
from testing.servers.site import FakeClock
from tests.browser.conftest import OpenPage

MEDIAN = "Half have at most"


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Survey]:
    with open_survey(tmp_path_factory.mktemp("dashboard")) as survey:
        yield survey


@pytest.fixture(scope="module")
def answered(survey: Survey) -> str:
    """A public collection with some answers."""
    collection = survey.create(visibility="public", misfit_check=True, misfit_looks=[50])
    survey.arrive(collection, 400)
    return collection


def sign_in(page: Page, survey: Survey, following: str) -> None:
    page.goto(f"{survey.url}/sign-in?next={following}")
    page.get_by_label("Token").fill(ADMIN_TOKEN)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{survey.url}{following}")


def wait_learnt(page: Page, answers: int, number: str = MEDIAN) -> None:
    """Until words and charts have so many answers."""
    expect(page.locator(f'[data-answers="{answers}"]')).to_be_visible()
    expect(page.get_by_role("slider", name=f"{number} after {answers:,} answers")).to_be_visible()


def open_parameters(page: Page) -> None:
    """Those of a logarithm are shown to whoever asks."""
    page.locator("#parameters-more > summary").click()
    expect(page.locator("#trajectory-mu canvas")).to_be_visible()


def band(page: Page, parameter: str) -> float:
    """The width of the 90% band that the chart says it shows."""
    label = page.locator(f'[id="trajectory-{parameter}"]').get_attribute("aria-label") or ""
    found = re.search(r"from (\S+) to (\S+)$", label.replace(",", ""))
    assert found, label
    return float(found[2]) - float(found[1])


def picture(page: Page, chart: str) -> str:
    return str(page.evaluate("(id) => document.querySelector(`#${id} canvas`).toDataURL()", chart))


def test_charts_follow_the_answers_and_show_the_apis_numbers(survey: Survey, open_page: OpenPage) -> None:
    collection, page, requests, troubles = survey.create(), open_page(), list[str](), list[str]()
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: troubles.append(message.text))
    page.on("pageerror", lambda error: troubles.append(str(error)))
    sign_in(page, survey, f"/collections/{collection}")
    expect(page.get_by_role("heading", name="No answers yet: share this link")).to_be_visible()
    survey.arrive(collection, 200)
    wait_learnt(page, 200)
    open_parameters(page)
    charts = (
        *("distribution", "population", "trajectory-mu", "trajectory-sigma", "density-mu"),
        *("trajectory-quantile_0\\.5", "questions", "pace"),
    )
    before = [picture(page, chart) for chart in charts]
    wide = [band(page, name) for name in ("mu", "sigma")]
    survey.arrive(collection, 2_000)
    wait_learnt(page, 2_200)
    assert all(old != picture(page, chart) for old, chart in zip(before, charts, strict=True))
    assert all(band(page, name) < old for name, old in zip(("mu", "sigma"), wide, strict=True))
    posterior = survey.call("GET", f"/collections/{collection}/posterior")
    assert posterior["answers"] == 2_200
    for name, summary in posterior["posterior"].items():
        shown = page.locator(f'[data-parameter="{name}"] td').all_text_contents()
        assert shown == list(summary_numbers(ParameterSummary(**summary)))
        assert band(page, name) == pytest.approx(summary["q95"] - summary["q05"], rel=1e-3)
    assert [url for url in requests if not url.startswith(survey.url)] == []
    assert troubles == []  # among them whatever the page's policy forbids


_TIME = r"\d+:\d+:\d+"


def told(page: Page, chart: str) -> str:
    """The words that a screen reader gets of the chart; the same stand below it."""
    words = page.locator(f"#{chart}").get_attribute("aria-valuetext") or ""
    assert page.locator(f"#{chart}-reading").inner_text() == words
    return words


def distribution_band(page: Page) -> float:
    """The mean width of the 90% band of the distribution function, as the chart says it at every tenth point."""
    chart, widths = page.locator("#distribution"), []
    chart.press("Home")
    for _ in range(int(chart.get_attribute("aria-valuemax") or 0) // 10):
        found = re.search(r"90% ([\d.]+)% to ([\d.]+)%\.$", told(page, "distribution"))
        assert found
        widths.append(float(found[2]) - float(found[1]))
        chart.press("PageUp")
    chart.blur()
    return sum(widths) / len(widths)


@pytest.mark.parametrize("width", [360, 1280])
def test_without_a_family_the_population_gets_clearer_while_answers_come(
    survey: Survey, open_page: OpenPage, width: int
) -> None:
    """On a page that is loaded once and follows one stream.

    From 200 answers to 2,000 each band becomes a quarter to a half as wide, and the logarithm of that varies by 0.15 at
    most: that one is no narrower comes less than once in a million.
    """
    collection = survey.create(family=None, epsilon=4)
    page, requests, troubles = open_page(viewport={"width": width, "height": 800}), list[str](), list[str]()
    page.on("console", lambda message: troubles.append(message.text))
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    sign_in(page, survey, f"/collections/{collection}")
    expect(page.get_by_role("heading", name="No answers yet: share this link")).to_be_visible()
    survey.arrive(collection, 200)
    wait_learnt(page, 200)
    before = picture(page, "population")
    wide = [distribution_band(page), *(band(page, f"quantile_{level}") for level in ("0.1", "0.5", "0.9"))]
    survey.arrive(collection, 1_800)
    wait_learnt(page, 2_000)
    assert picture(page, "population") != before
    now = [distribution_band(page), *(band(page, f"quantile_{level}") for level in ("0.1", "0.5", "0.9"))]
    assert all(narrow < old for narrow, old in zip(now, wide, strict=True))
    posterior = survey.call("GET", f"/collections/{collection}/posterior")
    median = posterior["quantiles"]["0.5"]
    assert (posterior["answers"], posterior["posterior"]) == (2_000, {})
    assert now[2] == pytest.approx(median["q95"] - median["q05"], rel=1e-2)
    expect(page.locator("#summary")).to_contain_text("Half of the people have ")
    assert requests.count(page.url) == 1
    assert len([url for url in requests if url.endswith("/stream")]) == 1
    assert troubles == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


_WRITING = """
    const write = CanvasRenderingContext2D.prototype.fillText;
    globalThis.written = {};
    CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
        const { a, b, e, f } = this.getTransform();
        const turned = Math.abs(b) > 0.5;
        const long = this.measureText(text).width;
        const before = { left: 0, start: 0, center: long / 2, right: long, end: long }[this.textAlign];
        const from = turned ? f + b * x - before : a * x + e - before;
        const fits = from >= -1 && from + long <= 1 + (turned ? this.canvas.height : this.canvas.width);
        const id = this.canvas.closest(".plot")?.id;
        (globalThis.written[id] ??= {})[text] = { fits, turned };
        write.call(this, text, x, y);
    };
"""
"""Keeps what is written into each chart, whether it fits, and whether it is turned."""


@pytest.mark.parametrize(
    ("width", "period", "unit"),
    [(360, "per week", "€ per week"), (1280, "in the last twelve months", "€ in the last twelve mo…")],
)
def test_axes_have_titles_with_units(survey: Survey, open_page: OpenPage, width: int, period: str, unit: str) -> None:
    words = {"unit": "€", "period_of_value": period, "visibility": "public"}
    collection = survey.create(family=None, transform=None, range=None, minimum=0, atoms=[0], **words)
    survey.arrive(collection, 300)
    # Rows come when nobody waits for questions.
    until(lambda: survey.call("GET", f"/collections/{collection}/posterior/history")["history"])
    page = open_page(viewport={"width": width, "height": 800})
    page.add_init_script(_WRITING)
    page.goto(f"{survey.url}/collections/{collection}")
    wait_learnt(page, 300)
    expect(page.locator("#pace canvas")).to_be_visible()
    written = page.evaluate("written")
    # On a logarithmic scale if what 300 answers say spans several orders, as it nearly always does.
    density = page.locator("#population").get_attribute("data-y") or "density"
    for chart, titles in {
        "distribution": [unit, "share of the people"],
        "population": [unit, density],
        "trajectory-quantile_0.9": ["answers", unit],
        "questions": ["answers", unit],
        "pace": ["time (UTC)", "answers per minute"],
    }.items():
        assert [written[chart][title]["turned"] for title in titles] == [False, True], chart
        assert all(each["fits"] for each in written[chart].values()), chart
    expect(page.get_by_text("Those who have exactly 0 are not in the curve.")).to_be_visible()


def test_numbers_of_several_orders_are_on_a_logarithmic_scale(
    survey: Survey, answered: str, open_page: OpenPage
) -> None:
    """As the same chart gets new numbers, and back; below 0, and from 0 on, there is none.

    No band here is so much wider than the newest that it is left out of the axis.
    """
    page = open_page()
    page.add_init_script(_WRITING)
    page.goto(f"{survey.url}/collections/{answered}")
    expect(page.locator("#pace canvas")).to_be_visible()

    def ticks(*bands: list[float]) -> set[str]:
        """The numbers beside bands after 3 and 7 answers."""
        return set(
            page.evaluate(
                """async (bands) => {
                    const { draw } = await import(document.querySelector('link[href$="plots.js"]').href);
                    written["trajectory-quantile_0.5"] = {};
                    const lines = [[3, 7], ...bands];
                    draw("trajectory-quantile_0.5", { kind: "trajectory", lines, label: "", words: () => "" });
                    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
                    return Object.keys(written["trajectory-quantile_0.5"]);
                }""",
                bands,
            )
        )

    orders = ticks([1, 2], [5, 95], [10, 100], [20, 110], [5000, 1000])
    assert {"1", "10", "100", "1,000"} <= orders
    assert not {"0", "2,000", "4,000"} & orders
    for lowest in (0, -2):
        assert {"0", "1,000", "4,000"} <= ticks([lowest, 2], [5, 95], [10, 100], [20, 110], [5000, 1000])
    assert {"50", "100"} <= ticks([30, 90], [40, 95], [50, 100], [60, 110], [150, 120])
    assert ticks([1, 2], [5, 95], [10, 100], [20, 110], [5000, 1000]) == orders


@pytest.mark.parametrize("width", [360, 1200])
def test_charts_are_read_with_keys_and_pointer(survey: Survey, answered: str, open_page: OpenPage, width: int) -> None:
    page = open_page(viewport={"width": width, "height": 800})
    page.goto(f"{survey.url}/collections/{answered}")
    history = survey.call("GET", f"/collections/{answered}/posterior/history")["history"]
    newest = survey.call("GET", f"/collections/{answered}/posterior")
    open_parameters(page)
    chart = page.get_by_role("slider", name="mu after")
    expect(chart).to_have_attribute("aria-valuetext", re.compile(f"^After {newest['answers']:,} answers: mean "))
    chart.focus()
    chart.press("Home")
    row = history[0]
    numbers = [row["posterior"]["mu"][part] for part in ("mean", "q50", "q25", "q75", "q05", "q95")]
    mean, median, *band = (f"{float(f'{x:.4g}'):g}" for x in numbers)
    assert told(page, "trajectory-mu") == (
        f"After {row['answers']:,} answers: mean {mean}, median {median}, "
        f"50% {band[0]} to {band[1]}, 90% {band[2]} to {band[3]}."
    )
    chart.press("ArrowRight")
    assert told(page, "trajectory-mu").startswith(f"After {history[1]['answers']:,} answers: ")
    for key, at in (("End", chart.get_attribute("aria-valuemax")), ("Home", "0"), ("ArrowLeft", "0")):
        chart.press(key)
        assert chart.get_attribute("aria-valuenow") == at
    page.keyboard.press("Tab")
    expect(chart).to_have_attribute("aria-valuetext", re.compile(f"^After {newest['answers']:,} answers: "))
    for name, along, words in (
        ("questions", 0.3, r"After \d+ answers: a question with thresholds at [\d., -]+\."),
        ("pace", 0.02, r"Until [\d-]+ [\d:]+ UTC: [\d.,]+ answers per minute\."),
        ("distribution", 0.8, r"[\d.]+% have [\d.,]+ or less, 50% [\d.]+% to [\d.]+%, 90% [\d.]+% to [\d.]+%\."),
        (
            "population",
            0.8,
            r"At [\d.,]+: (share per doubling|density) [\d.e-]+, 50% [\d.e-]+ to [\d.e-]+, 90% [\d.e-]+ to [\d.e-]+\.",
        ),
        ("density-sigma", 0.9, r"sigma = [\d.]+: \d+% of the highest density\."),
    ):
        before = told(page, name)
        area = page.locator(f"#{name} .u-over")
        area.scroll_into_view_if_needed()
        size = area.bounding_box()
        assert size
        area.hover(position={"x": size["width"] * along, "y": size["height"] / 2})
        assert told(page, name) != before
        assert re.fullmatch(words, told(page, name)), told(page, name)
        assert page.locator(f"#{name} .u-cursor-x").is_visible()
        page.mouse.move(1, 1)
        assert re.sub(_TIME, "", told(page, name)) == re.sub(_TIME, "", before)
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_what_is_read_stays_while_answers_come(survey: Survey, open_page: OpenPage) -> None:
    collection, page = survey.create(visibility="public"), open_page()
    survey.arrive(collection, 200)
    page.goto(f"{survey.url}/collections/{collection}")
    wait_learnt(page, 200)
    open_parameters(page)
    page.locator("#trajectory-mu").focus()
    page.keyboard.press("ArrowLeft")
    here = told(page, "trajectory-mu")
    survey.arrive(collection, 200)
    wait_learnt(page, 400)
    assert told(page, "trajectory-mu") == here
    assert told(page, "trajectory-sigma").startswith("After 400 answers: ")


def test_the_page_of_a_collection_that_fills_up_ends_by_itself(survey: Survey, open_page: OpenPage) -> None:
    collection, page, streams = survey.create(visibility="public", max_answers=300), open_page(), list[str]()
    page.on("request", lambda request: streams.append(request.url) if request.url.endswith("/stream") else None)
    page.goto(f"{survey.url}/collections/{collection}")
    expect(page.get_by_role("link", name="Answer it yourself")).to_be_visible()
    survey.arrive(collection, 300)
    expect(page.locator("#shown")).to_have_text(
        "The collection is closed: these are its final results, from 300 answers."
    )
    expect(page.locator("#state")).to_have_text("closed")
    expect(page.get_by_role("link", name="Answer it yourself")).to_be_hidden()
    page.wait_for_timeout(4_000)  # a browser that is not told to stop connects again after three seconds
    assert len(streams) == 1


def test_without_answers_the_link_is_there_to_share(survey: Survey, open_page: OpenPage) -> None:
    page = open_page()
    for family in ("nonparametric", "normal", "categorical"):
        more: dict[str, Any] = {"categories": ["a", "b"], "range": None} if family == "categorical" else {"range": None}
        collection = survey.create(family=family, transform=None, visibility="public", **more)
        page.goto(f"{survey.url}/collections/{collection}")
        expect(page.locator("#shown")).to_contain_text("Live: 0 answers")
        expect(page.get_by_role("heading", name="No answers yet: share this link")).to_be_visible()
        expect(page.get_by_role("img", name="QR code of the address")).to_be_visible()
        link = page.get_by_label("Address for respondents").input_value()
        assert link == f"{survey.url}/collections/{collection}/answer"
        for name in ("#copy", "#png", "#summary", "#course", "#trust"):
            expect(page.locator(name)).to_be_hidden()
        assert page.locator("table:visible:not(:has(tbody tr))").count() == 0
        assert violations(page) == []
    survey.call("PATCH", f"/collections/{collection}", json={"state": "paused"})
    expect(page.locator("#share")).to_be_hidden()


def test_the_link_stays_at_hand_once_answers_come(survey: Survey, open_page: OpenPage) -> None:
    collection, page = survey.create(visibility="public"), open_page()
    page.goto(f"{survey.url}/collections/{collection}")
    expect(page.locator("#share")).to_be_visible()
    survey.arrive(collection, 100)
    wait_learnt(page, 100)
    expect(page.locator("#share")).to_be_hidden()
    page.get_by_text("Share the link").click()
    expect(page.get_by_label("Address for respondents")).to_be_visible()


def test_the_page_says_when_it_is_not_current(survey: Survey, answered: str, open_page: OpenPage) -> None:
    """While the server does not respond, and once it does."""
    page = open_page()
    page.route("**/charts.json", lambda route: route.abort())
    page.goto(f"{survey.url}/collections/{answered}")
    expect(page.locator("#status")).to_have_attribute("data-state", "stale")
    expect(page.locator("#shown")).to_contain_text("The server did not respond; trying again.")
    expect(page.locator("#summary")).to_contain_text("Half of the people have ")
    assert violations(page) == []
    page.unroute("**/charts.json")
    expect(page.locator("#status")).to_have_attribute("data-state", "live")
    expect(page.locator("#pace canvas")).to_be_visible()


def test_a_lost_connection_is_said_with_the_time_of_what_is_shown(
    survey: Survey, answered: str, open_page: OpenPage
) -> None:
    page = open_page()
    page.route("**/posterior/stream", lambda route: route.fulfill(status=404))
    page.goto(f"{survey.url}/collections/{answered}")
    expect(page.locator("#status")).to_have_attribute("data-state", "ended")
    expect(page.locator("#shown")).to_contain_text("Live updates have ended.")
    page.unroute("**/posterior/stream")
    page.get_by_role("link", name="Reload the page").click()
    expect(page.locator("#status")).to_have_attribute("data-state", "live")
    expect(page.locator("#shown")).to_have_text(re.compile(r"^Live: [\d,]+ answers, \d{4}-\d\d-\d\d \d\d:\d\d UTC\.$"))


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
        for value in (250.0, 450.5, 900.0):
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
        page.get_by_label("More than").fill("a lot")
        expect(page.locator("#above-said")).to_have_text("Write a number, such as 600.")
        assert violations(page) == []


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


def test_quantiles_the_mean_and_atoms_are_shown(survey: Survey, open_page: OpenPage) -> None:
    shapeless = {"family": None, "transform": None, "minimum": 0, "atoms": [450.5]}
    named = {"unit": "€", "period_of_value": "per week", "decimals": 1, "visibility": "public"}
    for fields in ({}, shapeless):
        collection, page = survey.create(**fields, **named), open_page()
        survey.arrive(collection, 400)
        page.goto(f"{survey.url}/collections/{collection}")
        wait_learnt(page, 400)
        for name in ("quantile_0.05", "quantile_0.5", "quantile_0.95"):
            cells = page.locator(f'[data-parameter="{name}"] td').all_text_contents()
            assert len(cells) == 3
            number = r"[\d,]+(\.\d)?"
            assert re.fullmatch(number, cells[0]), cells
            assert all(re.fullmatch(f"{number} to {number}", cell) for cell in cells[1:]), cells
        if not fields:  # without a family it may rest on the outermost few
            expect(page.get_by_role("row", name=re.compile("^Average"))).to_be_visible()
        expect(page.locator("#citation")).to_contain_text(
            re.compile(r"median [\d.,]+ € per week \(90% .* from 400 answers")
        )
        label = page.locator("#population").get_attribute("aria-label") or ""
        assert bool(re.search(r"; \d+% have exactly 450\.5$", label)) is bool(fields), label
        assert violations(page) == []


def test_an_axis_leaves_out_what_is_before_the_place_was_found(
    survey: Survey, answered: str, open_page: OpenPage
) -> None:
    page = open_page()
    page.goto(f"{survey.url}/collections/{answered}")
    settled = """
    async (widths) => {
      const { settled } = await import(document.querySelector("link[href*=plots]").href);
      const high = widths.map((width) => 500 + width / 2);
      return settled([widths.map((_, i) => 10 * i + 10), high.map((y) => 1000 - y), high, high, high, high]);
    }
    """
    for widths, first in (
        ([4e6, 1e4, 90, 30, 10], 2),
        ([4e6, 90, 1e4, 30, 10], 3),
        ([30] * 60, 1),
        ([50, 30, 10], 0),
        ([5, 3, 0], 0),
        ([7], 0),
    ):
        assert page.evaluate(settled, widths) == first


def test_long_names_of_categories_fit(survey: Survey, open_page: OpenPage) -> None:
    names = ["x" * 100, "y" * 99 + "z", "never"]
    collection = survey.create(family="categorical", transform=None, range=None, categories=names, visibility="public")
    tickets = survey.call("POST", f"/collections/{collection}/tickets", json={"count": 40})["tickets"]
    responses = [{"ticket": each["ticket"], "answer": i % 2} for i, each in enumerate(tickets)]
    survey.call("POST", f"/collections/{collection}/responses/batch", json={"responses": responses})
    for width in (360, 1000):
        page = open_page(viewport={"width": width, "height": 800})
        page.goto(f"{survey.url}/collections/{collection}")
        expect(page.locator('[data-answers="40"]')).to_be_visible()
        expect(page.locator(".legend")).to_be_hidden()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        wide = "() => [...document.querySelectorAll('.scroll')].map((each) => each.scrollWidth / innerWidth)"
        assert max(page.evaluate(wide)) < (2.2 if width == 360 else 1.01)
        assert violations(page) == []


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


def test_files_are_saved(survey: Survey, answered: str, open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page()
    page.goto(f"{survey.url}/collections/{answered}")
    expect(page.locator("#pace canvas")).to_be_visible()
    starts = {"Counts, CSV": b"mechanism,", "Counts, Parquet": b"PAR1", "History, CSV": b"answers,"}
    for name, start in starts.items():
        with page.expect_download() as download:
            page.get_by_role("link", name=name).click()
        assert Path(download.value.path()).read_bytes().startswith(start)
        assert download.value.suggested_filename.startswith(answered)
    with page.expect_download() as download:
        page.get_by_role("button", name="Charts, PNG").click()
    content = Path(download.value.path()).read_bytes()
    assert content.startswith(b"\x89PNG")
    assert len(content) > 20_000
    assert download.value.suggested_filename == f"{answered}.png"
    page.get_by_role("button", name="Copy the citation").click()
    expect(page.locator("#spoken")).to_contain_text("citation")


def test_an_admin_does_everything_with_the_keyboard(survey: Survey, open_page: OpenPage) -> None:
    page = open_page()
    page.goto(f"{survey.url}/new")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.get_by_label("Token").focus()
    page.keyboard.type(ADMIN_TOKEN)
    page.keyboard.press("Enter")
    page.wait_for_url("**/new")
    page.get_by_label("Title shown to respondents").focus()
    for text in ("Monthly rent", "Tab", "nor", "Tab", "By", "Tab", "300", "Tab", "3000"):
        (page.keyboard.press if text == "Tab" else page.keyboard.type)(text)
    expect(page.get_by_text("1,000 people give")).to_be_visible()
    expect(page.locator("#advice table")).to_contain_text("median")
    page.get_by_label("Who may answer").select_option("invite")
    assert violations(page) == []
    page.get_by_label("Title shown to respondents").press("Enter")
    page.wait_for_url("**/collections/*")
    expect(page.get_by_role("heading", name="Monthly rent", level=1)).to_be_visible()
    page.get_by_label("Number of new invitations").fill("2")
    page.get_by_label("Number of new invitations").press("Enter")
    codes = page.get_by_label("Codes, one per line").input_value().split()
    assert len({*codes}) == 2
    page.get_by_text("QR codes of the links").press("Enter")
    expect(page.get_by_role("img", name=f"QR code of the link with the code {codes[1]}")).to_be_visible()
    assert violations(page) == []
    collection = page.url.split("/")[-2]
    for name, state in (("Pause", "paused"), ("Open", "open")):
        page.get_by_role("button", name=name).press("Enter")
        expect(page.get_by_text(f"The collection is {state}.", exact=True)).to_be_visible()
        assert survey.call("GET", f"/collections/{collection}")["state"] == state
    page.get_by_text("Close permanently").press("Enter")
    page.get_by_role("button", name="Close Monthly rent").press("Enter")
    expect(page.get_by_text("The collection is permanently closed.")).to_be_visible()
    page.get_by_role("button", name="Sign out").press("Enter")
    expect(page.get_by_role("banner").get_by_role("link", name="Sign in")).to_be_visible()
    page.goto(f"{survey.url}/collections/{collection}")
    expect(page.get_by_text("Only analysts can read the posterior")).to_be_visible()


@pytest.mark.parametrize(("scheme", "width"), [("light", 360), ("dark", 1200)])
def test_the_whole_form_fits_and_takes_a_family_to_compare(
    survey: Survey, open_page: OpenPage, scheme: str, width: int
) -> None:
    page = open_page(color_scheme=scheme, viewport={"width": width, "height": 800})
    sign_in(page, survey, "/new")
    for group in page.locator("summary").all():
        group.press("Enter")
    page.get_by_label("Shape of the distribution").select_option("gamma")
    expect(page.locator("#prior_shape")).to_be_visible()
    expect(page.get_by_label("sigma of")).to_be_hidden()
    page.get_by_label("Title shown to respondents").fill("Rent")
    page.locator("#prior_shape").fill("lognorm, s=1, loc=-1")
    page.get_by_label("scale of").fill("lognorm, s=1")
    with page.expect_request("**/new/advice?*") as asked:
        page.get_by_label("Weibull", exact=True).check()
    assert "Rent" not in asked.value.url  # a name may be as long as an address
    expect(page.locator("#advice")).to_contain_text("Prior of shape: the distribution must not reach below 0.")
    page.get_by_role("button", name="Create the collection").click()
    expect(page.locator("#prior-wrong")).to_contain_text("must not reach below 0")
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.locator("#prior_shape").fill("lognorm, s=1")
    expect(page.locator("#advice")).to_contain_text("30% of the questions are there to tell the 2 families apart.")
    assert violations(page) == []
    page.get_by_role("button", name="Create the collection").click()
    page.wait_for_url("**/collections/*")
    expect(page.locator("#trust table")).to_contain_text("Weibull")


@pytest.mark.parametrize(("scheme", "width"), [("light", 360), ("dark", 1200)])
def test_the_form_takes_several_numbers(survey: Survey, open_page: OpenPage, scheme: str, width: int) -> None:
    page = open_page(color_scheme=scheme, viewport={"width": width, "height": 800})
    sign_in(page, survey, "/new")
    page.get_by_label("Title shown to respondents").fill("Wages, ages and hours")
    page.get_by_text("Several numbers of each person").press("Enter")
    page.get_by_role("button", name="Add a number").click()
    expect(page.locator("#family")).to_be_hidden()
    page.get_by_role("button", name="Add a number").click()
    numbers = [page.get_by_role("group", name=f"Number {number}") for number in (1, 2, 3)]
    for number, name in zip(numbers, ("wage", "dropped", "age"), strict=True):
        number.get_by_label("Name").fill(name)
    numbers[1].get_by_role("button", name="Remove").click()
    expect(page.get_by_role("group", name="Number 3")).to_have_count(0)
    wage, age = numbers[:2]
    expect(age.get_by_label("Name")).to_have_value("age")
    wage.get_by_label("Unit").fill("€")
    wage.get_by_label("Shape of the distribution").select_option("normal")
    wage.get_by_label("How values compare").select_option("log")
    wage.get_by_label("Most values from").fill("2000")
    wage.get_by_label("to", exact=True).fill("150")
    expect(page.locator("#advice")).to_contain_text("The component wage: range must be [low, high]")
    page.get_by_role("button", name="Create the collection").click()
    expect(page.locator("#component_1_low-wrong")).to_contain_text("low below high")
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    wage.get_by_label("Most values from").fill("150")
    with page.expect_request("**/new/advice?*") as asked:
        wage.get_by_label("to", exact=True).fill("2,000")
    assert "component_1_unit" not in asked.value.url
    expect(page.locator("#advice")).to_contain_text("each correlation: ± 0.3")
    assert violations(page) == []
    page.get_by_role("button", name="Create the collection").click()
    page.wait_for_url("**/collections/*")
    terms = survey.call("GET", page.url.removeprefix(survey.url))
    told = [(each["name"], each["transform"], each["unit"]) for each in terms["components"]]
    assert told == [("wage", "log", "€"), ("age", "identity", None)]


@pytest.mark.parametrize(("scheme", "width"), [("light", 360), ("dark", 1200)])
def test_each_of_several_numbers_has_a_prior_a_goal_and_exact_values(
    survey: Survey, open_page: OpenPage, scheme: str, width: int
) -> None:
    """They are folded away, with the priors of the number's own family alone; those of the form itself are gone."""
    page = open_page(color_scheme=scheme, viewport={"width": width, "height": 800})
    sign_in(page, survey, "/new")
    page.get_by_label("Title shown to respondents").fill("Wages and ages")
    page.get_by_label("Shape of the distribution").select_option("normal")
    for group in ("Goal, model checks and prior", "Which values there can be", "Several numbers of each person"):
        page.get_by_text(group).press("Enter")
    page.locator("#prior_mu").fill("norm, loc=1")
    page.get_by_role("button", name="Add a number").click()
    for alone in ("#prior", "#goal", "#values", "#range"):
        expect(page.locator(alone)).to_be_hidden()
    wage, age = (page.get_by_role("group", name=f"Number {number}") for number in (1, 2))
    for number, name in ((wage, "wage"), (age, "age")):
        number.get_by_label("Name").fill(name)
        number.get_by_text("Exact values, goal and prior").press("Enter")
        expect(number.get_by_label("Goal")).to_be_visible()
        expect(number.get_by_role("group", name="Prior")).to_be_hidden()
    wage.get_by_label("Shape of the distribution").select_option("gamma")
    expect(page.locator("#component_1_prior_shape")).to_be_visible()
    expect(page.locator("#component_1_prior_mu")).to_be_hidden()
    expect(age.get_by_role("group", name="Prior")).to_be_hidden()
    page.locator("#component_1_prior_shape").fill("lognorm, s=1, loc=-1")
    page.locator("#component_1_prior_scale").fill("lognorm, s=1")
    age.get_by_label("Values that many people have exactly").fill("0, 100")
    age.get_by_label("Goal").fill("quantiles=0.5")
    expect(page.locator("#advice")).to_contain_text("The component wage: prior of shape: the distribution must not")
    page.get_by_role("button", name="Create the collection").click()
    expect(page.locator("#component_1_prior-wrong")).to_contain_text("must not reach below 0")
    expect(age.get_by_label("Values that many people have exactly")).to_have_value("0, 100")
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.locator("#component_1_prior_shape").fill("lognorm, s=1")
    expect(page.locator("#advice")).to_contain_text("each correlation: ±")
    assert violations(page) == []
    page.get_by_role("button", name="Create the collection").click()
    page.wait_for_url("**/collections/*")
    terms = survey.call("GET", page.url.removeprefix(survey.url))
    told = [(each["family"], each.get("atoms")) for each in terms["components"]]
    assert told == [("gamma", None), ("nonparametric", [0, 100])]


@pytest.mark.parametrize(("scheme", "width"), [("light", 360), ("dark", 1200)])
def test_the_form_offers_a_panel_once_a_period_is_chosen(
    survey: Survey, open_page: OpenPage, scheme: str, width: int
) -> None:
    """What was typed into it is neither advised on nor sent while no period is chosen."""
    page = open_page(color_scheme=scheme, viewport={"width": width, "height": 800})
    sign_in(page, survey, "/new")
    page.get_by_label("Title shown to respondents").fill("Rent by week")
    page.get_by_label("Shape of the distribution").select_option("normal")
    page.get_by_label("From", exact=True).fill("300")
    page.get_by_label("to", exact=True).fill("3000")
    page.get_by_text("Results over time").press("Enter")
    panel = page.get_by_role("group", name="The same people several times")
    expect(panel).to_be_hidden()
    page.get_by_label("Tell answers apart by time").select_option("week")
    expect(panel).to_be_visible()
    panel.get_by_label("Times that each person answers").fill("31")
    panel.get_by_label("within how many").fill("30")
    expect(page.locator("#advice")).to_contain_text("and answers one from 1 to periods")
    page.get_by_label("Tell answers apart by time").select_option("")
    expect(page.locator("#advice")).to_contain_text("people give these 90% intervals")
    expect(panel).to_be_hidden()
    page.get_by_label("Tell answers apart by time").select_option("week")
    page.get_by_role("button", name="Create the collection").click()
    expect(page.locator("#panel-wrong")).to_contain_text("and answers one from 1 to periods")
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    panel.get_by_label("Times that each person answers").fill("2")
    expect(page.locator("#advice")).to_contain_text("Each person answers 2 times within 30 weeks")
    page.get_by_role("button", name="Create the collection").click()
    page.wait_for_url("**/collections/*")
    terms = survey.call("GET", page.url.removeprefix(survey.url))
    assert (terms["period"], terms["panel"]) == ("week", {"answers": 2, "periods": 30})


@pytest.mark.parametrize(("scheme", "width"), [("light", 360), ("dark", 1200)])
def test_axe_finds_nothing_and_nothing_is_cut_off(
    survey: Survey, answered: str, open_page: OpenPage, scheme: str, width: int
) -> None:
    page = open_page(color_scheme=scheme, viewport={"width": width, "height": 800})
    for path in ("/", "/sign-in", f"/collections/{answered}", "/docs"):
        page.goto(survey.url + path)
        if answered in path:
            expect(page.locator("#pace canvas")).to_be_visible()
            expect(page.locator("#needed")).to_contain_text("sure")
            open_parameters(page)
        assert violations(page) == [], path
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path


def test_without_scripts_the_numbers_are_there(survey: Survey, answered: str, open_page: OpenPage) -> None:
    page = open_page(java_script_enabled=False)
    page.goto(f"{survey.url}/collections/{answered}")
    expect(page.locator('[data-parameter="mu"] [data-part="q50"]')).to_have_text(re.compile(r"\d"))
    expect(page.get_by_text("Half of the people have")).to_be_visible()
    expect(page.get_by_role("link", name="Counts, CSV")).to_be_visible()


def note(troubles: list[str], message: ConsoleMessage) -> None:
    troubles.append(message.text)


def test_the_report_is_one_page_on_paper(survey: Survey, answered: str, open_page: OpenPage) -> None:
    shapeless = survey.create(family=None, visibility="public", unit="€", period_of_value="per week", decimals=0)
    survey.arrive(shapeless, 1_000)
    for collection, width in ((answered, 1280), (shapeless, 360)):
        page = open_page(viewport={"width": width, "height": 800})
        troubles = list[str]()
        page.on("console", partial(note, troubles))
        page.goto(f"{survey.url}/collections/{collection}/report")
        expect(page.get_by_role("heading", name="Weekly wages", level=1)).to_be_visible()
        assert page.locator("svg polyline").bounding_box()
        assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(prefer_css_page_size=True))) == 1
        assert violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert troubles == []


def test_the_report_of_groups_fits_a_phone(survey: Survey, open_page: OpenPage) -> None:
    """Their table scrolls, and long names are still words."""
    labels = ["north", "Mecklenburg-Vorpommern and the islands"]
    collection = survey.create(visibility="public", groups={"name": "region", "labels": labels})
    page = open_page(viewport={"width": 360, "height": 800})
    for _ in range(2):
        tickets = survey.call("POST", f"/collections/{collection}/tickets", json={"count": 20, "group": labels[1]})
        answers = [{"ticket": each["ticket"], "answer": i % 2} for i, each in enumerate(tickets["tickets"])]
        survey.call("POST", f"/collections/{collection}/responses/batch", json={"responses": answers})
    page.goto(f"{survey.url}/collections/{collection}")
    expect(page.locator('[data-answers="40"]')).to_be_visible()
    page.goto(f"{survey.url}/collections/{collection}/report")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    name = page.get_by_role("rowheader", name=labels[1]).bounding_box()
    assert name is not None
    assert name["height"] < 120
    assert violations(page) == []


def test_after_a_burst_the_page_looks_once_more(survey: Survey, open_page: OpenPage) -> None:
    """Since the history of the burst is stored after its last answer was told."""
    collection, page = survey.create(visibility="public"), open_page()
    page.goto(f"{survey.url}/collections/{collection}")
    survey.arrive(collection, 500)
    wait_learnt(page, 500)
    with page.expect_response("**/charts.json") as looked:
        pass
    assert looked.value.json()["answers"] == 500


def test_the_command_line_saves_the_report(survey: Survey, answered: str, tmp_path: Path) -> None:
    file, private = tmp_path / "wages.html", survey.create()
    assert run(["export", answered, "--report", str(file), "--url", survey.url]) == 0
    saved = file.read_text(encoding="utf-8")
    assert saved.startswith("<!doctype html>")
    assert f"{survey.url}/collections/{answered}" in saved
    file.unlink()
    assert run(["export", private, "--report", str(file), "--url", survey.url]) != 0
    assert not file.exists()


@pytest.mark.parametrize(("width", "scheme"), [(360, "dark"), (1280, "light")])
def test_the_population_over_time_is_a_fan(tmp_path: Path, open_page: OpenPage, width: int, scheme: str) -> None:
    """With one period, whose bands are bars, and with a second, without reloading."""
    clock, troubles = FakeClock(), list[str]()
    with serving(f"sqlite:///{tmp_path / 'test.sqlite'}", clock=clock) as (url, _):
        survey = Survey(url)
        weekly = {"period": "week", "drift": True, "unit": "€", "visibility": "public"}
        collection = survey.create(**weekly)
        page = open_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
        page.on("console", lambda message: troubles.append(message.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.add_init_script(_WRITING)
        page.goto(f"{url}/collections/{collection}")
        expect(page.get_by_role("heading", name="No answers yet: share this link")).to_be_visible()
        expect(page.get_by_role("heading", name="By week")).to_be_hidden()
        survey.arrive(collection, 100)
        fan = page.get_by_role("slider", name="How the values are distributed, by week, 2027-W02")
        expect(fan).to_have_attribute("aria-valuetext", re.compile(r"^2027-W02, from 2027-01-11, 100 answers: median "))
        expect(page.get_by_text("So far all answers belong to one week")).to_be_visible()
        one = picture(page, "fan")
        clock.now += 14 * 86_400
        survey.arrive(collection, 200)
        both = page.get_by_role("slider", name="The median, by week, 2027-W02 to 2027-W04")
        expect(both).to_have_attribute("aria-valuetext", re.compile(r"^2027-W04, from 2027-01-25, 200 answers: "))
        assert picture(page, "fan") != one
        both.press("ArrowLeft")
        assert told(page, "fan-middle").startswith("2027-W03, from 2027-01-18, 0 answers: ")
        page.get_by_text("The numbers, by week").click()
        posterior = survey.call("GET", f"/collections/{collection}/posterior")
        assert page.locator("[data-period]").count() == len(posterior["periods"]) == 3
        written = page.evaluate("written")
        for chart in ("fan", "fan-middle"):
            assert all(each["fits"] for each in written[chart].values())
            assert {"2027-01-11", "week from (UTC)", "€"} <= written[chart].keys()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert violations(page) == []
        assert troubles == []
        page.close()  # so that the server need not wait for the end of the stream
