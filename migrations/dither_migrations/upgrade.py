"""Upgrades a database to the newest schema."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, inspect, text

__all__ = ["Migration", "SchemaRefused", "newest_revision", "upgrade_database"]

_ADVISORY_LOCK_KEY = 0x64697468
"""The key of PostgreSQL's advisory lock for migrations ("dith")."""
_MAX_PAUSE_SECONDS = 60
"""Seconds after which PostgreSQL aborts a migration whose process has become idle."""


class SchemaRefused(Exception):
    """The database was made by a newer version or by another program; the message is one sentence."""


@dataclass(frozen=True)
class Migration:
    """One version that was brought into the database, and how long it took."""

    version: str
    seconds: float


@dataclass
class _Watch:
    """Notes when each version is done; Alembic calls it."""

    began: float = field(default_factory=time.monotonic)
    done: list[Migration] = field(default_factory=list)

    def __call__(self, *, step: Any, **_: Any) -> None:
        now = time.monotonic()
        self.done.append(Migration(step.up_revision_id, now - self.began))
        self.began = now


def upgrade_database(engine: Engine) -> list[Migration]:
    """Run the missing migrations in one transaction, and return them; processes that start together take turns.

    `engine` must begin SQLite's transactions with `BEGIN IMMEDIATE`. Raises `SchemaRefused` and changes nothing.
    """
    config = _config()
    script = ScriptDirectory.from_config(config)
    with engine.connect() as connection, _foreign_keys_unenforced(connection), connection.begin():
        if connection.dialect.name == "postgresql":
            # Waiting for another process's migration, or migrating large tables, may take longer than any request.
            connection.execute(text("SET LOCAL statement_timeout = 0"))
            # On a busy machine the pause between two statements may exceed what a request's transaction is allowed.
            connection.execute(text(f"SET LOCAL idle_in_transaction_session_timeout = '{_MAX_PAUSE_SECONDS}s'"))
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ADVISORY_LOCK_KEY})
        current = MigrationContext.configure(connection).get_current_revision()
        _check(connection, script, current)
        if current != script.get_current_head():
            watch = _Watch()
            config.attributes["connection"], config.attributes["on_version_apply"] = connection, watch
            command.upgrade(config, "head")
            _check_foreign_keys(connection)
            return watch.done
    return []


def newest_revision() -> str | None:
    """The revision to which `upgrade_database` leads."""
    return ScriptDirectory.from_config(_config()).get_current_head()


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", "dither_migrations:")
    config.set_main_option("path_separator", "os")
    return config


@contextmanager
def _foreign_keys_unenforced(connection: Connection) -> Iterator[None]:
    """Suspend SQLite's foreign keys, to rebuild referenced tables; this must be done outside a transaction."""
    if connection.dialect.name != "sqlite":
        yield
        return
    driver = connection.connection.driver_connection
    assert driver is not None
    driver.execute("PRAGMA foreign_keys=OFF")
    try:
        yield
    finally:
        driver.execute("PRAGMA foreign_keys=ON")


def _check_foreign_keys(connection: Connection) -> None:
    """Raises `RuntimeError` if, on SQLite, a migration has left a row with a dangling reference."""
    if connection.dialect.name == "sqlite" and connection.execute(text("PRAGMA foreign_key_check")).first():
        raise RuntimeError("a migration broke a foreign key")


def _check(connection: Connection, script: ScriptDirectory, current: str | None) -> None:
    if current is None:
        if inspect(connection).get_table_names():
            raise SchemaRefused("The database holds another program's tables: give Dither a database of its own.")
        return
    if current not in {revision.revision for revision in script.walk_revisions()}:
        raise SchemaRefused(
            f"The database is from a newer version of Dither (schema {current}): "
            "install that version, or use another database."
        )
