"""Debian's Chromium, driven by Playwright. Without a Chromium these tests are skipped, and with CI=true they fail."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from testing.browser.chromium import CHROMIUMS, TIMEOUT_MS, launch
from testing.browser.console import ConsoleErrors
from testing.browser.site import WebSite, open_web_site
from testing.browser.survey import FIRST_LOOK, Survey, open_survey
from testing.tools import find_tool

OpenPage = Callable[..., Page]

_NO_ICON = r"/favicon\.ico\)"
"""An error that any page may have: Chromium asks for an icon of every site, and sites of plain files have none."""
_BUSY = r"status of 503 |net::ERR_(INCOMPLETE_CHUNKED_ENCODING|CONNECTION_RESET)"
"""Errors that a page cannot help, of a server that is too busy or ends a stream: the page asks again."""

expect.set_options(timeout=TIMEOUT_MS)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A headless Chromium.

    Of a module, not of the session: while it lives, Playwright's event loop counts as running in this thread, and
    tests of other modules start loops of their own.
    """
    chromium = find_tool(*CHROMIUMS)
    with sync_playwright() as playwright:
        browser = launch(playwright, chromium)
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser: Browser, request: pytest.FixtureRequest) -> Iterator[OpenPage]:
    """Opens pages, each with a profile of its own; what is given goes to Playwright's `new_context`.

    The test fails if a page has an error in its console or an exception that nothing catches, unless the test has the
    mark `console_errors` with a pattern that is found in it.
    """
    contexts, errors = [], ConsoleErrors()

    def open_page(**options: Any) -> Page:
        context = browser.new_context(**{"viewport": {"width": 1024, "height": 768}, **options})
        context.set_default_timeout(TIMEOUT_MS)
        errors.follow(context)
        contexts.append(context)
        return context.new_page()

    yield open_page
    for context in contexts:
        context.close()
    named = [pattern for mark in request.node.iter_markers("console_errors") for pattern in mark.args]
    errors.check([*named, _NO_ICON, _BUSY])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebSite]:
    """A server for the page where respondents answer."""
    with open_web_site(tmp_path_factory.mktemp("site")) as site:
        yield site


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Survey]:
    """A server, and a simulated population that answers it."""
    with open_survey(tmp_path_factory.mktemp("survey")) as survey:
        yield survey


@pytest.fixture(scope="module")
def answered(survey: Survey) -> str:
    """A public collection with some answers."""
    collection = survey.create(visibility="public", misfit_check=True, misfit_looks=FIRST_LOOK)
    survey.arrive(collection, 400)
    return collection
