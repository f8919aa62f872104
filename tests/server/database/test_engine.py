"""The engine: what becomes of its connections when the database ends them."""

import time
from contextlib import ExitStack

import psycopg
import pytest
from sqlalchemy import Connection, make_url, text
from sqlalchemy.exc import InternalError, OperationalError

from dither_server.database.engine import (
    driver_rows,
    make_engine,
    reading,
    renew_together,
    shown_url,
    transact,
    writing,
)

END_ALL = """
    SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()"""


@pytest.mark.postgres
@pytest.mark.parametrize("together", [True, False])
def test_only_one_statement_fails_after_the_database_has_ended_all_connections(
    postgres_url: str, together: bool
) -> None:
    """In a process, that is: two engines that do not renew their connections together fail once each."""
    engines = [make_engine(postgres_url), make_engine(postgres_url, reserved=True)]
    if together:
        renew_together(*engines)
    failures = 0
    with ExitStack() as open_engines:
        with ExitStack() as stack:
            for engine in engines:
                open_engines.callback(engine.dispose)
                for _ in range(4):
                    stack.enter_context(engine.connect())
        url = engines[0].url.set(drivername="postgresql")
        with psycopg.connect(url.render_as_string(hide_password=False)) as other:
            assert len(other.execute(END_ALL).fetchall()) == 8
        for engine in engines * 6:
            try:
                with reading(engine).connect() as connection:
                    assert list(driver_rows(connection, "SELECT 1")) == [(1,)]
            except OperationalError:
                failures += 1
    assert failures == (1 if together else 2)


@pytest.mark.postgres
@pytest.mark.parametrize("pauses", [0, 1, 2])
def test_a_transaction_that_a_pause_has_cut_is_run_once_more(postgres_url: str, pauses: int) -> None:
    engine = make_engine(postgres_url)
    runs = 0

    def insert(connection: Connection) -> int:
        nonlocal runs
        runs += 1
        connection.execute(text("INSERT INTO paused VALUES (1)"))
        if runs <= pauses:
            connection.execute(text("SET LOCAL idle_in_transaction_session_timeout = '20ms'"))
            time.sleep(0.2)
        [(count,)] = driver_rows(connection, "SELECT count(*) FROM paused")
        return int(count)

    try:
        transact(writing(engine), lambda connection: connection.execute(text("CREATE TABLE paused (id INT)")))
        if pauses < 2:
            assert transact(writing(engine), insert) == 1
        else:
            with pytest.raises((InternalError, OperationalError)):  # by whether its reason is read before its end
                transact(writing(engine), insert)
        assert runs == min(pauses + 1, 2)
        with reading(engine).connect() as connection:
            assert driver_rows(connection, "SELECT count(*) FROM paused") == [(int(pauses < 2),)]
    finally:
        engine.dispose()


def test_an_address_is_shown_without_its_secrets() -> None:
    shown = shown_url(make_url("postgresql+psycopg://ann:one@db:5433/dither?password=two&sslpassword=three"))
    assert shown == "postgresql+psycopg://ann:***@db:5433/dither"
