"""What is logged of learning that fails: each bug, and once that the database is away."""

import logging
import traceback

from dither_server.database.engine import DATABASE_TROUBLE
from dither_server.errors import Unavailable

__all__ = ["Failures"]

_log = logging.getLogger(__name__)


class Failures:
    """Used by the owner's thread alone."""

    def __init__(self) -> None:
        self._without_database = False

    def note(self, number: int, error: Exception) -> None:
        """Records that the collection with this number could not be learnt; the error's text is not logged."""
        if not isinstance(error, (*DATABASE_TROUBLE, Unavailable)):
            where = "".join(traceback.format_tb(error.__traceback__))
            facts = {"collection": number, "error": type(error).__name__, "where": where}
            _log.error("learning failed", extra=facts)
        elif not self._without_database:
            self._without_database = True
            _log.warning("learning waits for the database", extra={"error": type(error).__name__})

    def over(self) -> None:
        """Records that a collection was learnt."""
        self._without_database = False
