"""The database: an engine with the right settings for SQLite or PostgreSQL, at the newest schema."""

import logging
import os
import sqlite3
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlalchemy import (
    URL,
    BigInteger,
    ColumnElement,
    Connection,
    Engine,
    ExceptionContext,
    Insert,
    TableClause,
    create_engine,
    event,
    literal_column,
    make_url,
    text,
)
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

__all__ = [
    "DATABASE_TROUBLE",
    "PATIENCE_SECONDS",
    "database_time",
    "driver_rows",
    "insert_into",
    "make_engine",
    "not_to_the_disk",
    "reading",
    "upgrade",
    "writing",
]

DATABASE_TROUBLE = (OperationalError, InterfaceError, InternalError, TimeoutError)
"""What a database raises that is locked, full, gone or overloaded, rather than used wrongly."""

PATIENCE_SECONDS = 4
"""How long the database is waited for: a connection to it, another's lock, a transaction. Then its trouble is ours."""

_log = logging.getLogger(__name__)

_POOL: dict[str, Any] = {"pool_size": 5, "max_overflow": 40, "pool_timeout": PATIENCE_SECONDS}
"""As many connections as there are threads that read, so that the writer never waits for one of them."""

_POSTGRES_SESSION = {
    "synchronous_commit": "on",  # what is acknowledged is on the disk, also where the database is set to be faster
    "statement_timeout": f"{PATIENCE_SECONDS}s",
    "idle_in_transaction_session_timeout": "3s",  # others do not wait for the locks of a process that froze
    # PostgreSQL notices within half a minute that a machine is gone, and lets go of its connections.
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
}
_POSTGRES_CONNECTION = {
    "connect_timeout": PATIENCE_SECONDS,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}


def make_engine(address: str) -> Engine:
    """An engine for the database at `address` (a URL), which is not contacted yet. Raises `StartRefused`."""
    try:
        return _engine(make_url(address))
    except (ArgumentError, NoSuchModuleError, ImportError):
        raise StartRefused(
            "The database must be sqlite:///FILE or postgresql+psycopg://USER@HOST/NAME (extra dither[postgres])."
        ) from None


def upgrade(engine: Engine) -> None:
    """Runs the migrations that the database lacks. Raises `StartRefused` with one sentence if it cannot be used.

    An SQLite database's files are its user's alone from then on, those that SQLite makes later among them.
    """
    try:
        _create_private(engine.url)
        upgrade_database(writing(engine))
        _make_private(engine.url)
    except SchemaRefused as error:
        engine.dispose()
        raise StartRefused(str(error)) from None
    except DBAPIError as error:
        engine.dispose()
        raise StartRefused(_cannot_open(engine.url, error)) from None


def writing(engine: Engine) -> Engine:
    """The same engine for transactions that write: on SQLite these take the lock as they begin, not half-way."""
    return engine.execution_options(dither_writes=True)


def reading(engine: Engine) -> Engine:
    """The same engine for reads of one statement each.

    On PostgreSQL those need no transaction: beginning and ending one would be two more messages, there and back.
    """
    return engine if engine.dialect.name == "sqlite" else engine.execution_options(isolation_level="AUTOCOMMIT")


def insert_into(dialect: str, table: TableClause) -> Any:
    """An `INSERT` that can say `ON CONFLICT`, in the dialect of that name."""
    insert: type[Insert] = postgresql.Insert if dialect == "postgresql" else sqlite.Insert
    return insert(table)


def not_to_the_disk(connection: Connection) -> None:
    """Lets PostgreSQL not wait for the disk at the end of this transaction, whose loss would do no harm."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SET LOCAL synchronous_commit TO off"))


def database_time(dialect: str) -> ColumnElement[int]:
    """The time by the database's own clock (milliseconds), which is one for all processes."""
    if dialect == "postgresql":
        return literal_column("CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)", BigInteger)
    return literal_column("CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)", BigInteger)


def driver_rows(connection: Connection, statement: str, parameters: Sequence[Any] = ()) -> Sequence[Any]:
    """The rows of a `statement` in the driver's own words, in the connection's transaction; for the hot path alone.

    SQLAlchemy would take longer over a statement than the database does. Raises what it would raise.
    """
    cursor = connection.connection.cursor()
    try:
        cursor.execute(statement, parameters)
        return cursor.fetchall() if cursor.description else ()
    except Exception as error:
        raise _as_sqlalchemy(connection, error) from None
    finally:
        cursor.close()


def _as_sqlalchemy(connection: Connection, error: Exception) -> Exception:
    """The driver's `error` as SQLAlchemy raises it; a connection that it ended is used no more."""
    kind, dialect = connection.dialect.loaded_dbapi.Error, connection.dialect
    if not isinstance(error, kind):
        return error
    gone = dialect.is_disconnect(error, connection.connection.dbapi_connection, None)
    if gone:
        connection.invalidate(error)
    return DBAPIError.instance(
        None, None, error, kind, hide_parameters=True, connection_invalidated=gone, dialect=dialect
    )


def _engine(url: URL) -> Engine:
    backend = url.get_backend_name()
    if backend == "postgresql":
        return create_engine(url, connect_args=_postgres_arguments(url), **_POOL)
    if backend != "sqlite":
        raise ArgumentError("neither SQLite nor PostgreSQL")
    if not url.database or url.database == ":memory:":
        raise StartRefused("An SQLite database must be a file: sqlite:///FILE.")
    if not Path(url.database).absolute().parent.is_dir():
        raise StartRefused(f"There is no folder {Path(url.database).absolute().parent}: make it first.")
    engine = create_engine(url, **_POOL)
    event.listen(engine, "connect", _set_up_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    event.listen(engine, "handle_error", _say_damaged, retval=True)
    return engine


def _postgres_arguments(url: URL) -> dict[str, Any]:
    """What a connection is made with, apart from what the URL itself says."""
    session = " ".join(f"-c {name}={value}" for name, value in _POSTGRES_SESSION.items())
    options = f"{session} {url.query.get('options', '')}".strip()  # of two values for one setting, the last holds
    own = {name: value for name, value in _POSTGRES_CONNECTION.items() if name not in url.query}
    return {**own, "options": options}


def _set_up_sqlite(connection: sqlite3.Connection, record: object) -> None:
    connection.isolation_level = None  # transactions begin where `_begin_sqlite` says, not at the first INSERT
    for pragma in (
        f"busy_timeout={PATIENCE_SECONDS * 1000}",
        "journal_mode=WAL",
        "synchronous=FULL",
        "foreign_keys=ON",
    ):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get("dither_writes", False)
    driver_rows(connection, "BEGIN IMMEDIATE" if writes else "BEGIN")


def _say_damaged(context: ExceptionContext) -> Exception | None:
    """What SQLite says of a file with damage in it is trouble of the database, and its operator has to be told."""
    error = context.original_exception
    if type(error) is not sqlite3.DatabaseError:  # the others are subclasses
        return None
    _log.critical(
        "the SQLite file is damaged: stop the server, copy the file, and restore a backup or what "
        "`sqlite3 FILE .recover` finds"
    )
    return OperationalError(None, None, error)


def _create_private(url: URL) -> None:
    """Makes an SQLite file that is not there yet; SQLite gives the files beside it the same mode."""
    if url.get_backend_name() == "sqlite" and url.database and not Path(url.database).exists():
        with suppress(OSError):  # SQLite says what is wrong, or another process was first
            os.close(os.open(url.database, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def _make_private(url: URL) -> None:
    """Takes from others what an SQLite database's files let them do. Raises `StartRefused`."""
    if url.get_backend_name() != "sqlite":
        return
    for file in (Path(f"{url.database}{ending}") for ending in ("", "-wal", "-shm")):
        try:
            if file.exists() and stat.S_IMODE(file.stat().st_mode) & 0o077:
                file.chmod(0o600)
        except FileNotFoundError:
            pass  # another process has closed the database
        except OSError as error:
            raise StartRefused(f"Others can read {file}, which cannot be changed ({error.strerror}).") from None


def _cannot_open(url: URL, error: DBAPIError) -> str:
    if url.get_backend_name() == "sqlite":
        return f"The database {url.database} cannot be used ({error.orig}): may it be written, and is it Dither's own?"
    reason = str(error.orig).strip().splitlines()[0]
    return f"The database at {url.render_as_string()} cannot be used: {reason}."
