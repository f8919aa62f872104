"""The server is killed at random moments under load, and started again each time."""

import asyncio
import multiprocessing
import os
import random
import signal
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest
from pydantic import SecretStr
from tests.server.conftest import ADMIN, SPEC, check_counts
from tests.server.process import free_port

from dither_client import Laplace, Query, parse_query
from dither_estimator.learner import Learner
from dither_estimator.specification import Specification
from dither_server.database import make_engine
from dither_server.serving import serve
from dither_server.settings import Settings

KILLS = 20
STOP_EVERY = 5
"""After so many kills one end is orderly, so that there are snapshots to resume from."""
RESPONDENTS = 16

# A server that is forked from a process with everything imported starts in a fraction of a second.
_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(["dither_server.serving"])


class Crashes:
    """A population that answers without pause, and a server that is killed again and again."""

    def __init__(self, folder: Path, rng: random.Random) -> None:
        self.rng = rng
        self.settings = Settings(
            database=f"sqlite:///{folder / 'test.sqlite'}",
            port=free_port(),
            secret=SecretStr("secret of the tests"),
            admin_token=SecretStr("the-admin-token"),
            log_level="error",
        )
        self.collection = ""
        self.acknowledged: dict[str, tuple[int, str]] = {}
        """Answer and receipt by ticket."""
        self.lost_connections = 0
        self.done = False

    def start(self) -> Any:
        process = _processes.Process(target=serve, args=[self.settings])
        process.start()
        return process

    async def run(self) -> dict[str, Any]:
        """Everything; returns what the last server says of the posterior and the questions."""
        async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{self.settings.port}", timeout=5) as client:
            server = self.start()
            await self.until_ready(client)
            spec = SPEC | {"particles": 10_000}
            self.collection = (await client.post("/v1/collections", json=spec, headers=ADMIN)).json()["id"]
            population = [asyncio.create_task(self.respond_for_ever(client)) for _ in range(RESPONDENTS)]
            for kill in range(1, KILLS + 1):
                await asyncio.sleep(self.rng.uniform(0.05, 0.8))
                await self.end(server, signal.SIGKILL)
                if kill % STOP_EVERY == 0:
                    server = self.start()
                    await self.until_ready(client)
                    await asyncio.sleep(0.3)
                    await self.end(server, signal.SIGTERM)
                server = self.start()
                await self.until_ready(client)
            self.done = True
            await asyncio.gather(*population)
            result = await self.read(client)
            await self.end(server, signal.SIGTERM)
            return result

    async def end(self, server: Any, number: int) -> None:
        os.kill(server.pid, number)
        await asyncio.to_thread(server.join, 20)
        assert server.exitcode == (-signal.SIGKILL if number == signal.SIGKILL else 0)

    async def until_ready(self, client: httpx2.AsyncClient) -> None:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            try:
                if (await client.get("/readyz")).status_code == 200:
                    return
            except httpx2.TransportError:
                await asyncio.sleep(0.02)
        raise AssertionError("the server does not come back")

    async def respond_for_ever(self, client: httpx2.AsyncClient) -> None:
        while not self.done:
            ticket = (await self.post(client, "tickets", {})).json()
            query = parse_query(ticket["query"])
            answer = query.answer(self.rng.gauss(50, 10), self.rng.randrange)
            body = {"ticket": ticket["ticket"], "answer": answer}
            reply = await self.post(client, "responses", body)
            assert reply.status_code in (200, 201), reply.text
            self.acknowledged[ticket["ticket"]] = (answer, reply.json()["receipt"])

    async def post(self, client: httpx2.AsyncClient, call: str, body: dict[str, Any]) -> httpx2.Response:
        """The reply, after as many attempts with the same bytes as it takes."""
        while True:
            try:
                reply = await client.post(f"/v1/collections/{self.collection}/{call}", json=body)
            except httpx2.TransportError:
                self.lost_connections += 1
                await asyncio.sleep(0.05)
                continue
            if reply.status_code != 503:
                return reply
            await asyncio.sleep(0.05)

    async def read(self, client: httpx2.AsyncClient) -> dict[str, Any]:
        path = f"/v1/collections/{self.collection}"
        deadline = time.monotonic() + 20
        while True:
            posterior = (await client.get(f"{path}/posterior", headers=ADMIN)).json()
            if posterior["answers"] == len(self.acknowledged) or time.monotonic() > deadline:
                break
            await asyncio.sleep(0.05)
        for ticket, (answer, receipt) in self.rng.sample(sorted(self.acknowledged.items()), 100):
            again = await self.post(client, "responses", {"ticket": ticket, "answer": answer})
            assert (again.status_code, again.json()["receipt"]) == (200, receipt)
            other = await self.post(client, "responses", {"ticket": ticket, "answer": 1 - answer})
            assert other.status_code == 409
        terms = (await client.get(path)).json()
        queries = (await client.get(f"{path}/queries", headers=ADMIN)).json()["queries"]
        return {"posterior": posterior, "terms": terms, "queries": queries}


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_or_counted_twice(tmp_path: Path) -> None:
    crashes = Crashes(tmp_path, random.Random(20))
    found = asyncio.run(crashes.run())
    acknowledged = len(crashes.acknowledged)
    assert acknowledged > 500
    assert crashes.lost_connections >= KILLS  # each kill was felt
    table: dict[Query, list[int]] = {parse_query(item["query"]): item["counts"] for item in found["queries"]}
    assert all(isinstance(query, Laplace) and query.levels == 1 for query in table)  # so 1 - answer is an answer
    assert found["terms"]["answers"] == acknowledged
    assert sum(sum(counts) for counts in table.values()) == acknowledged
    assert sum(counts[1] for counts in table.values()) == sum(answer for answer, _ in crashes.acknowledged.values())
    assert found["posterior"]["answers"] == acknowledged
    engine = make_engine(crashes.settings.database)
    check_counts(engine)
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM answers").scalar_one() == acknowledged
    engine.dispose()
    rebuilt = Learner(Specification.from_json(SPEC | {"particles": 10_000}), 1)
    rebuilt.learn_counts(table)
    # Of 10,000 particles at least half are effective: a quantile's Monte Carlo error is below 0.03 posterior sd, that
    # of the difference of two below 0.04. Six of those for 10 quantiles: a false alarm in fewer than one of 10^7 runs.
    for name, summary in rebuilt.posterior().to_json()["posterior"].items():
        for quantile in ("q05", "q25", "q50", "q75", "q95"):
            served = found["posterior"]["posterior"][name][quantile]
            assert abs(served - summary[quantile]) < 0.25 * summary["sd"], (name, quantile)
