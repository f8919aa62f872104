"""What tests do on the page where respondents answer, and what they look at there."""

from playwright.sync_api import Page, Request, expect

from testing.browser.site import WebSite

__all__ = [
    "CHARGE",
    "LAPLACE",
    "ODDS",
    "SPENDING",
    "STORED",
    "VALUE",
    "WORDS",
    "agree_and_send",
    "sent_to",
    "unfold",
    "visit",
]

VALUE = "483.2519"
"""A value that nothing but the page may contain."""

LAPLACE = {"mechanism": "laplace", "low": 499.5, "high": 500.5, "levels": 1, "epsilon": 1, "transform": "identity"}
"""A question about one threshold, as the server sends it."""

STORED = """
() => new Promise((resolve) => {
  const opening = indexedDB.open("dither");
  opening.onsuccess = () => {
    const reading = opening.result.transaction("entries").objectStore("entries").getAll();
    reading.onsuccess = () => { opening.result.close(); resolve(reading.result); };
  };
})
"""
"""Reads the entries of the ledger in the browser."""

CHARGE = """
async (text) => {
  const { Ledger, decodeJson, parseQuery } = await import("/web/dither.js");
  await new Ledger({ maxEpsilon: 10 }).charge("https://other.example", "other", "t", parseQuery(decodeJson(text)));
}
"""
"""Charges the ledger in the browser for an answer to another server."""

WORDS = """
async ([text, decimals]) => {
  const { decodeJson, parseQuery, questionText } = await import("/web/dither.js");
  return questionText(parseQuery(decodeJson(text)), [], decimals);
}
"""
"""The words of a question, whose numbers have so many decimals."""

ODDS = """
async ([text, answer]) => {
  const { answerText, decodeJson, odds, parseQuery } = await import("/web/dither.js");
  const query = parseQuery(decodeJson(text));
  return [answerText(query, answer), ...odds(query, answer).map((each) => each.who)];
}
"""
"""The words of an answer, and of those who give it the most and the least often."""

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
"""The fields of a survey as a statistical office would ask it."""


def visit(page: Page, site: WebSite, collection: str) -> None:
    """Opens the page, and waits until it takes an answer."""
    page.goto(site.page(collection))
    expect(page.locator("#form")).to_be_visible()


def agree_and_send(page: Page, value: str = VALUE) -> None:
    """Does what a respondent does."""
    page.get_by_label("Your number").fill(value)
    page.get_by_label("I agree").check()
    page.get_by_role("button", name="Send one answer").click()


def unfold(page: Page) -> None:
    """Opens everything that is folded away."""
    for summary in page.locator("details:not([hidden]):not([open]) > summary").all()[::-1]:
        summary.click()


def sent_to(page: Page, end: str) -> list[Request]:
    """The requests whose address ends so, added as they are sent."""
    found: list[Request] = []
    page.on("request", lambda request: found.append(request) if request.url.endswith(end) else None)
    return found
