"""Debian's Chromium."""

import shutil

from playwright.sync_api import Browser, Playwright

__all__ = ["CHROMIUMS", "TIMEOUT_MS", "find_chromium", "launch"]

CHROMIUMS = ("chromium", "chromium-browser", "google-chrome")
"""The names that the browser's command may have."""

TIMEOUT_MS = 180_000
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


def find_chromium() -> str | None:
    """The path of the browser; None if there is none."""
    return next(filter(None, map(shutil.which, CHROMIUMS)), None)


def launch(playwright: Playwright, chromium: str) -> Browser:
    """The browser, without a window."""
    return playwright.chromium.launch(executable_path=chromium, args=_ARGUMENTS, timeout=TIMEOUT_MS)
