"""Debian's Chromium, driven by Playwright. Without a Chromium these tests are skipped, and with CI=true they fail."""

import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

OpenPage = Callable[..., Page]

_PATIENCE = 60_000
"""Milliseconds that anything awaited may take: a loaded machine is slow, and only a broken page takes for ever."""

_ARGUMENTS = [
    "--no-sandbox",  # root has no other way
    "--disable-gpu",
    "--disable-dev-shm-usage",
    # Nothing here is to look for hosts beyond this machine.
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


expect.set_options(timeout=_PATIENCE)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A headless Chromium.

    Of a module, not of the session: while it lives, Playwright's event loop counts as running in this thread, and
    tests of other modules start loops of their own.
    """
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        missing = "no Chromium on the path: apt-get install chromium (make test does, for root on Debian)"
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=_ARGUMENTS, timeout=_PATIENCE)
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[OpenPage]:
    """Opens pages, each with a profile of its own; what is given goes to Playwright's `new_context`."""
    contexts = []

    def open_page(**options: Any) -> Page:
        context = browser.new_context(**{"viewport": {"width": 1024, "height": 768}, **options})
        context.set_default_timeout(_PATIENCE)
        contexts.append(context)
        return context.new_page()

    yield open_page
    for context in contexts:
        context.close()
