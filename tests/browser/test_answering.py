"""A person answers in a browser: a real server, a real Chromium, and nothing of the value anywhere but in the page."""

import json
import re

import pytest
from playwright.sync_api import expect

from testing.browser.answering import (
    CHARGE,
    LAPLACE,
    STORED,
    VALUE,
    agree_and_send,
    sent_to,
    visit,
)
from testing.browser.axe import violations
from testing.browser.site import WebSite
from tests.browser.conftest import OpenPage


def test_an_answer_is_counted_and_shown_and_a_second_visit_is_refused(open_page: OpenPage, site: WebSite) -> None:
    collection = site.create()
    page = open_page()
    tickets = sent_to(page, "/tickets")
    visit(page, site, collection)
    assert tickets == []  # the question is not known before consent
    agree_and_send(page)
    result = page.locator("#result")
    expect(result.get_by_role("heading", name="Your answer was counted")).to_be_focused()
    expect(result).to_contain_text("Is your value above")
    expect(result).to_contain_text(re.compile(r"73 of 100 people with a value .+, and 27 of 100 with a value"))
    expect(page.locator("#receipt")).to_have_text(re.compile(r"[0-9a-f]{32}"))
    expect(page.locator("#charges")).to_contain_text("sent")
    expect(page.locator("#spent")).to_contain_text("ε = 1 of 10")
    expect(page.locator("#form")).to_be_hidden()
    expect(result).to_contain_text("You can close this page.")
    assert site.answers(collection) == 1
    page.reload()
    expect(page.get_by_role("heading", name="You have answered already")).to_be_visible()
    expect(page.locator("#form")).to_be_hidden()
    assert len(tickets) == 1
    assert site.answers(collection) == 1


def test_fewer_than_10_of_100_have_a_decimal(open_page: OpenPage, site: WebSite) -> None:
    """The true one of 40 answers has the probability e / (e + 39), each other 1 / (e + 39): not 7 of 100 and 2."""
    collection = site.create(mechanism="randomized_response", policy="fixed:0:1000", levels=39)
    page = open_page()
    visit(page, site, collection)
    agree_and_send(page)
    expect(page.locator("#odds")).to_contain_text(re.compile(r"^6\.5 of 100 people .+, and 2\.4 of 100 with"))


@pytest.mark.console_errors(r"net::ERR_FAILED .*/answer\.js")
def test_whoever_has_answered_never_sees_the_form(open_page: OpenPage, site: WebSite) -> None:
    """Not even while the page's scripts are on their way; unless the ledger is lost, which decides."""
    collection = site.create()
    page = open_page()
    visit(page, site, collection)
    agree_and_send(page)
    expect(page.get_by_role("heading", name="Your answer was counted")).to_be_visible()
    blocked = re.compile("/answer/answer.js")
    page.route(blocked, lambda route: route.abort())
    page.reload()
    expect(page.locator("#form")).to_be_hidden()
    page.goto(site.page(site.create()))
    expect(page.locator("#form")).to_be_visible()  # another collection's is there before the scripts
    page.unroute(blocked)
    page.evaluate("() => new Promise((done) => { indexedDB.deleteDatabase('dither').onsuccess = done; })")
    visit(page, site, collection)


def test_the_dashboard_beside_it_counts_one_more(open_page: OpenPage, site: WebSite) -> None:
    collection = site.create(visibility="public")
    dashboard = open_page()
    dashboard.goto(f"{site.url}/collections/{collection}")
    for answers in (1, 2):
        page = open_page()
        visit(page, site, collection)
        agree_and_send(page)
        expect(dashboard.locator(f'[data-answers="{answers}"]')).to_be_visible()
        assert site.answers(collection) == answers


def test_the_value_is_nowhere_but_in_the_page(open_page: OpenPage, site: WebSite) -> None:
    page = open_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("request", lambda request: said.append(f"{request.url} {request.headers} {request.post_data}"))
    visit(page, site, site.create())
    agree_and_send(page)
    expect(page.locator("#result")).to_be_visible()
    assert page.get_by_label("Your number").input_value() == ""
    said += [json.dumps(page.evaluate(STORED)), json.dumps(page.evaluate("() => ({...localStorage})")), page.content()]
    said.append(page.evaluate("() => location.href + document.cookie + JSON.stringify(history.state)"))
    assert "responses" in str(said)
    assert VALUE not in str(said)
    urls = [line.split(" ")[0] for line in said if line.startswith("http")]
    assert all(url.startswith(site.url) for url in urls)


def test_the_ledger_names_collections(open_page: OpenPage, site: WebSite) -> None:
    first, second = site.create(name="Rents <b>"), site.create(name="Wages")
    page = open_page()
    for collection in (first, second):
        visit(page, site, collection)
        agree_and_send(page)
        expect(page.locator("#result")).to_be_visible()
    page.get_by_text("Your ledger").click()
    expect(page.locator("#charges th")).to_have_text(["Rents <b>", "Wages (this one)"])
    page.evaluate(CHARGE, json.dumps(LAPLACE))  # as versions did that kept no names
    page.reload()
    expect(page.locator("#charges th")).to_have_text(["Rents <b>", "Wages (this one)", "other"])


def test_an_invitation_is_a_link(open_page: OpenPage, site: WebSite) -> None:
    """The code is in no request but the one for the ticket, and not in the address while the page is read."""
    collection = site.create(admission="invite")
    code, other = site.invitation(collection), site.invitation(collection)
    page = open_page()
    requests: list[str] = []
    page.on("request", lambda request: requests.append(f"{request.url} {request.headers} {request.post_data}"))
    page.goto(f"{site.page(collection)}#{other}")
    field = page.get_by_label("The code of your invitation")
    expect(field).to_have_value(other)
    page.goto(f"{site.page(collection)}#{code}")  # another link in the same page
    expect(field).to_have_value(code)
    assert page.url == site.page(collection)
    assert code not in str(requests)
    agree_and_send(page)
    expect(page.get_by_role("heading", name="Your answer was counted")).to_be_focused()
    assert [code in line for line in requests if "/tickets" in line] == [True]
    assert not any(code in line for line in requests if "/tickets" not in line)
    assert site.answers(collection) == 1


def test_what_is_no_code_is_not_filled_in(open_page: OpenPage, site: WebSite) -> None:
    page = open_page()
    page.goto(f"{site.page(site.create(admission='invite'))}#<b>")
    expect(page.get_by_label("The code of your invitation")).to_have_value("")
    page.goto(f"{site.page(site.create())}#example")
    expect(page.locator("#form")).to_be_visible()
    assert page.url.endswith("#example")


def test_a_choice_of_epsilon_is_what_is_asked_and_charged(open_page: OpenPage, site: WebSite) -> None:
    page = open_page()
    tickets = sent_to(page, "/tickets")
    visit(page, site, site.create(epsilon_choices=[0.5, 1, 2]))
    page.get_by_label("How private should it be?").select_option("0.5")
    agree_and_send(page)
    expect(page.locator("#spent")).to_contain_text("ε = 0.5 of 10")
    assert tickets[0].post_data == '{"epsilon":0.5}'


def test_the_cap_of_the_browser_holds_over_collections(open_page: OpenPage, site: WebSite) -> None:
    collection = site.create()
    page = open_page()
    visit(page, site, collection)
    page.evaluate(CHARGE, json.dumps(LAPLACE | {"epsilon": 9.5}))
    agree_and_send(page)
    expect(page.get_by_role("alert")).to_contain_text("costs ε = 1, and ε = 9.5 of the 10 allowed in total is spent")
    assert site.answers(collection) == 0


def test_a_browser_without_a_database_is_told(open_page: OpenPage, site: WebSite) -> None:
    page = open_page()
    page.add_init_script("Object.defineProperty(window, 'indexedDB', { value: undefined })")
    page.goto(site.page(site.create()))
    expect(page.locator("#starting")).to_contain_text(
        "You cannot answer here. This browser cannot keep the record of what you spend; perhaps its window is a "
        "private one. Details: the ledger in this browser cannot be used"
    )
    expect(page.locator("#form")).to_be_hidden()


def test_a_collection_that_is_not_open_says_so(open_page: OpenPage, site: WebSite) -> None:
    collection = site.create()
    site.set_state(collection, "paused")
    page = open_page()
    page.goto(site.page(collection))
    expect(page.locator("#closed")).to_contain_text("takes no new answers now")
    expect(page.locator("#form")).to_have_count(0)
    assert violations(page) == []


@pytest.mark.console_errors("status of 409 .*/tickets")
def test_a_collection_that_is_full_says_so_and_keeps_what_was_answered(open_page: OpenPage, site: WebSite) -> None:
    collection = site.create(max_answers=1)
    page, late = open_page(), open_page()
    visit(page, site, collection)
    visit(late, site, collection)
    agree_and_send(page)
    expect(page.get_by_role("heading", name="Your answer was counted")).to_be_visible()
    agree_and_send(late)
    expect(late.get_by_role("alert")).to_contain_text("has all the answers")
    late.reload()
    expect(late.locator("#closed")).to_have_text("This collection is full: it takes no new answers.")
    page.reload()
    expect(page.get_by_role("heading", name="You have answered already")).to_be_visible()
