"""The thread that removes what has been kept for long enough, and goes on with removals that were interrupted."""

import logging
import threading

from dither_server.collections.deletion import Deletions
from dither_server.errors import Unavailable

__all__ = ["SWEEP_SECONDS", "Housekeeper"]

SWEEP_SECONDS = 60.0

_log = logging.getLogger(__name__)


class Housekeeper:
    """Sweeps at its start and every `SWEEP_SECONDS`, in a thread, since a large removal takes minutes."""

    def __init__(self, deletions: Deletions) -> None:
        self._deletions = deletions
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="dither-housekeeper", daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread after the transaction that it is in. To be called once the server is stopping."""
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while True:
            try:
                self._deletions.sweep()
            except Unavailable:
                pass  # the next sweep, or the next start, goes on
            except Exception as error:
                _log.error("what is due to be removed could not be", extra={"error": type(error).__name__})
            if self._stopped.wait(SWEEP_SECONDS):
                return
