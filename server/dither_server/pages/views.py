"""What the pages show of a posterior, computed once for all readers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dither_client.posterior.wire import PosteriorReply
from dither_server.collections.collection import Collection
from dither_server.owner.published import Particles, Published
from dither_server.pages.charts import component_curves, curves
from dither_server.pages.sentences import Findings, find
from dither_server.service.service import Service
from dither_server.service.turns import Turns

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
        self._turns = Turns()
        self._newest: dict[int, View] = {}

    async def view(self, collection: Collection, service: Service) -> View:
        """The view of the newest posterior. Raises `Unavailable`."""
        async with self._turns.of(collection.number):
            published = await service.described(collection)
            known = self._newest.get(collection.number)
            if known is not None and known.published is published:
                return known
            particles = await service.learners.particles(collection)
            made = await service.compute(_view, collection, published, particles)
            self._newest = {number: view for number, view in self._newest.items() if service.learners.has(number)}
            self._newest[collection.number] = made
            return made


def _view(collection: Collection, published: Published, particles: Particles) -> View:
    spec, posterior = collection.specification, published.described
    components = collection.statistics.get("components") or ()
    findings = find(spec, collection.survey, posterior, components)
    drawn = curves(spec, particles, collection.survey["decimals"])
    return View(published, posterior, findings, drawn, component_curves(particles, components))
