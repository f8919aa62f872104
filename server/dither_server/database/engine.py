"""The database: an engine with the right settings for SQLite or PostgreSQL, at the newest schema."""

import logging
import os
import sqlite3
import stat
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import (
    URL,
    BigInteger,
    ColumnElement,
    Connection,
    Engine,
    ExceptionContext,
    Insert,
    Table,
    TableClause,
    create_engine,
    event,
    literal_column,
    make_url,
    select,
    text,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine.interfaces import DBAPIModule
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    InterfaceError,
    InternalError,
    NoSuchModuleError,
    OperationalError,
    TimeoutError,
)
from sqlalchemy.pool import ConnectionPoolEntry

from dither_migrations import Migration, SchemaRefused, upgrade_database
from dither_server.database.audit_log import append_audit
from dither_server.errors import StartRefused

__all__ = [
    "DATABASE_TROUBLE",
    "PATIENCE_SECONDS",
    "database_time",
    "driver_rows",
    "history_of",
    "insert_into",
    "insert_missing",
    "make_engine",
    "not_to_the_disk",
    "reading",
    "renew_together",
    "replace_row",
    "shown_url",
    "transact",
    "upgrade",
    "writing",
]

DATABASE_TROUBLE = (OperationalError, InterfaceError, InternalError, TimeoutError)
"""What SQLAlchemy raises for a database that is locked, full, gone or overloaded, rather than used wrongly."""

PATIENCE_SECONDS = 4
"""The longest wait for a connection, for another's lock, and for a transaction; a longer one counts as a failure."""

T = TypeVar("T")

_FIRST_VERSION = "0001"
_CUT_FOR_IDLENESS = "25P03"
"""PostgreSQL's code for a transaction that it ended since nothing came for `idle_in_transaction_session_timeout`."""

_TIMELINE = "timeline"
"""The key in a connection's `info` of what `history_of` returns."""
_READ_TIMELINE = (
    "SELECT CASE WHEN NOT pg_is_in_recovery() THEN left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) END"
)

_log = logging.getLogger(__name__)

_SHARED: dict[str, Any] = {"pool_size": 5, "max_overflow": 32}
"""Threads that read for requests may be more: then some wait for a connection, and only for one of these."""
_RESERVED: dict[str, Any] = {"pool_size": 8, "max_overflow": 0}
"""One connection for each thread that has to reach the database whatever is read; they stay open."""

_POSTGRES_SESSION = {
    "synchronous_commit": "on",  # acknowledged answers are on the disk, even if the database's own default is faster
    "statement_timeout": f"{PATIENCE_SECONDS}s",
    "idle_in_transaction_session_timeout": "3s",  # a frozen process soon loses its locks
    # PostgreSQL notices within half a minute that a client's machine is gone, and closes its connections.
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


def make_engine(address: str, *, reserved: bool = False) -> Engine:
    """An engine for the database at `address` (a URL); it does not connect yet. Raises `StartRefused`.

    Each engine has connections of its own. The few of a `reserved` one are for what must not wait for readers.
    """
    try:
        return _engine(make_url(address), (_RESERVED if reserved else _SHARED) | {"pool_timeout": PATIENCE_SECONDS})
    except (ArgumentError, NoSuchModuleError, ImportError):
        raise StartRefused(
            "The database must be sqlite:///FILE or postgresql+psycopg://USER@HOST/NAME (extra dither[postgres])."
        ) from None


def renew_together(first: Engine, second: Engine) -> None:
    """Lets both engines replace their connections once the database has ended one of either.

    Whatever ended one has mostly ended all, and each engine would fail once.
    """
    for engine, other in ((first, second), (second, first)):
        event.listen(engine, "invalidate", partial(_renew, other))


def _renew(engine: Engine, connection: object, record: ConnectionPoolEntry, error: BaseException | None) -> None:
    if error is not None:
        engine.pool._invalidate_time = time.time()  # as the pool of the connection itself does


def upgrade(engine: Engine) -> None:
    """Runs the migrations that the database lacks. Raises `StartRefused` with one sentence if it cannot be used.

    It also makes an SQLite database's files private to their user, including those that SQLite creates later.
    """
    try:
        _create_private(engine.url)
        _note(engine, upgrade_database(writing(engine)))
        _make_private(engine.url)
    except SchemaRefused as error:
        engine.dispose()
        raise StartRefused(str(error)) from None
    except DBAPIError as error:
        engine.dispose()
        raise StartRefused(_cannot_open(engine.url, error)) from None


def _note(engine: Engine, done: Sequence[Migration]) -> None:
    """Logs the migrations that were run, and adds them to the audit log; all those of a new database as one."""
    if done and done[0].version == _FIRST_VERSION:
        done = [Migration(done[-1].version, sum(one.seconds for one in done))]
    for one in done:
        facts = {"version": one.version, "seconds": round(one.seconds, 3)}
        _log.info("the database's schema was upgraded", extra=facts)
        with writing(engine).begin() as connection:
            at = connection.execute(select(database_time(connection.dialect.name))).scalar_one()
            append_audit(connection, at, "schema upgraded", "server", **facts)


def writing(engine: Engine) -> Engine:
    """The same engine for transactions that write: on SQLite they take the write lock when they begin."""
    return engine.execution_options(dither_writes=True)


def transact(engine: Engine, job: Callable[[Connection], T]) -> T:
    """Runs `job` in a transaction, and once more if PostgreSQL ended it for idleness and so undid all that it wrote.

    Then a pause of the whole machine, such as its move to another host, costs a moment and no error.
    """
    try:
        with engine.begin() as connection:
            return job(connection)
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) != _CUT_FOR_IDLENESS:
            raise
    with engine.begin() as connection:
        return job(connection)


def reading(engine: Engine) -> Engine:
    """The same engine for reads of a single statement each.

    On PostgreSQL they need no transaction, which saves two round trips.
    """
    return engine if engine.dialect.name == "sqlite" else engine.execution_options(isolation_level="AUTOCOMMIT")


def insert_into(dialect: str, table: TableClause) -> Any:
    """An `INSERT` that supports `ON CONFLICT`, in the dialect with this name."""
    insert: type[Insert] = postgresql.Insert if dialect == "postgresql" else sqlite.Insert
    return insert(table)


def insert_missing(connection: Connection, table: Table, row: Mapping[str, Any], *key: str) -> bool:
    """Inserts a row unless there is one with its `key`, by default the primary key; returns whether there was none."""
    names = list(key) or table.primary_key.columns.keys()
    insert = insert_into(connection.dialect.name, table).on_conflict_do_nothing(index_elements=names)
    return bool(connection.execute(insert.values(**row)).rowcount)


def replace_row(connection: Connection, table: Table, row: Mapping[str, Any]) -> None:
    """Inserts a row in place of the one with its primary key, if there is one."""
    names = table.primary_key.columns.keys()
    insert = insert_into(connection.dialect.name, table).values(**row)
    others = {name: value for name, value in row.items() if name not in names}
    connection.execute(insert.on_conflict_do_update(index_elements=names, set_=others))


def not_to_the_disk(connection: Connection) -> None:
    """Tells PostgreSQL not to wait for the disk when this transaction commits, as its loss would do no harm."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SET LOCAL synchronous_commit TO off"))


def history_of(connection: Connection) -> str | None:
    """Identifies the history that the database's rows belong to; None if that cannot change.

    A standby that takes over, or a backup with its log, may lack the latest rows, and give their numbers to others. On
    PostgreSQL it begins a new timeline, so whatever a process remembers of rows is good for one timeline only.
    """
    history: str | None = connection.info.get(_TIMELINE)
    return history


def database_time(dialect: str) -> ColumnElement[int]:
    """The time by the database's clock (milliseconds), which all processes share."""
    if dialect == "postgresql":
        return literal_column("CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)", BigInteger)
    return literal_column("CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)", BigInteger)


def driver_rows(connection: Connection, statement: str, parameters: Sequence[Any] = ()) -> Sequence[Any]:
    """Runs a `statement` through the driver, in the connection's transaction, and returns its rows.

    For the hot path only, where SQLAlchemy would take longer than the database. Raises what SQLAlchemy would raise.
    """
    cursor = connection.connection.cursor()
    try:
        cursor.execute(statement, parameters)
        return cursor.fetchall() if cursor.description else ()
    except connection.dialect.loaded_dbapi.Error as error:
        raise _as_sqlalchemy(connection, error) from None
    finally:
        cursor.close()


def _as_sqlalchemy(connection: Connection, error: DBAPIModule.Error) -> Exception:
    """The driver's `error` as SQLAlchemy would raise it; if it ended the connection, the pool replaces all of them."""
    dialect, kind = connection.dialect, connection.dialect.loaded_dbapi.Error
    gone = dialect.is_disconnect(error, connection.connection.dbapi_connection, None)
    if gone:
        # As SQLAlchemy does: whatever ended one has mostly ended the others, each of which would fail once.
        connection.engine.pool._invalidate(connection.connection, error)
        connection.invalidate(error)
    return DBAPIError.instance(
        None, None, error, kind, hide_parameters=True, connection_invalidated=gone, dialect=dialect
    )


def _engine(url: URL, pool: Mapping[str, Any]) -> Engine:
    backend = url.get_backend_name()
    if backend == "postgresql":
        engine = create_engine(url, connect_args=_postgres_arguments(url), **pool)
        event.listen(engine, "connect", partial(_note_timeline, engine.dialect.loaded_dbapi.Error))
        return engine
    if backend != "sqlite":
        raise ArgumentError("neither SQLite nor PostgreSQL")
    if not url.database or url.database == ":memory:":
        raise StartRefused("An SQLite database must be a file: sqlite:///FILE.")
    if not Path(url.database).absolute().parent.is_dir():
        raise StartRefused(f"There is no folder {Path(url.database).absolute().parent}: create it first.")
    engine = create_engine(url, **pool)
    event.listen(engine, "connect", _set_up_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    event.listen(engine, "handle_error", _say_damaged, retval=True)
    return engine


def _postgres_arguments(url: URL) -> dict[str, Any]:
    """Connection arguments; those in the URL take precedence."""
    session = " ".join(f"-c {name}={value}" for name, value in _POSTGRES_SESSION.items())
    options = f"{session} {url.query.get('options', '')}".strip()  # if a setting comes twice, the last value counts
    own = {name: value for name, value in _POSTGRES_CONNECTION.items() if name not in url.query}
    return {**own, "options": options}


def _note_timeline(error: type[Exception], connection: Any, record: ConnectionPoolEntry) -> None:
    """Looks up once for each connection which timeline its rows are of: a server that changes it ends connections."""
    with suppress(error):  # some services that speak PostgreSQL's language have no such log
        [(record.info[_TIMELINE],)] = connection.execute(_READ_TIMELINE).fetchall()
    connection.rollback()


def _set_up_sqlite(connection: sqlite3.Connection, record: object) -> None:
    connection.isolation_level = None  # `_begin_sqlite` begins transactions, not the driver at the first INSERT
    connection.execute(f"PRAGMA busy_timeout={PATIENCE_SECONDS * 1000}")
    _write_ahead(connection)
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA foreign_keys=ON")


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Sets the journal mode of the file. SQLite itself does not wait for others who set it at the same moment."""
    last = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > last:
                raise
            time.sleep(0.01)
        else:
            return


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get("dither_writes", False)
    driver_rows(connection, "BEGIN IMMEDIATE" if writes else "BEGIN")


def _say_damaged(context: ExceptionContext) -> Exception | None:
    """Logs that an SQLite file is damaged, and turns the error into one that counts as trouble of the database."""
    error = context.original_exception
    if type(error) is not sqlite3.DatabaseError:  # the others are subclasses
        return None
    _log.critical(
        "the SQLite file is damaged: stop the server, copy the file, and restore a backup or the output of "
        "`sqlite3 FILE .recover`"
    )
    return OperationalError(None, None, error)


def _create_private(url: URL) -> None:
    """Creates a missing SQLite file as private; SQLite gives the files beside it the same mode."""
    if url.get_backend_name() == "sqlite" and url.database and not Path(url.database).exists():
        with suppress(OSError):  # another process was first, or SQLite will report what is wrong
            os.close(os.open(url.database, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def _make_private(url: URL) -> None:
    """Removes other users' access to an SQLite database's files. Raises `StartRefused`."""
    if url.get_backend_name() != "sqlite":
        return
    for file in (Path(f"{url.database}{ending}") for ending in ("", "-wal", "-shm")):
        try:
            if file.exists() and stat.S_IMODE(file.stat().st_mode) & 0o077:
                file.chmod(0o600)
        except FileNotFoundError:
            pass  # another process has closed the database
        except OSError as error:
            raise StartRefused(
                f"Other users can read {file}, and its mode cannot be changed ({error.strerror})."
            ) from None


def _cannot_open(url: URL, error: DBAPIError) -> str:
    if url.get_backend_name() == "sqlite":
        return f"The database {url.database} cannot be used ({error.orig}): is it writable, and is it Dither's own?"
    reason = str(error.orig).strip().splitlines()[0]
    return f"The database at {shown_url(url)} cannot be used: {reason}."


def shown_url(url: URL) -> str:
    """The address of a database without what may be secret: its password, and parameters, which may hold another."""
    return url.set(query={}).render_as_string()
