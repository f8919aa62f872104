"""The report of a collection: on paper, on a phone, and as a file."""

import re
from functools import partial
from pathlib import Path

from playwright.sync_api import ConsoleMessage, expect

from dither_client.commands import run
from testing.browser.axe import violations
from testing.browser.survey import Survey
from tests.browser.conftest import OpenPage


def note(troubles: list[str], message: ConsoleMessage) -> None:
    troubles.append(message.text)


def test_the_report_is_one_page_on_paper(survey: Survey, answered: str, open_page: OpenPage) -> None:
    shapeless = survey.create(family=None, visibility="public", unit="€", period_of_value="per week", decimals=0)
    survey.arrive(shapeless, 1_000)
    for collection, width in ((answered, 1280), (shapeless, 360)):
        page = open_page(viewport={"width": width, "height": 800})
        troubles = list[str]()
        page.on("console", partial(note, troubles))
        page.goto(f"{survey.url}/collections/{collection}/report")
        expect(page.get_by_role("heading", name="Weekly wages", level=1)).to_be_visible()
        assert page.locator("svg polyline").bounding_box()
        assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(prefer_css_page_size=True))) == 1
        assert violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert troubles == []


def test_the_report_of_groups_fits_a_phone(survey: Survey, open_page: OpenPage) -> None:
    """Their table scrolls, and long names are still words."""
    labels = ["north", "Mecklenburg-Vorpommern and the islands"]
    collection = survey.create(visibility="public", groups={"name": "region", "labels": labels})
    page = open_page(viewport={"width": 360, "height": 800})
    for _ in range(2):
        tickets = survey.call("POST", f"/collections/{collection}/tickets", json={"count": 20, "group": labels[1]})
        answers = [{"ticket": each["ticket"], "answer": i % 2} for i, each in enumerate(tickets["tickets"])]
        survey.call("POST", f"/collections/{collection}/responses/batch", json={"responses": answers})
    page.goto(f"{survey.url}/collections/{collection}")
    expect(page.locator('[data-answers="40"]')).to_be_visible()
    page.goto(f"{survey.url}/collections/{collection}/report")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    name = page.get_by_role("rowheader", name=labels[1]).bounding_box()
    assert name is not None
    assert name["height"] < 120
    assert violations(page) == []


def test_the_table_of_periods_fits_a_phone(survey: Survey, open_page: OpenPage) -> None:
    """Without scrolling, and with dates in one line."""
    collection = survey.create(visibility="public", period="week", unit="€", decimals=0)
    survey.arrive(collection, 200)
    page = open_page(viewport={"width": 360, "height": 800})
    page.goto(f"{survey.url}/collections/{collection}")
    expect(page.locator('[data-answers="200"]')).to_be_visible()
    page.goto(f"{survey.url}/collections/{collection}/report")
    table = page.get_by_role("region", name="Estimates by week")
    assert table.evaluate("each => each.scrollWidth <= each.clientWidth")
    for cell in table.locator("tbody tr").locator("th, td:not(.number)").all():
        lines = cell.evaluate(
            """(each) => {
                const text = document.createRange();
                text.selectNodeContents(each);
                return text.getClientRects().length;
            }"""
        )
        assert lines == 1


def test_the_command_line_saves_the_report(survey: Survey, answered: str, tmp_path: Path) -> None:
    file, private = tmp_path / "wages.html", survey.create()
    assert run(["export", answered, "--report", str(file), "--url", survey.url]) == 0
    saved = file.read_text(encoding="utf-8")
    assert saved.startswith("<!doctype html>")
    assert f"{survey.url}/collections/{answered}" in saved
    file.unlink()
    assert run(["export", private, "--report", str(file), "--url", survey.url]) != 0
    assert not file.exists()
