"""The dashboard in a real browser, while a simulated population answers. Every wait is for something to be seen."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Route, expect

from dither_client.posterior.digits import summary_numbers
from dither_client.posterior.wire import ParameterSummary
from testing.browser.axe import violations
from testing.browser.dashboard import band, open_parameters, picture, sign_in, wait_learnt
from testing.browser.survey import FIRST_LOOK, Survey
from tests.browser.conftest import OpenPage


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
        assert band(page, name) == pytest.approx(summary["q95"] - summary["q05"], rel=0.1)
    assert [url for url in requests if not url.startswith(survey.url)] == []
    assert troubles == []  # among them whatever the page's policy forbids


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


@pytest.mark.console_errors(r"net::ERR_FAILED .*/charts\.json")
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


def test_results_that_are_on_their_way_are_said_to_be(survey: Survey, answered: str, open_page: OpenPage) -> None:
    """The page is whole before them: what the server knew is there, and it says that newer ones are loading."""
    page, held = open_page(viewport={"width": 360, "height": 640}), list[Route]()
    page.route("**/charts.json", lambda route: held.append(route))
    page.goto(f"{survey.url}/collections/{answered}")
    expect(page.locator("#status")).to_have_attribute("data-state", "loading")
    expect(page.locator("#shown")).to_have_text("Loading the newest results.")
    expect(page.locator("#summary")).to_contain_text("Half of the people have ")
    assert violations(page) == []
    for route in held:
        route.continue_()
    page.unroute("**/charts.json")
    expect(page.locator("#status")).to_have_attribute("data-state", "live")


def test_a_page_that_is_told_of_misfit_says_what_would_show(survey: Survey, open_page: OpenPage) -> None:
    """Not that the answers fit: which misfit would have been found."""
    collection, page = survey.create(visibility="public", misfit_check=0.5, misfit_looks=FIRST_LOOK), open_page()
    survey.arrive(collection, 400)
    page.goto(f"{survey.url}/collections/{collection}")
    trust = page.locator("#trust")
    expect(trust).to_contain_text("No misfit of a lognormal distribution was found in 1 look")
    expect(trust).to_contain_text(re.compile("only gross ones would show"))
    expect(page.locator("main")).not_to_contain_text("answers fit")


@pytest.mark.console_errors("status of 404 .*/posterior/stream")
def test_refused_updates_are_said_with_the_time_of_what_is_shown(
    survey: Survey, answered: str, open_page: OpenPage
) -> None:
    """They come again by themselves half a minute after the server takes them again, and at once with the link."""
    page = open_page()
    ways: list[Callable[[], None]] = [
        lambda: page.clock.fast_forward(30_000),
        page.get_by_role("link", name="Reload the page").click,
    ]
    for again in ways:
        page.clock.install()
        page.route("**/posterior/stream", lambda route: route.fulfill(status=404))
        page.goto(f"{survey.url}/collections/{answered}")
        expect(page.locator("#status")).to_have_attribute("data-state", "refused")
        expect(page.locator("#shown")).to_contain_text(
            "The server refuses live updates; trying again in half a minute."
        )
        page.unroute("**/posterior/stream")
        again()
        expect(page.locator("#status")).to_have_attribute("data-state", "live")
    told = re.compile(r"^Live: [\d,]+ answers, \d{4}-\d\d-\d\d \d\d:\d\d UTC\.$")
    expect(page.locator("#shown")).to_have_text(told)


@pytest.mark.console_errors(r"net::ERR_FAILED .*/charts\.json")
def test_final_results_that_do_not_come_are_looked_for_again(survey: Survey, open_page: OpenPage) -> None:
    collection, page = survey.create(visibility="public"), open_page()
    survey.arrive(collection, 100)
    page.goto(f"{survey.url}/collections/{collection}")
    wait_learnt(page, 100)
    page.route("**/charts.json", lambda route: route.abort())
    survey.call("PATCH", f"/collections/{collection}", json={"state": "closed"})
    expect(page.locator("#status")).to_have_attribute("data-state", "stale")
    page.unroute("**/charts.json")
    expect(page.locator("#status")).to_have_attribute("data-state", "over")


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


def test_files_are_saved(survey: Survey, answered: str, open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page()
    page.goto(f"{survey.url}/collections/{answered}")
    expect(page.locator("#pace canvas")).to_be_visible()
    starts = {
        "Population, CSV": b"what,",
        "Counts, CSV": b"mechanism,",
        "Counts, Parquet": b"PAR1",
        "History, CSV": b"answers,",
    }
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
    expect(page.get_by_role("link", name="Groups, CSV")).to_have_count(0)
    expect(page.get_by_role("link", name="Periods, CSV")).to_have_count(0)


@pytest.mark.parametrize(
    ("fields", "parts"),
    [({"groups": {"name": "region", "labels": ["north", "south"]}}, "groups"), ({"period": "week"}, "periods")],
)
def test_groups_and_periods_are_saved(survey: Survey, open_page: OpenPage, fields: dict[str, Any], parts: str) -> None:
    collection = survey.create(visibility="public", **fields)
    asked = {"group": "south"} if parts == "groups" else {}
    tickets = survey.call("POST", f"/collections/{collection}/tickets", json={"count": 40} | asked)["tickets"]
    responses = [{"ticket": each["ticket"], "answer": i % 2} for i, each in enumerate(tickets)]
    survey.call("POST", f"/collections/{collection}/responses/batch", json={"responses": responses})
    page = open_page()
    page.goto(f"{survey.url}/collections/{collection}")
    expect(page.locator('[data-answers="40"]')).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name=f"{parts.capitalize()}, CSV").click()
    assert Path(download.value.path()).read_bytes().startswith(f"{parts[:-1]},answers,what,of,".encode())
    assert download.value.suggested_filename == f"{collection}-{parts}.csv"


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


def test_after_a_burst_the_page_looks_once_more(survey: Survey, open_page: OpenPage) -> None:
    """Since the history of the burst is stored after its last answer was told."""
    collection, page = survey.create(visibility="public"), open_page()
    page.goto(f"{survey.url}/collections/{collection}")
    survey.arrive(collection, 500)
    wait_learnt(page, 500)
    with page.expect_response("**/charts.json") as looked:
        pass
    assert looked.value.json()["answers"] == 500
