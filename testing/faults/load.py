"""A population that answers without pause, whatever becomes of the servers, and remembers what was acknowledged.

How long a service takes to recover depends on the machine, so tests ask that it does, and `testing.long.faults` how
fast.
"""

import asyncio
import random
import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager
from datetime import datetime
from typing import Any

import httpx2

from dither_client import parse_query
from testing.patience import PATIENCE, ever
from testing.servers.defaults import ADMIN, RETRY_KEY, SPEC
from testing.servers.namespaces import Machine
from testing.servers.process import ForkedServer, forked

__all__ = ["COLLECTION", "Load", "under_load"]

RESPONDENTS = 8
COLLECTION = SPEC | {
    "particles": 4_000,
    "misfit_check": 0.2,
    "misfit_looks": [5, 10, 20, 40, 80, 160, 320, 640, 1_280, 2_560, 5_120, 10_240],
}


class Load:
    """Respondents of one collection, each at one of the servers; after a failure at the next."""

    def __init__(self, servers: Sequence[ForkedServer], database: str, rng: random.Random) -> None:
        self.servers = servers
        self.database = database
        self.rng = rng
        self.collection = ""
        self.acknowledged: dict[str, tuple[int, str]] = {}
        """Answer and receipt by ticket."""
        self.statuses: Counter[int] = Counter()
        self.lost_connections = 0
        self.wrong: list[str] = []
        """Replies that should never be: other statuses, a 503 without `Retry-After`, another receipt, none in time."""
        self.slowest = 0.0
        """Seconds of the slowest reply."""
        self._acknowledged_at: list[float] = []
        self._refused_at: list[float] = []
        self._done = False
        self._tasks: list[asyncio.Task[None]] = []

    async def create(self) -> None:
        """Makes the collection."""
        async with httpx2.AsyncClient(timeout=PATIENCE) as client:
            reply = await client.post(f"{self.servers[0].url}/v1/collections", json=COLLECTION, headers=ADMIN)
        assert reply.status_code == 201, reply.text
        self.collection = reply.json()["id"]

    async def more(self, answers: int = 40) -> None:
        """Returns when so many more answers have been acknowledged."""
        enough = len(self.acknowledged) + answers
        await self._until(lambda: len(self.acknowledged) >= enough, "no answers are acknowledged")

    async def refused(self, since: float) -> float:
        """Seconds from `since` (monotonic) until the first reply with status 503."""
        return await self._first(self._refused_at, since, "nobody is told to try later")

    async def recovered(self, since: float) -> float:
        """Seconds from `since` (monotonic) until the first acknowledgement."""
        return await self._first(self._acknowledged_at, since, "the service does not answer again")

    async def owner(self) -> ForkedServer:
        """The server that says it runs the collection's particle system."""

        async def found() -> ForkedServer | None:
            for server in self.servers:
                metrics = await self._get(server, "/metrics")
                if metrics is not None and re.search(
                    r"^dither_owned_collections [1-9]", metrics.text, flags=re.MULTILINE
                ):
                    return server
            return None

        owner = await ever(found, "nobody runs the particle system")
        assert owner is not None
        return owner

    async def taken_over(self, since: float) -> float:
        """Seconds from `since` (as `time.time` has it) until a server shows a posterior that was learnt later."""
        path = f"/v1/collections/{self.collection}/posterior"

        async def later() -> bool:
            for server in self.servers:
                reply = await self._get(server, path)
                if reply is None or reply.status_code != 200:
                    continue
                if datetime.fromisoformat(reply.json()["updated_at"]).timestamp() > since:
                    return True
            return False

        await ever(later, "nobody takes over")
        return time.time() - since

    async def settle(self) -> None:
        """Returns when every respondent has been answered for the last time, which takes a service that answers."""
        self._done = True
        await self._until(lambda: all(task.done() for task in self._tasks), "respondents wait for ever")
        await asyncio.gather(*self._tasks)

    def start(self, client: httpx2.AsyncClient) -> None:
        """Lets them come."""
        self._client = client
        self._tasks = [asyncio.create_task(self._respond_for_ever(client, i)) for i in range(RESPONDENTS)]

    def cancel(self) -> None:
        """Sends those who still wait away."""
        for task in self._tasks:
            task.cancel()

    async def _respond_for_ever(self, client: httpx2.AsyncClient, server: int) -> None:
        """One respondent after the other."""
        while not self._done:
            reply = await self._post(client, server, "tickets", {})
            if reply.status_code != 201:
                return
            issued = reply.json()
            answer = parse_query(issued["query"]).answer(self.rng.gauss(50, 10), self.rng.randrange)
            body = {"ticket": issued["ticket"], "answer": answer, "retry_key": RETRY_KEY}
            for _ in range(1 + (self.rng.random() < 0.1)):  # some say it twice
                await self._respond(client, server, body)

    async def _respond(self, client: httpx2.AsyncClient, server: int, body: dict[str, Any]) -> None:
        reply = await self._post(client, server, "responses", body)
        if reply.status_code not in (200, 201):
            return
        known = (body["answer"], reply.json()["receipt"])
        if self.acknowledged.setdefault(body["ticket"], known) != known:
            self.wrong.append("another receipt")
        self._acknowledged_at.append(time.monotonic())

    async def _post(self, client: httpx2.AsyncClient, server: int, call: str, body: dict[str, Any]) -> httpx2.Response:
        """The reply, after as many attempts with the same bytes as it takes."""
        while True:
            url = self.servers[server % len(self.servers)].url
            began = time.monotonic()
            try:
                reply = await client.post(f"{url}/v1/collections/{self.collection}/{call}", json=body)
            except httpx2.TimeoutException:
                self.wrong.append("no reply in time")
            except httpx2.TransportError:
                self.lost_connections += 1
            else:
                self.slowest = max(self.slowest, time.monotonic() - began)
                self.statuses[reply.status_code] += 1
                if reply.status_code != 503:
                    if reply.status_code not in (200, 201):
                        self.wrong.append(f"{reply.status_code}: {reply.text}")
                    return reply
                self._refused_at.append(time.monotonic())
                if not reply.headers.get("retry-after", "").isdecimal():
                    self.wrong.append("a 503 that does not say when to try again")
            server += 1
            await asyncio.sleep(0.05)

    async def _get(self, server: ForkedServer, path: str) -> httpx2.Response | None:
        """The reply of one server, None if it does not answer."""
        try:
            return await self._client.get(server.url + path, headers=ADMIN, timeout=2)
        except httpx2.TransportError:
            return None

    async def _first(self, times: list[float], since: float, else_says: str) -> float:
        await self._until(lambda: bool(times) and times[-1] >= since, else_says)
        return next(at for at in times if at >= since) - since

    async def _until(self, condition: Callable[[], bool], else_says: str) -> None:
        async def met() -> bool:
            return condition()

        await ever(met, lambda: f"{else_says}: {self.statuses}, {self.wrong[:3]}")


@asynccontextmanager
async def under_load(
    database: str, servers: int = 1, seed: int = 1, machines: Sequence[Machine] | None = None
) -> AsyncIterator[Load]:
    """Servers on `database`, or one on each of the `machines`, with a population at them; both end with the block."""
    stack = ExitStack()
    running = await asyncio.to_thread(stack.enter_context, forked(database, servers, machines))
    try:
        load = Load(running, database, random.Random(seed))
        await load.create()
        async with httpx2.AsyncClient(timeout=PATIENCE) as client:
            load.start(client)
            try:
                yield load
            except AssertionError:
                for server in running:
                    server.abort()
                raise
            finally:
                load.cancel()
    finally:
        await asyncio.to_thread(stack.close)
