"""Brings a database to the newest schema."""

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, inspect, text

__all__ = ["SchemaRefused", "newest_revision", "upgrade_database"]

_LOCK = 0x64697468
"""The key of the advisory lock under which PostgreSQL is migrated ("dith")."""


class SchemaRefused(Exception):
    """The database was made by a newer version, or by another program; the text is one sentence."""


def upgrade_database(engine: Engine) -> None:
    """Runs the migrations that are missing, all in one transaction; processes that start together take turns.

    `engine` must begin SQLite's transactions with `BEGIN IMMEDIATE`. Raises `SchemaRefused`, changing nothing.
    """
    config = _config()
    script = ScriptDirectory.from_config(config)
    with engine.begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
        current = MigrationContext.configure(connection).get_current_revision()
        _check(connection, script, current)
        if current != script.get_current_head():
            config.attributes["connection"] = connection
            command.upgrade(config, "head")


def newest_revision() -> str | None:
    """The revision that `upgrade_database` leads to."""
    return ScriptDirectory.from_config(_config()).get_current_head()


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", "dither_migrations:")
    config.set_main_option("path_separator", "os")
    return config


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
