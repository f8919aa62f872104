"""A process's copy of database rows, which is read again on request and never becomes older."""

import threading
import time
from collections.abc import Callable

__all__ = ["Refreshed"]


class Refreshed:
    """Runs `read`, which reads rows and stores a copy of them, in one thread at a time.

    So the copy never becomes older, and after a commit and `refresh` it includes the committed change. Threads that
    call at the same time share one reading.
    """

    def __init__(self, read: Callable[[], None]) -> None:
        self._read = read
        self._lock = threading.Lock()
        self._began = 0.0

    def refresh(self) -> None:
        """Returns once a `read` that began after this call has finished. Raises what `read` raises."""
        asked = time.monotonic()
        with self._lock:
            if self._began > asked:
                return
            began = time.monotonic()
            self._read()
            self._began = began
