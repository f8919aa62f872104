"""The newest state of each collection whose population is described, for all who read it."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from dither_server.collections.collection import Collection
from dither_server.owner.published import REST, Published
from dither_server.owner.thread import Learners
from dither_server.service.turns import Turns

__all__ = ["Descriptions", "timed"]

_P = ParamSpec("_P")
_T = TypeVar("_T")


@dataclass(slots=True)
class _Newest:
    published: Published
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
            _, seconds = await self._compute(timed, lambda: published.reply)
            self._newest = {old: newest for old, newest in self._newest.items() if self._learners.has(old)}
            self._newest[number] = _Newest(published, time.monotonic() + REST * seconds)
            return published

    def took(self, number: int, seconds: float) -> None:
        """Counts what was made of the newest description, such as curves, as a part of it."""
        if number in self._newest:
            self._newest[number].rests_until += (1 + REST) * seconds


def timed(function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> tuple[_T, float]:
    """What `function` returns, and the seconds that it took, without those for which it waited for a thread."""
    began = time.monotonic()
    found = function(*args, **kwargs)
    return found, time.monotonic() - began
