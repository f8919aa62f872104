"""PostgreSQL databases of a test's or a benchmark's own, and what must hold in any database of a server."""

import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import psycopg
from sqlalchemy import Connection, Engine, Select, func, select

from dither_server.database.schema import answers, collections, counts, spent_tickets

__all__ = ["POSTGRES", "check_counts", "driver_url", "new_database"]

POSTGRES = "postgresql://postgres@127.0.0.1:5432/test"
"""A database of the PostgreSQL that tests share."""

_drops = ThreadPoolExecutor(1)
"""PostgreSQL writes a checkpoint before it drops a database, for which nobody has to wait."""


@contextmanager
def new_database(beside: str = POSTGRES, like: str = "template1") -> Iterator[str]:
    """The URL of a database beside that one, dropped after the end; empty, or a copy of one that nobody uses.

    Raises `psycopg.OperationalError` if there is no PostgreSQL.
    """
    name = f"dither_{secrets.token_hex(6)}"
    with psycopg.connect(beside, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name} TEMPLATE {like}".encode())
        try:
            yield f"{beside.rpartition('/')[0]}/{name}"
        finally:
            try:
                _drops.submit(_drop, beside, name)
            except RuntimeError:  # the interpreter ends
                _drop(beside, name)


def _drop(beside: str, name: str) -> None:
    with psycopg.connect(beside, autocommit=True) as server:
        server.execute(f"DROP DATABASE {name} WITH (FORCE)")


def driver_url(url: str) -> str:
    """The URL of a PostgreSQL database as servers take it, which names the driver."""
    return url.replace("postgresql:", "postgresql+psycopg:", 1)


def check_counts(engine: Engine) -> None:
    """Fails unless the counts are those of the answers, and as many as the tickets spent where none are kept."""
    by = (answers.c.collection, answers.c.query, answers.c.answer)
    of = (counts.c.collection, counts.c.query, counts.c.answer)
    keeps = select(collections.c.number).where(collections.c.keep_answers)
    answered = select(*by, func.count()).group_by(*by)
    kept = select(*of, func.sum(counts.c.count)).where(counts.c.collection.in_(keeps)).group_by(*of)
    spent = select(spent_tickets.c.collection, func.count()).group_by(spent_tickets.c.collection)
    dropped = select(counts.c.collection, func.sum(counts.c.count)).where(counts.c.collection.not_in(keeps))
    with engine.connect() as connection:
        assert _rows(connection, kept) == _rows(connection, answered)
        assert _rows(connection, dropped.group_by(counts.c.collection)) == _rows(connection, spent)


def _rows(connection: Connection, query: Select[Any]) -> dict[tuple[Any, ...], int]:
    return {tuple(row[:-1]): int(row[-1]) for row in connection.execute(query)}
