import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Engine, func, inspect, select, text
from sqlalchemy.exc import IntegrityError

from dither_migrations import SchemaRefused, newest_revision, upgrade_database
from dither_migrations.upgrade import _config
from dither_server.database import schema
from dither_server.database.engine import make_engine, writing


@pytest.fixture
def engine(database_url: str) -> Any:
    """An empty database."""
    engine = make_engine(database_url)
    yield engine
    engine.dispose()


def revision(engine: Engine) -> str | None:
    with engine.connect() as connection:
        return MigrationContext.configure(connection).get_current_revision()


def test_a_fresh_database_gets_the_newest_schema(engine: Engine) -> None:
    upgrade_database(writing(engine))
    assert revision(engine) == newest_revision() == "0012"
    assert set(inspect(engine).get_table_names()) == {*schema.metadata.tables, "alembic_version"}


def test_a_busy_machine_may_pause_between_two_statements(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """For longer than PostgreSQL lets a request's transaction rest, which is three seconds."""
    upgrade = command.upgrade

    def pause(config: Any, target: str) -> None:
        time.sleep(4)
        upgrade(config, target)

    monkeypatch.setattr(command, "upgrade", pause)
    upgrade_database(writing(engine))
    assert revision(engine) == newest_revision()


def test_the_migrated_schema_is_the_one_the_server_uses(engine: Engine) -> None:
    upgrade_database(writing(engine))
    with engine.connect() as connection:
        differences = compare_metadata(MigrationContext.configure(connection), schema.metadata)
    # Comments are written in migrations alone.
    assert [change for change in differences if not str(change).startswith("[('modify_comment'")] == []


def test_constraints_have_the_names_the_server_knows_them_by(engine: Engine) -> None:
    upgrade_database(writing(engine))
    inspector = inspect(engine)
    for table in schema.metadata.tables.values():
        found = {
            inspector.get_pk_constraint(table.name)["name"],
            *(constraint["name"] for constraint in inspector.get_unique_constraints(table.name)),
            *(constraint["name"] for constraint in inspector.get_check_constraints(table.name)),
            *(constraint["name"] for constraint in inspector.get_foreign_keys(table.name)),
        }
        assert found == {constraint.name for constraint in table.constraints}


@pytest.mark.postgres
def test_every_constraint_has_a_comment(postgres_url: str) -> None:
    engine = make_engine(postgres_url)
    upgrade_database(writing(engine))
    with engine.connect() as connection:
        bare = connection.execute(
            text(
                "SELECT conname FROM pg_constraint JOIN pg_class ON pg_class.oid = conrelid "
                "WHERE connamespace = 'public'::regnamespace AND relname <> 'alembic_version' "
                "AND obj_description(pg_constraint.oid, 'pg_constraint') IS NULL"
            )
        )
        assert bare.scalars().all() == []
    engine.dispose()


def test_upgrading_again_changes_nothing(engine: Engine) -> None:
    upgrade_database(writing(engine))
    with writing(engine).begin() as connection:
        insert = "INSERT INTO collections (id, specification, state, created_at) VALUES ('kept', '{}', 'open', 0)"
        connection.execute(text(insert))
    upgrade_database(writing(engine))
    with engine.connect() as connection:
        assert connection.execute(text("SELECT id FROM collections")).scalars().all() == ["kept"]


def test_the_answers_of_the_first_schema_are_all_for_training(engine: Engine) -> None:
    """Rows, their numbers and what refers to them stay, and constraints hold afterwards."""
    config = _config()
    with writing(engine).begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
    query, answer = schema.queries.c, schema.answers.c
    with writing(engine).begin() as connection:
        connection.execute(
            text("INSERT INTO collections (id, specification, state, created_at) VALUES ('c','{}','open',0)")
        )
        for name in ("first", "gone", "second"):
            connection.execute(text(f"INSERT INTO queries (id, query) VALUES ('{name}', '{{}}')"))
        connection.execute(text("DELETE FROM queries WHERE id = 'gone'"))
        for number in (1, 3):
            insert = text(
                "INSERT INTO answers (collection, ticket, query, answer, received_at) VALUES (1, :t, :q, 1, 0)"
            )
            connection.execute(insert, {"t": bytes([number]) * 20, "q": number})
            connection.execute(text(f"INSERT INTO counts VALUES (1, {number}, 1, 0, 1)"))
    upgrade_database(writing(engine))
    assert revision(engine) == newest_revision()
    with engine.connect() as connection:
        columns = (query.number, query.id, query.purpose, query.group_number)
        rows = connection.execute(select(*columns).order_by(query.number)).all()
        assert [tuple(row) for row in rows] == [(1, "first", "training", 0), (3, "second", "training", 0)]
        assert connection.execute(select(answer.query).order_by(answer.query)).scalars().all() == [1, 3]
        assert connection.execute(select(schema.collections.c.keep_answers)).scalars().all() == [True]
    for refused in (
        "INSERT INTO queries (id, query) VALUES ('first', '{}')",
        "INSERT INTO queries (id, query, purpose) VALUES ('third', '{}', 'other')",
        "INSERT INTO queries (id, query, group_number) VALUES ('third', '{}', -1)",
        "INSERT INTO queries (id, query, period_number) VALUES ('third', '{}', -1)",
        "INSERT INTO counts VALUES (1, 99, 1, 0, 1)",
        "DELETE FROM queries WHERE id = 'first'",
    ):
        with pytest.raises(IntegrityError), writing(engine).begin() as connection:
            connection.execute(text(refused))
    with writing(engine).begin() as connection:
        connection.execute(text("INSERT INTO queries (id, query, purpose) VALUES ('first', '{}', 'check')"))
        assert connection.execute(select(func.max(query.number))).scalar_one() > 3


def test_the_tokens_of_earlier_schemas_are_for_every_collection(engine: Engine) -> None:
    """Rows stay as they are, and constraints, old and new, hold afterwards."""
    config = _config()
    with writing(engine).begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0002")
    token = "INSERT INTO tokens (id, hash, role, name, created_at) VALUES (:id, :hash, :role, 'Ada', 7)"
    with writing(engine).begin() as connection:
        for number, role in enumerate(("admin", "analyst", "gateway")):
            connection.execute(text(token), {"id": f"t{number}", "hash": bytes([number]) * 32, "role": role})
        connection.execute(
            text("INSERT INTO collections (id, specification, state, created_at) VALUES ('c','{}','open',0)")
        )
    upgrade_database(writing(engine))
    with engine.connect() as connection:
        rows = connection.execute(select(schema.tokens).order_by(schema.tokens.c.id)).all()
        assert [(row.id, row.hash, row.role, row.name, row.created_at, row.collections) for row in rows] == [
            (f"t{number}", bytes([number]) * 32, role, "Ada", 7, None)
            for number, role in enumerate(("admin", "analyst", "gateway"))
        ]
        assert connection.execute(select(schema.invitations)).all() == []
    invitation = "INSERT INTO invitations (collection, hash) VALUES (:collection, :hash)"
    for refused, values in (
        (token, {"id": "t9", "hash": bytes([0]) * 32, "role": "analyst"}),
        (token, {"id": "t9", "hash": bytes([9]) * 32, "role": "owner"}),
        (token, {"id": "t9", "hash": b"short", "role": "analyst"}),
        ("UPDATE tokens SET collections = '[]' WHERE role = 'admin'", {}),
        (invitation, {"collection": 9, "hash": bytes(32)}),
        (invitation, {"collection": 1, "hash": b"short"}),
    ):
        with pytest.raises(IntegrityError), writing(engine).begin() as connection:
            connection.execute(text(refused), values)
    with writing(engine).begin() as connection:
        connection.execute(text("UPDATE tokens SET collections = '[\"c\"]' WHERE role = 'analyst'"))
        connection.execute(text(invitation), {"collection": 1, "hash": bytes(32)})


def test_answers_stay_as_they_are_without_foreign_keys(engine: Engine) -> None:
    config = _config()
    with writing(engine).begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0005")
    with writing(engine).begin() as connection:
        connection.execute(
            text("INSERT INTO collections (id, specification, state, created_at) VALUES ('c','{}','open',0)")
        )
        connection.execute(text("INSERT INTO queries (id, query) VALUES ('first', '{}')"))
        statement = text("INSERT INTO answers (collection, ticket, query, answer, received_at) VALUES (1, :t, 1, 1, 7)")
        connection.execute(statement, [{"t": bytes([number]) * 20} for number in range(3)])
    upgrade_database(writing(engine))
    with engine.connect() as connection:
        rows = connection.execute(select(schema.answers).order_by(schema.answers.c.ticket)).all()
        assert [tuple(row) for row in rows] == [(1, bytes([number]) * 20, 1, 1, 7, None) for number in range(3)]
        if engine.dialect.name == "sqlite":
            created = connection.execute(text("SELECT sql FROM sqlite_master WHERE name = 'answers'")).scalar_one()
            assert "WITHOUT ROWID" in created
    assert inspect(engine).get_foreign_keys("answers") == []
    for refused in (b"\0" * 20, b"\0" * 19):  # stored before; too short
        with pytest.raises(IntegrityError), writing(engine).begin() as connection:
            connection.execute(statement, {"t": refused})


def test_processes_that_start_together_take_turns(database_url: str) -> None:
    def start(_: int) -> None:
        engine = make_engine(database_url)
        upgrade_database(writing(engine))
        engine.dispose()

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(start, range(6)))


def test_processes_that_open_a_new_file_together_wait_for_each_other(tmp_path: Path) -> None:
    """Six at once, 100 times: in 8 of these, SQLite told one of them that the database was locked."""

    def start(url: str, together: Barrier) -> None:
        engine = make_engine(url)
        together.wait()
        with engine.connect():
            pass
        engine.dispose()

    with ThreadPoolExecutor(6) as pool:
        for number in range(100):
            list(pool.map(start, [f"sqlite:///{tmp_path}/{number}.sqlite"] * 6, [Barrier(6)] * 6))


def test_a_database_from_a_newer_version_is_refused_and_left_as_it_was(engine: Engine) -> None:
    upgrade_database(writing(engine))
    with writing(engine).begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(SchemaRefused, match=r"^The database is from a newer version of Dither \(schema 9999\): .+\.$"):
        upgrade_database(writing(engine))
    assert revision(engine) == "9999"


def test_another_programs_database_is_refused_and_left_as_it_was(engine: Engine) -> None:
    with writing(engine).begin() as connection:
        connection.execute(text("CREATE TABLE invoices (id INTEGER)"))
    with pytest.raises(SchemaRefused, match="another program's tables"):
        upgrade_database(writing(engine))
    assert inspect(engine).get_table_names() == ["invoices"]


def test_a_migration_that_fails_half_way_leaves_nothing(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr("alembic.op.create_table", _until("history", fail))
        with pytest.raises(RuntimeError):
            upgrade_database(writing(engine))
    assert inspect(engine).get_table_names() == []
    upgrade_database(writing(engine))


def _until(table: str, fail: Any) -> Any:
    """`create_table`, up to one table."""
    from alembic import op

    create = op.create_table

    def limited(name: str, *columns: Any, **options: Any) -> Any:
        return fail() if name == table else create(name, *columns, **options)

    return limited
