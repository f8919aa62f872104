"""Several real server processes on one database, and a population that answers through all of them without pause."""

import asyncio
import random
import re
import signal
from typing import Any

import httpx2

from dither_client import parse_query
from dither_server.replicas.membership import LEASE_SECONDS
from testing.patience import PATIENCE, ever
from testing.servers.defaults import ADMIN, RETRY_KEY, SPEC
from testing.servers.process import ForkedServer

__all__ = ["Fleet"]


class Fleet:
    """The processes, by number; a request goes to any of them, and on a failure to another."""

    def __init__(self, database: str, size: int, rng: random.Random, lease_seconds: float = LEASE_SECONDS) -> None:
        self.rng = rng
        self.servers = [ForkedServer(database, lease_seconds) for _ in range(size)]
        self.processes: dict[int, ForkedServer] = {}
        """The processes that are running."""
        self.client: httpx2.AsyncClient
        self.collection = ""
        self.acknowledged: dict[str, tuple[int, str]] = {}
        """Answer and receipt by ticket."""
        self.failures = 0
        self.done = False

    async def __aenter__(self) -> "Fleet":
        self.client = httpx2.AsyncClient(timeout=2)
        for number in range(len(self.servers)):
            await self.start(number)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.done = True
        await self.client.aclose()
        for number in list(self.processes):
            await self.end(number, signal.SIGKILL)

    async def start(self, number: int) -> None:
        """Starts a process, and waits until it is ready."""
        self.processes[number] = self.servers[number]
        self.processes[number].start()
        await asyncio.to_thread(self.processes[number].wait_ready)

    async def end(self, number: int, how: int) -> int:
        """Ends a process with a signal; its exit status."""
        process = self.processes.pop(number)
        process.signal(how)
        return await asyncio.to_thread(process.wait)

    async def get(self, number: int, path: str) -> httpx2.Response | None:
        """A reply of one process, None if it does not answer."""
        try:
            return await self.client.get(self.servers[number].url + path, headers=ADMIN)
        except httpx2.TransportError:
            return None

    async def post(self, path: str, body: Any, number: int | None = None) -> httpx2.Response:
        """The reply of a process to as many attempts with the same bytes as it takes, each to another process."""

        async def attempt() -> list[httpx2.Response]:
            asked = self.rng.choice(self.servers) if number is None else self.servers[number]
            try:
                reply = await self.client.post(asked.url + path, json=body, headers=ADMIN)
            except httpx2.TransportError:
                self.failures += 1
                return []
            return [] if reply.status_code == 503 else [reply]

        return (await ever(attempt, "no process answers"))[0]

    async def create(self, **fields: Any) -> None:
        """Makes the collection that is asked about."""
        url = f"{self.servers[0].url}/v1/collections"
        self.collection = (await self.client.post(url, json=SPEC | fields, headers=ADMIN, timeout=PATIENCE)).json()[
            "id"
        ]

    async def respond_for_ever(self) -> None:
        """Answers until all is `done`: ticket and answer go to processes of their own."""
        path = f"/v1/collections/{self.collection}"
        while not self.done:
            ticket = (await self.post(f"{path}/tickets", {})).json()
            query = parse_query(ticket["query"])
            answer = query.answer(self.rng.gauss(50, 10), self.rng.randrange)
            reply = await self.post(
                f"{path}/responses", {"ticket": ticket["ticket"], "answer": answer, "retry_key": RETRY_KEY}
            )
            assert reply.status_code in (200, 201), reply.text
            self.acknowledged[ticket["ticket"]] = (answer, reply.json()["receipt"])

    async def owner(self) -> int | None:
        """The process that says it holds the collection's lease."""
        for number in self.processes:
            reply = await self.get(number, "/metrics")
            found = reply and re.search(r"^dither_owned_collections (\d+)", reply.text, flags=re.MULTILINE)
            if found and float(found[1]) > 0:
                return number
        return None

    async def learnt(self, number: int, answers: int) -> dict[str, Any]:
        """The posterior that a process serves, once it has learnt so many answers or more."""
        posterior: dict[str, Any] = {}

        async def there() -> bool:
            reply = await self.get(number, f"/v1/collections/{self.collection}/posterior")
            if reply is not None and reply.status_code == 200:
                posterior.update(reply.json())
            return bool(posterior and posterior["answers"] >= answers)

        await ever(there, lambda: f"learnt {posterior.get('answers')} answers, not {answers}")
        return posterior
