"""What has not been used for long is let go, and is the same when somebody uses it again."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from dither_server.database.reads import Store
from dither_server.owner import persistence, uses
from dither_server.owner.publications import Edition, read_editions
from dither_server.owner.uses import Uses
from testing.patience import until
from testing.servers.site import FakeClock, Site, open_site

pytestmark = pytest.mark.usefixtures("nothing_expires")

KEPT = 2


@pytest.fixture(autouse=True)
def _forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two collections are kept, the others for no longer than it takes to store them."""
    monkeypatch.setattr(uses, "MOST", KEPT)
    monkeypatch.setattr(uses, "_SECONDS", 0.0)
    monkeypatch.setattr(uses, "_LOOK_SECONDS", 0.0)
    monkeypatch.setattr(persistence, "SNAPSHOT_SECONDS", 0.05)
    monkeypatch.setattr(persistence, "PUBLICATION_SECONDS", 0.05)


def number_of(site: Site, collection: str) -> int:
    return int(site.service.collections.get(collection).number)


def kept(site: Site) -> set[int]:
    """What is in memory: to run learners, or to show what they learnt."""
    learners = site.service.learners
    return {*list(learners._learners), *list(learners._published), *list(learners._known)}


def let_go(site: Site, collection: str) -> None:
    """Waits until the collection is let go; others are used meanwhile."""
    others = [site.create() for _ in range(KEPT)]

    def gone() -> bool:
        for other in others:
            site.ticket(other)
        return number_of(site, collection) not in kept(site)

    until(gone)


@pytest.mark.parametrize("family", ["normal", "nonparametric"])
def test_those_used_once_do_not_stay_and_are_the_same_again(any_site: Site, family: str) -> None:
    made = [any_site.create(family=family, range=None) for _ in range(3 * KEPT)]
    before = {}
    for answers, collection in enumerate(made, 40):
        any_site.answer_in_turns(collection, answers)
        before[collection] = any_site.learnt(collection, answers)
    until(lambda: len(kept(any_site)) <= KEPT)
    for answers, collection in enumerate(made, 40):
        assert any_site.learnt(collection, answers) == before[collection]  # to the last digit
        any_site.answer_in_turns(collection, 1)
        any_site.learnt(collection, answers + 1)
    until(lambda: len(kept(any_site)) <= KEPT)
    any_site.check_counts()


def test_what_is_described_and_drawn_of_them_goes_with_them(site: Site) -> None:
    made = [site.create(visibility="public") for _ in range(3 * KEPT)]
    for collection in made:
        assert site.client.get(f"/collections/{collection}/charts.json").status_code == 200
    until(lambda: len(kept(site)) <= KEPT)
    site.client.get(f"/collections/{made[0]}/charts.json")
    assert len(site.service.descriptions._newest) <= KEPT + 1


def test_nothing_is_published_twice_for_being_used_again(any_site: Site) -> None:
    """And once something is, its version goes on from the last one."""
    collection = any_site.create()
    any_site.answer_in_turns(collection, 40)
    any_site.learnt(collection, 40)
    let_go(any_site, collection)

    def edition() -> Edition:
        return read_editions(any_site.service._engine)[number_of(any_site, collection)]

    before = edition()
    any_site.learnt(collection, 40)
    let_go(any_site, collection)
    assert edition() == before
    any_site.answer_in_turns(collection, 5)
    any_site.learnt(collection, 45)
    until(lambda: edition().answers == 45)
    assert (edition().term, edition().version > before.version) == (before.term, True)


def test_answers_that_come_for_one_that_was_let_go_are_learnt(any_site: Site) -> None:
    collection = any_site.create()
    tickets = any_site.tickets(collection, 3)
    any_site.learnt(collection, 0)
    sent = 0

    def learnt() -> bool:  # without anybody who reads
        return bool(any_site.service.learners._known.get(number_of(any_site, collection)) == sent)

    for ticket in tickets:
        let_go(any_site, collection)
        assert any_site.respond(collection, ticket).status_code == 201
        sent += 1
        until(learnt)


def test_whatever_is_not_stored_stays(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError  # no trouble of the database, for which answers would be refused meanwhile

    made = [site.create() for _ in range(2 * KEPT)]
    with monkeypatch.context() as patch:
        patch.setattr(persistence, "replace_snapshot", fail)
        for collection in made:
            site.answer_in_turns(collection, 10)
            site.learnt(collection, 10)
        time.sleep(2.5)  # the owner has looked at them twice
        assert {number_of(site, collection) for collection in made} <= kept(site)
    until(lambda: len(kept(site)) <= KEPT)
    for collection in made:
        site.learnt(collection, 10)


def test_while_the_database_is_away_everything_is_served_from_memory(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = threading.Semaphore(0)

    def fail(_: object) -> None:
        asked.release()
        raise OperationalError("", None, Exception())

    monkeypatch.setattr(Store, "ping", fail)
    made = [site.create() for _ in range(2 * KEPT)]
    for collection in made:
        site.learnt(collection, 0)
    numbers = {number_of(site, collection) for collection in made}
    learners = site.service.learners
    until(lambda: all(learners._learners[number].settled for number in numbers))
    for _ in range(2):
        assert asked.acquire(timeout=10)
    assert numbers <= kept(site)


def test_everybody_at_once(migrated_url: str, clock: FakeClock) -> None:
    """Requests arrive while their collections are let go: each is served, and no posterior ever goes back."""
    with open_site(migrated_url, clock) as site:
        made = [site.create(visibility="public") for _ in range(4 * KEPT)]
        rounds, most = 6, dict.fromkeys(made, 0)

        def use(collection: str) -> None:
            for _ in range(rounds):
                assert site.respond(collection, site.ticket(collection)).status_code == 201
                time.sleep(0.1)
                answers = site.client.get(f"/v1/collections/{collection}/posterior").json()["answers"]
                assert answers >= most[collection]
                most[collection] = answers

        with ThreadPoolExecutor(len(made)) as pool:
            list(pool.map(use, made))
        for collection in made:
            site.learnt(collection, rounds)
        site.check_counts()


def test_a_process_that_only_shows_lets_go_as_well(migrated_url: str, clock: FakeClock) -> None:
    """What it read of other processes is read again, and is never older."""
    with open_site(migrated_url, clock) as site:
        made = [site.create() for _ in range(3 * KEPT)]
        for collection in made:
            site.answer_in_turns(collection, 40)
            site.learnt(collection, 40)
        until(lambda: len(kept(site)) <= KEPT)
        learners, leases = site.service.learners, dict(site.service.learners._leases)
        learners.hold({}, (), alone=True)  # as if another process had them
        for collection in made:
            assert site.learnt(collection, 40)["answers"] == 40
        learners.look_around(count=False)
        until(lambda: len(kept(site)) <= KEPT)
        assert len(learners._editions) <= KEPT
        learners.hold(leases, (), alone=True)
        for collection in made:
            site.answer_in_turns(collection, 1)
            site.learnt(collection, 41)


def test_one_whose_events_are_followed_stays(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uses, "_SECONDS", 2.0 * KEPT)
    followed = site.create()
    site.learnt(followed, 0)
    first = site.service.learners._learners[number_of(site, followed)]
    stopped = threading.Event()

    def follow() -> None:  # as an event stream does, which asks four times a second
        while not stopped.wait(0.25):
            site.published(followed)

    thread = threading.Thread(target=follow)
    thread.start()
    try:
        for _ in range(2 * KEPT):
            site.learnt(site.create(), 0)
        until(lambda: len(kept(site)) <= KEPT)
        assert site.service.learners._learners[number_of(site, followed)] is first
    finally:
        stopped.set()
        thread.join()


def test_those_used_longest_ago_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    now = [1_000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    found = Uses(lambda _: True)
    numbers = list(range(uses.MOST + 10))
    for number in reversed(numbers):
        found.note(number)
        now[0] += 0.001
    found.note(numbers[-1])
    assert found.unused(numbers[: uses.MOST]) == []
    assert found.unused(numbers) == []  # all were used just now
    now[0] += 40
    assert found.unused(numbers) == numbers[-2:-12:-1]
    assert found.unused(numbers) == []  # it looks once a second
    found.note(numbers[-2])
    now[0] += 2
    assert numbers[-2] not in found.unused(numbers)
    many = list(range(20 * uses.MOST))
    for number in many:
        found.note(number)
    now[0] += 2
    assert len(found.unused(many)) == 19 * uses.MOST  # too many to wait for half a minute


def test_a_removed_collection_is_forgotten() -> None:
    known = {1, 2}
    found = Uses(known.__contains__)
    found.note(1)
    found.let_go(2, Edition(1, 2, 3))
    assert found.stored() == {2}
    known.clear()
    found.forget_removed()
    assert (found.stored(), found._last) == (set(), {})
