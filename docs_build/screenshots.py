"""`make screenshots`: pictures of pages in docs/images, by Chromium, of a real server and a simulated population."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, expect, sync_playwright

from testing.browser.chromium import find_chromium, launch
from testing.browser.survey import Survey, open_survey
from testing.servers.defaults import ADMIN_TOKEN

IMAGES = Path(__file__).parent.parent / "docs" / "images"

_WIDE = {"viewport": {"width": 1100, "height": 1900}, "device_scale_factor": 0.75}
_LOW = {"viewport": {"width": 1100, "height": 1000}, "device_scale_factor": 0.75}
_NARROW = {"color_scheme": "dark", "viewport": {"width": 360, "height": 1050}}


_WORDS = {
    "question": "How much did you earn last week, before tax?",
    "unit": "€",
    "period_of_value": "per week",
    "minimum": 0,
    "maximum": 100_000,
    "decimals": 2,
    "organisation": "The statistical office of Exampleland",
    "contact": "survey@example.org",
    "privacy_url": "https://example.org/privacy",
    "thank_you": "Thank you for taking part. The results are published in May.",
}
"""What respondents read."""


def main() -> None:
    """Takes them all."""
    chromium = find_chromium()
    if chromium is None:
        raise SystemExit("no Chromium here: make chromium installs it")
    with tempfile.TemporaryDirectory() as folder, open_survey(Path(folder)) as survey, sync_playwright() as playwright:
        browser = launch(playwright, chromium)
        collection = survey.create(visibility="public", particles=2_000, **_WORDS)
        path = f"/collections/{collection}"
        page = _open(browser, survey, path, _WIDE)
        for _ in range(40):
            survey.arrive(collection, 100)
            page.wait_for_timeout(250)
        _settled(page)
        page.locator("#distribution .u-over").hover()
        _take(page, "dashboard")
        page = _open(browser, survey, path, _NARROW)
        _settled(page)
        _take(page, "dashboard-narrow")
        _take(_answered(browser, survey, _LOW), "answer")
        _take(_answered(browser, survey, _NARROW), "answer-narrow")
        _take(_filled_in(browser, survey), "new-collection")
        browser.close()


def _open(browser: Browser, survey: Survey, path: str, options: Mapping[str, Any]) -> Page:
    context = browser.new_context(reduced_motion="reduce", **options)
    context.set_default_timeout(60_000)
    page = context.new_page()
    page.goto(survey.url + path)
    return page


def _settled(page: Page) -> None:
    expect(page.locator("#pace canvas")).to_be_visible(timeout=60_000)
    expect(page.locator("#needed")).to_contain_text("more answers", timeout=60_000)
    page.wait_for_timeout(2_000)


def _answered(browser: Browser, survey: Survey, options: Mapping[str, Any]) -> Page:
    """The page of a respondent who has answered."""
    path = f"/collections/{survey.create(**_WORDS)}/answer"
    page = _open(browser, survey, path, options)
    page.get_by_label("Your number").fill("512.50 €")
    page.get_by_label("I agree").check()
    page.get_by_role("button", name="Send one answer").click()
    expect(page.locator("#result")).to_be_visible()
    page.evaluate("scrollTo(0, 0)")
    return page


def _filled_in(browser: Browser, survey: Survey) -> Page:
    page = _open(browser, survey, "/sign-in?next=/new", _WIDE)
    page.get_by_label("Token").fill(ADMIN_TOKEN)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_label("Title shown to respondents").fill("Weekly wages")
    page.get_by_label("Shape of the distribution").select_option("normal")
    page.get_by_label("How values compare").select_option("log")
    for name, text in {"From": "100", "to": "2000", "Expected number of respondents": "5000"}.items():
        page.get_by_label(name, exact=True).fill(text)
    page.get_by_text("Goal, model checks").click()
    page.get_by_label("Share of the answers that check").fill("0.2")
    page.get_by_label("Log-logistic").check()
    expect(page.locator("#advice")).to_contain_text("tell the 2 families apart")
    page.evaluate("scrollTo(0, 0)")
    return page


def _take(page: Page, name: str) -> None:
    page.evaluate("document.activeElement?.blur()")
    page.screenshot(path=IMAGES / f"{name}.png")
    page.context.close()


if __name__ == "__main__":
    main()
