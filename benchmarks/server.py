"""Requests a second that a server process takes at 64 connections, beside a bare FastAPI route that commits one row."""

import asyncio
import json
import math
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
import uvloop

from benchmarks.tables import print_table
from dither_client import Admin
from dither_client.addresses import collection_path, parse_address
from dither_client.api import Api
from dither_client.flow import JSON_HEADERS, Response, Send
from dither_server.simulate.behaviours import Behaviours, draw_roles
from dither_server.simulate.connections import Connections
from dither_server.simulate.over_http import simulate_over_http
from dither_server.simulate.server_process import ServerProcess, running_server

__all__ = ["main"]

CONNECTIONS = 64
_REQUESTS = 10_000
_ROUNDS = 5
_TOKEN = "benchmark"


@dataclass(frozen=True)
class _Round:
    """One round: requests a second, and CPU seconds of the server for each (it is nan where /proc is missing)."""

    rate: float
    cpu: float


def main() -> None:
    """Prints the table."""
    with tempfile.TemporaryDirectory() as folder:
        rounds = _measure(Path(folder))
    names = {
        "bare": "bare FastAPI route that commits one row",
        "responses": "answers: `POST …/responses`",
        "tickets": "tickets: `POST …/tickets`",
        "flow": "respondents, a ticket and an answer each, with the client's own work on the same cores",
    }
    columns = (
        "what",
        "a second",
        "to the bare route",
        "lowest and highest of a round",
        "server's CPU, µs each",
        "to it",
    )
    rows = ((names[name], *_summary(rounds[name], rounds["bare"])) for name in names)
    print_table(f"Server: {CONNECTIONS} connections, medians of {_ROUNDS} rounds of {_REQUESTS:,}", columns, rows)


def _summary(rounds: Sequence[_Round], bare: Sequence[_Round]) -> tuple[str, ...]:
    each = [one.rate / other.rate for one, other in zip(rounds, bare, strict=True)]
    cpu, bare_cpu = median(one.cpu for one in rounds), median(one.cpu for one in bare)
    spread = f"{min(each):.2f} to {max(each):.2f}"
    rate = median(one.rate for one in rounds)
    return f"{rate:,.0f}", f"{median(each):.2f}", spread, f"{cpu * 1e6:.0f}", f"{cpu / bare_cpu:.2f}"


def _measure(folder: Path) -> dict[str, list[_Round]]:
    """Every kind in each round; the kinds take turns, so that all meet the same machine."""
    rounds: dict[str, list[_Round]] = {"bare": [], "responses": [], "tickets": [], "flow": []}
    with running_server(folder, _TOKEN) as server, _bare_server(folder) as (bare_url, bare_pid):
        with Admin(server.url, _TOKEN) as admin:
            spec = {"name": "Load", "family": "normal", "epsilon": 1, "range": [-5, 5]}
            collection = str(admin.create_collection(spec)["id"])
        rows = [Send("POST", "/rows", b"{}", JSON_HEADERS)] * _REQUESTS
        tickets = [Send("POST", collection_path(collection, "tickets"), b"{}", JSON_HEADERS)] * _REQUESTS
        for _ in range(_ROUNDS):
            answers = _answers(server, collection)
            rounds["bare"].append(_round(bare_pid, len(rows), partial(_send, bare_url, rows)))
            rounds["responses"].append(_round(server.pid, len(answers), partial(_send, server.url, answers)))
            rounds["tickets"].append(_round(server.pid, len(tickets), partial(_send, server.url, tickets)))
            rounds["flow"].append(_round(server.pid, _REQUESTS // 2, partial(_respond, server, collection)))
    return rounds


def _round(pid: int, size: int, work: Callable[[], None]) -> _Round:
    cpu, began = _cpu_seconds(pid), time.perf_counter()
    work()
    return _Round(size / (time.perf_counter() - began), (_cpu_seconds(pid) - cpu) / size)


def _cpu_seconds(pid: int) -> float:
    """User and system time of a process so far."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return math.nan
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _answers(server: ServerProcess, collection: str) -> list[Send]:
    """Requests with answers to as many tickets."""
    with Api(server.url, _TOKEN) as api:
        issued = api.post(collection_path(collection, "tickets"), json.dumps({"count": _REQUESTS}).encode())
    path = collection_path(collection, "responses")
    bodies = [
        json.dumps({"ticket": ticket["ticket"], "answer": i % 2}).encode() for i, ticket in enumerate(issued["tickets"])
    ]
    return [Send("POST", path, body, JSON_HEADERS) for body in bodies]


def _send(url: str, requests: Sequence[Send]) -> None:
    uvloop.run(_send_all(url, requests))


async def _send_all(url: str, requests: Sequence[Send]) -> None:
    pool = Connections(parse_address(url))
    remaining = iter(requests)

    async def work() -> None:
        for request in remaining:
            reply = await pool.request(request)
            assert isinstance(reply, Response)
            assert reply.status == 201, reply.body

    await asyncio.gather(*(work() for _ in range(CONNECTIONS)))
    pool.close()


def _respond(server: ServerProcess, collection: str) -> None:
    size = _REQUESTS // 2
    rng = np.random.default_rng(1)
    roles = draw_roles(rng, Behaviours(), size)
    values = rng.normal(size=size)
    assert simulate_over_http(server.url, _TOKEN, collection, values, roles, CONNECTIONS, None).sound


@contextmanager
def _bare_server(folder: Path) -> Iterator[tuple[str, int]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "uvicorn", "benchmarks.bare:app", "--port", str(port), "--log-level", "warning"]
    environment = {**os.environ, "BARE_DATABASE": str(folder / "bare.sqlite")}
    process = subprocess.Popen([*command, "--no-access-log"], env=environment)
    try:
        _wait(port)
        yield f"http://127.0.0.1:{port}", process.pid
    finally:
        process.terminate()
        process.wait()


def _wait(port: int) -> None:
    for _ in range(300):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise RuntimeError("the bare server did not start")


if __name__ == "__main__":
    main()
