"""What ten and a hundred machines would take, and what 100,000 respondents a second need: a model, and its tables.

    python -m benchmarks.scale_model [ROWS]

Bytes of a row are measured here, by storing ROWS answers in both databases. The other inputs are what the benchmarks
`server`, `bulk` and `replicas` measured with PostgreSQL: put yours in their place.
"""

import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import psycopg
from sqlalchemy import insert

from benchmarks.loads.machine import postgres_database
from dither_client import Laplace
from dither_server.answers.rules import Arrival, Ingest
from dither_server.database.engine import make_engine, upgrade, writing
from dither_server.database.schema import collections
from dither_server.tickets.packing import pack_query
from testing.tables import print_table

__all__ = ["Costs", "Machines", "main"]

_ROWS = 200_000
_DAY = 86_400
_PART = 1_000
_GOAL = 100_000
"""Respondents a second."""


@dataclass(frozen=True)
class Costs:
    """What one thing takes. Times are seconds of one core."""

    ticket: float = 49e-6
    answer: float = 51e-6
    batch_answer: float = 13.0e-6
    bulk_ticket: float = 5.0e-6
    database_answer: float = 17e-6
    """Core seconds of PostgreSQL for an answer in a transaction of up to 64."""
    learning: float = 1 / 21
    """The share of a core for a busy collection: its owner rests for at least twenty times as long as it learns."""
    idle: float = 0.019
    """The share of a core that a replica takes for its polls, its beats and its clock."""
    publication: float = 24_589.0
    """Bytes that a replica reads of one collection when its owner has published."""
    polls: float = 2.0
    """Publications that a replica reads each second, at most."""

    row_bytes: float = 151.0
    """Bytes of an answer in PostgreSQL, with its index."""
    log_bytes: float = 270.0
    """Bytes of PostgreSQL's log for an answer."""
    commits: float = 100.0
    """Transactions a second of a busy replica: answers gather for 10 ms at most, or while the last one commits."""


@dataclass(frozen=True)
class Machines:
    """Machines that serve, beside one PostgreSQL (or one for each part of the collections)."""

    servers: int
    cores: int = 4
    """For replicas, one process each."""
    database_cores: int = 16
    databases: int = 1
    load: float = 0.6
    """The share of the processors that is planned for."""

    def single(self, costs: Costs) -> float:
        """Respondents a second, a ticket and an answer each, that the servers take."""
        return self._cores(costs) / (costs.ticket + costs.answer)

    def batched(self, costs: Costs) -> float:
        """Answers a second in batches, with tickets in bulk."""
        return self._cores(costs) / (costs.bulk_ticket + costs.batch_answer)

    def stored(self, costs: Costs) -> float:
        """Answers a second that the databases take."""
        return self.load * self.databases * self.database_cores / costs.database_answer

    def published(self, costs: Costs) -> float:
        """Bytes a second that replicas read of one busy collection."""
        return self.servers * self.cores * costs.polls * costs.publication

    def _cores(self, costs: Costs) -> float:
        """Cores' worth of time that the replicas have for requests."""
        return self.load * (self.servers * self.cores * (1 - costs.idle) - costs.learning)


def main(arguments: Sequence[str]) -> None:
    """Prints the tables."""
    rows = int(arguments[0]) if arguments else _ROWS
    print_table(f"Bytes of an answer, {rows:,} stored", ("database", "bytes", "a billion, GB"), _bytes(rows))
    costs = Costs()
    columns = (
        "machines", "databases", "respondents a second", "a day", "batched answers a second", "databases take",
        "publications, kB/s", "holds respondents back",
    )  # fmt: skip
    cases = (
        Machines(1),
        Machines(10),
        Machines(10, databases=4),
        Machines(100, databases=1),
        Machines(100, databases=8),
    )
    print_table("Machines of four cores, at 60% load", columns, (_row(case, costs) for case in cases))
    print_table(f"{_GOAL:,} respondents a second, at 60% load", ("what", "of it"), _needs(_GOAL, costs))


def _row(machines: Machines, costs: Costs) -> tuple[str, ...]:
    single, batched, stored = machines.single(costs), machines.batched(costs), machines.stored(costs)
    holds = "the servers" if min(single, stored) == single else "the databases"
    respondents = min(single, stored)
    return (
        f"{machines.servers:,}",
        f"{machines.databases}",
        f"{respondents:,.0f}",
        f"{respondents * _DAY / 1e6:,.0f} million",
        f"{min(batched, stored):,.0f}",
        f"{stored:,.0f}",
        f"{machines.published(costs) / 1e3:,.0f}",
        holds,
    )


def _needs(respondents: float, costs: Costs) -> Iterator[tuple[str, str]]:
    """What a number of respondents a second take, each with a ticket and an answer of their own."""
    machines = next(m for m in map(Machines, count(1)) if m.single(costs) >= respondents)
    replicas = machines.servers * machines.cores
    yield "machines of four cores", f"{machines.servers:,}"
    yield "replicas, one for each core", f"{replicas:,}"
    yield "PostgreSQL: cores", f"{respondents * costs.database_answer / machines.load:.1f}"
    yield "PostgreSQL: transactions a second, each flushed once", f"{replicas * costs.commits:,.0f} at most"
    yield "PostgreSQL: answers in a transaction", f"{respondents / (replicas * costs.commits):.0f} at least"
    yield "PostgreSQL: log, MB/s, to the disk and to each standby", f"{respondents * costs.log_bytes / 1e6:.0f}"
    yield "PostgreSQL: rows and index, MB/s", f"{respondents * costs.row_bytes / 1e6:.0f}"
    yield "PostgreSQL: rows and index, TB a day", f"{respondents * costs.row_bytes * _DAY / 1e12:.1f}"


def _bytes(rows: int) -> Iterator[tuple[str, ...]]:
    with tempfile.TemporaryDirectory() as folder, postgres_database() as postgres:
        path = Path(folder) / "bytes.sqlite"
        before, after = _fill(f"sqlite:///{path}", 0, path), _fill(f"sqlite:///{path}", rows, path)
        yield "SQLite", f"{(after - before) / rows:.0f}", f"{(after - before) / rows:.0f}"
        if postgres is not None:
            url = postgres.replace("postgresql:", "postgresql+psycopg:", 1)
            _fill(url, rows, None)
            with psycopg.connect(postgres) as database:
                for name, size in (("table", "pg_table_size"), ("its index", "pg_indexes_size")):
                    found = database.execute(f"SELECT {size}('answers')".encode()).fetchone()
                    assert found is not None
                    yield f"PostgreSQL, {name}", f"{found[0] / rows:.0f}", f"{found[0] / rows:.0f}"


def _fill(url: str, rows: int, path: Path | None) -> int:
    """Stores so many answers in transactions of a thousand, as they come; the bytes of the file then."""
    engine = make_engine(url)
    upgrade(engine)
    with writing(engine).begin() as connection:
        row = {"id": os.urandom(4).hex(), "specification": "{}", "state": "open", "created_at": 0}
        connection.execute(insert(collections), [row])
    ingest, queries = Ingest(), [pack_query(Laplace(0, i + 1, 1, 1)) for i in range(16)]
    for at in range(0, rows, _PART):
        now = int(time.time()) + at // _PART
        arrivals = [
            Arrival(
                (1, now.to_bytes(4, "big") + os.urandom(16)),
                queries[i % 16],
                i % 2,
                1000 * now,
                False,
                0,
                os.urandom(16),
            )
            for i in range(_PART)
        ]
        with writing(engine).begin() as connection:
            stored = ingest.store(connection, arrivals)
        ingest.committed(stored)
    engine.dispose()
    return path.stat().st_size if path else 0


if __name__ == "__main__":
    main(sys.argv[1:])
