"""Schema 10: a database of schema 9 goes on with it, each migration is told of, and the audit log only grows."""

import logging
from typing import Any

import pytest
from alembic import command
from sqlalchemy import Engine, delete, inspect, text, update
from sqlalchemy.exc import DBAPIError

from dither_migrations import newest_revision
from dither_migrations.upgrade import _config
from dither_server.database.audit_log import append_audit, read_audit
from dither_server.database.engine import make_engine, upgrade, writing
from dither_server.database.schema import audit_log
from testing.servers.defaults import ADMIN
from testing.servers.site import open_site


@pytest.fixture
def engine(database_url: str) -> Any:
    """An empty database."""
    engine = make_engine(database_url)
    yield engine
    engine.dispose()


def at_revision(engine: Engine, revision: str) -> None:
    config = _config()
    with writing(engine).begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)


def test_a_database_of_schema_9_is_upgraded_and_told_of(
    engine: Engine, database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    at_revision(engine, "0009")
    with writing(engine).begin() as connection:
        row = {"id": "older", "specification": '{"name": "x", "family": "normal", "epsilon": 1}'}
        connection.execute(
            text(
                "INSERT INTO collections (id, specification, state, created_at) VALUES (:id, :specification, 'open', 7)"
            ),
            row,
        )
        connection.execute(text("INSERT INTO leases (collection, term) VALUES (1, 1)"))
    caplog.set_level(logging.INFO, "dither_server.database.engine")
    with open_site(database_url) as site:
        terms = site.client.get("/v1/collections/older").json()
        assert (terms["state"], terms["keep_answers_days"], terms["retention"]) == ("open", None, None)
        assert site.respond("older", site.ticket("older")).status_code == 201
        assert site.client.delete("/v1/collections/older", headers=ADMIN).status_code == 200
        assert site.client.delete("/v1/collections/older?purge=true", headers=ADMIN).json()["rows"]["answers"] == 1
    lines = [record for record in caplog.records if record.message == "the database's schema was upgraded"]
    assert [vars(line)["version"] for line in lines] == ["0010", "0011", newest_revision()]
    assert all(vars(line)["seconds"] >= 0 for line in lines)
    told = [(row.what, row.by, row.facts["version"]) for row in read_audit(engine, None, 0, 3)]
    assert told == [("schema upgraded", "server", version) for version in ("0010", "0011", newest_revision())]


def test_a_new_database_is_told_of_once(engine: Engine) -> None:
    for _ in range(2):
        upgrade(engine)
    assert [row.facts["version"] for row in read_audit(engine, None, 0, 100)] == [newest_revision()]


def test_the_audit_log_only_grows(engine: Engine) -> None:
    upgrade(engine)
    with writing(engine).begin() as connection:
        append_audit(connection, 7, "state changed", "somebody", collection="c", state="paused")
    before = read_audit(engine, None, 0, 100)
    changes: list[Any] = [update(audit_log).values(by="nobody"), delete(audit_log)]
    if engine.dialect.name == "postgresql":
        changes.append(text("TRUNCATE audit_log"))
    for change in changes:
        with pytest.raises(DBAPIError, match="only grows"), writing(engine).begin() as connection:
            connection.execute(change)
    assert read_audit(engine, None, 0, 100) == before
    assert [row.collection for row in read_audit(engine, "c", 0, 100)] == ["c"]


def test_questions_are_found_by_an_index(engine: Engine) -> None:
    """Removing one asks whether counts or tallies refer to it."""
    upgrade(engine)
    for table in ("counts", "tallies"):
        assert [index["column_names"] for index in inspect(engine).get_indexes(table)] == [["query"]]
