"""The application in the test's own process, without a socket: requests are calls of the ASGI application."""

import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from random import Random
from typing import Any

import httpx2
from starlette.testclient import TestClient

from dither_client import parse_query
from dither_server.app import Application, create_app
from dither_server.database.engine import make_engine
from dither_server.owner.published import Published
from testing.databases import check_counts
from testing.patience import PATIENCE, until
from testing.servers.defaults import ADMIN, RETRY_KEY, SPEC, server_settings

__all__ = [
    "START",
    "FakeClock",
    "Site",
    "before_and_after_a_restart",
    "make_application",
    "open_async_client",
    "open_client",
    "open_site",
    "problem",
]

START = 1_800_000_000.0
_AT_ONCE = 60


class FakeClock:
    """A clock that stands still until it is told otherwise."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> float:
        return self.now


class Site:
    """A running application, and what tests do with it all the time."""

    admin = ADMIN

    def __init__(self, client: TestClient, clock: FakeClock, url: str) -> None:
        self.client = client
        self.clock = clock
        self.url = url

    @property
    def service(self) -> Any:
        return self.client.app.service  # type: ignore[attr-defined]

    def create(self, **fields: Any) -> str:
        """The id of a new collection."""
        reply = self.client.post("/v1/collections", json=SPEC | fields, headers=ADMIN)
        assert reply.status_code == 201, reply.text
        return str(reply.json()["id"])

    def ticket(self, collection: str) -> str:
        """A new ticket."""
        reply = self.client.post(f"/v1/collections/{collection}/tickets")
        assert reply.status_code == 201, reply.text
        return str(reply.json()["ticket"])

    def tickets(self, collection: str, count: int) -> list[str]:
        """Many tickets."""
        reply = self.client.post(f"/v1/collections/{collection}/tickets", json={"count": count})
        assert reply.status_code == 201, reply.text
        return [item["ticket"] for item in reply.json()["tickets"]]

    def respond(
        self, collection: str, ticket: str, answer: object = 0, retry_key: str | None = RETRY_KEY
    ) -> httpx2.Response:
        """The reply to an answer."""
        body = {"ticket": ticket, "answer": answer} | ({} if retry_key is None else {"retry_key": retry_key})
        return self.client.post(f"/v1/collections/{collection}/responses", json=body)

    def batch(self, collection: str, *pairs: tuple[str, int]) -> httpx2.Response:
        """The reply to a batch of tickets and answers."""
        return self.send_batch(
            collection, [{"ticket": ticket, "answer": answer, "retry_key": RETRY_KEY} for ticket, answer in pairs]
        )

    def send_batch(self, collection: str, responses: Sequence[Mapping[str, object]]) -> httpx2.Response:
        """The reply to a batch of answers."""
        path = f"/v1/collections/{collection}/responses/batch"
        return self.client.post(
            path, json={"responses": list(responses)}, headers=ADMIN
        )  # as a gateway, for any number

    def answer_in_turns(self, collection: str, count: int) -> None:
        """Gives `count` answers, 0 and 1 in turns."""
        pairs = [(ticket, i % 2) for i, ticket in enumerate(self.tickets(collection, count))]
        assert {item["status"] for item in self.batch(collection, *pairs).json()["responses"]} == {201}

    def answer(self, collection: str, values: Sequence[Any]) -> None:
        """People with these values, or numbers of categories, answer in groups, each learnt before the next."""
        random = Random(8)
        for start in range(0, len(values), _AT_ONCE):
            some = values[start : start + _AT_ONCE]
            reply = self.client.post(f"/v1/collections/{collection}/tickets", json={"count": len(some)})
            pairs = [
                (item["ticket"], parse_query(item["query"]).answer(value, random.randrange))
                for item, value in zip(reply.json()["tickets"], some, strict=True)
            ]
            assert self.batch(collection, *pairs).status_code == 200
            self.learnt(collection, start + len(some))

    def answered(self, values: Sequence[Any], **fields: Any) -> str:
        """The id of a new collection that anyone may read, which people with these values have answered."""
        collection = self.create(**{"visibility": "public"} | fields)
        self.answer(collection, values)
        return collection

    def history(self, collection: str) -> list[dict[str, Any]]:
        """The rows of the history, once there are any: they come when nobody waits for questions."""
        path = f"/v1/collections/{collection}/posterior/history"
        rows: list[dict[str, Any]] = until(lambda: self.client.get(path, headers=ADMIN).json()["history"])
        return rows

    def set_state(self, collection: str, state: str) -> httpx2.Response:
        """The reply to a change of state."""
        return self.client.patch(f"/v1/collections/{collection}", json={"state": state}, headers=ADMIN)

    def stored(self, collection: str) -> int:
        """How many answers the terms say there are."""
        return int(self.client.get(f"/v1/collections/{collection}", headers=ADMIN).json()["answers"])

    def published(self, collection: str) -> Published:
        """What the owner has published."""
        assert self.client.portal is not None
        published: Published = self.client.portal.call(
            self.service.learners.published, self.service.collections.get(collection)
        )
        return published

    def learnt(self, collection: str, answers: int) -> dict[str, Any]:
        """The posterior once it has learnt that many answers."""
        posterior: dict[str, Any] = {}

        def there() -> bool:
            posterior.update(self.client.get(f"/v1/collections/{collection}/posterior", headers=ADMIN).json())
            return bool(posterior["answers"] == answers)

        until(there, lambda: f"learnt {posterior['answers']} answers, not {answers}")
        return posterior

    def close_connections(self) -> None:
        """Closes the database's connections that nobody uses, so that the next use opens them anew."""
        self.service._engine.dispose()
        self.service._reserved.dispose()

    def check_counts(self) -> None:
        """Fails unless the counts are those of the answers."""
        engine = make_engine(self.url)
        check_counts(engine)
        engine.dispose()


def problem(reply: httpx2.Response) -> tuple[int, str]:
    """Status and name of a problem document, which must be a whole one."""
    assert reply.headers["content-type"] == "application/problem+json", reply.text
    document = reply.json()
    assert document.keys() - {"fields"} == {"type", "title", "status", "detail"}
    assert document["status"] == reply.status_code
    assert document["detail"].endswith(".")
    return reply.status_code, document["type"].removeprefix("urn:dither:")


def make_application(database: str, clock: Callable[[], float] = time.time, **settings: Any) -> Application:
    """An application on the database at that URL, not started."""
    return create_app(server_settings(database, **settings), clock)


def open_client(
    url: str, host: str = "127.0.0.1", clock: Callable[[], float] = time.time, **settings: Any
) -> TestClient:
    """A client that such an application takes to be at that address; entering it starts the application."""
    return TestClient(make_application(url, clock, **settings), client=(host, 50_000))


@contextmanager
def open_site(url: str, clock: FakeClock | None = None, **settings: Any) -> Iterator[Site]:
    """An application on the database at `url`, started, and stopped at the end."""
    clock = clock or FakeClock()
    with open_client(url, clock=clock, **settings) as client:
        yield Site(client, clock, url)


def before_and_after_a_restart(url: str, clock: FakeClock, answered: Callable[[Site], str]) -> tuple[Any, Any]:
    """What is published of a collection that `answered` makes, and what the next start of the application publishes."""
    with open_site(url, clock) as site:
        collection = answered(site)
        before = site.published(collection).described
    with open_site(url, clock) as site:
        return before, site.published(collection).described


@asynccontextmanager
async def open_async_client(url: str, **settings: Any) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of such an application for many requests at once."""
    application = make_application(url, **settings)
    async with (
        application.router.lifespan_context(application),
        httpx2.AsyncClient(
            transport=httpx2.ASGITransport(application), base_url="http://test", timeout=PATIENCE
        ) as client,
    ):
        yield client
