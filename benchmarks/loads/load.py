"""Load on one server: requests that were made beforehand, over many connections, from one core."""

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

import uvloop

from benchmarks.loads.machine import LOAD_CORE, cpu_seconds, on_core
from benchmarks.loads.servers import TOKEN, Target
from dither_client.addresses import collection_path, parse_address
from dither_client.ledger.protocol import new_retry_key
from dither_client.protocol.flow import Response, Send
from dither_client.protocol.respondent import JSON_HEADERS
from dither_client.transport.json_api import Api
from dither_server.simulate.connections import Connections

__all__ = ["Round", "answers", "batches", "measure", "send", "spread", "tickets"]

CONNECTIONS = 64


@dataclass(frozen=True)
class Round:
    """One round of load: things done a second, CPU seconds of the server for each, shares of the two cores in use."""

    rate: float
    cpu: float
    server_busy: float
    load_busy: float


def measure(target: Target, size: int, work: Callable[[], object]) -> Round:
    """`work` does `size` things."""
    with on_core(LOAD_CORE):
        cpu, own, began = cpu_seconds(target.pid), time.process_time(), time.perf_counter()
        work()
        seconds = time.perf_counter() - began
        used = cpu_seconds(target.pid) - cpu
    return Round(size / seconds, used / size, used / seconds, (time.process_time() - own) / seconds)


def spread(ratios: Sequence[float]) -> str:
    """Median, and lowest and highest, of ratios."""
    return f"{median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def tickets(target: Target, collection: str, count: int) -> list[str]:
    """Asks for `count` tickets, in batches."""
    issued: list[str] = []
    with Api(target.url, TOKEN) as api:
        while len(issued) < count:
            body = json.dumps({"count": min(10_000, count - len(issued))}).encode()
            reply = api.post(collection_path(collection, "tickets"), body)
            issued += [ticket["ticket"] for ticket in reply["tickets"]]
    return issued


def answers(target: Target, collection: str, count: int) -> list[Send]:
    """Requests with an answer each."""
    path = collection_path(collection, "responses")
    return [
        Send("POST", path, json.dumps(_answer(ticket, i % 2)).encode(), JSON_HEADERS)
        for i, ticket in enumerate(tickets(target, collection, count))
    ]


def _answer(ticket: str, answer: int) -> dict[str, object]:
    return {"ticket": ticket, "answer": answer, "retry_key": new_retry_key()}


def batches(target: Target, collection: str, count: int, size: int) -> list[Send]:
    """Requests with `size` answers each, `count` in all."""
    path = collection_path(collection, "responses/batch")
    each = [_answer(ticket, i % 2) for i, ticket in enumerate(tickets(target, collection, count))]
    bodies = [json.dumps({"responses": each[at : at + size]}).encode() for at in range(0, count, size)]
    headers = {**JSON_HEADERS, "authorization": f"Bearer {TOKEN}"}  # only a gateway may send many at once
    return [Send("POST", path, body, headers) for body in bodies]


def send(target: Target, requests: Sequence[Send], connections: int = CONNECTIONS) -> list[Response]:
    """Sends all of them, `connections` at a time, and returns the replies, whatever their order."""
    return uvloop.run(_send(target.url, requests, connections))


async def _send(url: str, requests: Sequence[Send], connections: int) -> list[Response]:
    pool = Connections(parse_address(url))
    remaining = iter(requests)
    replies: list[Response] = []

    async def work() -> None:
        for request in remaining:
            reply = await pool.request(request)
            assert isinstance(reply, Response)
            assert reply.status in (200, 201), reply.body
            replies.append(reply)

    await asyncio.gather(*(work() for _ in range(connections)))
    pool.close()
    return replies
