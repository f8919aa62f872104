"""The newest state of each collection whose population is described, for all who read it."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, TypeVar

from dither_server.collections.collection import Collection
from dither_server.owner.published import REST, Published
from dither_server.owner.thread import Learners
from dither_server.service.turns import Turns

__all__ = ["Descriptions"]

_T = TypeVar("_T")

_LONG_SECONDS = 1.0
"""What is described once more after its description took longer than this has to wait for others that do, too."""
_MANY_GROUPS = 50
"""With more groups, and with drift, it has to from the first time on."""
_LONG_AT_ONCE = 2
"""Half of the threads: a few collections with hundreds of groups or periods would keep all others' readers waiting."""


@dataclass(slots=True)
class _Newest:
    published: Published
    seconds: float
    """How long its description took."""
    rests_until: float
    """On the clock `time.monotonic`."""


class Descriptions:
    """Describes each collection once for all who ask, and then not for `REST` times as long as that took.

    Anybody may read a public collection and answer it, and each answer makes its description old. `compute` runs a
    function in a thread. Used by the event loop alone.
    """

    def __init__(self, learners: Learners, compute: Callable[..., Awaitable[Any]]) -> None:
        self._learners = learners
        self._compute = compute
        self._turns = Turns()
        self._long = asyncio.Semaphore(_LONG_AT_ONCE)
        self._newest: dict[int, _Newest] = {}

    async def of(self, collection: Collection) -> Published:
        """What is published of the collection, or was when it was described last. Raises `Unavailable`."""
        number = collection.number
        turn, known = self._turns.of(number), self._newest.get(number)
        if known is not None and turn.locked():
            return known.published  # somebody waits for the next one
        async with turn:
            published = await self._learners.published(collection)
            known = self._newest.get(number)
            if known is not None and (known.published is published or time.monotonic() < known.rests_until):
                return known.published
            _, seconds = await self.compute(collection, lambda: published.reply)
            self._newest = {old: newest for old, newest in self._newest.items() if self._learners.has(old)}
            self._newest[number] = _Newest(published, seconds, time.monotonic() + REST * seconds)
            return published

    async def to_draw(self, collection: Collection) -> Published:
        """What is published to draw from; what is drawn only once it is described rests as `of` does. As `of`."""
        published = await self._learners.published(collection)
        return published if published.posterior.posterior else await self.of(collection)

    async def compute(self, collection: Collection, function: Callable[..., _T], *args: Any) -> tuple[_T, float]:
        """What `function` makes of a description, and the seconds that it took, without those for which it waited."""
        async with self._long if self._takes_long(collection) else nullcontext():
            found: tuple[_T, float] = await self._compute(_timed, function, *args)
            return found

    def took(self, number: int, seconds: float) -> None:
        """Counts what was made of the newest description, such as curves, as a part of it."""
        if number in self._newest:
            self._newest[number].rests_until += (1 + REST) * seconds

    def _takes_long(self, collection: Collection) -> bool:
        known, groups = self._newest.get(collection.number), collection.specification.groups
        many = groups is not None and len(groups.labels) > _MANY_GROUPS
        return many or collection.specification.drift or (known is not None and known.seconds > _LONG_SECONDS)


def _timed(function: Callable[..., _T], *args: Any) -> tuple[_T, float]:
    began = time.monotonic()
    found = function(*args)
    return found, time.monotonic() - began
