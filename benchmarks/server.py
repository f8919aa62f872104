"""Requests a second that a server process takes at 64 connections, beside a bare FastAPI route that commits one row."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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


def main() -> None:
    """Prints the table."""
    with tempfile.TemporaryDirectory() as folder:
        rates = _rates(Path(folder))
    bare = median(rates["bare"])
    names = {
        "bare": "bare FastAPI route that commits one row",
        "responses": "answers: `POST …/responses`",
        "tickets": "tickets: `POST …/tickets`",
        "flow": "respondents: ticket and answer, with the client's own work on the same two cores",
    }
    print_table(
        f"Server: {CONNECTIONS} connections, medians of {_ROUNDS} rounds of {_REQUESTS:,}",
        ("what", "a second", "to the bare route", "lowest and highest ratio of a round"),
        ((names[name], f"{median(rates[name]):,.0f}", *_ratios(rates[name], rates["bare"], bare)) for name in names),
    )


def _ratios(rates: Sequence[float], yardstick: Sequence[float], bare: float) -> tuple[str, str]:
    each = [rate / other for rate, other in zip(rates, yardstick, strict=True)]
    return f"{median(rates) / bare:.2f}", f"{min(each):.2f} to {max(each):.2f}"


def _rates(folder: Path) -> dict[str, list[float]]:
    """Requests a second of each kind in each round; the kinds take turns, so that all meet the same machine."""
    rates: dict[str, list[float]] = {"bare": [], "responses": [], "tickets": [], "flow": []}
    with running_server(folder, _TOKEN) as server, _bare_server(folder) as bare:
        with Admin(server.url, _TOKEN) as admin:
            spec = {"name": "Load", "family": "normal", "epsilon": 1, "range": [-5, 5]}
            collection = str(admin.create_collection(spec)["id"])
        for _ in range(_ROUNDS):
            rates["bare"].append(_rate(bare, [Send("POST", "/rows", b"{}", JSON_HEADERS)] * _REQUESTS))
            rates["responses"].append(_rate(server.url, _answers(server, collection)))
            tickets = Send("POST", collection_path(collection, "tickets"), b"{}", JSON_HEADERS)
            rates["tickets"].append(_rate(server.url, [tickets] * _REQUESTS))
            rates["flow"].append(_flow_rate(server, collection))
    return rates


def _answers(server: ServerProcess, collection: str) -> list[Send]:
    """Requests with answers to as many tickets."""
    with Api(server.url, _TOKEN) as api:
        issued = api.post(collection_path(collection, "tickets"), json.dumps({"count": _REQUESTS}).encode())
    path = collection_path(collection, "responses")
    bodies = [
        json.dumps({"ticket": ticket["ticket"], "answer": i % 2}).encode() for i, ticket in enumerate(issued["tickets"])
    ]
    return [Send("POST", path, body, JSON_HEADERS) for body in bodies]


def _rate(url: str, requests: Sequence[Send]) -> float:
    return len(requests) / uvloop.run(_send_all(url, requests))


async def _send_all(url: str, requests: Sequence[Send]) -> float:
    pool = Connections(parse_address(url))
    remaining = iter(requests)

    async def work() -> None:
        for request in remaining:
            reply = await pool.request(request)
            assert isinstance(reply, Response)
            assert reply.status == 201, reply.body

    began = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(CONNECTIONS)))
    seconds = time.perf_counter() - began
    pool.close()
    return seconds


def _flow_rate(server: ServerProcess, collection: str) -> float:
    size = _REQUESTS // 2
    rng = np.random.default_rng(1)
    roles = draw_roles(rng, Behaviours(), size)
    values = rng.normal(size=size)
    outcome = simulate_over_http(server.url, _TOKEN, collection, values, roles, CONNECTIONS, None)
    assert outcome.sound
    return outcome.answers / outcome.seconds


@contextmanager
def _bare_server(folder: Path) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "uvicorn", "benchmarks.bare:app", "--port", str(port), "--log-level", "warning"]
    environment = {**os.environ, "BARE_DATABASE": str(folder / "bare.sqlite")}
    process = subprocess.Popen([*command, "--no-access-log"], env=environment)
    try:
        _wait(port)
        yield f"http://127.0.0.1:{port}"
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
