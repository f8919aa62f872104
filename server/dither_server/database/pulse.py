"""Whether the database answers, found out in bounded time, however it hangs."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future

from dither_server.errors import Unavailable

__all__ = ["Pulse"]

_PATIENCE = 2.0
"""Seconds after which a database that has not answered counts as away."""


class Pulse:
    """Feels for a database with `ping`, which raises if it is away and may also hang for ever.

    At most one ping is under way, in a thread of its own, so that probes of a database that hangs neither pile up nor
    take the threads of requests.
    """

    def __init__(self, ping: Callable[[], None]) -> None:
        self._ping = ping
        self._lock = threading.Lock()
        self._under_way: Future[None] | None = None

    async def check(self) -> None:
        """Raises `Unavailable` if there is no answer within `_PATIENCE` seconds, else whatever the ping raises."""
        answer = asyncio.wrap_future(self._current())
        answer.add_done_callback(asyncio.Future.exception)  # nobody may be left to hear of it
        await asyncio.wait([answer], timeout=_PATIENCE)
        if not answer.done():
            raise Unavailable
        answer.result()

    def _current(self) -> "Future[None]":
        with self._lock:
            if self._under_way is None or self._under_way.done():
                self._under_way = Future()
                threading.Thread(target=self._run, args=[self._under_way], name="dither-pulse", daemon=True).start()
            return self._under_way

    def _run(self, future: "Future[None]") -> None:
        try:
            self._ping()
        except Exception as error:
            future.set_exception(error)
        else:
            future.set_result(None)
