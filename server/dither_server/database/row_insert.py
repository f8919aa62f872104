"""Inserting many rows by one statement in the driver's own words.

SQLAlchemy handles each row in Python, which would be most of a transaction's time; and SQLite's driver gives other
threads a turn at each row, which a single statement spares.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any

from sqlalchemy import Connection

from dither_server.database.engine import driver_rows

__all__ = ["RowInsert"]

_SQLITE_ROWS = 1_000
"""Rows of one statement: SQLite takes at most 32,766 parameters."""


@dataclass(frozen=True)
class RowInsert:
    """`INSERT` of rows into `table`, with a clause at its end, such as `ON CONFLICT`; both databases take the same."""

    table: str
    columns: tuple[tuple[str, str], ...]
    """Name and PostgreSQL type of each."""
    clause: str

    def execute(self, connection: Connection, rows: Sequence[tuple[Any, ...]]) -> Sequence[Any]:
        """Inserts `rows`, each in the order of the columns; what the clause returns, if it says `RETURNING`."""
        if connection.dialect.name == "postgresql":
            # Arrays, so that the statement is the same for any number of rows and is prepared once; %b: in binary.
            arrays = tuple(list(column) for column in zip(*rows, strict=True))
            return driver_rows(connection, _postgresql(self), arrays) if rows else []
        found: list[Any] = []
        for at in range(0, len(rows), _SQLITE_ROWS):
            part = rows[at : at + _SQLITE_ROWS]
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
