"""A German browser gets a German page: its words, its numbers and what went wrong."""

import json
import re
from collections.abc import Sequence

import pytest
from playwright.sync_api import Page, Route, expect

from testing.browser.answering import visit
from testing.browser.axe import violations
from testing.browser.site import WebSite
from tests.browser.conftest import OpenPage

WORDS = """
async ([text, categories, decimals, answer]) => {
  const { answerText, decodeJson, odds, parseQuery, questionText } = await import("/web/dither.js");
  const query = parseQuery(decodeJson(text));
  const told = [categories, decimals, "de"];
  const who = odds(query, answer, ...told).map((each) => each.who);
  return [questionText(query, ...told), answerText(query, answer, ...told), ...who];
}
"""


@pytest.fixture
def page(open_page: OpenPage) -> Page:
    return open_page(locale="de-DE")


def send(page: Page, value: str) -> None:
    page.get_by_label("Ihre Zahl").fill(value)
    page.get_by_label("Ich stimme zu").check()
    page.get_by_role("button", name="Eine Antwort senden").click()


def test_an_answer_from_first_to_last(page: Page, site: WebSite) -> None:
    collection = site.create(epsilon=0.5)
    visit(page, site, collection)
    assert page.locator("html").get_attribute("lang") == "de"
    send(page, "483,25")
    result = page.locator("#result")
    expect(result.get_by_role("heading", name="Ihre Antwort wurde gezählt")).to_be_focused()
    expect(result).to_contain_text("Vielen Dank.")
    expect(result).to_contain_text("Sie können diese Seite schließen.")
    expect(page.locator("#question")).to_contain_text("Liegt Ihr Wert über")
    expect(page.locator("#answer")).to_have_text(re.compile("^„(ja|nein)“, ob es stimmt oder nicht"))
    expect(page.locator("#odds")).to_have_text(
        re.compile("^62 von 100 Menschen mit einem Wert .* würden diese Antwort senden, und 38 von 100 mit")
    )
    page.get_by_text("Ihr Kontobuch").click()
    expect(page.locator("#ledger")).to_contain_text("Sie haben hier ε = 0,5 von 10 ausgegeben.")
    expect(page.locator("#charges tr")).to_have_text(re.compile(r"Weekly wages \(diese\)\s*0,5\s*gesendet"))
    assert violations(page) == []
    assert site.answers(collection) == 1


def test_a_comma_begins_the_decimals(page: Page, site: WebSite) -> None:
    visit(page, site, site.create())
    understood = page.locator("#understood")
    for typed, says in {
        "1.250": "Verstanden als 1250, nicht als 1,25.",
        "1,250": "Verstanden als 1,25, nicht als 1250.",
        "1.250,50": "",
        "12,5": "",
    }.items():
        page.get_by_label("Ihre Zahl").fill(typed)
        expect(understood).to_have_text(says)
    visit(page, site, site.create(decimals=2))
    page.get_by_label("Ihre Zahl").fill("1,250")
    expect(understood).to_have_text("Verstanden als 1250, nicht als 1,25.")


@pytest.mark.console_errors("net::ERR_FAILED .*/tickets", "status of 409 .*/tickets")
def test_what_went_wrong_is_said_in_german(page: Page, site: WebSite) -> None:
    visit(page, site, site.create(minimum=0, maximum=10_000, decimals=2))
    alert = page.get_by_role("alert")
    for typed, says in {
        "": "Bitte geben Sie zuerst Ihre Zahl ein.",
        "abc": "Ihre Zahl muss eine endliche Zahl sein",
        "-5": "Ihre Zahl muss hier zwischen 0 und 10.000 liegen: Bitte prüfen Sie sie. Es wurde nichts gesendet.",
        "1,2345": "Ihre Zahl darf höchstens 2 Nachkommastellen haben.",
    }.items():
        send(page, typed)
        expect(alert).to_contain_text(says)
    page.route("**/tickets", lambda route: route.abort())
    send(page, "5")
    expect(alert).to_contain_text("Der Server ist nicht erreichbar. Es wurde nichts gesendet")
    page.unroute("**/tickets")

    def refuse(route: Route) -> None:
        problem = {"type": "urn:dither:collection-paused", "detail": "The collection is paused."}
        route.fulfill(status=409, content_type="application/problem+json", body=json.dumps(problem))

    page.route("**/tickets", refuse)
    send(page, "5")
    expect(alert).to_have_text("Die Erhebung ruht: Bitte versuchen Sie es später.")
    assert violations(page) == []


def test_what_only_developers_read_stays_english_and_says_so(page: Page, site: WebSite) -> None:
    visit(page, site, site.create())
    query = {"mechanism": "laplace", "low": 499.5, "high": 500.5, "levels": 1, "epsilon": 60, "transform": "identity"}
    ticket = {"ticket": "t", "expires_at": "2026-02-01T12:00:00.000Z", "query": query}
    page.route("**/tickets", lambda route: route.fulfill(status=201, json=ticket))
    send(page, "5")
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("Ihr Gerät hat abgelehnt. Ein ehrlicher Server würde diese Frage nicht stellen.")
    expect(alert).to_contain_text("Über Ihre Zahl wurde nichts gesendet, und es wurde nichts ausgegeben.")
    expect(alert.locator("[lang=en]")).to_contain_text("epsilon must be at most 50")


def test_questions_in_german(page: Page, site: WebSite) -> None:
    page.goto(site.page(site.create()))

    def said(
        query: dict[str, object], answer: int, categories: Sequence[str] = (), decimals: int | None = None
    ) -> list[str]:
        text = json.dumps({"epsilon": 1} | query)
        found: list[str] = page.evaluate(WORDS, [text, list(categories), decimals, answer])
        return found

    cuts: dict[str, object] = {"mechanism": "randomized_response", "cuts": [-0.25, 1234.5]}
    assert said(cuts, 1) == [
        "In welchem dieser 3 Bereiche liegt Ihr Wert: bis zu −0,25; über −0,25 und bis zu 1234,5; über 1234,5?",
        "über −0,25 und bis zu 1234,5",
        "über −0,25 und bis zu 1234,5",
        "bis zu −0,25 oder über 1234,5",
    ]
    assert said(cuts, 2, decimals=1)[1] == "über 1.234,5"
    interval: dict[str, object] = {"mechanism": "laplace", "low": 0, "high": 10, "levels": 4}
    assert said(interval, 1)[:2] == ["Wo zwischen 0 und 10 liegt Ihr Wert?", "etwa 2,5"]
    assert said(interval, 0)[1] == "etwa 0 oder darunter"
    groups: dict[str, object] = {"mechanism": "grouped_randomized_response", "groups": [[0, 2], [1]]}
    assert said(groups, 0, ["nie", "oft", "täglich"]) == [
        "In welcher dieser 2 Gruppen ist Ihre Auswahl: „nie“ oder „täglich“; „oft“?",
        "„nie“ oder „täglich“",
        "„nie“ oder „täglich“",
        "„oft“",
    ]
    wide: dict[str, object] = {"mechanism": "randomized_response", "cuts": [9.99e298, 9.99e299]}
    assert said(wide, 0)[0].endswith("bis zu einer riesigen Zahl; eine riesige Zahl; über einer riesigen Zahl?")


def test_another_language_gets_english(open_page: OpenPage, site: WebSite) -> None:
    page = open_page(locale="fr-FR")
    visit(page, site, site.create())
    assert page.locator("html").get_attribute("lang") == "en"
    expect(page.get_by_label("Your number")).to_be_visible()
