"""The picture of how-it-works.md draws the client's own channel, by keyboard, and leaves its words without scripts."""

import re
from fractions import Fraction
from pathlib import Path

import pytest
from playwright.sync_api import Page
from tests.browser.conftest import OpenPage

from dither_client import Laplace

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def page(open_page: OpenPage) -> Page:
    [place] = re.findall(
        r'<div id="answers-picture">.*?</div>', (DOCS / "how-it-works.md").read_text(), flags=re.DOTALL
    )
    page = open_page()
    page.set_content(place)
    assert "73.1%" in page.inner_text("#answers-picture")
    page.add_script_tag(content=(DOCS / "pictures" / "answers.js").read_text(), type="module")
    page.wait_for_selector("#answers-picture svg")
    return page


def drawn(page: Page) -> list[str]:
    texts = page.locator("#answers-picture svg text").all_text_contents()
    return [text for text in texts if text.endswith("%")]


def channel(cell: int, levels: int, epsilon: str) -> list[str]:
    query = Laplace(low=0.0, high=1.0, levels=levels, epsilon=Fraction(epsilon))
    return [f"{100 * float(chance):.1f}%" for chance in query.channel()[cell]]


def test_the_chances_are_those_of_the_channel(page: Page) -> None:
    assert drawn(page) == channel(1, 1, "1")
    page.get_by_label("levels").press("End")
    assert drawn(page) == channel(4, 6, "1")
    page.get_by_label("ε").press("End")
    assert drawn(page) == channel(4, 6, "8")
    page.get_by_label("value").press("Home")
    assert drawn(page) == channel(0, 6, "8")
