"""Three questions about the page, whose right replies are counted as privately as anything else."""

import re

from playwright.sync_api import Page, expect

from testing.browser.axe import violations
from testing.browser.site import WebSite
from tests.browser.conftest import OpenPage

NUMBERS = ["none right", "one right", "two right", "all right"]
RIGHT = ("no", "yes", "no")


def answer(page: Page, site: WebSite, collection: str) -> None:
    page.goto(site.page(collection))
    page.get_by_label("Your number").fill("540")
    page.get_by_label("I agree").check()
    page.get_by_role("button", name="Send one answer").click()
    expect(page.get_by_role("heading", name="Your answer was counted")).to_be_focused()


def test_how_many_were_right_is_one_answer_of_its_own(open_page: OpenPage, site: WebSite) -> None:
    """By the keyboard alone; the replies are in no request, and the ledger has the charge."""
    check = site.create(
        name="Understood", family="categorical", range=None, categories=NUMBERS, epsilon=0.5, visibility="public"
    )
    collection = site.create(pages=[{"page": "label", "check": check}])
    page = open_page(viewport={"width": 360, "height": 640})
    bodies: list[str] = []
    page.on("request", lambda request: bodies.append(request.post_data or ""))
    answer(page, site, collection)
    form = page.get_by_role("form", name="Did this page make it clear?")
    expect(form).to_contain_text("sometimes falsely, at ε = 0.5")
    assert violations(page) == []
    form.get_by_role("button").press("Enter")
    expect(form.get_by_role("status")).to_have_text("Reply to all three first.")
    for item, reply in enumerate(RIGHT, 1):
        form.locator(f'[name="check_{item}"][value="{reply}"]').press("Space")
    expect(form.get_by_role("status")).to_be_empty()
    form.get_by_role("button").press("Enter")
    expect(form.get_by_role("status")).to_contain_text("3 of 3 were right. The right replies are: no, yes, no.")
    expect(form.get_by_role("button")).to_have_count(0)
    expect(form.locator("input:enabled")).to_have_count(0)
    expect(page.locator("#spent")).to_contain_text("ε = 1.5 of 10")
    expect(page.locator("#charges")).to_contain_text("Understood")
    assert violations(page) == []
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    assert (site.answers(collection), site.answers(check)) == (1, 1)
    assert not re.search("check_1|right|yes", " ".join(bodies))
    page.reload()
    expect(page.get_by_role("heading", name="You have answered already")).to_be_visible()
    expect(form).to_be_hidden()


def test_a_page_seen_by_chance_stays_when_it_is_loaded_again(open_page: OpenPage, site: WebSite) -> None:
    """20 loads: that a page changes, were it drawn again, would be missed once in a million."""
    collection = site.create(pages=[{"page": "short"}, {"page": "label"}])
    page = open_page()
    page.goto(f"{site.page(collection)}?embed")
    expect(page.locator("#form")).to_be_visible()
    first = page.locator("#app").get_attribute("data-page")
    expect(page).to_have_url(re.compile(rf"\?embed=&page={first}$"))
    for _ in range(20):
        page.reload(wait_until="commit")
        expect(page.locator("#app")).to_have_attribute("data-page", str(first))
    assert page.context.cookies() == []
    assert violations(page) == []


def test_the_check_is_asked_in_an_embedded_page(open_page: OpenPage, site: WebSite) -> None:
    check = site.create(name="Understood", family="categorical", range=None, categories=NUMBERS)
    collection = site.create(pages=[{"page": "label", "check": check}])
    page = open_page(viewport={"width": 360, "height": 640})
    page.goto(f"{site.page(collection)}?embed")
    page.get_by_label("Your number").fill("540")
    page.get_by_label("I agree").check()
    page.get_by_role("button", name="Send one answer").click()
    form = page.get_by_role("form", name="Did this page make it clear?")
    for item, reply in enumerate(RIGHT, 1):
        form.locator(f'[name="check_{item}"][value="{reply}"]').check()
    form.get_by_role("button").click()
    expect(form.get_by_role("status")).to_contain_text("3 of 3 were right.")
    assert (site.answers(collection), site.answers(check)) == (1, 1)
    assert violations(page) == []
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
