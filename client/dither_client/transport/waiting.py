"""A server that does not answer: whoever waits is told, and the waiting ends.

`told_of_waiting` names who is to be told; a command tells the person at the terminal. `Wait` is one wait for one
server, from the first attempt to the response that is not tried again.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from dither_client.errors import Unreachable
from dither_client.protocol.flow import ConnectionFailed, Response, Sleep

__all__ = ["CONNECT", "GIVE_UP", "Wait", "told_of_waiting"]

GIVE_UP = 60.0
"""The most seconds that all attempts to connect take together."""
CONNECT = 10.0
"""The most seconds that making a connection may take."""
_QUIET = 3.0
"""Seconds after which whoever waits is told, if a connection has not failed before."""

Tell = Callable[[str, float], None]

_tell: ContextVar[Tell | None] = ContextVar("tell", default=None)


@contextmanager
def told_of_waiting(tell: Tell) -> Iterator[None]:
    """While the context lasts, `tell` gets the address of each server that cannot be reached, once, and at once.

    Of one that has not answered for three seconds, too; then it is called on another thread, while this one waits.
    It also gets the most seconds for which a connection is tried.
    """
    addresses, lock = set[str](), threading.Lock()

    def once(address: str, ends: float) -> None:
        with lock:
            new = address not in addresses
            addresses.add(address)
        if new:
            tell(address, ends)

    token = _tell.set(once)
    try:
        yield
    finally:
        _tell.reset(token)


class Wait:
    """A wait for a response of the server at `address`, over as many attempts as it takes."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._began: float | None = None
        self._timer: threading.Timer | None = None
        self._failed = False

    def begin(self) -> None:
        """Notes that an attempt begins, the first or another."""
        if self._began is not None:
            return
        self._began = time.monotonic()
        if tell := _tell.get():
            self._timer = threading.Timer(_QUIET, tell, (self._address, GIVE_UP))
            self._timer.daemon = True
            self._timer.start()

    def note(self, reply: Response | ConnectionFailed) -> None:
        """Notes how an attempt ended; the wait is over if its response is not to be tried again."""
        self._failed = isinstance(reply, ConnectionFailed)
        if isinstance(reply, Response) and not reply.to_be_repeated:
            self.end()

    def end(self) -> None:
        """Ends the wait, and tells nobody of it any more."""
        self._began = None
        if self._timer:
            self._timer.cancel()
            self._timer = None

    def check(self, sleep: Sleep) -> None:
        """Tells that no connection could be made, if so. Raises `Unreachable` if another attempt would be too late."""
        waited = 0.0 if self._began is None else time.monotonic() - self._began
        if not self._failed:
            return
        if tell := _tell.get():
            tell(self._address, min(sleep.ends, GIVE_UP))
        if waited + sleep.seconds + CONNECT > GIVE_UP:
            raise Unreachable(f"no response from the server in {waited:.0f} s: check its address, or try later")
