"""What is shown of a posterior, made once for however many people look at it."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.concurrency import run_in_threadpool

from dither_client.posterior.wire import PosteriorReply
from dither_server.collections.collections import Collection
from dither_server.owner.thread import Owner
from dither_server.pages.charts import curves
from dither_server.pages.sentences import Findings, find

__all__ = ["View", "Views"]


@dataclass(frozen=True)
class View:
    """The words and the curves of one posterior."""

    posterior: PosteriorReply
    findings: Findings
    curves: Mapping[str, Any]


class Views:
    """The newest view of each collection."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._newest: dict[int, View] = {}

    async def view(self, collection: Collection, owner: Owner) -> View:
        """The view of the newest posterior. Raises `Unavailable`."""
        posterior = (await owner.published(collection)).posterior
        known = self._newest.get(collection.number)
        if known is not None and known.posterior is posterior:
            return known
        particles = await owner.particles(collection)

        def make() -> View:
            with self._lock:  # one at a time: curves take a core for up to some tenths of a second
                known = self._newest.get(collection.number)
                if known is not None and known.posterior is posterior:
                    return known
                spec = collection.specification
                made = View(posterior, find(spec, posterior, particles), curves(spec, particles))
                self._newest[collection.number] = made
                return made

        return await run_in_threadpool(make)
