"""One read of a collection for all requests that need it meanwhile.

When a message reaches many phones, hundreds of tickets ask a process for questions that it has not read yet.
"""

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["SharedReads"]

_T = TypeVar("_T")


class SharedReads(Generic[_T]):
    """Calls `read` in a thread, once for all who ask for the same collection until it returns. For one event loop."""

    def __init__(self, read: Callable[[int], _T]) -> None:
        self._read = read
        self._running: dict[int, asyncio.Future[_T]] = {}

    async def of(self, number: int) -> _T:
        """What `read` returns for the collection with this number. Raises what it raises."""
        running = self._running.get(number)
        if running is None:
            running = self._running[number] = asyncio.ensure_future(asyncio.to_thread(self._read, number))
            running.add_done_callback(lambda _: self._running.pop(number, None))
        return await asyncio.shield(running)
