"""Records what is done with tokens, in the server's log and in the database."""

import logging
from typing import Any

from sqlalchemy import Engine

from dither_server.answers.writer import Writer
from dither_server.audit import audit
from dither_server.clock import Clock, milliseconds
from dither_server.database.audit_log import AuditRow, append_audit, read_audit
from dither_server.errors import Unavailable

__all__ = ["AuditTrail"]

_log = logging.getLogger(__name__)


class AuditTrail:
    """The audit log of a running server."""

    def __init__(self, engine: Engine, writer: Writer, clock: Clock) -> None:
        self._engine = engine
        self._writer = writer
        self._clock = clock

    def record(self, what: str, by: str, **facts: Any) -> None:
        """Logs and stores that the token with the id `by` did `what`. It waits for the disk: not on the event loop.

        What was done is not undone if the row cannot be stored; the log has the line in any case.
        """
        audit(what, by, **facts)
        at = milliseconds(self._clock())
        try:
            self._writer.submit(lambda connection: append_audit(connection, at, what, by, **facts)).result()
        except Unavailable:
            _log.error("the audit log in the database lacks this action", extra={"what": what, "by": by})

    def rows(self, collection: str | None, after: int, limit: int) -> list[AuditRow]:
        """Up to `limit` rows with numbers above `after`, in order: all, or those of one collection."""
        return read_audit(self._engine, collection, after, limit)
