"""Inserts of many rows by one statement, sent to the driver directly.

SQLAlchemy would handle each row in Python, which would take most of a transaction's time. SQLite's driver would also
give other threads a turn at each row, which a single statement avoids.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any

from sqlalchemy import Connection

from dither_server.database.engine import driver_rows

__all__ = ["SQLITE_ROWS", "RowInsert"]

SQLITE_ROWS = 1_000
"""The largest number of rows in a statement: SQLite allows at most 32,766 parameters."""


@dataclass(frozen=True)
class RowInsert:
    """An `INSERT` into `table` with a final clause, such as `ON CONFLICT`, that both databases accept; or with none."""

    table: str
    columns: tuple[tuple[str, str], ...]
    """The name and the PostgreSQL type of each column."""
    clause: str

    def execute(self, connection: Connection, rows: Sequence[tuple[Any, ...]]) -> Sequence[Any]:
        """Inserts `rows`, each in the order of the columns, and returns the rows of a `RETURNING` clause."""
        if connection.dialect.name == "postgresql":
            # With arrays (%b: in binary) the statement is the same for any number of rows, so it is prepared once.
            arrays = tuple(list(column) for column in zip(*rows, strict=True))
            return driver_rows(connection, _postgresql(self), arrays) if rows else []
        found: list[Any] = []
        for at in range(0, len(rows), SQLITE_ROWS):
            part = rows[at : at + SQLITE_ROWS]
            found += driver_rows(connection, _sqlite(self, len(part)), tuple(chain.from_iterable(part)))
        return found

    @property
    def _target(self) -> str:
        return f"INSERT INTO {self.table} ({', '.join(name for name, _ in self.columns)})"


@lru_cache(maxsize=256)
def _sqlite(insert: RowInsert, size: int) -> str:
    row = f"({', '.join('?' * len(insert.columns))})"
    return f"{insert._target} VALUES {', '.join([row] * size)} {insert.clause}"


@lru_cache(maxsize=16)
def _postgresql(insert: RowInsert) -> str:
    arrays = ", ".join(f"%b::{kind}[]" for _, kind in insert.columns)
    return f"{insert._target} SELECT * FROM unnest({arrays}) {insert.clause}"
