"""What a request costs a server process, beside a raw echo on the same uvicorn and a bare route that commits one row.

    python -m benchmarks.server [ROUNDS [REQUESTS [CONNECTIONS]]]

The server has one core and the load comes from the other. The kinds take turns, so that all meet the same machine, and
what is compared is the processor time of the servers, which a busy machine changes less than the rate.
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

from benchmarks.loads.load import Round, answers, measure, send, spread
from benchmarks.loads.machine import postgres_database
from benchmarks.loads.servers import TOKEN, Target, bare_server, dither_server, new_collection
from dither_client.addresses import collection_path
from dither_client.protocol.flow import Send
from dither_client.protocol.respondent import JSON_HEADERS
from dither_server.simulate.behaviours import Behaviours, draw_roles
from dither_server.simulate.over_http import simulate_over_http
from dither_server.simulate.respondents import Respondents
from testing.tables import print_table

__all__ = ["main"]

_ROUNDS = 7
_REQUESTS = 10_000
_CONNECTIONS = 256
_DEFAULTS = (_ROUNDS, _REQUESTS, _CONNECTIONS)
_KINDS = {
    "echo": "raw echo: an ASGI function that returns the body",
    "bare": "bare FastAPI route that commits one row",
    "responses": "answers: `POST …/responses`",
    "tickets": "tickets: `POST …/tickets`",
    "both": "a ticket and then an answer, to two requests of the others",
    "flow": "respondents, a ticket and an answer each, with the client's own work, to two",
}
_COLUMNS = (
    "what", "server's CPU, µs each", "to the echo", "to the bare route", "a second", "server's core busy",
    "load's core busy",
)  # fmt: skip


@dataclass(frozen=True)
class _Site:
    """The three servers, with one kind of database, and how many connections load them."""

    name: str
    echo: Target
    bare: Target
    dither: Target
    collection: str
    connections: int

    def send(self, target: Target, requests: list[Send], size: int) -> Round:
        """One round: all requests, which do `size` things."""
        return measure(target, size, partial(send, target, requests, self.connections))


def main(arguments: Sequence[str]) -> None:
    """Prints a table for each database."""
    rounds, requests, connections = (*map(int, arguments), *_DEFAULTS[len(arguments) :])
    with tempfile.TemporaryDirectory() as folder, postgres_database() as bare, postgres_database() as own:
        for name, bare_url, own_url in (("SQLite", f"{folder}/bare.sqlite", None), ("PostgreSQL", bare, own)):
            if bare_url is None:
                print("\nNo PostgreSQL: set BENCHMARK_POSTGRES to the URL of a database of it.")
                continue
            with ExitStack() as stack:
                echo, row = (stack.enter_context(bare_server(url)) for url in (None, bare_url))
                dither = stack.enter_context(dither_server(Path(folder), own_url))
                _table(_Site(name, echo, row, dither, new_collection(dither), connections), rounds, requests)


def _table(site: _Site, rounds: int, requests: int) -> None:
    found: dict[str, list[Round]] = {kind: [] for kind in _KINDS}
    for number in range(rounds):
        for kind, result in _round(site, requests):
            found[kind].append(result)
        print(f"{site.name}: round {number + 1} of {rounds}", file=sys.stderr, flush=True)
    title = f"{site.name}: {site.connections} connections, medians of {rounds} rounds of {requests:,} requests"
    print_table(title, _COLUMNS, (_row(kind, found) for kind in _KINDS))


def _round(site: _Site, requests: int) -> Iterator[tuple[str, Round]]:
    """One round of each kind. A ticket with its answer is one thing."""
    own, path = site.dither, collection_path(site.collection, "tickets")
    asked = [Send("POST", path, b"{}", JSON_HEADERS)] * requests
    answered = answers(own, site.collection, requests)
    half = answers(own, site.collection, requests // 2)
    both = [request for pair in zip(asked, half, strict=False) for request in pair]
    yield "echo", site.send(site.echo, answered, requests)
    yield "bare", site.send(site.bare, [Send("POST", "/rows", b"{}", JSON_HEADERS)] * requests, requests)
    yield "responses", site.send(own, answered, requests)
    yield "tickets", site.send(own, asked, requests)
    yield "both", site.send(own, both, requests // 2)
    yield "flow", measure(own, requests // 2, partial(_respond, site, requests // 2))


def _respond(site: _Site, size: int) -> None:
    rng = np.random.default_rng(1)
    roles = draw_roles(rng, Behaviours(), size)
    values = rng.normal(size=size)
    assert simulate_over_http(
        site.dither.url, TOKEN, site.collection, Respondents(values, roles), site.connections
    ).sound


def _row(kind: str, found: dict[str, list[Round]]) -> tuple[str, ...]:
    rounds = found[kind]
    requests = 2 if kind in ("both", "flow") else 1
    ratios = [
        spread([one.cpu / other.cpu / requests for one, other in zip(rounds, found[yardstick], strict=True)])
        for yardstick in ("echo", "bare")
    ]
    busy = [
        f"{100 * median(shares):.0f}%" for shares in zip(*((r.server_busy, r.load_busy) for r in rounds), strict=True)
    ]
    each = 1e6 * median(one.cpu for one in rounds)
    return _KINDS[kind], f"{each:.0f}", *ratios, f"{median(r.rate for r in rounds):,.0f}", *busy


if __name__ == "__main__":
    main(sys.argv[1:])
