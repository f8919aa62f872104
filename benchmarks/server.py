"""Requests a second that a server process takes at 64 connections, beside a bare FastAPI route that commits one row.

    python -m benchmarks.server [ROUNDS [REQUESTS]]

The server has one core and the load comes from the other. The kinds take turns, so that all meet the same machine.
"""

import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.load import CONNECTIONS, Round, answers, measure, send, spread
from benchmarks.machine import postgres_database
from benchmarks.servers import TOKEN, Target, bare_server, dither_server, new_collection
from dither_client.addresses import collection_path
from dither_client.protocol.respondent import JSON_HEADERS, Send
from dither_server.simulate.behaviours import Behaviours, draw_roles
from dither_server.simulate.over_http import simulate_over_http
from testing.tables import print_table

__all__ = ["main"]

_ROUNDS = 7
_REQUESTS = 10_000
_KINDS = {
    "bare": "bare FastAPI route that commits one row",
    "responses": "answers: `POST …/responses`",
    "tickets": "tickets: `POST …/tickets`",
    "both": "a ticket and then an answer, to two bare requests",
    "flow": "respondents, a ticket and an answer each, with the client's own work, to two bare requests",
}
_COLUMNS = (
    "what", "a second", "to the bare route", "server's CPU, µs each", "to it", "server's core busy", "load's core busy",
)  # fmt: skip


@dataclass(frozen=True)
class _Site:
    """Both servers on one kind of database."""

    name: str
    bare: Target
    dither: Target
    collection: str


def main(arguments: Sequence[str]) -> None:
    """Prints a table for each database."""
    rounds = int(arguments[0]) if arguments else _ROUNDS
    requests = int(arguments[1]) if len(arguments) > 1 else _REQUESTS
    with tempfile.TemporaryDirectory() as folder, postgres_database() as bare, postgres_database() as own:
        for name, bare_url, own_url in (("SQLite", f"{folder}/bare.sqlite", None), ("PostgreSQL", bare, own)):
            if bare_url is None:
                print("\nNo PostgreSQL: set BENCHMARK_POSTGRES to the URL of a database of it.")
                continue
            with ExitStack() as stack:
                dither = stack.enter_context(dither_server(Path(folder), own_url))
                site = _Site(name, stack.enter_context(bare_server(bare_url)), dither, new_collection(dither))
                _table(site, rounds, requests)


def _table(site: _Site, rounds: int, requests: int) -> None:
    found: dict[str, list[Round]] = {kind: [] for kind in _KINDS}
    for number in range(rounds):
        for kind, result in _round(site, requests):
            found[kind].append(result)
        print(f"{site.name}: round {number + 1} of {rounds}", file=sys.stderr, flush=True)
    title = f"{site.name}: {CONNECTIONS} connections, medians of {rounds} rounds of {requests:,} requests"
    print_table(title, _COLUMNS, (_row(kind, found) for kind in _KINDS))


def _round(site: _Site, requests: int) -> Iterator[tuple[str, Round]]:
    """One round of each kind. A ticket with its answer is one thing."""
    own, path = site.dither, collection_path(site.collection, "tickets")
    rows = [Send("POST", "/rows", b"{}", JSON_HEADERS)] * requests
    asked = [Send("POST", path, b"{}", JSON_HEADERS)] * requests
    answered = answers(own, site.collection, requests)
    half = answers(own, site.collection, requests // 2)
    both = [request for pair in zip(asked, half, strict=False) for request in pair]
    yield "bare", measure(site.bare, requests, partial(send, site.bare, rows))
    yield "responses", measure(own, requests, partial(send, own, answered))
    yield "tickets", measure(own, requests, partial(send, own, asked))
    yield "both", measure(own, requests // 2, partial(send, own, both))
    yield "flow", measure(own, requests // 2, partial(_respond, site, requests // 2))


def _respond(site: _Site, size: int) -> None:
    rng = np.random.default_rng(1)
    roles = draw_roles(rng, Behaviours(), size)
    values = rng.normal(size=size)
    assert simulate_over_http(site.dither.url, TOKEN, site.collection, values, roles, CONNECTIONS, None).sound


def _row(kind: str, found: dict[str, list[Round]]) -> tuple[str, ...]:
    rounds, bare = found[kind], found["bare"]
    requests = 2 if kind in ("both", "flow") else 1
    rates = [requests * one.rate / other.rate for one, other in zip(rounds, bare, strict=True)]
    cpu = [one.cpu / other.cpu / requests for one, other in zip(rounds, bare, strict=True)]
    busy = [
        f"{100 * median(shares):.0f}%" for shares in zip(*((r.server_busy, r.load_busy) for r in rounds), strict=True)
    ]
    each = median(one.cpu for one in rounds)
    return (
        _KINDS[kind],
        f"{median(r.rate for r in rounds):,.0f}",
        spread(rates),
        f"{1e6 * each:.0f}",
        spread(cpu),
        *busy,
    )


if __name__ == "__main__":
    main(sys.argv[1:])
