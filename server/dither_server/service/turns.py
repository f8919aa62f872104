"""Turns at what is computed once for all who ask at the same time: they wait without a thread."""

import asyncio
from weakref import WeakValueDictionary

__all__ = ["Turns"]


class Turns:
    """A lock for each collection, by its number. Used by the event loop alone."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()

    def of(self, number: int) -> asyncio.Lock:
        """The collection's lock, which everybody gets who asks while somebody has it."""
        lock = self._locks.get(number)
        if lock is None:
            lock = self._locks[number] = asyncio.Lock()
        return lock
