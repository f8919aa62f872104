"""Applications in the test's own process, each with a database of its own, on SQLite and on PostgreSQL."""

import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest
from sqlalchemy import Connection, Engine, Select, func, select
from starlette.testclient import TestClient

from dither_server.app import create_app
from dither_server.database.engine import make_engine
from dither_server.database.schema import answers, collections, counts, spent_tickets
from dither_server.owner.collection_learner import Published
from dither_server.settings import Settings
from testing.patience import until

ADMIN = {"Authorization": "Bearer the-admin-token"}
SPEC = {"name": "Test", "family": "normal", "epsilon": 1, "range": [0, 100], "particles": 100}
START = 1_800_000_000.0
RETRY_KEY = "the-retry-key-of-the-tests"

POSTGRES = "postgresql://postgres@127.0.0.1:5432"


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
        return self.client.app.state.service  # type: ignore[attr-defined]

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
            self.service.owner.published, self.service.collections.get(collection)
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

    def check_counts(self) -> None:
        """Fails unless the counts are those of the answers."""
        engine = make_engine(self.url)
        check_counts(engine)
        engine.dispose()


def check_counts(engine: Engine) -> None:
    """Fails unless the counts are those of the answers, and as many as the tickets spent where none are kept."""
    by = (answers.c.collection, answers.c.query, answers.c.answer)
    of = (counts.c.collection, counts.c.query, counts.c.answer)
    keeps = select(collections.c.number).where(collections.c.keep_answers)
    answered = select(*by, func.count()).group_by(*by)
    kept = select(*of, func.sum(counts.c.count)).where(counts.c.collection.in_(keeps)).group_by(*of)
    spent = select(spent_tickets.c.collection, func.count()).group_by(spent_tickets.c.collection)
    dropped = select(counts.c.collection, func.sum(counts.c.count)).where(counts.c.collection.not_in(keeps))
    with engine.connect() as connection:
        assert _rows(connection, kept) == _rows(connection, answered)
        assert _rows(connection, dropped.group_by(counts.c.collection)) == _rows(connection, spent)


def _rows(connection: Connection, query: Select[Any]) -> dict[tuple[Any, ...], int]:
    return {tuple(row[:-1]): int(row[-1]) for row in connection.execute(query)}


def problem(reply: httpx2.Response) -> tuple[int, str]:
    """Status and name of a problem document, which must be a whole one."""
    assert reply.headers["content-type"] == "application/problem+json", reply.text
    document = reply.json()
    assert document.keys() == {"type", "title", "status", "detail"}
    assert document["status"] == reply.status_code
    assert document["detail"].endswith(".")
    return reply.status_code, document["type"].removeprefix("urn:dither:")


@contextmanager
def open_site(url: str, clock: FakeClock | None = None, **settings: Any) -> Iterator[Site]:
    """An application on the database at `url`, started, and stopped at the end."""
    clock = clock or FakeClock()
    given = {"database": url, "secret": "secret of the tests", "admin_token": "the-admin-token"} | settings
    with TestClient(create_app(Settings(**given), clock), client=("127.0.0.1", 50_000)) as client:
        yield Site(client, clock, url)


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable of whoever runs the tests has a say."""
    for name in [name for name in os.environ if name.startswith("DITHER_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """The URL of an SQLite database that does not exist yet."""
    return f"sqlite:///{tmp_path / 'test.sqlite'}"


@pytest.fixture
def postgres_url() -> Iterator[str]:
    """The URL of an empty PostgreSQL database, which is dropped at the end."""
    try:
        server = psycopg.connect(f"{POSTGRES}/test", autocommit=True)
    except psycopg.OperationalError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(f"no PostgreSQL: {error}")
    name = f"dither_{secrets.token_hex(6)}"
    with server:
        server.execute(f"CREATE DATABASE {name}")
        try:
            yield f"postgresql+psycopg{POSTGRES.removeprefix('postgresql')}/{name}"
        finally:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database_url(request: pytest.FixtureRequest) -> str:
    """A fresh database of either kind."""
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url


@pytest.fixture
def clock() -> FakeClock:
    """A clock that stands still."""
    return FakeClock()


@pytest.fixture
def site(sqlite_url: str, clock: FakeClock) -> Iterator[Site]:
    """An application on SQLite."""
    with open_site(sqlite_url, clock) as site:
        yield site


@pytest.fixture
def any_site(database_url: str, clock: FakeClock) -> Iterator[Site]:
    """An application on either database."""
    with open_site(database_url, clock) as site:
        yield site


@pytest.fixture
def reopen() -> Callable[..., Any]:
    """`open_site`, for tests that restart."""
    return open_site
