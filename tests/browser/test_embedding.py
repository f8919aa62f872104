"""The module in a page of another origin, as the documentation embeds it."""

import re
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree

import pytest
from playwright.sync_api import Locator, Page, expect

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


def load(page: Page, origin: str, folder: Path, url: str, collection: str) -> Locator:
    """Opens the other site's page with the documentation's script, and returns where that says what came of it."""
    [example] = blocks("docs/respondents.md", "js")
    example = example.replace("https://survey.example.org", url).replace('"ID"', f'"{collection}"')
    # Nobody waits there for six attempts.
    example = example.replace("{ ledger }", "{ ledger, retry: { attempts: 2, first: 0.1 } }")
    (folder / "page.js").write_text(SCRIPT.format(example=example), encoding="utf-8")
    (folder / "index.html").write_text(PAGE.format(url=url), encoding="utf-8")
    page.goto(origin)
    return page.locator("#said")
