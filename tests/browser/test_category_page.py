"""A person chooses one of some categories in a browser: a real server, a real Chromium, the mouse and the keyboard."""

import json
import re

import pytest
from playwright.sync_api import Page, expect

from testing.browser.axe import check_looks, violations
from testing.browser.site import WebSite
from tests.browser.conftest import OpenPage

NAMES = ["never", "every month", "every <week>", "daily & more", "x" * 100]
"""The last one has no place to break a line at."""


def visit(page: Page, site: WebSite) -> str:
    """Opens the page of a new collection of categories, and returns its id."""
    collection = site.create(family="categorical", categories=NAMES, range=None)
    page.goto(site.page(collection))
    expect(page.locator("#form")).to_be_visible()
    return collection


def send(page: Page) -> None:
    page.get_by_role("button", name="Send one answer").click()


def test_a_choice_is_counted_and_stays_in_the_page(open_page: OpenPage, site: WebSite) -> None:
    page = open_page()
    said: list[str] = []
    page.on("request", lambda request: said.append(f"{request.url} {request.headers} {request.post_data}"))
    collection = visit(page, site)
    page.get_by_label("every <week>").check()
    page.get_by_label("I agree").check()
    send(page)
    expect(page.get_by_role("heading", name="Your answer was counted")).to_be_focused()
    expect(page.locator("#question")).to_contain_text("groups is what you chose: ")
    for name in NAMES:
        expect(page.locator("#question")).to_contain_text(f"“{name}”")
    expect(page.locator("#answer")).to_contain_text("true or not: only you can tell")
    expect(page.locator("#odds")).to_contain_text("people who chose “")
    assert page.locator('input[name="category"]:checked').count() == 0, "the page has forgotten the choice"
    assert site.answers(collection) == 1
    [sent] = [json.loads(line.split(" ")[-1]) for line in said if "/responses" in line.split(" ")[0]]
    assert set(sent) == {"ticket", "answer", "retry_key"}
    assert "week" not in str(said)


def test_without_a_choice_the_page_asks_for_one(open_page: OpenPage, site: WebSite) -> None:
    page = open_page()
    tickets: list[str] = []
    page.on("request", lambda request: tickets.append(request.url) if request.url.endswith("/tickets") else None)
    collection = visit(page, site)
    page.get_by_label("I agree").check()
    send(page)
    expect(page.get_by_role("alert")).to_have_text("Choose one of these first.")
    choices = page.get_by_role("group", name="Your choice")
    expect(choices).to_be_focused()
    assert violations(page) == []
    assert (tickets, site.answers(collection)) == ([], 0)
    choices.get_by_label("never").check()
    send(page)
    expect(page.get_by_role("heading", name="Your answer was counted")).to_be_focused()
    assert site.answers(collection) == 1


def test_the_example_is_of_a_choice(open_page: OpenPage, site: WebSite) -> None:
    page = open_page()
    visit(page, site)
    page.get_by_text("How it works").click()
    expect(page.get_by_role("heading", name="An example with somebody else's choice")).to_be_visible()
    expect(page.get_by_text("Ada chose “never”.")).to_be_visible()
    assert not re.search(r"620|number", page.locator("main").text_content() or "")


def test_arrow_keys_choose(open_page: OpenPage, site: WebSite) -> None:
    page = open_page()
    collection = visit(page, site)
    for key, chosen in (("Tab", None), ("ArrowDown", 1), ("ArrowDown", 2), ("ArrowUp", 1), ("ArrowUp", 0)):
        page.keyboard.press(key)
        marked = [page.get_by_role("radio").nth(number).is_checked() for number in range(len(NAMES))]
        assert marked == [number == chosen for number in range(len(NAMES))]
    for key in ("Tab", "Space", "Tab", "Enter"):
        page.keyboard.press(key)
    expect(page.get_by_role("heading", name="Your answer was counted")).to_be_focused()
    assert site.answers(collection) == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_telephone(open_page: OpenPage, site: WebSite, scheme: str) -> None:
    page = open_page(viewport={"width": 360, "height": 640}, color_scheme=scheme)
    visit(page, site)
    check_looks(page)
    page.get_by_label(NAMES[-1]).check()
    page.get_by_label("I agree").check()
    send(page)
    expect(page.locator("#result")).to_be_visible()
    check_looks(page)
