"""A person gives several numbers in a browser: a real server, a real Chromium, one answer."""

import json
import re
from pathlib import Path
from shutil import copytree

import pytest
from playwright.sync_api import Page, expect

from testing.browser.axe import check_looks, violations
from testing.browser.site import WebSite, open_web_site
from testing.repository import ROOT
from testing.servers.listening import serving_folder
from tests.browser.conftest import OpenPage
from tests.browser.test_embedding import fits, height, show_element

COMPONENTS = [
    {
        "name": "wage", "question": "What do you earn in a week?", "unit": "€", "family": "normal", "transform": "log",
        "range": [150, 2000], "minimum": 0,
    },
    {
        "name": "age", "question": "How old are you?", "unit": "years", "family": "normal", "range": [15, 90],
        "minimum": 0, "maximum": 120, "decimals": 0,
    },
]  # fmt: skip
WAGE = "wage: What do you earn in a week?"
AGE = "age: How old are you?"


def visit(page: Page, site: WebSite, query: str = "") -> str:
    """Opens the page of a new collection of two numbers, and returns its id."""
    collection = site.create(family=None, range=None, components=COMPONENTS)
    page.goto(site.page(collection) + query)
    expect(page.locator("#form")).to_be_visible()
    return collection


def send(page: Page) -> None:
    page.get_by_role("button", name="Send one answer").click()


def test_one_answer_about_two_numbers_is_counted(open_page: OpenPage, site: WebSite) -> None:
    page = open_page()
    said: list[str] = []
    page.on("request", lambda request: said.append(f"{request.url} {request.headers} {request.post_data}"))
    collection = visit(page, site)
    expect(page.get_by_label(WAGE)).to_have_accessible_description("€ At least 0.")
    expect(page.get_by_label(AGE)).to_have_accessible_description(re.compile("years From 0 to 120"))
    page.get_by_label(WAGE).fill("483.25")
    page.get_by_label(AGE).fill("57")
    page.get_by_label("I agree").check()
    send(page)
    expect(page.get_by_role("heading", name="Your answer was counted")).to_be_focused()
    asked = page.locator("#question").text_content() or ""
    assert "“wage”" in asked or "“age”" in asked, "the page tells what was asked"
    assert ("“wage”" in asked, "“age”" in asked) == (" €" in asked, " years" in asked), "in its unit"
    expect(page.locator("#answer")).to_contain_text("true or not: only you can tell")
    expect(page.locator("#odds")).to_contain_text("would send this answer")
    assert [page.locator(f"#value-{number}").input_value() for number in (1, 2)] == ["", ""], "it has forgotten both"
    assert site.answers(collection) == 1
    [sent] = [json.loads(line.split(" ")[-1]) for line in said if "/responses" in line.split(" ")[0]]
    assert set(sent) == {"ticket", "answer", "retry_key"}
    assert not re.search(r"483\.?25", str(said))


def test_a_wrong_number_is_refused_beside_its_own_field(open_page: OpenPage, site: WebSite) -> None:
    page = open_page(viewport={"width": 360, "height": 640})
    tickets: list[str] = []
    page.on("request", lambda request: tickets.append(request.url) if request.url.endswith("/tickets") else None)
    collection = visit(page, site)
    wage, age = page.get_by_label(WAGE), page.get_by_label(AGE)
    wage.fill("483.25")
    age.fill("121")
    page.get_by_label("I agree").check()
    send(page)
    expect(age).to_be_focused()
    expect(page.locator("#error-2")).to_contain_text("from 0 to 120")
    expect(page.locator("#error-1")).to_be_empty()
    expect(page.locator("#error")).to_be_empty()
    marked = [field.get_attribute("aria-invalid") for field in (wage, age)]
    assert marked == [None, "true"]
    check_looks(page)
    assert (tickets, site.answers(collection)) == ([], 0)
    wage.fill("")
    age.fill("12")
    expect(page.locator("#error-2")).to_be_empty()
    send(page)
    expect(wage).to_be_focused()
    expect(page.locator("#error-1")).not_to_be_empty()
    assert (tickets, site.answers(collection)) == ([], 0)
    wage.fill("483.25")
    send(page)
    expect(page.get_by_role("heading", name="Your answer was counted")).to_be_focused()
    assert site.answers(collection) == 1


@pytest.mark.parametrize("query", ["", "?embed=1", "?lang=de"])
def test_it_fits_a_telephone(open_page: OpenPage, site: WebSite, query: str) -> None:
    page = open_page(viewport={"width": 360, "height": 640})
    visit(page, site, query)
    check_looks(page)
    page.get_by_label(WAGE).fill("483")
    page.get_by_label(AGE).fill("57")
    page.locator("#consent").check()
    page.locator("#send").click()
    expect(page.locator("#result")).to_be_visible()
    check_looks(page)


SPOKEN = [
    COMPONENTS[0]
    | {
        "question": {"en": "What do you earn?", "de": "Wie viel verdienen Sie?"},
        "period_of_value": {"en": "per week", "de": "pro Woche"},
        "decimals": 2,
    },
    COMPONENTS[1] | {"unit": {"en": "years", "de": "Jahre"}},
]


def test_a_german_page_has_the_words_of_each_number(open_page: OpenPage, site: WebSite) -> None:
    """Its words where there are any, and else the first ones, marked as the language that they may be in."""
    page = open_page(locale="de-DE", viewport={"width": 360, "height": 640})
    collection = site.create(family=None, range=None, components=SPOKEN)
    page.goto(site.page(collection))
    wage, age = page.get_by_label("wage: Wie viel verdienen Sie?"), page.get_by_label(AGE)
    expect(wage).to_have_accessible_description(re.compile("^€ pro Woche Mindestens 0, mit"))
    expect(age).to_have_accessible_description(re.compile("^Jahre Von 0 bis 120"))
    wage.fill("483,2555")
    age.fill("57")
    page.get_by_label("Ich stimme zu").check()
    page.get_by_role("button", name="Eine Antwort senden").click()
    expect(wage).to_be_focused()
    expect(page.locator("#error-1")).to_contain_text("2")
    wage.fill("1.250,25")
    check_looks(page)
    page.get_by_role("button", name="Eine Antwort senden").click()
    expect(page.get_by_role("heading", name="Ihre Antwort wurde gezählt")).to_be_focused()
    asked = page.locator("#question").text_content() or ""
    assert "„wage“" in asked or "„age“" in asked
    assert ("„wage“" in asked, "„age“" in asked) == (" € pro Woche" in asked, " Jahre" in asked)
    expect(page.locator("#odds")).to_contain_text("würden diese Antwort senden")
    check_looks(page)
    assert site.answers(collection) == 1


def test_words_in_another_language_are_marked(open_page: OpenPage, site: WebSite) -> None:
    """A reader of no language of the words gets the first ones, which a screen reader then speaks as what they are."""
    page = open_page(locale="de-DE")
    english = [COMPONENTS[0] | {"question": {"en": "What do you earn?"}, "unit": {"en": "pounds"}}, COMPONENTS[1]]
    page.goto(site.page(site.create(family=None, range=None, components=english)))
    expect(page.get_by_text("What do you earn?")).to_have_attribute("lang", "en")
    expect(page.locator("#unit-1")).to_have_attribute("lang", "en")
    expect(page.locator("#unit-2")).not_to_have_attribute("lang", re.compile("."))


@pytest.mark.parametrize("width", [360, 1024])
def test_in_a_frame_of_another_site(open_page: OpenPage, tmp_path: Path, width: int) -> None:
    """The documentation's element has all fields and is as high as its page; what is typed does not change that."""
    folder = tmp_path / "other"
    copytree(ROOT / "client" / "dither_client" / "web", folder / "dither")
    with serving_folder(folder) as origin, open_web_site(tmp_path, embed_origins=origin) as framed:
        collection = framed.create(family=None, range=None, components=SPOKEN)
        page, wrong = open_page(viewport={"width": width, "height": 640}), list[str]()
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        show_element(page, origin, folder, framed.url, collection)
        frame = page.frame_locator("dither-answer iframe")
        field = frame.get_by_label("wage: What do you earn?")
        expect(field).to_have_accessible_description(re.compile("^€ per week At least 0, with up to 2 decimals"))
        fits(page)
        before = height(page)
        for typed in ("1,250", "abc", "-3", ""):
            field.fill(typed)
            frame.get_by_role("button", name="Send one answer").click()
            page.wait_for_timeout(100)
            assert height(page) == before
        field.fill("483.25")
        frame.get_by_label(AGE).fill("130")
        frame.get_by_label("I agree").check()
        frame.get_by_role("button", name="Send one answer").click()
        expect(frame.locator("#error-2")).to_contain_text("from 0 to 120")
        frame.get_by_label(AGE).fill("57")
        frame.get_by_role("button", name="Send one answer").click()
        expect(frame.get_by_role("heading", name="Your answer was counted")).to_be_visible()
        fits(page)
        assert framed.answers(collection) == 1
        assert wrong == []
        assert violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
