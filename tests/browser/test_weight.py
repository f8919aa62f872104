"""No page weighs more than 150 kB, with everything that it fetches of itself."""

from playwright.sync_api import Browser, expect

import benchmarks.pages
from testing.browser.survey import Survey


def test_every_page_weighs_less_than_150_kb(survey: Survey, browser: Browser) -> None:
    heading = {
        "collections": "Collections",
        "collection": "Weekly wages",
        "new": "New collection",
        "sign in": "Sign in",
        "interface": "HTTP interface",
    }
    for name, path in benchmarks.pages.pages(survey).items():
        with benchmarks.pages.load(browser, survey.url, path) as (page, sizes):
            expect(page.get_by_role("heading", level=1)).to_have_text(heading.get(name, "Weekly wages"))
            if name == "collection":
                expect(page.locator("#pace canvas")).to_be_visible()
                expect(page.locator("#needed")).to_contain_text("more answers")
            assert 2_000 < sum(sizes.values()) < 150_000, name


_BLOCKING = """
() => [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
  .filter((entry) => entry.entryType === "navigation" || entry.renderBlockingStatus === "blocking")
  .map(({ name, transferSize }) => [new URL(name).pathname, transferSize])
"""
"""What a browser waits for before it paints anything, each with its bytes on the network."""


def test_little_is_waited_for_before_the_first_paint(survey: Survey, browser: Browser) -> None:
    """The page alone, which has its styles in it.

    What a slow network makes of it is `benchmarks.pages slow`: at 50 kB a second a respondent's 15 kB take 0.3 s,
    whatever the machine; a further turn would add its latency.
    """
    for name, path in benchmarks.pages.pages(survey).items():
        with benchmarks.pages.load(browser, survey.url, path) as (page, _):
            (_, own), *others = page.evaluate(_BLOCKING)
        assert others == [], name
        assert 500 < own < (15_000 if name == "answer" else 45_000), name
