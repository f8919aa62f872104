"""The database: an engine with the right settings for SQLite or PostgreSQL, at the newest schema."""

import sqlite3
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, Insert, TableClause, create_engine, event, make_url
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    InterfaceError,
    InternalError,
    NoSuchModuleError,
    OperationalError,
    TimeoutError,
)

from dither_migrations import SchemaRefused, upgrade_database
from dither_server.errors import StartRefused

__all__ = ["DATABASE_TROUBLE", "insert_into", "make_engine", "upgrade", "writing"]

DATABASE_TROUBLE = (OperationalError, InterfaceError, InternalError, TimeoutError)
"""What a database raises that is locked, full, gone or overloaded, rather than used wrongly."""

_POOL: dict[str, Any] = {"pool_size": 5, "max_overflow": 40}
"""As many connections as there are threads that read, so that the writer never waits for one of them."""

_BUSY_SECONDS = 5
"""How long an SQLite connection waits for another process's transaction."""


def make_engine(address: str) -> Engine:
    """An engine for the database at `address` (a URL), which is not contacted yet. Raises `StartRefused`."""
    try:
        return _engine(make_url(address))
    except (ArgumentError, NoSuchModuleError, ImportError):
        raise StartRefused(
            "The database must be sqlite:///FILE or postgresql+psycopg://USER@HOST/NAME (extra dither[postgres])."
        ) from None


def upgrade(engine: Engine) -> None:
    """Runs the migrations that the database lacks. Raises `StartRefused` with one sentence if it cannot be used."""
    try:
        upgrade_database(writing(engine))
    except SchemaRefused as error:
        engine.dispose()
        raise StartRefused(str(error)) from None
    except DBAPIError as error:
        engine.dispose()
        raise StartRefused(_cannot_open(engine.url, error)) from None


def writing(engine: Engine) -> Engine:
    """The same engine for transactions that write: on SQLite these take the lock as they begin, not half-way."""
    return engine.execution_options(dither_writes=True)


def insert_into(dialect: str, table: TableClause) -> Any:
    """An `INSERT` that can say `ON CONFLICT`, in the dialect of that name."""
    insert: type[Insert] = postgresql.Insert if dialect == "postgresql" else sqlite.Insert
    return insert(table)


def _engine(url: URL) -> Engine:
    backend = url.get_backend_name()
    if backend == "postgresql":
        return create_engine(url, **_POOL)
    if backend != "sqlite":
        raise ArgumentError("neither SQLite nor PostgreSQL")
    if not url.database or url.database == ":memory:":
        raise StartRefused("An SQLite database must be a file: sqlite:///FILE.")
    if not Path(url.database).absolute().parent.is_dir():
        raise StartRefused(f"There is no folder {Path(url.database).absolute().parent}: make it first.")
    engine = create_engine(url, **_POOL)
    event.listen(engine, "connect", _set_up_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _set_up_sqlite(connection: sqlite3.Connection, record: object) -> None:
    connection.isolation_level = None  # transactions begin where `_begin_sqlite` says, not at the first INSERT
    for pragma in (f"busy_timeout={_BUSY_SECONDS * 1000}", "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get("dither_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _cannot_open(url: URL, error: DBAPIError) -> str:
    if url.get_backend_name() == "sqlite":
        return f"The database {url.database} cannot be used ({error.orig}): may it be written, and is it Dither's own?"
    reason = str(error.orig).strip().splitlines()[0]
    return f"The database at {url.render_as_string()} cannot be used: {reason}."
