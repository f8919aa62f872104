"""Inserts of many rows by one statement, sent to the driver directly.

SQLAlchemy would handle each row in Python, which would take most of a transaction's time. SQLite's driver would also
give other threads a turn at each row, which a single statement avoids.
"""

from collections.abc import Iterable, Sequence
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
    """The name and the PostgreSQL type of each column: `bytea`, or an integer type."""
    clause: str

    def execute(self, connection: Connection, rows: Sequence[tuple[Any, ...]]) -> Sequence[Any]:
        """Inserts `rows`, each in the order of the columns, and returns the rows of a `RETURNING` clause."""
        if connection.dialect.name == "postgresql":
            # With arrays the statement is the same for any number of rows, so it is prepared once.
            return driver_rows(connection, _postgresql(self), self.arrays(rows)) if rows else []
        found: list[Any] = []
        for at in range(0, len(rows), SQLITE_ROWS):
            part = rows[at : at + SQLITE_ROWS]
            found += driver_rows(connection, _sqlite(self, len(part)), tuple(chain.from_iterable(part)))
        return found

    def arrays(self, rows: Sequence[tuple[Any, ...]]) -> tuple[str, ...]:
        """The columns of `rows` as PostgreSQL spells arrays: from lists, the driver would take longer."""
        spelt = zip(self.columns, zip(*rows, strict=True), strict=True)
        return tuple(_bytes_array(column) if kind == "bytea" else _integer_array(column) for (_, kind), column in spelt)

    @property
    def _target(self) -> str:
        return f"INSERT INTO {self.table} ({', '.join(name for name, _ in self.columns)})"


def _integer_array(column: Iterable[int]) -> str:
    return "{" + ",".join(map(str, column)) + "}"


def _bytes_array(column: Iterable[bytes | None]) -> str:
    return "{" + ",".join(["NULL" if value is None else rf'"\\x{value.hex()}"' for value in column]) + "}"


@lru_cache(maxsize=256)
def _sqlite(insert: RowInsert, size: int) -> str:
    row = f"({', '.join('?' * len(insert.columns))})"
    return f"{insert._target} VALUES {', '.join([row] * size)} {insert.clause}"


@lru_cache(maxsize=16)
def _postgresql(insert: RowInsert) -> str:
    arrays = ", ".join(f"%s::{kind}[]" for _, kind in insert.columns)
    return f"{insert._target} SELECT * FROM unnest({arrays}) {insert.clause}"
