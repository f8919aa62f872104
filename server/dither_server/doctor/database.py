"""Checks of the database: whether it can be used, has this version's schema, and keeps what it acknowledges.

They write nothing to it: an SQLite file is opened read-only, and on PostgreSQL the commit latency is measured with
messages in the write-ahead log instead of rows.
"""

import sqlite3
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from statistics import median
from urllib.parse import quote

from pydantic import SecretStr
from sqlalchemy import URL, Connection, create_engine, make_url, text
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from dither_migrations import newest_revision
from dither_server.database.engine import make_engine, shown_url
from dither_server.doctor.findings import Finding, fine, mend, unknown
from dither_server.doctor.machine import examine_disk, examine_time
from dither_server.errors import StartRefused
from dither_server.replicas.membership import have_secret
from dither_server.settings import Settings
from dither_server.tickets.secret import Keys, secret_file

__all__ = ["examine_database", "examine_secret"]

_TIMEOUT_SECONDS = 5
_SLOW_COMMIT_SECONDS = 0.05
_MEASURED_COMMITS = 9
_MIN_SECRET_LENGTH = 22
"""Enough random characters from an alphabet of 64 for 128 bits."""

_DURABILITY_SETTINGS = {
    "fsync": "a power cut can destroy the whole database: set fsync = on",
    "synchronous_commit": "answers that were acknowledged can be lost in a crash: set synchronous_commit = on",
    "full_page_writes": "a power cut can leave pages half written: set full_page_writes = on",
}
"""PostgreSQL settings that must be on, and for each of them the danger and the fix if it is off."""


def examine_secret(settings: Settings) -> Iterator[Finding]:
    """Checks that the secret is long enough and that other users cannot read its file."""
    try:
        url = make_url(settings.database)
    except ArgumentError:
        return  # `examine_database` reports it
    file = secret_file(url)
    if settings.secret is not None:
        length = len(settings.secret.get_secret_value())
        if length < _MIN_SECRET_LENGTH:
            yield mend(
                "secret",
                f"DITHER_SECRET has {length} characters",
                f"Use at least {_MIN_SECRET_LENGTH} random ones: openssl rand -hex 32. It invalidates tickets in use.",
            )
        else:
            yield fine("secret", f"DITHER_SECRET has {length} characters")
    elif file is None:
        yield mend(
            "secret",
            "none",
            "Set DITHER_SECRET to what `openssl rand -hex 32` prints: only SQLite has a secret beside it.",
        )
    elif not file.exists():
        new = not Path(url.database or "").exists()
        if new:
            yield fine("secret", f"{file}: the first start creates it")
        else:
            yield mend("secret", f"{file} is gone", "Restore it from the backup, or tickets in use are lost.")
    elif not file.is_file() or file.stat().st_size < _MIN_SECRET_LENGTH:
        yield mend("secret", f"{file} is empty or incomplete", "Restore the secret that it had.")
    elif sys.platform != "win32" and stat.S_IMODE(file.stat().st_mode) & 0o077:
        yield mend("secret", f"other users can read {file}", f"chmod 600 {file}")
    else:
        yield fine("secret", f"{file}, which only you can read")


def examine_database(address: str, secret: SecretStr | None) -> Iterator[Finding]:
    """Checks the database at this URL, and that its servers have this secret."""
    try:
        make_engine(address).dispose()
    except StartRefused as error:
        yield mend("database", "cannot be used", str(error))
        return
    url = make_url(address)
    yield from (
        _examine_sqlite(Path(url.database or ""))
        if url.get_backend_name() == "sqlite"
        else _examine_postgres(url, secret)
    )


def _examine_sqlite(file: Path) -> Iterator[Finding]:
    if not file.exists():
        yield fine("database", f"{file}: the first start creates it")
        yield from examine_disk(file.absolute().parent)
        return
    try:
        revision = _sqlite_revision(file)
    except sqlite3.Error as error:
        yield mend("database", f"{file} cannot be read ({error})", "Check that it is Dither's own SQLite database.")
        return
    yield fine("database", str(file))
    yield _schema(revision)
    yield from examine_disk(file.absolute().parent)


def _sqlite_revision(file: Path) -> str | None:
    """The schema's revision; None if there are no tables, and empty if they are another program's."""
    # If no server has the file open, `immutable` keeps SQLite from creating files beside it.
    busy = Path(f"{file}-wal").exists() and Path(f"{file}-shm").exists()
    how = "mode=ro" if busy else "mode=ro&immutable=1"
    address = f"file:{quote(str(file.absolute()))}?{how}"
    with closing(sqlite3.connect(address, uri=True, timeout=_TIMEOUT_SECONDS)) as database:
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if "alembic_version" not in tables:
            return "" if tables else None
        row = database.execute("SELECT version_num FROM alembic_version").fetchone()
    return str(row[0]) if row else ""


def _schema(revision: str | None) -> Finding:
    newest = str(newest_revision())
    if revision is None:
        return fine("schema", f"none yet: the first start creates {newest}")
    if revision == newest:
        return fine("schema", revision)
    if revision == "":
        return mend("schema", "another program's tables", "Give Dither a database of its own.")
    if revision < newest:
        return fine("schema", f"{revision}: the next start upgrades it to {newest}, so make a backup first")
    return mend("schema", f"{revision}, newer than this version's {newest}", "Install the newer version of Dither.")


def _examine_postgres(url: URL, secret: SecretStr | None) -> Iterator[Finding]:
    timeouts = {"connect_timeout": _TIMEOUT_SECONDS, "options": f"-c statement_timeout={_TIMEOUT_SECONDS}s"}
    engine = create_engine(url, connect_args=timeouts)
    try:
        began = time.perf_counter()
        with engine.connect() as connection:
            yield fine("database", f"{shown_url(url)} answers in {(time.perf_counter() - began) * 1000:.0f} ms")
            yield from _examine_connection(connection, secret)
    except SQLAlchemyError as error:
        reason = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
        yield mend("database", f"{shown_url(url)} does not answer", f"{reason}.")
    finally:
        engine.dispose()


def _examine_connection(connection: Connection, secret: SecretStr | None) -> Iterator[Finding]:
    tables = set(
        connection.execute(text("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")).scalars()
    )
    if "alembic_version" in tables:
        revision = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
        yield _schema(str(revision or ""))
    else:
        yield _schema("" if tables else None)
    given = Keys(secret.get_secret_value()).fingerprint if secret is not None else None
    if given is not None and "replicas" in tables and not have_secret(connection, given):
        yield mend("servers", "one has another secret", "Start all servers on this database with one DITHER_SECRET.")
    wrong = {name: why for name, why in _DURABILITY_SETTINGS.items() if _setting(connection, name) in ("off", "local")}
    for name, why in wrong.items():
        yield mend(f"PostgreSQL {name}", _setting(connection, name), f"With this, {why}.")
    if not wrong:
        yield fine("PostgreSQL", f"{_setting(connection, 'server_version')}: {', '.join(_DURABILITY_SETTINGS)} on")
    if connection.execute(text("SELECT pg_is_in_recovery()")).scalar():
        yield mend("PostgreSQL", "is a standby", "A standby cannot store answers: use the primary's address.")
        return
    asked = time.time()
    told = float(connection.execute(text("SELECT extract(epoch FROM clock_timestamp())")).scalar_one())
    yield examine_time(told, (asked + time.time()) / 2)
    connection.rollback()
    yield _commit_time(connection)


def _setting(connection: Connection, name: str) -> str:
    return str(connection.execute(text("SELECT current_setting(:name)"), {"name": name}).scalar_one())


def _commit_time(connection: Connection) -> Finding:
    times = []
    try:
        for _ in range(_MEASURED_COMMITS):
            began = time.perf_counter()
            connection.execute(text("SELECT pg_logical_emit_message(true, 'dither doctor', '')"))
            connection.commit()
            times.append(time.perf_counter() - began)
    except SQLAlchemyError:
        connection.rollback()
        return unknown("commit latency", "cannot be measured on this database without writing a row")
    found = f"median {median(times) * 1000:.1f} ms"
    if median(times) > _SLOW_COMMIT_SECONDS:
        return mend("commit latency", found, "Every transaction waits for it: use a faster disk or a closer database.")
    return fine("commit latency", found)
