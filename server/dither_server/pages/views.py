"""What the pages show of a posterior, computed once for all readers."""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from dither_client.posterior.wire import PosteriorReply
from dither_server.collections.collection import Collection
from dither_server.owner.published import Particles, Published
from dither_server.pages.charts import component_curves, curves
from dither_server.pages.sentences import Findings, find
from dither_server.service.service import Service
from dither_server.service.turns import Turns

__all__ = ["View", "Views"]

_RECENT_SECONDS = 1.0
"""For how long what is written of a view is shown again, though the time is in it."""

T = TypeVar("T")


@dataclass(frozen=True)
class View:
    """The sentences and the curves of one posterior, which describes its population."""

    published: Published
    posterior: PosteriorReply
    findings: Findings
    curves: dict[str, Any]
    numbers: Mapping[str, dict[str, Any]]
    """The curves of each of several numbers, from `component_curves`."""
    _recent: dict[str, tuple[float, str, Any]] = field(default_factory=dict, repr=False)

    def recent(self, what: str, make: Callable[[], T], address: str = "") -> T:
        """What `make` returned within the last second, or returns now: all who follow a page ask for it at once.

        It is kept by name, for the last `address` alone. Thread-safe.
        """
        now = time.monotonic()
        at, known, made = self._recent.get(what, (-math.inf, "", None))
        if now - at < _RECENT_SECONDS and known == address:
            return cast(T, made)
        made = make()
        self._recent[what] = now, address, made
        return made


class Views:
    """The newest view of each collection."""

    def __init__(self) -> None:
        self._turns = Turns()
        self._newest: dict[int, View] = {}

    async def view(self, collection: Collection, service: Service) -> View:
        """The view of the newest posterior. Raises `Unavailable`."""
        async with self._turns.of(collection.number):
            published = await service.descriptions.of(collection)
            known = self._newest.get(collection.number)
            if known is not None and known.published is published:
                return known
            particles = await service.particles(collection, published)
            made, seconds = await service.descriptions.compute(collection, _view, collection, published, particles)
            service.descriptions.took(collection.number, seconds)
            self._newest = {number: view for number, view in self._newest.items() if service.learners.has(number)}
            self._newest[collection.number] = made
            return made


def _view(collection: Collection, published: Published, particles: Particles) -> View:
    spec, posterior = collection.specification, published.described
    components = collection.statistics.get("components") or ()
    findings = find(spec, collection.survey, posterior, components)
    drawn = curves(spec, particles, collection.survey["decimals"])
    return View(published, posterior, findings, drawn, component_curves(particles, components))
