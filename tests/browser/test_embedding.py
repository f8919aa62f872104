"""The module and the page in a page of another origin, as the documentation embeds them."""

import re
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree

import pytest
from playwright.sync_api import Locator, Page, expect

from testing.browser.axe import violations
from testing.browser.site import open_web_site
from testing.reader import blocks
from testing.repository import ROOT
from testing.servers.listening import serving_folder
from tests.browser.conftest import OpenPage

PAGE = """<!doctype html><html lang="en"><meta charset="utf-8">
<meta http-equiv="content-security-policy" content="default-src 'none'; script-src 'self'; connect-src {url}">
<title>Another site</title><main><h1>Another site</h1><p id="said"></p></main>
<script type="module" src="page.js"></script></html>"""
SCRIPT = """{example}
function showPrice(epsilon) {{ document.title = `costs ${{epsilon}}`; }}
function show(...lines) {{ document.getElementById("said").textContent = lines.join(" | "); }}
send(483.25).catch((error) => show(error.name, error.message));
"""


@pytest.fixture
def other_site(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """The origin of a site on another port, and its folder, which has a copy of the module."""
    folder = tmp_path / "other"
    copytree(ROOT / "client" / "dither_client" / "web", folder / "dither")
    with serving_folder(folder) as url:
        yield url, folder


def test_the_documented_example_answers_from_an_origin_that_the_server_knows(
    open_page: OpenPage, other_site: tuple[str, Path], tmp_path: Path
) -> None:
    origin, folder = other_site
    with open_web_site(tmp_path, cors_origins=origin) as site:
        collection = site.create()
        said = load(open_page(), origin, folder, site.url, collection)
        expect(said).to_have_text(re.compile(r"Is your value above .* \| (yes|no) \| [0-9a-f]{32}"))
        assert site.answers(collection) == 1


@pytest.mark.console_errors("blocked by CORS policy", "net::ERR_FAILED", "^no response from the server")
def test_an_origin_that_the_server_does_not_know_is_told_nothing(
    open_page: OpenPage, other_site: tuple[str, Path], tmp_path: Path
) -> None:
    origin, folder = other_site
    with open_web_site(tmp_path) as site:
        collection = site.create()
        page = open_page()
        failed: list[str] = []
        page.on("pageerror", lambda error: failed.append(error.name or ""))
        with page.expect_event("pageerror"):
            load(page, origin, folder, site.url, collection)
        assert failed == ["Unreachable"]
        assert site.answers(collection) == 0


ELEMENT = """<!doctype html><html lang="en"><meta charset="utf-8">
<meta http-equiv="content-security-policy" content="default-src 'none'; script-src 'self'; frame-src {url}">
<title>Another site</title><main><h1>Another site</h1>
{element}</main></html>"""


def show_element(page: Page, origin: str, folder: Path, url: str, collection: str) -> None:
    [example] = blocks("docs/apps.md", "html")
    element = example.replace("https://survey.example.org", url).replace('"ID"', f'"{collection}"')
    (folder / "index.html").write_text(ELEMENT.format(url=url, element=element), encoding="utf-8")
    page.goto(origin)


@pytest.mark.parametrize("width", [360, 1024])
def test_the_element_is_the_page_in_a_frame_as_high_as_it_is(
    open_page: OpenPage, other_site: tuple[str, Path], tmp_path: Path, width: int
) -> None:
    origin, folder = other_site
    with open_web_site(tmp_path, embed_origins=origin) as site:
        collection = site.create()
        page = open_page(viewport={"width": width, "height": 640})
        wrong: list[str] = []
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        show_element(page, origin, folder, site.url, collection)
        frame = page.frame_locator("dither-answer iframe")
        field = frame.get_by_label("Your number")
        expect(field).to_be_visible()
        expect(frame.get_by_role("link", name="All collections")).to_have_count(0)
        fits(page)
        before = height(page)
        for typed in ("1,250", "abc", ""):  # what is typed is not told by the height
            field.fill(typed)
            frame.get_by_role("button", name="Send one answer").click()
            page.wait_for_timeout(100)
            assert height(page) == before
        frame.get_by_text("Who could learn your number?").click()
        fits(page)
        assert height(page) > before
        field.fill("483.25")
        frame.get_by_label("I agree").check()
        frame.get_by_role("button", name="Send one answer").click()
        expect(frame.get_by_role("heading", name="Your answer was counted")).to_be_visible()
        fits(page)
        assert wrong == []
        assert violations(page) == []
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        assert site.answers(collection) == 1


def test_a_frame_of_another_site_has_the_page_in_a_window_of_its_own(
    open_page: OpenPage, other_site: tuple[str, Path], tmp_path: Path
) -> None:
    """Chromium, as Playwright starts it, keeps nothing for 127.0.0.1 in a page of localhost, which is another site."""
    origin, folder = other_site
    origin = origin.replace("127.0.0.1", "localhost")
    with open_web_site(tmp_path, embed_origins=origin) as site:
        collection = site.create()
        page = open_page(viewport={"width": 360, "height": 640})
        show_element(page, origin, folder, site.url, collection)
        frame = page.frame_locator("dither-answer iframe")
        said = frame.locator("#starting")
        expect(said).to_contain_text("This browser keeps nothing for a page that another site shows")
        expect(said).not_to_contain_text("private one")
        expect(frame.locator("#form")).to_be_hidden()
        fits(page)
        assert violations(page) == []
        with page.expect_popup() as opened:
            said.get_by_role("link", name="Open this page in a window of its own").click()
        own = opened.value
        own.get_by_label("Your number").fill("483.25")
        own.get_by_label("I agree").check()
        own.get_by_role("button", name="Send one answer").click()
        expect(own.get_by_role("heading", name="Your answer was counted")).to_be_visible()
        assert site.answers(collection) == 1


def height(page: Page) -> float:
    box = page.locator("dither-answer iframe").bounding_box()
    assert box
    return box["height"]


def fits(page: Page) -> None:
    """Waits until nothing is to be scrolled in the frame, and little is empty."""
    [_, inner] = page.frames
    inner.wait_for_function("() => Math.abs(innerHeight - document.documentElement.offsetHeight) < 2 && scrollY === 0")


def test_the_element_asks_for_its_page_once(open_page: OpenPage, other_site: tuple[str, Path], tmp_path: Path) -> None:
    origin, folder = other_site
    with open_web_site(tmp_path, embed_origins=origin) as site:
        collection, other = site.create(), site.create()
        page = open_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url) if request.is_navigation_request() else None)
        show_element(page, origin, folder, site.url, collection)
        element = page.locator("dither-answer")
        send = page.frame_locator("dither-answer iframe").get_by_role("button", name="Send one answer")
        expect(send).to_be_enabled()  # once all is loaded
        element.evaluate("(element, id) => element.setAttribute('collection', id)", collection)
        assert asked == [f"{origin}/", f"{site.page(collection)}?embed"]
        for shown in (collection, other):
            element.evaluate("element => element.setAttribute('collection', 'no id')")
            expect(page.locator("iframe")).to_have_count(0)
            element.evaluate("(element, id) => element.setAttribute('collection', id)", shown)
            expect(send).to_be_enabled()
        assert asked[2:] == [f"{site.page(shown)}?embed" for shown in (collection, other)]


@pytest.mark.console_errors("frame-ancestors")
def test_a_site_that_is_not_allowed_shows_no_page(
    open_page: OpenPage, other_site: tuple[str, Path], tmp_path: Path
) -> None:
    origin, folder = other_site
    with open_web_site(tmp_path, cors_origins=origin) as site:
        page = open_page()
        with page.expect_console_message(lambda message: "frame-ancestors 'none'" in message.text):
            show_element(page, origin, folder, site.url, site.create())
        expect(page.frame_locator("dither-answer iframe").locator("#form")).to_have_count(0)


def test_an_address_that_cannot_be_is_said(open_page: OpenPage, other_site: tuple[str, Path]) -> None:
    origin, folder = other_site
    page = open_page()
    show_element(page, origin, folder, "http://survey.example.org", "x")
    expect(page.locator("dither-answer")).to_contain_text("https")
    expect(page.locator("iframe")).to_have_count(0)


def load(page: Page, origin: str, folder: Path, url: str, collection: str) -> Locator:
    """Opens the other site's page with the documentation's script, and returns where that says what came of it."""
    [example] = blocks("docs/apps.md", "js")
    example = example.replace("https://survey.example.org", url).replace('"ID"', f'"{collection}"')
    # Nobody waits there for six attempts.
    example = example.replace("{ ledger }", "{ ledger, retry: { attempts: 2, first: 0.1 } }")
    (folder / "page.js").write_text(SCRIPT.format(example=example), encoding="utf-8")
    (folder / "index.html").write_text(PAGE.format(url=url), encoding="utf-8")
    page.goto(origin)
    return page.locator("#said")
