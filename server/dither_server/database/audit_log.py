"""The audit log in the database: who did what, and when. Rows are only ever added, which triggers enforce."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import Connection, Engine, insert, select

from dither_server.clock import iso_time
from dither_server.database.schema import audit_log

__all__ = ["AuditRow", "append_audit", "read_audit"]


@dataclass(frozen=True, slots=True)
class AuditRow:
    """One action. `facts` are the ids of what it changed; `collection` is None if it was not done to one."""

    number: int
    at: int
    """Milliseconds."""
    what: str
    by: str
    """The id of the token that authorised it; `server` and the like for what no token asked for."""
    collection: str | None
    facts: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """The row as an object of the wire format."""
        return {**asdict(self), "at": iso_time(self.at)}


def append_audit(connection: Connection, at: int, what: str, by: str, **facts: Any) -> None:
    """Adds a row in the connection's transaction; the fact `collection` has a column of its own."""
    collection = facts.pop("collection", None)
    row = {"at": at, "what": what, "by": by, "collection": collection, "facts": json.dumps(facts)}
    connection.execute(insert(audit_log), row)


def read_audit(engine: Engine, collection: str | None, after: int, limit: int) -> list[AuditRow]:
    """Up to `limit` rows with numbers above `after`, in order: all, or those of one collection."""
    columns = audit_log.c
    found = select(*columns).where(columns.number > after).order_by(columns.number).limit(limit)
    if collection is not None:
        found = found.where(columns.collection == collection)
    with engine.connect() as connection:
        rows = connection.execute(found).all()
    return [AuditRow(number, at, what, by, of, json.loads(facts)) for number, at, what, by, of, facts in rows]
