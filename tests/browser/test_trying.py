"""A person tries calls on the page of the HTTP interface: a real server, a real browser."""

import json
import re

import pytest
from playwright.sync_api import Locator, Page, expect

from testing.browser.axe import violations
from testing.browser.survey import Survey
from testing.servers.defaults import ADMIN_TOKEN
from tests.browser.conftest import OpenPage


def call(page: Page, heading: str) -> Locator:
    """The form of a call, which is opened."""
    section = page.locator("section").filter(has=page.get_by_role("heading", name=heading, exact=True))
    section.get_by_text("Try it", exact=True).click()
    return section.locator("form")


@pytest.mark.console_errors("status of 401")
@pytest.mark.parametrize("width", [360, 1280])
def test_calls_are_tried(survey: Survey, open_page: OpenPage, width: int) -> None:
    page, troubles = open_page(viewport={"width": width, "height": 800}), list[str]()
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.goto(f"{survey.url}/docs")
    create = call(page, "POST /v1/collections")
    create.get_by_role("button").click()
    expect(create.get_by_role("status")).to_contain_text("401 ")
    page.get_by_label("Token", exact=True).fill(ADMIN_TOKEN)
    create.get_by_label("Body, JSON").fill('{"name": "Tried", "epsilon": 1}')
    create.get_by_role("button").press("Enter")
    expect(create.get_by_role("status")).to_contain_text("201 ")
    collection = json.loads(create.locator("pre").inner_text())["id"]
    assert survey.call("GET", f"/collections/{collection}")["name"] == "Tried"
    show = call(page, "GET /v1/collections/{collection_id}/posterior")
    show.get_by_label("collection_id").fill(collection)
    show.get_by_role("button").click()
    expect(show.get_by_role("status")).to_have_text(re.compile(f"^200 .*GET /v1/collections/{collection}/posterior$"))
    expect(show.locator("pre")).to_contain_text('"answers": 0')
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert ADMIN_TOKEN not in page.url
    page.reload()
    expect(page.get_by_label("Token", exact=True)).to_have_value("")
    assert troubles == []


def test_an_endless_reply_is_shown_as_far_as_it_has_come(survey: Survey, open_page: OpenPage) -> None:
    collection, page = survey.create(visibility="public"), open_page()
    page.goto(f"{survey.url}/docs")
    stream = call(page, "GET /v1/collections/{collection_id}/posterior/stream")
    stream.get_by_label("collection_id").fill(collection)
    stream.get_by_role("button").click()
    expect(stream.locator("pre")).to_contain_text("event: posterior")


def test_without_scripts_there_is_nothing_to_try(survey: Survey, open_page: OpenPage) -> None:
    page = open_page(java_script_enabled=False)
    page.goto(f"{survey.url}/docs")
    expect(page.get_by_role("heading", name="HTTP interface")).to_be_visible()
    expect(page.get_by_text("Try it", exact=True).first).to_be_hidden()
