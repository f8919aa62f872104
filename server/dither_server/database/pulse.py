"""A check in bounded time of whether the database answers, even if it hangs."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future

from dither_server.errors import Unavailable

__all__ = ["Pulse"]

_PING_TIMEOUT = 2.0
"""Seconds after which a database that has not answered counts as unavailable."""


class Pulse:
    """Checks a database with `ping`, which raises if the database is unavailable and may also hang forever.

    At most one ping runs at a time, in a thread of its own. So pings of a database that hangs neither pile up nor use
    the threads of requests.
    """

    def __init__(self, ping: Callable[[], None]) -> None:
        self._ping = ping
        self._lock = threading.Lock()
        self._under_way: Future[None] | None = None

    async def check(self) -> None:
        """Raises `Unavailable` if there is no answer within `_PING_TIMEOUT` seconds, else whatever the ping raises."""
        answer = asyncio.wrap_future(self._current())
        answer.add_done_callback(asyncio.Future.exception)  # marks a late exception as retrieved
        await asyncio.wait([answer], timeout=_PING_TIMEOUT)
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
