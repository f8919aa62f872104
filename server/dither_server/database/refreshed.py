"""What a process keeps of the database, read anew without ever going back to something older."""

import threading
import time
from collections.abc import Callable

__all__ = ["Refreshed"]


class Refreshed:
    """Runs `read`, which reads rows and keeps what it read, in one thread at a time.

    So what is kept never gets older, and whoever has committed a change and then refreshes finds it kept. Many that ask
    at once are served by one reading.
    """

    def __init__(self, read: Callable[[], None]) -> None:
        self._read = read
        self._lock = threading.Lock()
        self._began = 0.0

    def refresh(self) -> None:
        """Returns once `read` has run, begun after this call. Raises what it raises."""
        asked = time.monotonic()
        with self._lock:
            if self._began > asked:
                return
            began = time.monotonic()
            self._read()
            self._began = began
