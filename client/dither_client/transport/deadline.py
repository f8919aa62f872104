"""A deadline for a whole response on a synchronous connection.

The timeouts of httpx2 apply to each read, so a server that sends a byte now and then could hold a thread forever.
"""

import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any
from weakref import WeakSet

__all__ = ["Cutter"]


class Cutter:
    """Tracks one client's connections through httpx2's trace extension, and cuts them when a deadline passes."""

    def __init__(self) -> None:
        self._streams: WeakSet[Any] = WeakSet()
        self._lock = threading.Lock()

    def note(self, event: str, info: Mapping[str, Any]) -> None:
        """Records each new connection; httpx2's trace extension calls this."""
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            with self._lock:
                self._streams.add(info["return_value"])

    @contextmanager
    def after(self, seconds: float) -> Iterator[None]:
        """Cuts every connection if the block takes longer, which raises a connection error in whoever waits on one."""
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
                # Not `connection.shutdown`: on a TLS socket it changes state that the waiting thread uses.
                socket.socket.shutdown(connection, socket.SHUT_RDWR)
