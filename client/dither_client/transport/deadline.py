"""Ends what takes too long on connections that a thread waits on.

The timeouts of httpx2 are for each read, so a server that sends a byte now and then could hold a thread for ever.
"""

import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any
from weakref import WeakSet

__all__ = ["Cutter"]


class Cutter:
    """Knows the connections of one client to one server, by httpx2's trace extension."""

    def __init__(self) -> None:
        self._streams: WeakSet[Any] = WeakSet()
        self._lock = threading.Lock()

    def note(self, event: str, info: Mapping[str, Any]) -> None:
        """What httpx2 calls as it goes along."""
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            with self._lock:
                self._streams.add(info["return_value"])

    @contextmanager
    def after(self, seconds: float) -> Iterator[None]:
        """Cuts every connection if the block takes longer: whoever waits on one gets the error of a broken one."""
        timer = threading.Timer(seconds, self._cut)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _cut(self) -> None:
        with self._lock:
            sockets = [stream.get_extra_info("socket") for stream in self._streams]
        for connection in sockets:
            with suppress(OSError):
                # Not `connection.shutdown`: that of a TLS socket changes what the waiting thread uses.
                socket.socket.shutdown(connection, socket.SHUT_RDWR)
