"""Several servers on one database, in one process: what one does, the others see."""

import asyncio
import json
import math
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from typing import Any
from unittest.mock import Mock

import pytest
from sqlalchemy import delete, insert, select

from dither_client import parse_query
from dither_server.collections.collection import Collection
from dither_server.collections.rows import is_stored
from dither_server.database.engine import reading, writing
from dither_server.database.schema import collections, queries, tokens
from dither_server.owner.persistence import PersistedLearner
from dither_server.owner.publications import read_publication
from dither_server.owner.published import Published
from dither_server.replicas import membership
from dither_server.replicas.leases import preferred
from dither_server.tickets.packing import pack_query
from testing.patience import PATIENCE, until
from testing.servers.defaults import ADMIN
from testing.servers.site import FakeClock, Site, open_site, problem


@contextmanager
def replicas(url: str, count: int, clock: FakeClock | None = None) -> Iterator[list[Site]]:
    """Several applications on one database."""
    with ExitStack() as stack:
        yield [stack.enter_context(open_site(url, clock)) for _ in range(count)]


@pytest.fixture
def sites(migrated_url: str, clock: FakeClock) -> Iterator[list[Site]]:
    """Three of them."""
    with replicas(migrated_url, 3, clock) as sites:
        yield sites


def owners(sites: list[Site]) -> list[Site]:
    """Those that hold a lease."""
    return [site for site in sites if site.service.learners._leases]


def test_every_process_has_a_slot_of_its_own(sites: list[Site]) -> None:
    assert sorted(site.service.membership.slot for site in sites) == [0, 1, 2]
    assert [site.service._ingest.slot for site in sites] == [site.service.membership.slot for site in sites]


def test_slots_are_used_again(database_url: str) -> None:
    for _ in range(3):
        with replicas(database_url, 2) as sites:
            assert sorted(site.service.membership.slot for site in sites) == [0, 1]


def test_what_one_process_makes_all_serve_at_once(sites: list[Site]) -> None:
    collection = sites[0].create()
    tickets = [ticket for site in sites for ticket in site.tickets(collection, 4)]
    for at, ticket in enumerate(tickets):
        first = sites[(at + 1) % 3].respond(collection, ticket, at % 2)
        again = sites[(at + 2) % 3].respond(collection, ticket, at % 2)
        other = sites[at % 3].respond(collection, ticket, 1 - at % 2)
        assert (first.status_code, again.status_code, other.status_code) == (201, 200, 409)
        assert first.json() == again.json()
    for site in sites:
        posterior = site.learnt(collection, 12)
        assert site.stored(collection) == 12
        assert posterior["posterior"].keys() == {"mu", "sigma"}
        particles = site.client.get(f"/v1/collections/{collection}/posterior/particles", headers=ADMIN).json()
        assert len(particles["particles"]) == len(particles["weights"]) == 100
    sites[0].check_counts()


def test_the_questions_and_the_posterior_are_those_of_the_owner(sites: list[Site]) -> None:
    choices = {"epsilon_choices": [0.1, 1], "misfit_check": True}
    collection = sites[0].create(**choices)
    number = sites[0].service.collections.get(collection).number
    pairs = [(ticket, i % 2) for i, ticket in enumerate(sites[1].tickets(collection, 40))]
    assert {item["status"] for item in sites[2].batch(collection, *pairs).json()["responses"]} == {201}
    until(lambda: len(owners(sites)) == 1 and owners(sites)[0].service.learners._known.get(number) == 40)
    [owner] = owners(sites)
    learners = owner.service.learners  # they know of answers a moment before what was learnt of them is published
    until(lambda: learners._published[number] is learners._learners[number].published)
    kept = owner.published(collection)
    assert kept.particles is not None
    for site in sites:
        if site is owner:
            continue
        until(lambda site=site: site.published(collection).posterior == kept.posterior)  # type: ignore[misc]
        read = site.published(collection)
        assert read.particles is None
        assert (read.pools, read.check_pools, read.check_share) == (kept.pools, kept.check_pools, kept.check_share)
        assert read.pools.keys() == {Fraction(1, 10), Fraction(1)}


def test_with_drift_figures_and_answers_belong_together(sites: list[Site], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all is described once in a while, other processes told new answers with the parameters before them."""
    collection = sites[0].create(period="week", drift=True)

    def told(site: Site) -> Any:
        return site.client.get(f"/v1/collections/{collection}/posterior", headers=ADMIN).json()

    sites[0].answer_in_turns(collection, 40)
    until(lambda: {told(site)["answers"] for site in sites} == {40})
    before = told(sites[0])
    assert {json.dumps(told(site)["posterior"]) for site in sites} == {json.dumps(before["posterior"])}
    monkeypatch.setattr(PersistedLearner, "description_due", lambda *_: math.inf)
    sites[0].answer_in_turns(collection, 400)
    [owner] = owners(sites)
    for site in sites:
        if site is not owner:
            until(lambda site=site: site.published(collection).answers == 440)  # type: ignore[misc]
            assert (told(site)["answers"], told(site)["posterior"]) == (40, before["posterior"])


def test_a_crowd_that_comes_at_once_has_a_publication_read_once(
    sites: list[Site], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of 128 tickets read it for itself, in threads."""
    collection = sites[0].create()
    number = sites[0].service.collections.get(collection).number
    chosen = preferred(number, [site.service.membership.holder for site in sites])
    owner = next(site for site in sites if site.service.membership.holder == chosen)
    until(lambda: number in owner.service.learners._leases)
    owner.published(collection)
    other = next(site for site in sites if site is not owner)
    other.service.learners._published.pop(number, None)
    reads, all_wait = Mock(wraps=read_publication), threading.Event()

    def read(*arguments: Any) -> Any:
        all_wait.wait(PATIENCE)
        return reads(*arguments)

    monkeypatch.setattr("dither_server.owner.thread.read_publication", read)

    async def crowd() -> list[Published]:
        known = other.service.collections.get(collection)
        asking = [asyncio.ensure_future(other.service.learners.published(known)) for _ in range(128)]
        await asyncio.sleep(0)
        asking.pop().cancel()  # who leaves takes nobody along
        all_wait.set()
        return await asyncio.gather(*asking)

    assert other.client.portal is not None
    found = other.client.portal.call(crowd)
    assert len(found) == 127
    assert len(set(map(id, found))) == 1
    assert reads.call_count <= 2  # the poller may read it, too


def test_a_crowd_that_names_an_unknown_collection_has_it_read_once(
    sites: list[Site], monkeypatch: pytest.MonkeyPatch
) -> None:
    sites[1].service.poller.stop()  # or else it might find the collection first
    collection, other = sites[0].create(), sites[1].service.collections
    assert collection not in other._by_id
    reads, all_wait = Mock(wraps=is_stored), threading.Event()

    def read(*arguments: Any) -> bool:
        all_wait.wait(PATIENCE)
        return bool(reads(*arguments))

    monkeypatch.setattr("dither_server.collections.collections.is_stored", read)

    async def crowd() -> list[Collection]:
        asking = [asyncio.ensure_future(other.find(collection)) for _ in range(128)]
        await asyncio.sleep(0)
        all_wait.set()
        return await asyncio.gather(*asking)

    assert sites[1].client.portal is not None
    assert {found.id for found in sites[1].client.portal.call(crowd)} == {collection}
    assert reads.call_count == 1


def test_a_burst_right_after_a_collection_was_created_finds_its_owner_and_questions(
    database_url: str, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lease moved at once, in the midst of the burst, and nothing was computed before somebody asked."""
    with replicas(database_url, 2, clock) as (one, other):
        until(lambda: not one.service.poller._alone)
        monkeypatch.setattr("dither_server.service.poller._STAY_SECONDS", PATIENCE)
        numbers = {one.service.collections.get(one.create()).number for _ in range(6)}
        until(lambda: all(read_publication(other.service.learners._engine, number) for number in numbers))
        one.service.poller._poll(counts=True)
        assert one.service.learners._leases.keys() == numbers

        monkeypatch.setattr("dither_server.service.poller._STAY_SECONDS", 0)
        monkeypatch.setattr(one.service.learners, "behind", lambda number: True)  # tickets wait for better questions
        one.service.poller._poll(counts=True)
        assert one.service.learners._leases.keys() == numbers

        monkeypatch.undo()
        holders = [site.service.membership.holder for site in (one, other)]
        belong = {number for number in numbers if preferred(number, holders) == holders[1]}
        until(lambda: other.service.learners._leases.keys() == belong)


def test_a_state_reaches_every_process(sites: list[Site]) -> None:
    collection = sites[0].create()
    tickets = [site.ticket(collection) for site in sites]
    for state, status in (("paused", 409), ("open", 201), ("closed", 409)):
        assert sites[1].set_state(collection, state).status_code == 200
        assert sites[1].client.post(f"/v1/collections/{collection}/tickets").status_code == status
        for site in sites:
            until(
                lambda site=site, status=status: (  # type: ignore[misc]
                    site.client.post(f"/v1/collections/{collection}/tickets").status_code == status
                )
            )
    for site, ticket in zip(sites, tickets, strict=True):
        assert problem(site.respond(collection, ticket)) == (409, "collection-closed")
    assert sites[2].set_state(collection, "open").status_code == 409


def test_a_maximum_is_that_of_all_processes_together(sites: list[Site]) -> None:
    collection = sites[0].create(max_answers=5)
    fates = [sites[i % 3].respond(collection, sites[(i + 1) % 3].ticket(collection)).status_code for i in range(5)]
    assert fates == [201] * 5
    for site in sites:
        until(
            lambda site=site: site.client.post(f"/v1/collections/{collection}/tickets").status_code == 409  # type: ignore[misc]
        )


def test_a_token_is_good_everywhere_at_once_and_its_revocation_within_a_poll(sites: list[Site]) -> None:
    made = sites[0].client.post("/v1/tokens", json={"role": "analyst", "name": "Ada"}, headers=ADMIN).json()
    token = {"Authorization": f"Bearer {made['token']}"}
    collection = sites[0].create()
    path = f"/v1/collections/{collection}/posterior"
    assert [site.client.get(path, headers=token).status_code for site in sites] == [200] * 3
    assert sites[1].client.delete(f"/v1/tokens/{made['id']}", headers=ADMIN).status_code == 204
    assert sites[1].client.get(path, headers=token).status_code == 401
    for site in sites:
        until(lambda site=site: site.client.get(path, headers=token).status_code == 401)  # type: ignore[misc]
    assert sites[2].client.delete(f"/v1/tokens/{made['id']}", headers=ADMIN).status_code == 404


def test_a_revocation_is_noticed_beside_a_collection_of_a_newer_version(database_url: str, clock: FakeClock) -> None:
    with replicas(database_url, 2, clock) as (one, other):
        made = one.client.post("/v1/tokens", json={"role": "analyst", "name": "Ada"}, headers=ADMIN).json()
        token, path = {"Authorization": f"Bearer {made['token']}"}, f"/v1/collections/{one.create()}/posterior"
        assert other.client.get(path, headers=token).status_code == 200
        newer = {"id": "k3xw8c2nqa", "specification": '{"name": "x", "newer": 1}', "state": "open", "created_at": 0}
        with writing(other.service.learners._engine).begin() as connection:
            connection.execute(insert(collections).values(**newer))
            connection.execute(delete(tokens).where(tokens.c.id == made["id"]))
        until(lambda: other.client.get(path, headers=token).status_code == 401)


def test_collections_are_spread_by_a_computation_that_all_share(sites: list[Site]) -> None:
    holders = [site.service.membership.holder for site in sites]
    made = [sites[0].create() for _ in range(6)]
    numbers = [sites[0].service.collections.get(one).number for one in made]
    belong = {holder: {n for n in numbers if preferred(n, holders) == holder} for holder in holders}
    until(lambda: all(site.service.learners._leases.keys() == belong[site.service.membership.holder] for site in sites))
    for one in made:  # wherever they are owned
        assert sites[1].respond(one, sites[2].ticket(one)).status_code == 201
        for site in sites:
            site.learnt(one, 1)


def test_news_is_read_at_once_and_leases_are_not_read_each_time(
    database_url: str, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a burst every publication is a notification; reading leases each time took as long as reading the news."""
    with replicas(database_url, 2, clock) as (one, other):
        until(lambda: not one.service.poller._alone and not other.service.poller._alone)
        news, leases = Mock(wraps=one.service.learners.look_around), Mock(wraps=one.service.learners.hold)
        monkeypatch.setattr(one.service.learners, "look_around", news)
        monkeypatch.setattr(one.service.learners, "hold", leases)
        monkeypatch.setattr("dither_server.service.poller._LEASES_SECONDS", PATIENCE)
        monkeypatch.setattr("dither_server.service.poller.POLL_SECONDS", PATIENCE)
        polled = leases.call_count
        for _ in range(5):
            heard = news.call_count

            def is_heard(heard: int = heard) -> bool:
                other.service.learners._notifications.send()  # each time: what was sent before it listened is lost
                return news.call_count > heard

            until(is_heard)
        assert leases.call_count - polled <= 2  # at the first of these, and at a poll that was due before


def test_a_process_that_leaves_hands_over_without_a_gap(
    database_url: str, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(membership, "LEASE_SECONDS", 10 * PATIENCE)  # nothing expires in this test
    with open_site(database_url, clock) as stays:
        with open_site(database_url, clock) as leaves:
            collections = [leaves.create() for _ in range(6)]
            for one in collections:
                pairs = [(ticket, i % 2) for i, ticket in enumerate(leaves.tickets(one, 20))]
                leaves.batch(one, *pairs)
        for one in collections:
            assert stays.respond(one, stays.ticket(one)).status_code == 201
        until(lambda: len(stays.service.learners._leases) == 6)
        for one in collections:
            stays.learnt(one, 21)
        stays.check_counts()


def test_a_new_owner_serves_what_the_former_published_after_the_last_look(database_url: str, clock: FakeClock) -> None:
    """Nothing more is to be learnt then, and what the new owner had read is older."""
    with open_site(database_url, clock) as heir:
        poller, me = heir.service.poller, heir.service.membership.holder

        def polled(answers: int) -> bool:
            poller._poll(counts=True)
            return heir.published(collection).answers == answers

        with open_site(database_url, clock) as leaves:
            holders = [me, leaves.service.membership.holder]
            collection = leaves.create()
            while preferred(leaves.service.collections.get(collection).number, holders) == me:
                collection = leaves.create()
            heir.published(collection)  # which waits for the first state, as long as it polls by itself
            poller.stop()  # from here on it polls when the test says so
            leaves.batch(collection, *((ticket, 0) for ticket in leaves.tickets(collection, 10)))
            until(lambda: polled(10))
            leaves.batch(collection, *((ticket, 1) for ticket in leaves.tickets(collection, 10)))
            leaves.learnt(collection, 20)
        assert heir.published(collection).answers == 10
        poller._poll(counts=True)
        until(lambda: heir.published(collection).answers == 20)
        assert heir.published(collection).particles is not None


def test_answers_that_no_process_has_announced_are_learnt(database_url: str, clock: FakeClock) -> None:
    """Answers of a process that died right after it had stored them."""
    with open_site(database_url, clock) as one, open_site(database_url, clock) as other:
        collection = one.create()
        tickets = other.tickets(collection, 30)
        for site in (one, other):
            site.service.learners.notify = lambda collections: None
        one.batch(collection, *((ticket, 0) for ticket in tickets[:15]))
        other.batch(collection, *((ticket, 1) for ticket in tickets[15:]))
        # Those that `look_around` finds are handed to the owner's own `notify`, which is not the one that is gone.
        for site in (one, other):
            del site.service.learners.notify
        for site in (one, other):
            site.learnt(collection, 30)


def test_a_question_has_its_row_before_another_process_asks_it(sites: list[Site]) -> None:
    collection = sites[0].create(misfit_check=True)
    number = sites[0].service.collections.get(collection).number
    engine = sites[0].service._engine
    for more in (0, 10, 100):
        if more:
            pairs = [(ticket, i % 2) for i, ticket in enumerate(sites[0].tickets(collection, more))]
            sites[0].batch(collection, *pairs)
        found = until(lambda: read_publication(engine, number))
        assert found is not None
        published = found[1]
        with reading(engine).connect() as connection:
            rows = connection.execute(select(queries.c.query, queries.c.purpose)).all()
        numbered = {pack_query(parse_query(json.loads(query)), purpose) for query, purpose in rows}
        assert published.questions <= numbered
