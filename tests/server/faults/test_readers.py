"""Readers have every connection that they can get, as when the database is slow: answers are stored all the same."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import TimeoutError

from dither_server.database.engine import reading
from testing.repository import DOCS
from testing.servers.defaults import ADMIN
from testing.servers.site import Site, problem

LARGEST = 60
"""More connections than a process opens."""


def take_all(engine: Engine) -> ExitStack:
    """Takes connections, and reads something with each, until there is none left."""
    pool: Any = engine.pool
    taken = ExitStack()
    patience, pool._timeout = pool._timeout, 0.1
    try:
        for _ in range(LARGEST):
            connection = taken.enter_context(reading(engine).connect())
            connection.execute(text("SELECT count(*) FROM collections"))
    except TimeoutError:
        return taken
    finally:
        pool._timeout = patience
    raise AssertionError("connections have no limit")


@pytest.fixture
def collection(any_site: Site) -> Iterator[str]:
    """A collection with a ticket, of a site whose readers have all connections."""
    made = any_site.create()
    any_site.ticket(made)
    with take_all(any_site.service._engine):
        yield made


def test_answers_are_acknowledged(any_site: Site, collection: str) -> None:
    assert any_site.respond(collection, any_site.ticket(collection)).status_code == 201
    any_site.answer_in_turns(collection, 10)
    assert any_site.client.get("/readyz").status_code == 200
    page = any_site.client.get(f"/v1/collections/{collection}/answers", headers=ADMIN)
    assert problem(page) == (503, "unavailable")


def test_the_process_stays_a_member_and_keeps_its_leases(any_site: Site, collection: str) -> None:
    """It would wait for a connection in vain otherwise, and then raise."""
    service = any_site.service
    service.membership._beat()
    service.poller.share_leases()
    service.keys.refresh()
    service.learners._notifications.send()
    assert service.membership.alive
    assert service.collections.get(collection).number in service.learners._leases


def test_operators_are_told_how_many_connections_there_are(any_site: Site) -> None:
    pools = [engine.pool for engine in (any_site.service._engine, any_site.service._reserved)]
    most = sum(pool.size() + pool._max_overflow for pool in pools)
    page = (DOCS / "operators.md").read_text(encoding="utf-8")
    assert f"Each opens up to {most} connections" in page
