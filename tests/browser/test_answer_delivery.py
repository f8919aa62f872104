"""An answer is sent once, whatever happens to the connection, the browser or the collection in between."""

import json

import pytest
from playwright.sync_api import Page, Route, expect

from testing.browser.answering import (
    STORED,
    agree_and_send,
    sent_to,
    visit,
)
from testing.browser.axe import violations
from testing.browser.site import WebSite
from tests.browser.conftest import OpenPage

BEGIN = """
async (collection) => {
  const { Ledger, decodeJson, parseTicket } = await import("/web/dither.js");
  const reply = await fetch(`/v1/collections/${collection}/tickets`, { method: "POST", body: "{}" });
  const { ticket, query } = parseTicket(decodeJson(await reply.text()));
  await new Ledger().charge(location.origin, collection, ticket, query);
}
"""


def page_with_a_waiting_answer(open_page: OpenPage, site: WebSite, collection: str) -> Page:
    """A page from which no answer comes through, with one that waits."""
    page = open_page()
    page.route("**/responses", lambda route: route.abort())
    visit(page, site, collection)
    agree_and_send(page)
    expect(page.get_by_role("heading", name="Your answer is waiting to be sent")).to_be_visible()
    return page


@pytest.mark.console_errors("net::ERR_INTERNET_DISCONNECTED .*/responses")
def test_offline_then_online_sends_the_same_bytes_once(open_page: OpenPage, site: WebSite) -> None:
    collection = site.create()
    page = open_page()
    responses = sent_to(page, "/responses")

    def lose_the_network(route: Route) -> None:
        reply = route.fetch()
        page.context.set_offline(True)
        route.fulfill(response=reply)

    page.route("**/tickets", lose_the_network)
    visit(page, site, collection)
    agree_and_send(page)
    expect(page.get_by_role("heading", name="Your answer is waiting to be sent")).to_be_focused()
    expect(page.locator("#question")).to_be_empty()  # not before it is sent
    assert site.answers(collection) == 0
    assert len(responses) > 1
    [entry] = page.evaluate(STORED)
    page.context.set_offline(False)
    expect(page.get_by_role("heading", name="Your answer was counted")).to_be_visible()
    assert {request.post_data for request in responses} == {
        json.dumps({name: entry[name] for name in ("ticket", "answer", "retry_key")}, separators=(",", ":"))
    }
    assert site.answers(collection) == 1


@pytest.mark.console_errors("net::ERR_FAILED .*/responses")
def test_an_answer_that_waits_is_sent_at_the_next_visit(open_page: OpenPage, site: WebSite) -> None:
    collection = site.create()
    page = page_with_a_waiting_answer(open_page, site, collection)
    assert violations(page) == []
    page.unroute("**/responses")
    page.reload()
    expect(page.get_by_role("heading", name="Your answer was counted")).to_be_visible()
    assert site.answers(collection) == 1


@pytest.mark.console_errors("net::ERR_FAILED .*/responses")
def test_the_button_sends_what_waits_once_the_network_is_back(open_page: OpenPage, site: WebSite) -> None:
    """Also where the browser does not notice that it is."""
    collection = site.create()
    page = open_page()
    page.route("**/responses", lambda route: route.abort())
    visit(page, site, collection)
    agree_and_send(page)
    again = page.get_by_role("button", name="Send it now")
    again.click()
    expect(page.locator("#pending-status")).to_contain_text("Still no connection.")
    assert violations(page) == []
    page.unroute("**/responses")
    again.click()
    expect(page.get_by_role("heading", name="Your answer was counted")).to_be_focused()
    expect(page.locator("#end")).to_have_text("You can close this page.")
    assert site.answers(collection) == 1


@pytest.mark.console_errors("net::ERR_FAILED .*/tickets")
def test_without_a_ticket_the_same_button_tries_again(open_page: OpenPage, site: WebSite) -> None:
    collection = site.create()
    page = open_page()
    page.route("**/tickets", lambda route: route.abort())
    visit(page, site, collection)
    agree_and_send(page)
    expect(page.get_by_role("alert")).to_contain_text("Nothing was sent: try again when you are online.")
    page.unroute("**/tickets")
    page.get_by_role("button", name="Send one answer").click()
    expect(page.get_by_role("heading", name="Your answer was counted")).to_be_focused()
    assert site.answers(collection) == 1


@pytest.mark.console_errors("net::ERR_FAILED .*/responses")
def test_a_reply_that_was_lost_counts_once(open_page: OpenPage, site: WebSite) -> None:
    """The server stored the answer, and the browser did not hear of it."""
    collection = site.create()
    page = open_page()
    lost = []

    def lose_the_first_reply(route: Route) -> None:
        route.fetch()
        lost.append(route.request.post_data)
        if len(lost) == 1:
            route.abort()
        else:
            route.continue_()

    page.route("**/responses", lose_the_first_reply)
    visit(page, site, collection)
    agree_and_send(page)
    expect(page.get_by_role("heading", name="Your answer was counted")).to_be_visible()
    assert len(lost) == 2
    assert len(set(lost)) == 1
    assert site.answers(collection) == 1


def test_what_was_begun_is_finished_without_another_charge(open_page: OpenPage, site: WebSite) -> None:
    """The browser ended between the charge and the draw."""
    collection = site.create()
    page = open_page()
    visit(page, site, collection)
    page.evaluate(BEGIN, collection)
    tickets = sent_to(page, "/tickets")
    visit(page, site, collection)
    expect(page.locator("#charges")).to_contain_text("begun, not finished")
    agree_and_send(page)
    expect(page.get_by_role("heading", name="Your answer was counted")).to_be_visible()
    expect(page.locator("#spent")).to_contain_text("ε = 1 of 10")
    assert tickets == []
    assert site.answers(collection) == 1


@pytest.mark.console_errors("net::ERR_FAILED .*/responses", r"status of 4\d\d .*/responses")
def test_an_answer_that_came_too_late_is_not_drawn_again(open_page: OpenPage, site: WebSite) -> None:
    collection = site.create()
    page = page_with_a_waiting_answer(open_page, site, collection)
    page.unroute("**/responses")
    site.set_state(collection, "closed")
    page.reload()
    expect(page.get_by_role("heading", name="Your answer came too late")).to_be_visible()
    expect(page.locator("#charges")).to_contain_text("came too late")
