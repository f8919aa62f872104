"""One read for all requests that need the same thing meanwhile.

When a message reaches many phones, hundreds of requests name a collection that the process has not read yet.
"""

import asyncio
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

__all__ = ["SharedReads"]

_K = TypeVar("_K", bound=Hashable)
_T = TypeVar("_T")


class SharedReads(Generic[_K, _T]):
    """Calls `read` in a thread, once for all who ask for the same key until it returns. For one event loop."""

    def __init__(self, read: Callable[[_K], _T]) -> None:
        self._read = read
        self._running: dict[_K, asyncio.Future[_T]] = {}

    async def of(self, key: _K) -> _T:
        """What `read` returns for `key`. Raises what it raises."""
        running = self._running.get(key)
        if running is None:
            running = self._running[key] = asyncio.ensure_future(asyncio.to_thread(self._read, key))
            running.add_done_callback(lambda _: self._running.pop(key, None))
        return await asyncio.shield(running)
