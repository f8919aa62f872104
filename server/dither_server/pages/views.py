"""What the pages show of a posterior, computed once for all readers."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.concurrency import run_in_threadpool

from dither_client.posterior.wire import PosteriorReply
from dither_server.collections.collection import Collection
from dither_server.owner.collection_learner import Published
from dither_server.owner.thread import Learners
from dither_server.pages.charts import component_curves, curves
from dither_server.pages.sentences import Findings, find

__all__ = ["View", "Views"]


@dataclass(frozen=True)
class View:
    """The sentences and the curves of one posterior, which describes its population."""

    published: Published
    posterior: PosteriorReply
    findings: Findings
    curves: dict[str, Any]
    numbers: Mapping[str, dict[str, Any]]
    """The curves of each of several numbers, from `component_curves`."""


class Views:
    """The newest view of each collection."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._newest: dict[int, View] = {}

    async def view(self, collection: Collection, learners: Learners) -> View:
        """The view of the newest posterior. Raises `Unavailable`."""
        published = await learners.published(collection)
        known = self._newest.get(collection.number)
        if known is not None and known.published is published:
            return known
        particles = await learners.particles(collection)

        def make() -> View:
            with self._lock:  # one at a time: curves keep a core busy for up to a few tenths of a second
                known = self._newest.get(collection.number)
                if known is not None and known.published is published:
                    return known
                spec = collection.specification
                posterior = published.described
                components = collection.statistics.get("components") or ()
                findings = find(spec, collection.survey, posterior, components)
                drawn = curves(spec, particles, collection.survey["decimals"])
                made = View(published, posterior, findings, drawn, component_curves(particles, components))
                self._newest = {number: view for number, view in self._newest.items() if learners.has(number)}
                self._newest[collection.number] = made
                return made

        return await run_in_threadpool(make)
