"""The dashboard in a real browser, while a simulated population answers. Every wait is for something to be seen."""

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Page, expect

from testing.browser.axe import violations
from testing.browser.survey import Survey, open_survey
from testing.patience import PATIENCE
from testing.servers.defaults import ADMIN_TOKEN
from tests.browser.conftest import OpenPage

PARTS = ("mean", "sd", "q05", "q25", "q50", "q75", "q95")


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


def wait_learnt(page: Page, answers: int, number: str = "mu") -> None:
    """Until words and charts have so many answers."""
    expect(page.locator(f'[data-answers="{answers}"]')).to_be_visible()
    expect(page.get_by_role("slider", name=f"{number} after {answers:,} answers")).to_be_visible()


def band(page: Page, parameter: str) -> float:
    """The width of the 90% band that the chart says it shows."""
    label = page.locator(f'[id="trajectory-{parameter}"]').get_attribute("aria-label") or ""
    found = re.search(r"from (\S+) to (\S+)$", label)
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
    expect(page.get_by_text("The prior, before any answer.")).to_be_visible()
    survey.arrive(collection, 200)
    wait_learnt(page, 200)
    charts = ("trajectory-mu", "trajectory-sigma", "questions", "population", "density-mu", "pace")
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
        assert shown == [f"{summary[part]:.4g}" for part in PARTS]
        assert band(page, name) == pytest.approx(summary["q95"] - summary["q05"], rel=1e-3)
    assert [url for url in requests if not url.startswith(survey.url)] == []
    assert troubles == []  # among them whatever the page's policy forbids


def told(page: Page, chart: str) -> str:
    """The words that a screen reader gets of the chart; the same stand below it."""
    words = page.locator(f"#{chart}").get_attribute("aria-valuetext") or ""
    assert page.locator(f"#{chart}-reading").inner_text() == words
    return words


def density_band(page: Page) -> float:
    """The area of the 90% band of the population's density, as the chart says it at every tenth of its points."""
    chart, points = page.locator("#population"), []
    chart.press("Home")
    for _ in range(int(chart.get_attribute("aria-valuemax") or 0) // 10):
        found = re.match(r"At (\S+): density .* 90% (\S+) to (\S+)\.$", told(page, "population"))
        assert found
        points.append((float(found[1]), float(found[3]) - float(found[2])))
        chart.press("PageUp")
    chart.blur()
    return sum((b - a) * (v + w) / 2 for (a, v), (b, w) in pairwise(points))


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
    expect(page.get_by_text("The prior, before any answer.")).to_be_visible()
    survey.arrive(collection, 200)
    wait_learnt(page, 200, "quantile 0.5")
    before = picture(page, "population")
    wide = [density_band(page), *(band(page, f"quantile_{level}") for level in ("0.1", "0.5", "0.9"))]
    survey.arrive(collection, 1_800)
    wait_learnt(page, 2_000, "quantile 0.5")
    assert picture(page, "population") != before
    now = [density_band(page), *(band(page, f"quantile_{level}") for level in ("0.1", "0.5", "0.9"))]
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
    page = open_page(viewport={"width": width, "height": 800})
    page.add_init_script(_WRITING)
    page.goto(f"{survey.url}/collections/{collection}")
    wait_learnt(page, 300, "quantile 0.5")
    expect(page.locator("#pace canvas")).to_be_visible()
    written = page.evaluate("written")
    for chart, titles in {
        "trajectory-quantile_0.9": ["answers", unit],
        "questions": ["answers", unit],
        "population": [unit, "density per €"],
        "pace": ["time", "answers per minute"],
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
                    written["trajectory-mu"] = {};
                    const lines = [[3, 7], ...bands];
                    draw("trajectory-mu", { kind: "trajectory", lines, label: "", words: () => "" });
                    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
                    return Object.keys(written["trajectory-mu"]);
                }""",
                bands,
            )
        )

    orders = ticks([1, 2], [5, 95], [10, 100], [20, 110], [5000, 1000])
    assert {"1", "10", "100", "1000"} <= orders
    assert not {"0", "2000", "4000"} & orders
    for lowest in (0, -2):
        assert {"0", "1000", "4000"} <= ticks([lowest, 2], [5, 95], [10, 100], [20, 110], [5000, 1000])
    assert {"50", "100"} <= ticks([30, 90], [40, 95], [50, 100], [60, 110], [150, 120])
    assert ticks([1, 2], [5, 95], [10, 100], [20, 110], [5000, 1000]) == orders


@pytest.mark.parametrize("width", [360, 1200])
def test_charts_are_read_with_keys_and_pointer(survey: Survey, answered: str, open_page: OpenPage, width: int) -> None:
    page = open_page(viewport={"width": width, "height": 800})
    page.goto(f"{survey.url}/collections/{answered}")
    history = survey.call("GET", f"/collections/{answered}/posterior/history")["history"]
    newest = survey.call("GET", f"/collections/{answered}/posterior")
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
        ("pace", 0.3, r"Until [\d:]+ [AP]M: [\d.K]+ answers per minute\."),
        ("population", 0.8, r"At [\d.]+: density [\d.e-]+, 50% [\d.e-]+ to [\d.e-]+, 90% [\d.e-]+ to [\d.e-]+\."),
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
        assert told(page, name) == before
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_what_is_read_stays_while_answers_come(survey: Survey, open_page: OpenPage) -> None:
    collection, page = survey.create(visibility="public"), open_page()
    survey.arrive(collection, 200)
    page.goto(f"{survey.url}/collections/{collection}")
    wait_learnt(page, 200)
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


def test_without_answers_nothing_is_empty_or_for_what_is_not_there(survey: Survey, open_page: OpenPage) -> None:
    page = open_page()
    for family in ("nonparametric", "normal", "categorical"):
        more: dict[str, Any] = {"categories": ["a", "b"], "range": None} if family == "categorical" else {"range": None}
        page.goto(
            f"{survey.url}/collections/{survey.create(family=family, transform=None, visibility='public', **more)}"
        )
        expect(page.locator("#shown")).to_contain_text("Live: 0 answers")
        expect(page.get_by_text("The prior, before any answer.")).to_be_visible()
        expect(page.locator("#copy")).to_be_hidden()
        expect(page.locator("#png")).to_be_hidden()
        assert page.locator("#details table:not(:has(tbody tr))").count() == 0


def test_quantiles_the_mean_and_atoms_are_shown(survey: Survey, open_page: OpenPage) -> None:
    shapeless = {"family": None, "transform": None, "minimum": 0, "atoms": [450.5]}
    named = {"unit": "€", "period_of_value": "per week", "decimals": 1, "visibility": "public"}
    for fields, number in (({}, "mu"), (shapeless, "quantile 0.5")):
        collection, page = survey.create(**fields, **named), open_page()
        survey.arrive(collection, 400)
        page.goto(f"{survey.url}/collections/{collection}")
        wait_learnt(page, 400, number)
        for name in ("quantile_0.05", "quantile_0.5", "quantile_0.95"):
            cells = page.locator(f'[data-parameter="{name}"] td').all_text_contents()
            assert len(cells) == 7
            assert all(re.fullmatch(r"[\d,]+(\.\d)?", cell) for cell in cells[2:]), cells
        assert page.locator('[data-parameter="mean_value"]').count() == 1
        expect(page.locator("#citation")).to_contain_text("values in € per week, from 400 answers")
        label = page.locator("#population").get_attribute("aria-label") or ""
        assert bool(re.search(r"; \d+% have exactly 450\.5$", label)) is (number != "mu"), label
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
      return settled([widths.map((_, i) => 10 * i), high.map((y) => 1000 - y), high, high, high, high]);
    }
    """
    for widths, first in (
        ([4e6, 1e4, 90, 30, 10], 20),
        ([4e6, 90, 1e4, 30, 10], 30),
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
    for text in ("Monthly rent", "Tab", "nor", "Tab", "l", "Tab", "300", "Tab", "3000"):
        (page.keyboard.press if text == "Tab" else page.keyboard.type)(text)
    expect(page.get_by_text("1,000 people give")).to_be_visible()
    expect(page.locator("#advice table")).to_contain_text("sd of sigma")
    page.get_by_label("Who may answer").select_option("invite")
    assert violations(page) == []
    page.get_by_label("Title shown to respondents").press("Enter")
    page.wait_for_url("**/collections/*")
    expect(page.get_by_role("heading", name="Monthly rent", level=1)).to_be_visible()
    page.get_by_label("Number of new invitations").fill("2")
    page.get_by_label("Number of new invitations").press("Enter")
    codes = page.get_by_label("Codes, one per line").input_value().split()
    assert len({*codes}) == 2
    assert violations(page) == []
    collection = page.url.split("/")[-2]
    for name, state in (("Pause", "paused"), ("Open", "open")):
        page.get_by_role("button", name=name).press("Enter")
        expect(page.get_by_text(f"The collection is {state}.")).to_be_visible()
        assert survey.call("GET", f"/collections/{collection}")["state"] == state
    page.get_by_text("Close permanently").press("Enter")
    page.get_by_role("button", name="Close Monthly rent").press("Enter")
    expect(page.get_by_text("The collection is permanently closed.")).to_be_visible()
    page.get_by_role("button", name="Sign out").press("Enter")
    expect(page.get_by_role("link", name="Sign in")).to_be_visible()
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
    page.get_by_label("Family of distributions").select_option("gamma")
    expect(page.get_by_label("shape of")).to_be_visible()
    expect(page.get_by_label("sigma of")).to_be_hidden()
    page.get_by_label("Title shown to respondents").fill("Rent")
    page.get_by_label("shape of").fill("lognorm, s=1, loc=-1")
    page.get_by_label("scale of").fill("lognorm, s=1")
    with page.expect_request("**/new/advice?*") as asked:
        page.get_by_label("weibull", exact=True).check()
    assert "Rent" not in asked.value.url  # a name may be as long as an address
    expect(page.locator("#advice")).to_contain_text("Prior of shape: the distribution must not reach below 0.")
    page.get_by_role("button", name="Create the collection").click()
    expect(page.locator("#prior-wrong")).to_contain_text("must not reach below 0")
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_label("shape of").fill("lognorm, s=1")
    expect(page.locator("#advice")).to_contain_text("30% of the questions are there to tell the 2 families apart.")
    assert violations(page) == []
    page.get_by_role("button", name="Create the collection").click()
    page.wait_for_url("**/collections/*")
    expect(page.get_by_role("table").filter(has_text="Log evidence")).to_contain_text("weibull")


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
        assert violations(page) == [], path
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path


def test_without_scripts_the_numbers_are_there(survey: Survey, answered: str, open_page: OpenPage) -> None:
    page = open_page(java_script_enabled=False)
    page.goto(f"{survey.url}/collections/{answered}")
    expect(page.locator('[data-parameter="mu"] [data-part="q50"]')).to_have_text(re.compile(r"\d"))
    expect(page.get_by_role("link", name="Counts, CSV")).to_be_visible()
