"""The dashboard's charts: they follow the answers, their axes fit, and keys and pointer read them."""

import math
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from dither_client.posterior.digits import summary_numbers
from dither_client.posterior.wire import ParameterSummary
from testing.browser.axe import violations
from testing.browser.dashboard import WRITING, band, open_parameters, picture, sign_in, told, wait_learnt
from testing.browser.survey import Survey
from testing.patience import until
from testing.servers.served import serving
from testing.servers.site import FakeClock
from tests.browser.conftest import OpenPage

_TIME = r"\d+:\d+:\d+"
_SHARES = r"[\d.]+% to [\d.]+%"
_RANGE = r"[\d.e-]+ to [\d.e-]+"


def distribution_band(page: Page) -> float:
    """The mean width of the 90% band of the distribution function, as the chart says it at every tenth point."""
    chart, widths = page.locator("#distribution"), []
    chart.press("Home")
    for _ in range(int(chart.get_attribute("aria-valuemax") or 0) // 10):
        found = re.search(r"90% sure: ([\d.]+)% to ([\d.]+)%\)\.$", told(page, "distribution"))
        assert found
        widths.append(float(found[2]) - float(found[1]))
        chart.press("PageUp")
    chart.blur()
    return sum(widths) / len(widths)


def all_written(page: Page) -> list[Any]:
    """What stands in the charts, and the title at the side of the population, once all are drawn; empty before.

    That title is another one on a logarithmic scale, and may change with every answer: both are read at one moment.
    """
    written, density = page.evaluate("[written, document.getElementById('population').dataset.y || 'density']")
    charts = {"distribution", "population", "trajectory-quantile_0.9", "questions", "pace"}
    return [written, density] if charts <= written.keys() and density in written["population"] else []


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
    assert now[2] == pytest.approx(median["q95"] - median["q05"], rel=0.1)  # of two significant digits
    expect(page.locator("#summary")).to_contain_text("Half of the people have ")
    assert requests.count(page.url) == 1
    assert len([url for url in requests if url.endswith("/stream")]) == 1
    assert troubles == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


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
    page.add_init_script(WRITING)
    page.goto(f"{survey.url}/collections/{collection}")
    wait_learnt(page, 300)
    expect(page.locator("#pace canvas")).to_be_visible()
    written, density = until(lambda: all_written(page))
    for chart, titles in {
        "distribution": [unit, "share of the people"],
        "population": [unit, density],
        "trajectory-quantile_0.9": ["answers", unit],
        "questions": ["answers", unit],
        "pace": ["time (UTC)", "answers per minute"],
    }.items():
        assert [written[chart][title]["turned"] for title in titles] == [False, True], chart
        assert {text: each for text, each in written[chart].items() if not each["fits"]} == {}, chart
    expect(page.get_by_text("Those who have exactly 0 are not in the curve.")).to_be_visible()


def test_many_atoms_and_the_first_questions_leave_charts_readable(survey: Survey, open_page: OpenPage) -> None:
    """Three of twelve are named, and all are in the table; the first question may be at any order of magnitude."""
    atoms = [float(atom) for atom in range(20, 80, 5)]
    collection = survey.create(family=None, range=None, atoms=atoms, epsilon=2, visibility="public")
    [ticket] = survey.call("POST", f"/collections/{collection}/tickets", json={"count": 1})["tickets"]
    sent = {"responses": [{"ticket": ticket["ticket"], "answer": 0}]}
    survey.call("POST", f"/collections/{collection}/responses/batch", json=sent)
    until(lambda: survey.call("GET", f"/collections/{collection}/posterior/history")["history"])
    survey.arrive(collection, 600, lambda rng: rng.choice([20.0, 45.0, 70.0, *atoms, rng.gauss(50, 15)]))
    page = open_page()
    page.add_init_script(WRITING)
    page.goto(f"{survey.url}/collections/{collection}")
    wait_learnt(page, 601)
    expect(page.locator("#pace canvas")).to_be_visible()
    written, _ = until(lambda: all_written(page))
    named = [text for text in written["population"] if "have exactly" in text]
    assert len(named) == 3
    assert page.get_by_text(re.compile(r"\d% have exactly \d+ \(")).first.inner_text().count("have exactly") == 3
    assert page.locator("#numbers tr", has_text="Exactly").count() == len(atoms)
    page.locator("#questions").press("Home")
    assert int(told(page, "questions").split()[1]) >= 601 / 50  # and not the first question, after one answer


def test_numbers_of_several_orders_are_on_a_logarithmic_scale(
    survey: Survey, answered: str, open_page: OpenPage
) -> None:
    """As the same chart gets new numbers, and back; below 0, and from 0 on, there is none.

    No band here is so much wider than the newest that it is left out of the axis.
    """
    page = open_page()
    page.add_init_script(WRITING)
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
    flat = [0.0, 0.0]
    assert [text for text in ticks(flat, flat, flat, flat, flat) if text.startswith("-")] == []


@pytest.mark.parametrize(("kind", "largest"), [("shareOrders", 200_000), ("shareOrders", 20_000_000), ("share", 9e6)])
@pytest.mark.parametrize("width", [360, 1280])
def test_numbers_along_an_axis_fit_and_do_not_touch(
    survey: Survey, answered: str, open_page: OpenPage, width: int, kind: str, largest: float
) -> None:
    """Also where the axis ends just after a long number."""
    page = open_page(viewport={"width": width, "height": 800})
    page.add_init_script(WRITING)
    page.goto(f"{survey.url}/collections/{answered}")
    expect(page.locator("#distribution canvas")).to_be_visible()
    for end in (largest, largest / 1.99, largest / 1.8):
        written = page.evaluate(
            """async ([kind, end]) => {
                const { draw } = await import(document.querySelector('link[href$="plots.js"]').href);
                written["distribution"] = {};
                const x = Array.from({ length: 50 }, (_, i) => 0.5 * (2 * end) ** (i / 49));
                const lines = [x, ...[0.1, 0.3, 0.5, 0.7, 0.9].map((share) => x.map(() => share))];
                draw("distribution", { kind, lines, label: "", words: () => "" });
                await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
                return written["distribution"];
            }""",
            [kind, end],
        )
        labels = sorted((each["from"], each["to"]) for text, each in written.items() if re.fullmatch(r"[\d,.]+", text))
        assert labels
        assert all(end <= start for (_, end), (start, _) in pairwise(labels))
        assert {text: each for text, each in written.items() if not each["fits"]} == {}


@pytest.mark.parametrize("place", [861_255_200_000_000_000, -3e29, 0])
def test_a_population_at_one_place_is_drawn(answered: str, survey: Survey, open_page: OpenPage, place: float) -> None:
    """Few answers may lead far away, where numbers that differ little are rounded to the same."""
    page = open_page()
    page.add_init_script(WRITING)
    page.goto(f"{survey.url}/collections/{answered}")
    expect(page.locator("#population canvas")).to_be_visible()
    written = page.evaluate(
        """async (place) => {
            const { draw } = await import(document.querySelector('link[href$="plots.js"]').href);
            written["population"] = {};
            const lines = Array.from({ length: 6 }, (_, i) => Array(5).fill(i ? i : place));
            draw("population", { kind: "population", lines, label: "", words: () => "" });
            await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
            return written["population"];
        }""",
        place,
    )
    assert len(written) > 2


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
    mean, _, low, lower, median, upper, high = summary_numbers(ParameterSummary(**row["posterior"]["mu"]))
    assert told(page, "trajectory-mu") == (
        f"After {row['answers']:,} answers: mean {mean}, median {median} "
        f"(50% sure: {lower} to {upper}; 90% sure: {low} to {high})."
    )
    chart.press("ArrowRight")
    assert told(page, "trajectory-mu").startswith(f"After {history[1]['answers']:,} answers: ")
    for key, at in (("End", chart.get_attribute("aria-valuemax")), ("Home", "0"), ("ArrowLeft", "0")):
        chart.press(key)
        expect(chart).to_have_attribute("aria-valuenow", str(at))
    page.keyboard.press("Tab")
    expect(chart).to_have_attribute("aria-valuetext", re.compile(f"^After {newest['answers']:,} answers: "))
    for name, along, words in (
        ("questions", 0.3, r"After \d+ answers: a question about [\d., -]+\."),
        ("pace", 0.02, r"Until [\d-]+ [\d:]+ UTC: (none|[\d.,]+ a minute)\."),
        ("distribution", 0.8, rf"[\d.]+% have [\d.,]+ or less \(50% sure: {_SHARES}; 90% sure: {_SHARES}\)\."),
        (
            "population",
            0.8,
            rf"At [\d.,]+: (share per doubling|density) [\d.e-]+ \(50% sure: {_RANGE}; 90% sure: {_RANGE}\)\.",
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


def test_readings_have_the_digits_that_the_band_leaves_sure(survey: Survey, open_page: OpenPage) -> None:
    """Two significant digits of the width of the 90% band; a width that is rounded down may have one place more."""
    collection, page = survey.create(family=None, epsilon=4, visibility="public"), open_page()
    survey.arrive(collection, 400)
    page.goto(f"{survey.url}/collections/{collection}")
    wait_learnt(page, 400)
    for name, before in (
        ("population", "doubling|density"),
        ("distribution", "or less"),
        ("trajectory-quantile_0.5", "answers:"),
    ):
        words = re.sub(r"\d+% sure", "", re.split(before, told(page, name))[1]).replace(",", "")
        numbers = re.findall(r"\d+(?:\.\d+)?", words)
        finest = max(0, 1 - math.floor(math.log10(float(numbers[-1]) - float(numbers[-2]))))
        assert len(numbers) >= 4
        assert {len(number.partition(".")[2]) for number in numbers} <= {finest, finest + 1}, words


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


def test_curves_are_smooth_and_steps_are_crisp(survey: Survey, answered: str, open_page: OpenPage) -> None:
    """Points on whole pixels would make stairs of a curve; where a curve has stairs, they are on whole pixels."""
    page = open_page(viewport={"width": 360, "height": 800})
    page.add_init_script("""
        globalThis.places = [];
        const lineTo = Path2D.prototype.lineTo;
        Path2D.prototype.lineTo = function (x, y) {
            globalThis.places.push(x, y);
            lineTo.call(this, x, y);
        };
    """)
    page.goto(f"{survey.url}/collections/{answered}")
    expect(page.locator("#distribution canvas")).to_be_visible()
    drawn = """async (kind) => {
        const { draw } = await import(document.querySelector('link[href$="plots.js"]').href);
        places.length = 0;
        const x = Array.from({ length: 50 }, (_, i) => i);
        const bands = [0.8, 0.9, 1, 1.1, 1.2].map((power) => x.map((i) => 0.9 * (i / 49) ** power));
        const lines = [x, ...(kind === "density" ? bands.slice(2, 3) : bands)];
        draw("distribution", { kind, lines, label: "", words: () => "" });
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
        return places.filter(Number.isFinite); // the edges of areas without colour have no place
    }"""
    for kind in ("share", "population", "trajectory", "density"):
        places = page.evaluate(drawn, kind)
        assert sum(place != round(place) for place in places) > len(places) / 2 > 0, kind
    assert {place % 1 for place in page.evaluate(drawn, "shareWhole")} == {0}


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
        page.add_init_script(WRITING)
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
