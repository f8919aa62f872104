"""A respondent with a small telephone and a slow network, who was sent a link."""

import re
from collections.abc import Callable

from playwright.sync_api import Page, ViewportSize, expect

from testing.walks.walk import Walk

__all__ = ["NARROW", "slow_network", "walk"]

NARROW: ViewportSize = {"width": 360, "height": 640}
_LATENCY_MS, _BYTES_PER_SECOND = 400, 50_000
"""What browsers' tools call slow 3G."""
_MOST_STEPS = 5
"""The page may ask in several steps; a stranger who still sees no end after these has given up."""
_SEND, _ON = r"\bsend\b", r"\b(next|continue)\b"
"""The words of the button that sends, and of those before it."""


def slow_network(page: Page) -> None:
    """Lets the page's network be slow from now on."""
    network = {"offline": False, "latency": _LATENCY_MS}
    speeds = {"downloadThroughput": _BYTES_PER_SECOND, "uploadThroughput": _BYTES_PER_SECOND}
    page.context.new_cdp_session(page).send("Network.emulateNetworkConditions", {**network, **speeds})


def walk(stranger: Walk, page: Page, link: str, answers: Callable[[], int]) -> None:
    """Opens the link, types a number, agrees where that is asked, and sends; `answers` counts what the server has."""
    slow_network(page)
    page.goto(link)
    number = page.get_by_role("textbox").first
    expect(number).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]  # nothing is cut off
    stranger.reload_if_told(page)
    stranger.fill(number, "540")
    send, onwards = (page.get_by_role("button", name=re.compile(words, re.IGNORECASE)).first for words in (_SEND, _ON))
    for _ in range(_MOST_STEPS):
        for box in page.get_by_role("checkbox", checked=False).all():
            if box.is_visible():
                stranger.click(box)
        expect(send.or_(onwards).first).to_be_visible()
        last = send.is_visible()
        stranger.click(send if last else onwards)
        if last:
            break
    expect(page.get_by_role("heading", name=re.compile("counted|thank", re.IGNORECASE)).first).to_be_visible()
    assert answers() == 1
