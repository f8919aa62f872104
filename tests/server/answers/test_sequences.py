"""A short run of `testing.long.sequences`: random sequences of requests, crashes and restarts, against a model."""

import pytest
from hypothesis import Phase
from hypothesis.stateful import invariant
from sqlalchemy import delete, func, select

from dither_server.database import schema
from dither_server.database.engine import writing
from testing.long.sequences import OnPostgresql, OnSqlite, run

SEQUENCES = {"sqlite": 20, "postgresql": 8}
"""One takes 0.5 s of CPU time on SQLite, 1 s on PostgreSQL."""


class Losing(OnSqlite):
    """A database that loses an answer after each step, if it has any."""

    @invariant()
    def lose(self) -> None:
        first = select(func.min(schema.answers.c.ticket)).scalar_subquery()
        with writing(self.engine).begin() as connection:
            connection.execute(delete(schema.answers).where(schema.answers.c.ticket == first))


@pytest.mark.slow
def test_sequences_on_sqlite() -> None:
    run(OnSqlite, SEQUENCES["sqlite"])


@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.usefixtures("postgres_url")  # skips where there is none
def test_sequences_on_postgresql() -> None:
    run(OnPostgresql, SEQUENCES["postgresql"])


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of connections of crashed servers
@pytest.mark.slow
def test_a_lost_answer_is_noticed() -> None:
    with pytest.raises(AssertionError):
        run(Losing, SEQUENCES["sqlite"], (Phase.generate,))
