"""Collections that keep no answers: counted all the same, each ticket once, and no answer anywhere afterwards."""

import threading
from contextlib import suppress
from typing import Any

import httpx2
import pytest
from sqlalchemy import func, select

from dither_estimator.specification.specification import Specification
from dither_server.collections.retention import MAX_DAYS
from dither_server.database.engine import make_engine, reading
from dither_server.database.schema import answers, spent_tickets
from dither_server.tickets.office import SKEW, TICKET_LIFE
from testing.databases import check_counts
from testing.patience import PATIENCE
from testing.servers.defaults import ADMIN, SPEC
from testing.servers.process import forked
from testing.servers.site import FakeClock, Site, open_site, problem


def rows(site: Site, table: Any) -> int:
    with reading(site.service.store._engine).connect() as connection:
        return int(connection.execute(select(func.count()).select_from(table)).scalar_one())


def test_answers_are_counted_and_learnt_and_not_kept(any_site: Site) -> None:
    site = any_site
    collection = site.create(keep_answers=False)
    tickets = site.tickets(collection, 20)
    site.batch(collection, *((ticket, i % 2) for i, ticket in enumerate(tickets)))
    assert site.learnt(collection, 20)["answers"] == site.stored(collection) == 20
    assert (rows(site, answers), rows(site, spent_tickets)) == (0, 20)
    assert site.client.get(f"/v1/collections/{collection}").json()["keep_answers"] is False
    site.check_counts()


@pytest.mark.parametrize("keeps", [True, False])
def test_a_repetition_gets_its_receipt_whatever_it_brings_where_none_is_kept(any_site: Site, keeps: bool) -> None:
    site = any_site
    collection = site.create(keep_answers=keeps)
    ticket, other = site.tickets(collection, 2)
    first = site.respond(collection, ticket, 0)
    assert first.status_code == 201
    another = site.respond(collection, ticket, 1)
    assert another.status_code == (409 if keeps else 200)
    items = site.batch(collection, (other, 0), (other, 1), (ticket, 0)).json()["responses"]
    assert [item["status"] for item in items] == [201, 409 if keeps else 200, 200]
    if not keeps:
        assert another.json() == first.json()
        assert items[0]["receipt"] == items[1]["receipt"]
        site.clock.now += TICKET_LIFE + SKEW + 1
        site.set_state(collection, "closed")
        assert site.respond(collection, ticket, 1).json() == first.json()
    assert site.stored(collection) == 2
    site.check_counts()


def test_a_maximum_holds(any_site: Site) -> None:
    site = any_site
    collection = site.create(keep_answers=False, max_answers=3)
    tickets = site.tickets(collection, 5)
    items = site.batch(collection, *((ticket, 0) for ticket in tickets)).json()["responses"]
    assert [item["status"] for item in items] == [201, 201, 201, 409, 409]
    assert site.respond(collection, tickets[0], 1).status_code == 200
    assert site.respond(collection, tickets[3], 0).status_code == 409
    site.check_counts()


def test_receipts_and_tickets_outlive_a_restart(database_url: str) -> None:
    clock = FakeClock()
    with open_site(database_url, clock) as site:
        collection = site.create(keep_answers=False)
        ticket = site.ticket(collection)
        receipt = site.respond(collection, ticket, 0).json()
    with open_site(database_url, clock) as site:
        assert site.respond(collection, ticket, 1).json() == receipt
        assert site.stored(collection) == 1


def test_the_list_of_answers_says_that_there_are_none(site: Site) -> None:
    collection = site.create(keep_answers=False)
    site.respond(collection, site.ticket(collection), 0)
    reply = site.client.get(f"/v1/collections/{collection}/answers", headers=ADMIN)
    assert problem(reply) == (404, "not-found")
    assert "keeps no answers" in reply.json()["detail"]
    assert site.client.get(f"/v1/collections/{collection}/queries", headers=ADMIN).json()["queries"]


@pytest.mark.parametrize("wrong", ["no", 0, None, []])
def test_it_is_true_or_false(site: Site, wrong: object) -> None:
    reply = site.client.post("/v1/collections", json=SPEC | {"keep_answers": wrong}, headers=ADMIN)
    assert problem(reply) == (422, "invalid-body")


def test_counts_are_the_tickets_spent_after_kill_9(database_url: str) -> None:
    """What was acknowledged before the process was killed under load is there, each once, whatever was on its way."""
    receipts: dict[str, str] = {}
    with (
        forked(database_url) as [server],
        httpx2.Client(base_url=server.url, headers=ADMIN, timeout=PATIENCE) as client,
    ):
        collection = client.post("/v1/collections", json=SPEC | {"keep_answers": False}).json()["id"]
        path = f"/v1/collections/{collection}"
        tickets = [item["ticket"] for item in client.post(f"{path}/tickets", json={"count": 2_000}).json()["tickets"]]
        enough = threading.Event()

        def answer(some: list[str]) -> None:
            with httpx2.Client(base_url=server.url, timeout=PATIENCE) as own, suppress(httpx2.TransportError):
                for ticket in some:
                    reply = own.post(f"{path}/responses", json={"ticket": ticket, "answer": 1})
                    receipts[ticket] = reply.json()["receipt"]
                    if len(receipts) >= 100:
                        enough.set()

        threads = [threading.Thread(target=answer, args=[tickets[i::8]]) for i in range(8)]
        for thread in threads:
            thread.start()
        assert enough.wait(PATIENCE)
        server.kill()
        for thread in threads:
            thread.join()
    assert 100 <= len(receipts) < 2_000
    engine = make_engine(database_url)
    check_counts(engine)
    with reading(engine).connect() as connection:
        spent = connection.execute(select(func.count()).select_from(spent_tickets)).scalar_one()
    engine.dispose()
    assert len(receipts) <= spent <= len(receipts) + 8
    with forked(database_url) as [server], httpx2.Client(base_url=server.url, timeout=PATIENCE) as client:
        pairs = [{"ticket": ticket, "answer": 0} for ticket in receipts]
        items = client.post(f"{path}/responses/batch", json={"responses": pairs}).json()["responses"]
        assert [(item["status"], item["receipt"]) for item in items] == [
            (200, receipt) for receipt in receipts.values()
        ]


def test_old_answers_are_dropped_and_nothing_that_was_learnt_changes(any_site: Site) -> None:
    """Counts, posterior and particles are the same to the last digit; and what was stored counts once for ever."""
    site = any_site
    collection = site.create(keep_answers_days=3)
    tickets = site.tickets(collection, 21)
    site.batch(collection, *((ticket, i % 2) for i, ticket in enumerate(tickets[:10])))
    site.clock.now += TICKET_LIFE / 2
    site.batch(collection, *((ticket, i % 2) for i, ticket in enumerate(tickets[10:20])))
    before = site.learnt(collection, 20)
    path = f"/v1/collections/{collection}"
    particles = site.client.get(f"{path}/posterior/particles", headers=ADMIN).json()
    site.clock.now += 2.5 * 24 * 3600 - 1
    site.service.deletions.sweep()
    assert rows(site, answers) == 20
    site.clock.now += 2
    site.service.deletions.sweep()
    assert rows(site, answers) == 10
    assert len(site.client.get(f"{path}/answers", headers=ADMIN).json()["answers"]) == 10
    for ticket, answer in ((tickets[0], 0), (tickets[0], 1), (tickets[20], 0)):
        assert problem(site.respond(collection, ticket, answer)) == (410, "ticket-expired")
    assert site.respond(collection, tickets[10], 0).status_code == 200
    assert site.stored(collection) == 20
    assert site.learnt(collection, 20) == before
    assert site.client.get(f"{path}/posterior/particles", headers=ADMIN).json() == particles


def test_nothing_that_is_dropped_could_be_sent_again(any_site: Site) -> None:
    """What is dropped after the shortest time is of a ticket that expired long ago, even by a slow clock."""
    site = any_site
    collection = site.create(keep_answers_days=2)
    ticket = site.ticket(collection)
    site.clock.now -= SKEW  # a machine whose clock is behind stores it
    site.respond(collection, ticket)
    site.clock.now += 2 * 24 * 3600 + 1
    site.service.deletions.sweep()
    assert rows(site, answers) == 0
    site.clock.now -= TICKET_LIFE / 2
    assert problem(site.respond(collection, ticket)) == (410, "ticket-expired")
    assert site.stored(collection) == 1


def test_answers_that_are_kept_for_longer_than_there_has_been_a_clock_stay(any_site: Site) -> None:
    site = any_site
    collection = site.create(keep_answers_days=MAX_DAYS)
    site.respond(collection, site.ticket(collection))
    ending = site.create(keep_days=10)
    site.clock.now += 10 * 24 * 3600 + 1
    site.service.deletions.sweep()
    assert rows(site, answers) == 1
    assert [receipt["collection"] for receipt in site.service.deletions.receipts()] == [ending]


def test_all_of_it_goes_when_its_time_is_over(any_site: Site) -> None:
    site = any_site
    collection = site.create(keep_days=10, keep_answers_days=5)
    kept = site.create()
    site.respond(collection, site.ticket(collection))
    site.clock.now += 10 * 24 * 3600 + 1
    site.service.deletions.sweep()
    assert problem(site.client.get(f"/v1/collections/{collection}")) == (410, "collection-deleted")
    [receipt] = site.service.deletions.receipts()
    assert (receipt["deleted_by"], receipt["removed_by"]) == ("keep_days", "server")
    assert site.client.get(f"/v1/collections/{kept}").status_code == 200


def test_the_terms_say_how_long_answers_are_kept(site: Site) -> None:
    def said(**fields: Any) -> Any:
        return site.client.get(f"/v1/collections/{site.create(**fields)}").json()["retention"]

    assert said() is None
    assert said(keep_answers=False) == "Answers are only counted, and not kept."
    assert said(keep_answers_days=30) == "Answers are kept for 30 days; after that, only their counts are."
    assert said(keep_answers_days=30, keep_days=365).endswith(" Everything is removed after 2028-01-15.")
    assert said(retention_days=30) == said(keep_answers_days=30)
    assert Specification.from_json({"epsilon": 1, "retention_days": 30}).nonparametric


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"keep_answers_days": 1}, "keep_answers_days"),
        ({"keep_answers_days": "30"}, "keep_answers_days"),
        ({"retention_days": 1}, "keep_answers_days"),
        ({"retention_days": 30, "keep_answers_days": 40}, "keep_answers_days"),
        ({"keep_days": 1.5}, "keep_days"),
        ({"keep_days": 40_000}, "keep_days"),
        ({"keep_answers_days": 30, "keep_days": 20}, "keep_answers_days"),
        ({"keep_answers_days": 30, "keep_answers": False}, "keep_answers_days"),
        ({"keep_days": 20, "closes_at": "2027-03-01T00:00:00Z"}, "keep_days"),
        ({"keep_days": 20, "opens_at": "2027-03-01T00:00:00Z"}, "opens_at"),
    ],
)
def test_times_that_cannot_be_kept_are_refused(site: Site, fields: dict[str, Any], field: str) -> None:
    reply = site.client.post("/v1/collections", json=SPEC | fields, headers=ADMIN)
    assert problem(reply) == (422, "invalid-body")
    assert field in reply.json()["detail"]
    assert site.service.store.totals() == {}
