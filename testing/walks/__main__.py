"""Walks all five, and prints how many commands, clicks and seconds each took."""

import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from testing.browser.chromium import TIMEOUT_MS, find_chromium, launch
from testing.browser.site import open_web_site
from testing.reader import reading
from testing.walks import analyst, developer, operator, respondent, student
from testing.walks.walk import Walk


def main() -> None:
    """Runs every walk, each in a folder of its own."""
    for who in (analyst, developer, operator, student):
        with tempfile.TemporaryDirectory() as folder, reading(Path(folder)) as shell:
            stranger = Walk(who.__name__.rpartition(".")[2], shell)
            who.walk(stranger)
            stranger.ended()
    chromium = find_chromium()
    if chromium is None:
        raise SystemExit("respondent: there is no Chromium, which make tools installs")
    with tempfile.TemporaryDirectory() as folder, open_web_site(Path(folder)) as site, sync_playwright() as playwright:
        context = launch(playwright, chromium).new_context(viewport=respondent.NARROW)
        context.set_default_timeout(TIMEOUT_MS)
        collection = site.create()
        (Path(folder) / "unused").mkdir()
        with reading(Path(folder) / "unused") as shell:
            stranger = Walk("respondent", shell)
            respondent.walk(stranger, context.new_page(), site.page(collection), lambda: site.answers(collection))
            stranger.ended()


if __name__ == "__main__":
    main()
