"""SIGTERM: what was begun is finished, a snapshot is stored, exit 0, whatever is in the way.

How long it takes is measured by `testing.long.faults`.
"""

import asyncio
import json
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import httpx2
import pytest
from sqlalchemy import func, select

from dither_server.database.engine import make_engine, reading
from dither_server.database.schema import answers, queries, snapshots
from testing.faults.checker import check
from testing.faults.load import under_load
from testing.faults.proxy import make_proxy
from testing.faults.scenarios import end_owner
from testing.patience import PATIENCE
from testing.servers.cluster import Cluster
from testing.servers.defaults import ADMIN, SPEC
from testing.servers.process import ServerProcess, running


@pytest.mark.slow
def test_an_end_under_load_loses_nothing_and_leaves_a_snapshot(database_url: str) -> None:
    async def test() -> None:
        async with under_load(database_url) as load:
            for _ in range(2):
                await load.more(100)
                [server] = load.servers
                server.signal(signal.SIGTERM)
                await asyncio.sleep(0.05)
                server.signal(signal.SIGTERM)  # twice is as good as once
                assert await asyncio.to_thread(server.wait) == 0
                _check_snapshot(database_url)
                await asyncio.to_thread(server.start)
                await asyncio.to_thread(server.wait_ready)
            await load.settle()
            await asyncio.to_thread(check, load)

    asyncio.run(test())


@pytest.mark.slow
def test_one_of_two_ends_under_load_and_the_other_goes_on(database_url: str) -> None:
    async def test() -> None:
        async with under_load(database_url, servers=2) as load:
            for _ in range(2):
                await load.more()
                await end_owner(load)
            await load.more()
            await load.settle()
            assert load.statuses.keys() <= {200, 201, 503}
            await asyncio.to_thread(check, load)

    asyncio.run(test())


@pytest.mark.slow
def test_an_end_with_slow_clients(sqlite_url: str) -> None:
    with running(sqlite_url) as server, ExitStack() as stack:
        collection = httpx2.post(f"{server.url}/v1/collections", json=SPEC, headers=ADMIN, timeout=PATIENCE).json()[
            "id"
        ]
        ticket = httpx2.post(f"{server.url}/v1/collections/{collection}/tickets", timeout=PATIENCE).json()["ticket"]
        answer = json.dumps({"ticket": ticket, "answer": 1}).encode()
        path = f"/v1/collections/{collection}/responses".encode()
        head = b"POST " + path + b" HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(answer)
        slow, finishing, idle = (stack.enter_context(_connect(server)) for _ in range(3))
        slow.sendall(head + answer[:5])
        finishing.sendall(head + answer[:5])
        idle.sendall(b"GET /heal")
        time.sleep(0.5)
        server.terminate()
        server.wait_refused()
        finishing.sendall(answer[5:])
        assert finishing.recv(65_536).startswith(b"HTTP/1.1 201 ")
        late = slow.recv(65_536)
        assert late.startswith(b"HTTP/1.1 503 ")
        assert b"retry-after: " in late.lower()
        assert server.wait() == 0
    assert "Traceback" not in server.stderr
    _check_snapshot(sqlite_url)


@pytest.mark.slow
@pytest.mark.postgres
def test_an_end_with_a_database_that_hangs(cluster: Cluster) -> None:
    with make_proxy(cluster.port) as proxy:
        database = cluster.url(cluster.create_database().rpartition("/")[2], proxy.port)
        with running(database) as server:
            collection = httpx2.post(f"{server.url}/v1/collections", json=SPEC, headers=ADMIN, timeout=PATIENCE).json()[
                "id"
            ]
            path = f"{server.url}/v1/collections/{collection}"
            tickets = httpx2.post(f"{path}/tickets", json={"count": 30}, timeout=PATIENCE).json()["tickets"]
            proxy.stall()
            replies: list[int] = []
            with _answering(path, [item["ticket"] for item in tickets], replies):
                time.sleep(1)
                server.terminate()
                assert server.wait() == 0
            assert set(replies) <= {503}
            assert replies
        proxy.flow()


@contextmanager
def _answering(path: str, tickets: list[str], statuses: list[int]) -> Iterator[None]:
    """Someone waits for an acknowledgement of each of `tickets`."""

    def answer(ticket: str) -> None:
        try:
            reply = httpx2.post(f"{path}/responses", json={"ticket": ticket, "answer": 1}, timeout=PATIENCE)
        except httpx2.TransportError:
            return
        assert reply.headers["retry-after"]
        statuses.append(reply.status_code)

    threads = [threading.Thread(target=answer, args=[ticket]) for ticket in tickets]
    for thread in threads:
        thread.start()
    yield
    for thread in threads:
        thread.join()


def _connect(server: ServerProcess) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)


def _check_snapshot(database: str) -> None:
    """Fails unless there is a snapshot with every answer in it that is for learning."""
    engine = make_engine(database)
    learnt = select(func.count()).select_from(answers.join(queries, answers.c.query == queries.c.number))
    with reading(engine).connect() as connection:
        stored = connection.execute(learnt.where(queries.c.purpose == "training")).scalar_one()
        assert connection.execute(select(snapshots.c.answers)).scalar_one() == stored
    engine.dispose()
