"""How soon a page is there in a browser, and what it weighs: Chromium on this machine, a real server, a cold cache.

    python -m benchmarks.pages [LOADS] [slow]

With `slow` the network has 400 ms of latency and 50 kB a second, which browsers' tools call slow 3G.

On the collection's page a thousand answers are there, and more come while it loads.
"""

import statistics
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from testing.browser.chromium import find_chromium, launch
from testing.browser.survey import Survey, open_survey
from testing.servers.defaults import ADMIN_TOKEN
from testing.tables import print_table
from testing.walks.respondent import slow_network

__all__ = ["Load", "load", "main", "pages"]

_LOADS = 15
_SETTLED = 1_000
"""Milliseconds that a page has after it is loaded, for what its scripts fetch and draw."""
_TIMINGS = """
() => new Promise((done) => {
  const kinds = ["paint", "largest-contentful-paint", "layout-shift"];
  const found = Object.fromEntries(kinds.map((kind) => [kind, []]));
  for (const kind of kinds) {
    new PerformanceObserver((list) => found[kind].push(...list.getEntries())).observe({ type: kind, buffered: true });
  }
  setTimeout(() => done({
    first: found.paint.find(({ name }) => name === "first-contentful-paint")?.startTime ?? NaN,
    largest: found["largest-contentful-paint"].at(-1)?.startTime ?? NaN,
    shift: found["layout-shift"].reduce((sum, { value }) => sum + value, 0),
  }), 100);
})
"""


@dataclass(frozen=True)
class Load:
    """One load of a page."""

    first: float
    """Milliseconds until something is painted."""
    largest: float
    """Milliseconds until the largest text or picture is."""
    shift: float
    """How much of the page moved while it loaded: the sum of the scores of layout shifts."""
    size: int
    """Bytes of all replies as they cross the network, with their heads."""


def main(arguments: Sequence[str]) -> None:
    """Prints the table."""
    slow = "slow" in arguments
    loads = next((int(text) for text in arguments if text.isdigit()), _LOADS)
    chromium = find_chromium()
    if chromium is None:
        print("no Chromium here: make chromium installs it", file=sys.stderr)
        return
    columns = (
        "page", "first paint, ms: median", "slowest", "largest paint, ms: median", "slowest",
        "layout shift, largest", "kB, largest", "to stay below",
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder, open_survey(Path(folder)) as survey, sync_playwright() as playwright:
        browser = launch(playwright, chromium)
        title = "Pages in a browser over a slow network" if slow else "Pages in a browser"
        print_table(title, columns, _rows(survey, browser, loads, slow))
        browser.close()


def pages(survey: Survey) -> Mapping[str, str]:
    """The path of each kind of page; the collection's has a thousand answers."""
    collection = survey.create(visibility="public", misfit_check=True, misfit_looks=[100])
    survey.arrive(collection, 1_000)
    path = f"/collections/{collection}"
    return {
        "collections": "/",
        "collection": path,
        "answer": f"{path}/answer",
        "new": "/new",
        "sign in": "/sign-in",
        "interface": "/docs",
    }


@contextmanager
def load(browser: Browser, url: str, path: str, slow: bool = False) -> Iterator[tuple[Page, Mapping[str, int]]]:
    """The page at `path` once it has settled, for an admin with an empty cache; and the sizes of all replies so far.

    Those are bytes on the network with their heads, by request.
    """
    context = browser.new_context(viewport={"width": 1200, "height": 800})
    try:
        if path != "/sign-in":
            _sign_in(context, url)
        page, sizes = context.new_page(), Counter[str]()
        network = context.new_cdp_session(page)
        network.send("Network.enable")

        def note(event: dict[str, Any]) -> None:
            size = event.get("response", event)["encodedDataLength"]
            sizes[event["requestId"]] = max(sizes[event["requestId"]], int(size))

        network.on("Network.responseReceived", note)  # as much as has come
        network.on("Network.loadingFinished", note)  # all of it, which a stream never is
        if slow:
            slow_network(page)
        page.goto(url + path)
        page.wait_for_timeout(_SETTLED)
        yield page, sizes
    finally:
        context.close()


def _rows(survey: Survey, browser: Browser, loads: int, slow: bool) -> Iterator[tuple[object, ...]]:
    for name, path in pages(survey).items():
        found = []
        with _arriving(survey, path.split("/")[-1] if name == "collection" else None):
            for _ in range(loads):
                with load(browser, survey.url, path, slow) as (page, sizes):
                    found.append(Load(**page.evaluate(_TIMINGS), size=sum(sizes.values())))
        yield (
            f"{name}, while answers come" if name == "collection" else name,
            *(f"{pick(times):.0f}" for times in _times(found) for pick in (statistics.median, max)),
            f"{max(each.shift for each in found):.3f}",
            f"{max(each.size for each in found) / 1000:.0f}",
            "1,000 ms; 150 kB",
        )


def _times(found: Sequence[Load]) -> tuple[list[float], list[float]]:
    return [each.first for each in found], [each.largest for each in found]


@contextmanager
def _arriving(survey: Survey, collection: str | None) -> Iterator[None]:
    """Meanwhile a hundred people answer twice a second."""
    stop = threading.Event()

    def arrive() -> None:
        while collection is not None and not stop.wait(0.5):
            survey.arrive(collection, 100)

    thread = threading.Thread(target=arrive)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _sign_in(context: BrowserContext, url: str) -> None:
    form: dict[str, str | float | bool] = {"token": ADMIN_TOKEN, "next": "/"}
    context.request.post(f"{url}/sign-in", form=form, headers={"Sec-Fetch-Site": "same-origin"})


if __name__ == "__main__":
    main(sys.argv[1:])
