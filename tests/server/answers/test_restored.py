"""A collection that is deleted and restored while answers come: none of them is refused for good."""

import threading
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest
from sqlalchemy import update

from dither_server.answers import sql
from dither_server.database.engine import make_engine, writing
from dither_server.database.schema import collections
from testing.servers.defaults import ADMIN
from testing.servers.site import FakeClock, Site, open_site, problem

_STORE = "dither_server.answers.rules.store_answers"


def restored_meanwhile(site: Site, monkeypatch: pytest.MonkeyPatch, **after: Any) -> None:
    """Has the first collection deleted before the next statement that stores answers, and changed after it."""
    engine, store = writing(make_engine(site.url)), sql.store_answers

    def change(**values: Any) -> None:
        with engine.begin() as connection:
            connection.execute(update(collections).where(collections.c.number == 1).values(**values))

    def stored(*given: Any) -> Any:
        change(deleted_at=1, deleted_by="ada", purge_at=2**50)
        new = store(*given)
        change(**{"deleted_at": None, "deleted_by": None, "purge_at": None} | after)
        monkeypatch.setattr(_STORE, store)
        engine.dispose()
        return new

    monkeypatch.setattr(_STORE, stored)


@pytest.mark.postgres
@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize(
    ("after", "refused"),
    [
        ({}, (503, "unavailable")),
        ({"state": "paused"}, (503, "unavailable")),
        ({"state": "closed"}, (409, "collection-closed")),
        ({"closes_at": 1}, (409, "collection-closed")),
        ({"deleted_at": 1, "deleted_by": "ada", "purge_at": 2**50}, (410, "collection-deleted")),
    ],
)
def test_an_answer_to_a_restored_collection_may_come_again(
    migrated_postgres_url: str,
    monkeypatch: pytest.MonkeyPatch,
    known: bool,
    after: Mapping[str, Any],
    refused: tuple[int, str],
) -> None:
    """By the one statement that most answers take, and by the transaction that the first ones need."""
    with open_site(migrated_postgres_url, FakeClock()) as site:
        collection, other = site.create(policy="fixed:100:200"), site.create(policy="fixed:100:200")
        if known:
            for each in (collection, other):
                assert site.respond(each, site.ticket(each)).status_code == 201
        ticket = site.ticket(collection)
        restored_meanwhile(site, monkeypatch, **after)
        reply = site.respond(collection, ticket)
        assert problem(reply) == refused
        assert ("retry-after" in reply.headers) == (refused[0] == 503)
        if refused[0] == 503:
            assert site.respond(collection, ticket).status_code == 201
        assert site.respond(other, site.ticket(other)).status_code == 201
        site.check_counts()


@pytest.mark.postgres
def test_a_batch_to_a_restored_collection_may_come_again_as_a_whole(
    migrated_postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_site(migrated_postgres_url, FakeClock()) as site:
        collection = site.create()
        pairs = [(ticket, i % 2) for i, ticket in enumerate(site.tickets(collection, 5))]
        assert site.respond(collection, *pairs[0]).status_code == 201
        restored_meanwhile(site, monkeypatch)
        assert problem(site.batch(collection, *pairs)) == (503, "unavailable")
        items = site.batch(collection, *pairs).json()["responses"]
        assert [item["status"] for item in items] == [200, 201, 201, 201, 201]
        site.check_counts()


def test_no_answer_is_refused_for_good_while_somebody_deletes_and_restores(any_site: Site) -> None:
    site = any_site
    collection = site.create()
    tickets = site.tickets(collection, 150)
    over = threading.Event()

    def delete_and_restore() -> None:
        while not over.is_set():
            assert site.client.delete(f"/v1/collections/{collection}", headers=ADMIN).status_code == 200
            assert site.client.post(f"/v1/collections/{collection}/restore", headers=ADMIN).status_code == 200

    thread = threading.Thread(target=delete_and_restore)
    thread.start()
    try:
        statuses = Counter(site.respond(collection, ticket).status_code for ticket in tickets)
    finally:
        over.set()
        thread.join()
    assert set(statuses) <= {201, 410, 503}
    assert {site.respond(collection, ticket).status_code for ticket in tickets} <= {200, 201}
    assert site.stored(collection) == len(tickets)
    site.check_counts()
