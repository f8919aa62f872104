"""The page where respondents answer: what it says, how it looks, and who can use it."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from testing.browser.answering import SPENDING, agree_and_send, sent_to, unfold, visit
from testing.browser.axe import check_looks
from testing.browser.site import WebSite
from tests.browser.conftest import OpenPage


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
        assert re.search(r"(?:above|up to|between|exactly) \N{MINUS SIGN}?[0-9][0-9,.]* €", words), words
    numbers = re.findall(r"[0-9][0-9,.]*", page.locator("#question").inner_text())
    assert numbers
    assert all(re.fullmatch(r"[0-9,]+(\.[0-9]{1,2})?", number.rstrip(".,")) for number in numbers), numbers


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


def test_without_scripts_the_page_says_what_else_there_is(open_page: OpenPage, site: WebSite) -> None:
    collection = site.create()
    page = open_page(java_script_enabled=False)
    page.goto(site.page(collection))
    expect(page.get_by_text(f"or use dither answer {collection}, which needs none")).to_be_visible()
    expect(page.locator("#form")).to_be_hidden()


@pytest.mark.console_errors("Failed to load resource")
def test_where_a_part_of_the_script_does_not_come_the_page_says_what_to_do(open_page: OpenPage, site: WebSite) -> None:
    page = open_page()
    page.route("**/web/client.js", lambda route: route.abort())
    page.goto(site.page(site.create()))
    told = page.get_by_text("it has not come. Load the page again")
    expect(told).to_be_hidden()
    page.evaluate("document.getAnimations().forEach((each) => each.finish())")  # 15 seconds later
    expect(told).to_be_visible()
    expect(page.get_by_role("button", name="Send one answer")).to_be_disabled()
    page.unroute("**/web/client.js")
    page.reload()
    expect(page.get_by_role("button", name="Send one answer")).to_be_enabled()


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
