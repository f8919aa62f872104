from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Engine, func, inspect, select, text
from sqlalchemy.exc import IntegrityError

from dither_migrations import SchemaRefused, newest_revision, upgrade_database
from dither_migrations.upgrade import _config
from dither_server import schema
from dither_server.database import make_engine, writing


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
    assert revision(engine) == newest_revision() == "0002"
    assert set(inspect(engine).get_table_names()) == {*schema.metadata.tables, "alembic_version"}


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
        rows = connection.execute(select(query.number, query.id, query.purpose).order_by(query.number)).all()
        assert [tuple(row) for row in rows] == [(1, "first", "training"), (3, "second", "training")]
        assert connection.execute(select(answer.query).order_by(answer.query)).scalars().all() == [1, 3]
    for refused in (
        "INSERT INTO queries (id, query) VALUES ('first', '{}')",
        "INSERT INTO queries (id, query, purpose) VALUES ('third', '{}', 'other')",
        "INSERT INTO counts VALUES (1, 99, 1, 0, 1)",
        "DELETE FROM queries WHERE id = 'first'",
    ):
        with pytest.raises(IntegrityError), writing(engine).begin() as connection:
            connection.execute(text(refused))
    with writing(engine).begin() as connection:
        connection.execute(text("INSERT INTO queries (id, query, purpose) VALUES ('first', '{}', 'check')"))
        assert connection.execute(select(func.max(query.number))).scalar_one() > 3


def test_processes_that_start_together_take_turns(database_url: str) -> None:
    def start(_: int) -> None:
        engine = make_engine(database_url)
        upgrade_database(writing(engine))
        engine.dispose()

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(start, range(6)))


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
