"""What is typed into the field: numbers that are refused before any request, and how the others are understood."""

from playwright.sync_api import expect

from testing.browser.answering import SPENDING, STORED, VALUE, agree_and_send, sent_to, visit
from testing.browser.axe import violations
from testing.browser.site import WebSite
from tests.browser.conftest import OpenPage


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
