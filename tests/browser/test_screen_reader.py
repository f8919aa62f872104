"""What Chromium tells a screen reader of the answer page, and the way through it without a mouse.

The accessibility tree is what assistive technology is given: roles, names, values and what is announced, in order.
"""

from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from testing.browser.site import WebSite
from tests.browser.conftest import OpenPage

SURVEY = {"question": "How much did you spend on food last week?", "unit": "€", "minimum": 0, "maximum": 10_000}
CONTROLS = {"textbox", "checkbox", "button", "link", "combobox", "radio", "DisclosureTriangle"}


@dataclass(frozen=True)
class Words:
    """What the page says in one language."""

    locale: str
    field: str
    consent: str
    send: str
    empty: str
    done: str


ENGLISH = Words(
    "en-US", "Your number", "I agree", "Send one answer", "Write your number first", "Your answer was counted"
)
GERMAN = Words(
    "de-DE",
    "Ihre Zahl",
    "Ich stimme zu",
    "Eine Antwort senden",
    "geben Sie zuerst Ihre Zahl ein",
    "Ihre Antwort wurde gezählt",
)


def tree(page: Page) -> list[tuple[str, str]]:
    """The role and name of each node that a screen reader is told of, in the order of the page."""
    nodes = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
    by_id = {node["nodeId"]: node for node in nodes}
    found: list[tuple[str, str]] = []

    def walk(node: dict[str, Any]) -> None:
        if not node.get("ignored"):
            found.append((node["role"]["value"], node.get("name", {}).get("value", "").strip()))
        for child in node.get("childIds", []):
            walk(by_id[child])

    walk(next(node for node in nodes if "parentId" not in node))
    return found


def place(nodes: list[tuple[str, str]], role: str, name: str) -> int:
    """Where the first node of this role is whose name has this text."""
    return next(at for at, node in enumerate(nodes) if node[0] == role and name in node[1])


def press_until(page: Page, role: str, name: str) -> None:
    """Presses Tab until the element with this role and name has the focus; an element takes a dozen at most."""
    wanted = page.get_by_role(role, name=name)  # type: ignore[arg-type]
    for _ in range(12):
        page.keyboard.press("Tab")
        if wanted.evaluate("(element) => element === document.activeElement"):
            return
    pytest.fail(f"the {role} {name} is not reached by Tab")


@pytest.mark.parametrize("words", [ENGLISH, GERMAN], ids=lambda words: words.locale)
def test_the_answer_page_is_read_in_order_and_answered_by_keyboard(
    site: WebSite, open_page: OpenPage, words: Words
) -> None:
    collection = site.create(**SURVEY)
    page = open_page(locale=words.locale, viewport={"width": 360, "height": 640})
    page.goto(site.page(collection))
    expect(page.locator("#form")).to_be_visible()
    nodes = tree(page)
    assert [role for role, name in nodes if role in CONTROLS and not name] == []
    order = [
        place(nodes, "form", str(SURVEY["question"])),
        place(nodes, "textbox", words.field),
        place(nodes, "checkbox", words.consent),
        place(nodes, "button", words.send),
    ]
    assert order == sorted(order)

    press_until(page, "button", words.send)
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text(words.empty)
    assert place(tree(page), "alert", "") >= 0
    page.get_by_label(words.field).focus()
    page.keyboard.type("250")
    press_until(page, "checkbox", words.consent)
    page.keyboard.press("Space")
    press_until(page, "button", words.send)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=words.done)).to_be_focused()
    assert place(tree(page), "heading", words.done) >= 0
    assert site.answers(collection) == 1


def test_a_control_without_a_name_is_found(open_page: OpenPage) -> None:
    page = open_page()
    page.set_content("<main><h1>A page</h1><label>Age <input></label><input><button></button></main>")
    assert [role for role, name in tree(page) if role in CONTROLS and not name] == ["textbox", "button"]
