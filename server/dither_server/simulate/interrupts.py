"""Makes Ctrl-C a request to finish, rather than an exception raised anywhere."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["on_interrupt"]


@contextmanager
def on_interrupt(stop: Callable[[], None]) -> Iterator[None]:
    """The first Ctrl-C calls `stop`; a second one acts as it would without this. No effect outside the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, before)
        stop()

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
