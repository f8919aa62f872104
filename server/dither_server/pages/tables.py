"""The tables that were downloaded last, for whoever downloads them again: each is written once until it changes."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dither_server.collections.collection import Collection
from dither_server.service.service import Service
from dither_server.service.turns import Turns

__all__ = ["Tables"]

_MOST_BYTES = 16 * 2**20
"""How much of all tables is kept; a larger one is written for each reader."""


@dataclass(frozen=True, slots=True)
class _Table:
    basis: Any
    content: bytes


class Tables:
    """The tables of all collections in `_MOST_BYTES`. Used by the event loop alone."""

    def __init__(self) -> None:
        self._turns = Turns()
        self._kept: OrderedDict[tuple[int, str], _Table] = OrderedDict()
        """By the collection's number and the table's name, the one that was downloaded last at the end."""

    async def content(
        self,
        collection: Collection,
        service: Service,
        name: str,
        basis: Callable[[], Any],
        write: Callable[[], bytes],
    ) -> bytes:
        """What `write` returned when `basis` was as it is now: whatever the table follows from, read before it.

        Both are run in a thread.
        """
        key = collection.number, name
        async with self._turns.of(collection.number):
            now = await service.compute(basis)
            known = self._kept.get(key)
            if known is None or known.basis != now:
                known = _Table(now, await service.compute(write))
            self._keep(key, known, service)
            return known.content

    def _keep(self, key: tuple[int, str], table: _Table, service: Service) -> None:
        self._kept[key] = table
        self._kept.move_to_end(key)
        for old in [old for old in self._kept if not service.collections.known(old[0])]:
            del self._kept[old]
        size = sum(len(each.content) for each in self._kept.values())
        while size > _MOST_BYTES:
            _, dropped = self._kept.popitem(last=False)
            size -= len(dropped.content)
