"""The page of a panel: joining, a turn, and all other days, in a real browser whose date is set."""

from datetime import UTC, datetime, timedelta
from typing import Any

from playwright.sync_api import Page, expect

from testing.browser.answering import VALUE, sent_to
from testing.browser.axe import violations
from testing.browser.site import WebSite
from tests.browser.conftest import OpenPage

TUESDAY = datetime(2026, 2, 10, 12, tzinfo=UTC)
FIELDS: dict[str, Any] = {"period": "week", "drift": True, "particles": 200}


def visit(page: Page, site: WebSite, collection: str, weeks: int = 0) -> None:
    page.clock.set_fixed_time(TUESDAY + timedelta(weeks=weeks))
    page.goto(site.page(collection))


def join(page: Page) -> None:
    expect(page.get_by_label("Your number")).to_be_hidden()
    page.get_by_label("I agree to join").check()
    page.get_by_role("button", name="Join").click()


def send(page: Page) -> None:
    page.get_by_label("Your number").fill(VALUE)
    page.get_by_label("I agree").check()
    page.get_by_role("button", name="Send one answer").click()


def test_somebody_joins_and_answers_in_each_turn(open_page: OpenPage, site: WebSite) -> None:
    collection = site.create(**FIELDS, panel={"answers": 2, "periods": 2})
    page = open_page()
    visit(page, site, collection)
    expect(page.locator("#panel")).to_contain_text("You answer 2 times within 2 weeks")
    expect(page.locator("#panel")).to_contain_text("That costs ε = 2 in all")
    join(page)
    expect(page.get_by_label("Your number")).to_be_focused()
    expect(page.locator("#spent")).to_contain_text("ε = 2 of 10")
    send(page)
    expect(page.get_by_role("heading", name="Your answer was counted")).to_be_focused()
    expect(page.locator("#result-text")).to_have_text(
        "Your next turn is in the week of 16 February 2026: please come back then."
    )
    visit(page, site, collection)
    expect(page.get_by_role("heading", name="You have answered already")).to_be_visible()
    visit(page, site, collection, weeks=1)
    send(page)
    expect(page.locator("#result-text")).to_have_text("You have had all your turns. Thank you.")
    expect(page.locator("#spent")).to_contain_text("ε = 2 of 10")
    assert site.answers(collection) == 2
    visit(page, site, collection, weeks=2)
    expect(page.locator("#starting")).to_have_text("No answer is due now. You have had all your turns. Thank you.")


def test_on_any_other_day_the_page_says_when_to_come_back(open_page: OpenPage, site: WebSite) -> None:
    collection = site.create(**FIELDS, panel={"answers": 1, "periods": 1500})
    page = open_page()
    tickets = sent_to(page, "/tickets")
    visit(page, site, collection)
    join(page)  # a turn at once has a chance of 1 in 1,500
    for _ in range(2):
        expect(page.locator("#starting")).to_contain_text("No answer is due now. Your next turn is in the week of")
        expect(page.locator("#form")).to_be_hidden()
        expect(page.locator("#spent")).to_contain_text("ε = 1 of 10")
        assert violations(page) == []
        visit(page, site, collection)
    assert tickets == []
    assert site.answers(collection) == 0
