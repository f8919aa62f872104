"""A person answers in a browser: a real server, a real Chromium, and nothing of the value anywhere but in the page."""

import json
import math
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, Request, Route, expect

from testing.browser.axe import violations
from testing.browser.site import WebSite, open_web_site
from tests.browser.conftest import OpenPage

VALUE = "483.2519"
LAPLACE = {"mechanism": "laplace", "low": 499.5, "high": 500.5, "levels": 1, "epsilon": 1, "transform": "identity"}
STORED = """
() => new Promise((resolve) => {
  const opening = indexedDB.open("dither");
  opening.onsuccess = () => {
    const reading = opening.result.transaction("entries").objectStore("entries").getAll();
    reading.onsuccess = () => { opening.result.close(); resolve(reading.result); };
  };
})
"""

CHARGE = """
async (text) => {
  const { Ledger, decodeJson, parseQuery } = await import("/web/dither.js");
  await new Ledger({ maxEpsilon: 10 }).charge("https://other.example", "other", "t", parseQuery(decodeJson(text)));
}
"""

BEGIN = """
async (collection) => {
  const { Ledger, decodeJson, parseTicket } = await import("/web/dither.js");
  const reply = await fetch(`/v1/collections/${collection}/tickets`, { method: "POST", body: "{}" });
  const { ticket, query } = parseTicket(decodeJson(await reply.text()));
  await new Ledger().charge(location.origin, collection, ticket, query);
}
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebSite]:
    with open_web_site(tmp_path_factory.mktemp("site")) as site:
        yield site


def visit(page: Page, site: WebSite, collection: str) -> None:
    page.goto(site.page(collection))
    expect(page.locator("#form")).to_be_visible()


def agree_and_send(page: Page, value: str = VALUE) -> None:
    page.get_by_label("Your number").fill(value)
    page.get_by_label("I agree").check()
    page.get_by_role("button", name="Send one answer").click()


def unfold(page: Page) -> None:
    """Opens everything that is folded away."""
    for summary in page.locator("details:not([hidden]):not([open]) > summary").all()[::-1]:
        summary.click()


def sent_to(page: Page, end: str) -> list[Request]:
    """The requests to addresses with this end, as they come."""
    found: list[Request] = []
    page.on("request", lambda request: found.append(request) if request.url.endswith(end) else None)
    return found


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


def test_an_answer_that_waits_is_sent_at_the_next_visit(open_page: OpenPage, site: WebSite) -> None:
    collection = site.create()
    page = open_page()
    page.route("**/responses", lambda route: route.abort())
    visit(page, site, collection)
    agree_and_send(page)
    expect(page.get_by_role("heading", name="Your answer is waiting to be sent")).to_be_visible()
    assert violations(page) == []
    page.unroute("**/responses")
    page.reload()
    expect(page.get_by_role("heading", name="Your answer was counted")).to_be_visible()
    assert site.answers(collection) == 1


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


ANSWER = """
async ([collection, first]) => {
  const { Client, Ledger } = await import("/web/dither.js");
  const ledger = new Ledger({ name: `price ${first}`, maxEpsilon: 50 });
  const client = new Client(location.origin, { ledger });
  try {
    if (first) await client.terms(collection);
    await client.answer(collection, 540);
    return "answered";
  } catch (error) {
    return [error.name, error.message, (await ledger.entries()).length];
  }
}
"""


@pytest.mark.parametrize("first", [False, True])
def test_the_terms_are_the_price(open_page: OpenPage, site: WebSite, first: bool) -> None:
    """The server says 0.1 and asks 1,000 cuts at ε = 10; the module is told nothing else."""
    collection = site.create(mechanism="randomized_response", epsilon=0.1)
    page = open_page()
    responses = sent_to(page, "/responses")
    query = {"mechanism": "randomized_response", "cuts": list(range(1000)), "epsilon": 10, "transform": "identity"}
    ticket = {"ticket": "t", "expires_at": "2026-02-01T12:00:00.000Z", "query": query}
    page.route("**/tickets", lambda route: route.fulfill(status=201, json=ticket))
    page.goto(site.page(collection))
    says = "this question costs ε = 10, more than the ε = 0.1 that the collection's terms say"
    assert page.evaluate(ANSWER, [collection, first]) == ["OverCap", says, 0]
    assert responses == []


@pytest.mark.parametrize("first", [False, True])
def test_a_price_that_rises_is_refused(open_page: OpenPage, site: WebSite, first: bool) -> None:
    """What was told first is kept; without that, the terms that rose are the first ones."""
    collection = site.create(epsilon=0.1)
    page = open_page()
    page.goto(site.page(collection))
    asked = []

    def raise_it(route: Route) -> None:
        terms = route.fetch().json()
        asked.append(route.request.url)
        route.fulfill(json={**terms, "epsilon": 0.1 if first and len(asked) == 1 else 10})

    page.route(f"**/v1/collections/{collection}", raise_it)
    outcomes = page.evaluate(TWICE, collection)
    raised = ["BadResponse", "the server has raised the price of this collection, which never changes: its terms said "]
    assert outcomes == (["0.1", raised] if first else ["10", "10"])


TWICE = """
async (collection) => {
  const { Client, Ledger, epsilonText } = await import("/web/dither.js");
  const outcomes = [];
  for (const _ of [1, 2]) {
    try {
      const client = new Client(location.origin, { ledger: new Ledger({ name: "twice" }) });
      outcomes.push(epsilonText((await client.terms(collection)).microEpsilon));
    } catch (error) {
      outcomes.push([error.name, error.message.split("ε")[0]]);
    }
  }
  return outcomes;
}
"""

MALICIOUS = [
    (json.dumps(LAPLACE | {"low": "@"}).replace('"@"', "NaN"), "not strict JSON"),
    (json.dumps(LAPLACE | {"low": 501, "high": 499}), "low must be below high"),
    (json.dumps(LAPLACE | {"epsilon": 1.5}), "more than the ε = 1 that the collection's terms say"),
    (json.dumps(LAPLACE | {"epsilon": 60}), "epsilon must be at most 50"),
    (
        '{"mechanism": "randomized_response", "cuts": [2, 1], "epsilon": 1, "transform": "identity"}',
        "cuts must increase strictly",
    ),
    (
        '{"mechanism": "staircase", "cuts": [0, 1], "sets": [[0], [1]], "weights": [1, 1], "epsilon": 1}',
        "must have the same sum for every cell",
    ),
    (
        '{"mechanism": "gaussian", "low": 0, "high": 1, "levels": 4, "rho": 0.25, "epsilon": 0.5}',
        "epsilon must be at least 0.692573",
    ),
]


def test_malicious_questions_are_refused_with_the_reason(open_page: OpenPage, site: WebSite) -> None:
    page = open_page()
    asked: list[str] = []
    responses = sent_to(page, "/responses")

    def ask(route: Route) -> None:
        body = f'{{"ticket": "t", "expires_at": "2026-02-01T12:00:00.000Z", "query": {asked[-1]}}}'
        route.fulfill(status=201, content_type="application/json", body=body)

    page.route("**/tickets", ask)
    visit(page, site, site.create())
    for question, reason in MALICIOUS:
        asked.append(question)
        agree_and_send(page)
        expect(page.get_by_role("alert")).to_contain_text(reason)
        expect(page.locator("#working")).to_be_empty()
    assert responses == []
    assert page.evaluate(STORED) == []
    asked.append(json.dumps(LAPLACE))  # a proper question passes: the refusals were of what was asked
    agree_and_send(page)
    expect(page.locator("#working")).to_be_empty()
    assert len(responses) == 1


def test_what_is_missing_is_said_beside_where_it_belongs(open_page: OpenPage, site: WebSite) -> None:
    page = open_page()
    tickets = sent_to(page, "/tickets")
    visit(page, site, site.create())
    for wrong, says in {
        "": "Write your number first.",
        " ": "Write your number first.",
        **dict.fromkeys(("12,5,0", "1 00", "abc", "1e999", "NaN"), "Your number must be a finite number, such as 42"),
    }.items():
        agree_and_send(page, wrong)
        expect(page.get_by_role("alert")).to_contain_text(says)
        expect(page.get_by_label("Your number")).to_be_focused()
    page.get_by_label("I agree").uncheck()
    page.get_by_label("Your number").fill(VALUE)
    page.get_by_role("button", name="Send one answer").click()
    expect(page.get_by_role("alert")).to_contain_text("agree that one answer is sent")
    expect(page.get_by_label("I agree")).to_be_focused()
    assert violations(page) == []
    assert tickets == []


SPENDING = {
    "name": "Food spending",
    "question": "How much did you spend on food last week?",
    "unit": "€",
    "period_of_value": "per week",
    "minimum": 0,
    "maximum": 10_000,
    "decimals": 2,
    "organisation": "The statistical office of Exampleland",
    "contact": "survey@example.org",
    "privacy_url": "https://example.org/privacy",
    "thank_you": "Thank you! The results are published in May.",
    "mechanism": "randomized_response",
}
"""A survey as a statistical office would ask it."""


def test_a_value_out_of_bounds_is_refused_before_any_request(open_page: OpenPage, site: WebSite) -> None:
    """Not even the terms are asked for: a refusal cannot be told from somebody who reads the page."""
    collection = site.create(**SPENDING)
    page = open_page()
    visit(page, site, collection)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    for typed, says in {
        "-5": "Your number must be from 0 to 10,000 here: please check it. Nothing was sent.",
        "12.3456": "Your number must have at most 2 decimals. Nothing was sent.",
        "1000000000": "Your number must be from 0 to 10,000 here",
    }.items():
        agree_and_send(page, typed)
        expect(page.get_by_role("alert")).to_contain_text(says)
        expect(page.get_by_label("Your number")).to_be_focused()
    assert requests == []
    assert page.evaluate(STORED) == []
    assert violations(page) == []
    agree_and_send(page, "9.999,50 €")  # the refusals were of what was typed
    expect(page.locator("#thanks")).to_be_visible()
    assert site.answers(collection) == 1


def test_what_is_said_of_a_field_goes_once_it_is_changed(open_page: OpenPage, site: WebSite) -> None:
    """Otherwise a number that is right stands above words that it is wrong."""
    page = open_page(viewport={"width": 360, "height": 640})
    visit(page, site, site.create(**SPENDING))
    field, alert = page.get_by_label("Your number"), page.get_by_role("alert")
    for typed in ("abc", "12\n50", "😀", "NaN"):
        agree_and_send(page, typed)
        expect(alert).to_contain_text("must be a finite number")
        expect(field).to_have_attribute("aria-invalid", "true")
    page.get_by_label("I agree").uncheck()
    expect(alert).to_contain_text("must be a finite number")  # another field's change says nothing of this one
    field.fill("120 €")
    expect(alert).to_have_text("")
    assert field.get_attribute("aria-invalid") is None


def test_what_a_screen_reader_is_told(open_page: OpenPage, site: WebSite) -> None:
    """Chromium's own accessibility tree, which it hands to screen readers: names, descriptions and what is wrong."""
    page = open_page()
    visit(page, site, site.create(**SPENDING))
    told = spoken(page)
    assert {("heading", "Food spending"), ("button", "Send one answer")} <= told.keys()
    assert "From 0 to 10,000" in told["textbox", "Your number"]["description"]
    [consent] = [each for role, each in told if role == "checkbox"]
    assert consent.startswith("I agree")
    assert told["DisclosureTriangle", "Who could learn your number?"]["expanded"] is False
    assert told["textbox", "Your number"]["invalid"] == "false"
    agree_and_send(page, "abc")
    expect(page.get_by_role("alert")).to_contain_text("must be a finite number")
    wrong = spoken(page)["textbox", "Your number"]
    assert (wrong["invalid"], wrong["focused"]) == ("true", True)
    assert "must be a finite number" in wrong["description"]
    agree_and_send(page, "120 €")
    expect(page.get_by_role("heading", name="Your answer was counted")).to_be_focused()
    assert spoken(page)["heading", "Your answer was counted"]["focused"] is True


def spoken(page: Page) -> dict[tuple[str, str], dict[str, Any]]:
    """What the accessibility tree has of each element with a name: its description and its properties."""
    network = page.context.new_cdp_session(page)
    nodes = network.send("Accessibility.getFullAXTree")["nodes"]
    return {
        (node["role"]["value"], node["name"]["value"]): {
            "description": node.get("description", {}).get("value", ""),
            **{each["name"]: each["value"].get("value") for each in node.get("properties", [])},
        }
        for node in nodes
        if not node["ignored"] and node.get("name", {}).get("value")
    }


def test_what_could_mean_two_numbers_is_told_as_it_is_typed(open_page: OpenPage, site: WebSite) -> None:
    page = open_page()
    visit(page, site, site.create())
    understood = page.locator("#understood")
    for typed, says in {
        "1,250": "Understood as 1250, not as 1.25.",
        "1.250": "Understood as 1.25, not as 1250.",
        "−999.999": "Understood as −999.999, not as −999999.",
        "1,250.50": "",
        "1.250,00": "",
        "120 €": "",
        "12,5": "",
        "abc": "",
    }.items():
        page.get_by_label("Your number").fill(typed)
        expect(understood).to_have_text(says)
    page.goto(site.page(site.create(**SPENDING)))
    page.get_by_label("Your number").fill("1.250")
    expect(understood).to_have_text("Understood as 1250, not as 1.25.")  # for three decimals there is no place
    assert violations(page) == []
    agree_and_send(page, "1.250")
    expect(page.locator("#result")).to_be_visible()
    assert "1250" not in page.content()


def test_a_survey_has_its_words_where_they_belong(open_page: OpenPage, site: WebSite) -> None:
    """The question is the first thing after the title; numbers afterwards have no more decimals than the field."""
    page = open_page()
    visit(page, site, site.create(**SPENDING))
    expect(page.locator("h1 + #ask")).to_have_text("How much did you spend on food last week?")
    expect(page.get_by_role("form", name="How much did you spend on food last week?")).to_be_visible()
    field = page.get_by_label("Your number")
    expect(field).to_have_accessible_description(re.compile("€ per week From 0 to 10,000, with up to 2 decimals."))
    who = page.get_by_role("region", name="Who asks")
    expect(who).to_contain_text("The statistical office of Exampleland")
    expect(who).to_contain_text("Contact: survey@example.org")
    expect(who.get_by_role("link")).to_have_attribute("href", "https://example.org/privacy")
    expect(page.locator("#thanks")).to_be_hidden()
    agree_and_send(page, "120,50 €")
    expect(page.locator("#thanks")).to_be_visible()
    expect(page.locator("#thanks")).to_have_text("Thank you! The results are published in May.")
    for told in ("#question", "#odds"):
        words = page.locator(told).inner_text()
        assert re.search(r"(?:above|up to|between|exactly) [0-9][0-9,.]* €", words), words
    numbers = re.findall(r"[0-9][0-9,.]*", page.locator("#question").inner_text())
    assert numbers
    assert all(re.fullmatch(r"[0-9,]+(\.[0-9]{1,2})?", number.rstrip(".,")) for number in numbers), numbers


WORDS = """
async ([text, decimals]) => {
  const { decodeJson, parseQuery, questionText } = await import("/web/dither.js");
  return questionText(parseQuery(decodeJson(text)), [], decimals);
}
"""


def test_cuts_are_shown_so_that_values_with_so_many_decimals_lie_where_it_says(
    open_page: OpenPage, site: WebSite
) -> None:
    """Rounded down: of whole numbers, exactly those above 12 are above 12.703125."""
    page = open_page()
    page.goto(site.page(site.create()))
    cuts = {"mechanism": "randomized_response", "cuts": [-0.25, 12.703125, 1234.5], "epsilon": 1}
    for decimals, words in {
        None: "up to −0.25; above −0.25 and up to about 12.703; above about 12.703 and up to 1234.5; above 1234.5",
        0: "up to −1; above −1 and up to 12; above 12 and up to 1,234; above 1,234",
        1: "up to −0.3; above −0.3 and up to 12.7; above 12.7 and up to 1,234.5; above 1,234.5",
        6: "up to −0.25; above −0.25 and up to 12.703125; above 12.703125 and up to 1,234.5; above 1,234.5",
    }.items():
        assert page.evaluate(WORDS, [json.dumps(cuts), decimals]).endswith(f"lie: {words}?")


ODDS = """
async ([text, answer]) => {
  const { answerText, decodeJson, odds, parseQuery } = await import("/web/dither.js");
  const query = parseQuery(decodeJson(text));
  return [answerText(query, answer), ...odds(query, answer).map((each) => each.who)];
}
"""


IN_UNITS = """
async ([text, answer, components]) => {
  const { answerText, decodeJson, odds, parseQuery, questionText } = await import("/web/dither.js");
  const query = parseQuery(decodeJson(text));
  const told = [[], null, "en", components, components.length ? "" : "€"];
  return [questionText(query, ...told), answerText(query, answer, ...told), odds(query, answer, ...told)[0].who];
}
"""


@pytest.mark.parametrize(
    ("query", "components", "words"),
    [
        (
            {"mechanism": "laplace", "low": 20, "high": 40, "levels": 1},
            (),
            ["Is your value above 30 €?", "yes", "above 30 €"],
        ),
        (
            {"mechanism": "laplace", "low": 20, "high": 40, "levels": 2},
            (),
            ["Where between 20 € and 40 € does your value lie?", "about 30 €", "above 25 € and up to 35 €"],
        ),
        (
            {
                "mechanism": "component",
                "component": 1,
                "query": {"mechanism": "laplace", "low": 20, "high": 40, "levels": 1},
            },
            ("wage", "age"),
            ["“age”: Is your value above 30 years?", "yes", "above 30 years"],
        ),
    ],
)
def test_numbers_have_their_unit(
    open_page: OpenPage, site: WebSite, query: dict[str, Any], components: tuple[str, ...], words: list[str]
) -> None:
    page = open_page()
    page.goto(site.page(site.create()))
    described = [{"name": name, "decimals": None, "unit": "years"} for name in components]
    asked = {
        key: {**each, "epsilon": 1, "transform": "identity"} if key == "query" else each for key, each in query.items()
    }
    text = json.dumps({**asked, "epsilon": 1, "transform": "identity"})
    assert page.evaluate(IN_UNITS, [text, 1, described]) == words


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


def test_a_number_that_is_rounded_is_said_to_be(open_page: OpenPage, site: WebSite) -> None:
    """No more is claimed than what the edges are: 412.7 is not above 412.7031."""
    page = open_page()
    page.goto(site.page(site.create()))
    for query, decimals, words in [
        (LAPLACE | {"low": 412.6, "high": 412.80625}, None, "Is your value above about 412.7?"),
        (LAPLACE | {"low": 412, "high": 413}, None, "Is your value above 412.5?"),
        (LAPLACE | {"low": 412.6, "high": 412.80625}, 1, "Is your value above 412.7?"),  # the same for such values
        (LAPLACE | {"low": 5, "high": 6, "transform": "log"}, None, "Is your value above about 244.69?"),
        (LAPLACE | {"low": 0.25, "high": 9, "levels": 4}, 0, "Where between about 0 and 9 does your value lie?"),
    ]:
        assert page.evaluate(WORDS, [json.dumps(query), decimals]) == words
    points = LAPLACE | {"low": 0, "high": 10, "levels": 4}
    said = [page.evaluate(ODDS, [json.dumps(points), answer])[0] for answer in (0, 1, 4)]
    assert said == ["about 0 or below", "about 2.5", "about 10 or above"]


def test_a_point_that_many_people_have_is_told_as_that(open_page: OpenPage, site: WebSite) -> None:
    """A value equal to a cut lies below it: a point's cell is between the float before it and itself."""
    page = open_page()
    page.goto(site.page(site.create()))

    def asked(*cuts: float, decimals: int | None = None, **more: Any) -> str:
        query = {"mechanism": "randomized_response", "cuts": cuts, "epsilon": 1} | more
        text: str = page.evaluate(WORDS, [json.dumps(query), decimals])
        return text.partition(": ")[2].rstrip("?") or text

    wage, zero, most = (math.nextafter(point, -math.inf) for point in (450.5, 0, 1000))
    for decimals, exactly, rounded in ((None, "450.5", "450.5"), (2, "450.5", "450.5"), (0, "450.5", "451")):
        assert asked(wage, 450.5, 600, decimals=decimals) == (
            f"below {rounded}; exactly {exactly}; above {450 if decimals == 0 else exactly} and up to 600; above 600"
        )
    assert asked(zero, 0, 5) == "below 0; exactly 0; above 0 and up to 5; above 5"
    assert asked(300, wage, 600) == "up to 300; above 300 and below 450.5; at least 450.5 and up to 600; above 600"
    assert asked(500, most) == "up to 500; above 500 and below 1000; at least 1000"
    assert asked(12.7031, 12.70312, 15) == (
        "up to 12.7031; above 12.7031 and up to 12.70312; above 12.70312 and up to 15; above 15"
    )
    cuts = {"mechanism": "randomized_response", "cuts": [300, wage, 450.5, 600], "epsilon": 1}
    assert page.evaluate(ODDS, [json.dumps(cuts), 2]) == [
        "exactly 450.5",
        "exactly 450.5",
        "below 450.5 or above 450.5",
    ]
    sets = {
        "mechanism": "staircase",
        "cuts": [wage, 450.5],
        "sets": [[0], [1], [2]],
        "weights": [1, 1, 1],
        "epsilon": 1,
    }
    assert page.evaluate(ODDS, [json.dumps(sets), 0])[2] == "at least 450.5"


def test_no_number_is_shown_that_nobody_would_write(open_page: OpenPage, site: WebSite) -> None:
    """As the first questions have them, where nobody knows yet where values lie."""
    page = open_page()
    page.goto(site.page(site.create()))
    large, low = "an enormous number", "an enormous negative number"
    wide = f"up to nearly 0; above nearly 0 and up to {large}; above {large}"
    for cuts, transform, decimals, words in [
        ((5e-324, 9.99e299), "identity", None, wide),
        ((-800, 800), "log", None, wide),
        ((1e-200, 1e-100), "identity", None, "up to nearly 0; nearly 0; above nearly 0"),
        ((1e-200, 3), "identity", 0, "up to 0; above 0 and up to 3; above 3"),
        ((-9.99e299, 1e299), "identity", 2, f"up to {low}; above {low} and up to {large}; above {large}"),
    ]:
        query = {"mechanism": "randomized_response", "cuts": cuts, "epsilon": 1, "transform": transform}
        assert page.evaluate(WORDS, [json.dumps(query), decimals]).endswith(f": {words}?")
    threshold = {"mechanism": "randomized_response", "cuts": [1e-250], "epsilon": 1}
    assert "up to nearly 0; above nearly 0" in page.evaluate(WORDS, [json.dumps(threshold), None])


def test_the_keyboard_is_enough(open_page: OpenPage, site: WebSite) -> None:
    collection = site.create()
    page = open_page()
    visit(page, site, collection)
    page.locator("summary", has_text="How it works").focus()
    for key in ("Enter", "Tab", "Enter"):
        page.keyboard.press(key)
    expect(page.locator("#tried")).to_contain_text("of 20")
    page.get_by_label("Your number").focus()
    for key in (*"-12.5", "Tab", "Space", "Tab", "Enter"):
        page.keyboard.press(key)
    expect(page.get_by_role("heading", name="Your answer was counted")).to_be_focused()
    assert site.answers(collection) == 1


def test_an_example_lies_as_often_as_it_says(open_page: OpenPage, site: WebSite) -> None:
    """At ε = 50 never (one chance in 10^20), at ε = 0.001 sometimes in 40 answers (one chance in 10^12 of not)."""
    page = open_page()
    visit(page, site, site.create())
    unfold(page)
    for epsilon, lies in (("50", False), ("0.001", True)):
        page.evaluate("(epsilon) => { document.getElementById('app').dataset.epsilon = epsilon; }", epsilon)
        tried = ""
        for _ in range(2):
            page.get_by_role("button", name="Let Ada's device answer").click()
            tried += page.locator("#tried").inner_text()
        assert ("no" in re.findall(r"\b(yes|no)\b", tried)) is lies


@pytest.mark.parametrize("locale", ["en-GB", "de-DE"])
@pytest.mark.parametrize(
    "more", [{}, {"admission": "invite"}, {"question": None, "unit": None}, {"epsilon_choices": [0.5, 1, 2, 4]}]
)
def test_everything_to_answer_is_on_a_telephone_at_once(
    open_page: OpenPage, site: WebSite, locale: str, more: dict[str, Any]
) -> None:
    """Question, unit, promise, field, consent and button without scrolling, and the promise in one line."""
    page = open_page(viewport={"width": 360, "height": 640}, locale=locale)
    visit(page, site, site.create(**SPENDING | more))
    for part in ("h1", "#value", "#promise", "#consent", "#send"):
        box = page.locator(part).bounding_box()
        assert box
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= 640
    assert page.evaluate("() => document.querySelector('#promise').offsetHeight") < 30
    assert page.evaluate("() => scrollY") == 0


def test_who_could_learn_it_and_the_odds_are_one_tap_away(open_page: OpenPage, site: WebSite) -> None:
    """By the keyboard, too, and before anything is asked of the server."""
    page = open_page()
    requests = sent_to(page, "/tickets")
    visit(page, site, site.create(**SPENDING))
    for name, shows in {
        "Who could learn your number?": "The statistical office of Exampleland No Yes",
        "How much can be guessed from your answer?": "With your answer at most about 73 of 100",
        "How it works": "sometimes false, by chance and on purpose",
    }.items():
        folded = page.locator("details", has_text=name)
        shown = folded.locator("p, tr").filter(has_text=re.compile(shows.replace(" ", r"\s*"))).first
        expect(shown).to_be_hidden()
        folded.locator("summary").focus()
        page.keyboard.press("Enter")
        expect(shown).to_be_visible()
    check_looks(page)
    assert requests == []


@pytest.mark.parametrize(
    ("options", "spec"),
    [
        ({"color_scheme": "light"}, {}),
        ({"color_scheme": "dark"}, {"epsilon_choices": [0.5, 1], "transform": "log", "range": [10, 1000]}),
        ({"viewport": {"width": 360, "height": 640}}, {"mechanism": "staircase", "admission": "invite"}),
        ({"viewport": {"width": 360, "height": 640}, "color_scheme": "dark"}, {"mechanism": "gaussian"}),
        ({"viewport": {"width": 360, "height": 640}, "color_scheme": "dark"}, SPENDING | {"decimals": 4}),
    ],
)
def test_the_page_fits_and_axe_finds_nothing(
    open_page: OpenPage, site: WebSite, options: dict[str, Any], spec: dict[str, Any]
) -> None:
    page = open_page(**options)
    wrong: list[str] = []
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    collection = site.create(**spec)
    visit(page, site, collection)
    check_looks(page)
    unfold(page)
    page.get_by_role("button", name="Let Ada's device answer").click()
    check_looks(page)
    if spec.get("admission") == "invite":
        page.get_by_label("The code of your invitation").fill(site.invitation(collection))
    if "epsilon_choices" in spec:
        page.get_by_label("How private should it be?").select_option("0.5")
    agree_and_send(page)
    expect(page.locator("#result")).to_be_visible()
    check_looks(page)
    assert site.answers(collection) == 1
    assert wrong == []


def check_looks(page: Page) -> None:
    assert violations(page) == []
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


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


def test_an_answer_that_came_too_late_is_not_drawn_again(open_page: OpenPage, site: WebSite) -> None:
    collection = site.create()
    page = open_page()
    page.route("**/responses", lambda route: route.abort())
    visit(page, site, collection)
    agree_and_send(page)
    expect(page.get_by_role("heading", name="Your answer is waiting to be sent")).to_be_visible()
    page.unroute("**/responses")
    site.set_state(collection, "closed")
    page.reload()
    expect(page.get_by_role("heading", name="Your answer came too late")).to_be_visible()
    expect(page.locator("#charges")).to_contain_text("came too late")


def test_without_scripts_the_page_says_what_else_there_is(open_page: OpenPage, site: WebSite) -> None:
    collection = site.create()
    page = open_page(java_script_enabled=False)
    page.goto(site.page(collection))
    expect(page.get_by_text(f"Without it: dither answer {collection}")).to_be_visible()
    expect(page.locator("#form")).to_be_hidden()


def test_the_question_is_there_before_the_script_and_nothing_can_be_sent_yet(
    open_page: OpenPage, site: WebSite
) -> None:
    page = open_page(viewport={"width": 360, "height": 640})
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/answer/answer.js", hold)
    page.goto(site.page(site.create(question="How much did you spend?")), wait_until="commit")
    number, send = page.get_by_label("Your number"), page.get_by_role("button", name="Send one answer")
    expect(page.get_by_role("heading", name="How much did you spend?")).to_be_visible()
    expect(page.locator("#working")).to_have_text("Loading…")
    expect(page.get_by_text("This page needs JavaScript")).to_be_hidden()
    number.fill("1,250")
    number.press("Enter")
    expect(send).to_be_disabled()
    places = [place.bounding_box() for place in (number, send)]
    held[0].continue_()
    expect(send).to_be_enabled()
    expect(page.locator("#working")).to_have_text("")
    expect(number).to_have_value("1,250")
    expect(page.locator("#understood")).to_have_text("Understood as 1250, not as 1.25.")
    number.fill("")
    assert [place.bounding_box() for place in (number, send)] == places


def test_the_question_describes_the_field(open_page: OpenPage, site: WebSite) -> None:
    page = open_page()
    visit(page, site, site.create(question="How much did you spend?", unit="€", minimum=0))
    described = page.get_by_label("Your number")
    expect(described).to_have_accessible_description(re.compile("^How much did you spend[?] € At least 0[.]"))


def test_all_modules_are_asked_for_with_the_page(open_page: OpenPage, site: WebSite) -> None:
    """What a module imports is not found out only once the module is there."""
    page = open_page()
    visit(page, site, site.create())
    preloaded = page.locator("link[rel=modulepreload]").evaluate_all("links => links.map((link) => link.href)")
    fetched = page.evaluate("performance.getEntriesByType('resource').map(({ name }) => name)")
    imported = [name for name in fetched if name.endswith(".js") and not name.endswith("/answer/answer.js")]
    assert sorted(preloaded) == sorted(imported)
    assert len(preloaded) > 10
