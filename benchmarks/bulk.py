"""Many answers and many tickets in one request, on one core: answers of a batch, beside `COPY`; tickets in bulk.

python -m benchmarks.bulk [ROUNDS [ANSWERS]]
"""

import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from statistics import median

import psycopg

from benchmarks.loads.load import Round, batches, measure, send, spread
from benchmarks.loads.machine import postgres_database
from benchmarks.loads.servers import Target, dither_server, new_collection
from dither_client.addresses import collection_path
from dither_client.protocol.flow import Send
from dither_client.protocol.respondent import JSON_HEADERS
from testing.tables import print_table

__all__ = ["main"]

_ROUNDS = 5
_ANSWERS = 100_000
_BATCH = 1_000
_TICKETS = 10_000
_CONCURRENT_BATCHES = 4


def main(arguments: Sequence[str]) -> None:
    """Prints the table."""
    rounds = int(arguments[0]) if arguments else _ROUNDS
    answers = int(arguments[1]) if len(arguments) > 1 else _ANSWERS
    columns = (
        "what",
        "a second",
        "server's CPU, µs each",
        "a second of the server's CPU",
        "to COPY",
        "server's core busy",
    )
    with tempfile.TemporaryDirectory() as folder, postgres_database() as postgres:
        print_table(
            f"Bulk: batches of {_BATCH:,} answers, tickets {_TICKETS:,} at a time; medians of {rounds} rounds",
            columns,
            _rows(Path(folder), postgres, rounds, answers),
        )


def _rows(folder: Path, postgres: str | None, rounds: int, answers: int) -> Iterator[tuple[str, ...]]:
    for name, url in (("SQLite", None), ("PostgreSQL", postgres)):
        if name == "PostgreSQL" and url is None:
            yield "no PostgreSQL: set BENCHMARK_POSTGRES to the URL of a database of it", *[""] * 5
            continue
        with ExitStack() as stack:
            target = stack.enter_context(dither_server(folder, url))
            collection = new_collection(target)
            batch, bulk, copied = [], [], []
            for _ in range(rounds):
                requests = batches(target, collection, answers, _BATCH)
                batch.append(measure(target, answers, partial(_store, target, requests)))
                asked = Send("POST", collection_path(collection, "tickets"), b'{"count":10000}', JSON_HEADERS)
                size = max(1, answers // _TICKETS)
                bulk.append(measure(target, size * _TICKETS, partial(send, target, [asked] * size, 1)))
                copied.append(_copy(url, answers) if url else 0.0)
            yield _row(f"{name}: answers in batches", batch, copied if url else None)
            yield _row(f"{name}: tickets in bulk", bulk, None)


def _store(target: Target, requests: Sequence[Send]) -> None:
    for reply in send(target, requests, _CONCURRENT_BATCHES):
        assert all(item["status"] == 201 for item in json.loads(reply.body)["responses"][:1]), "every answer is new"


def _copy(url: str, answers: int) -> float:
    """Rows a second of `COPY` from a client into the same table, with its index and constraints; undone in the end."""
    with psycopg.connect(url) as database:
        rows = database.execute(
            "SELECT collection, query, answer, received_at, retry_hash FROM answers LIMIT %s", (answers,)
        ).fetchall()
        new = sorted(
            (one[0], time.time_ns().to_bytes(12, "big") + i.to_bytes(8, "big"), *one[1:]) for i, one in enumerate(rows)
        )
        began = time.perf_counter()
        for at in range(0, len(new), _BATCH):
            with database.cursor().copy("COPY answers FROM STDIN (FORMAT BINARY)") as copy:
                copy.set_types(["int4", "bytea", "int4", "int2", "int8", "bytea"])
                for row in new[at : at + _BATCH]:
                    copy.write_row(row)
        rate = len(new) / (time.perf_counter() - began)
        database.rollback()
    return rate


def _row(name: str, rounds: Sequence[Round], copied: Sequence[float] | None) -> tuple[str, ...]:
    rate, cpu, busy = (median(values) for values in zip(*((r.rate, r.cpu, r.server_busy) for r in rounds), strict=True))
    ratio = spread([one.rate / other for one, other in zip(rounds, copied, strict=True)]) if copied else ""
    return name, f"{rate:,.0f}", f"{1e6 * cpu:.1f}", f"{1 / cpu:,.0f}", ratio, f"{100 * busy:.0f}%"


if __name__ == "__main__":
    main(sys.argv[1:])
