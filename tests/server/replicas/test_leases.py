"""Slots, leases and what is written under them, on both databases."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, insert, select, update

from dither_server.database.engine import database_time, make_engine, reading, writing
from dither_server.database.schema import collections, leases, publications, replicas
from dither_server.owner.publications import Edition, replace_publication
from dither_server.replicas.leases import (
    Lease,
    LeaseLost,
    free_leases,
    held,
    insert_lease,
    preferred,
    read_leases,
    take_leases,
)
from dither_server.replicas.membership import LEASE_SECONDS, Membership, alive_holders
from testing.patience import PATIENCE


@pytest.fixture
def engine(migrated_url: str) -> Iterator[Engine]:
    """A database with ten collections that nobody owns."""
    engine = make_engine(migrated_url)
    rows = [{"id": f"c{i}", "specification": "{}", "state": "open", "created_at": 0} for i in range(10)]
    with writing(engine).begin() as connection:
        connection.execute(insert(collections), rows)
        connection.execute(insert(leases), [{"collection": i + 1, "holder": None, "term": 0} for i in range(10)])
    yield engine
    engine.dispose()


class Member:
    """A process's membership without its thread."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.slots: list[int] = []
        self.membership = Membership(self.run, self.slots.append, "")
        self.holder = self.membership.holder
        self.beat()

    def run(self, job: Callable[[Connection], Any]) -> Any:
        with writing(self.engine).begin() as connection:
            return job(connection)

    def beat(self) -> None:
        self.membership._beat()

    def take(self, *wanted: int) -> list[Lease]:
        leases: list[Lease] = self.run(lambda connection: take_leases(connection, wanted, self.holder))
        return sorted(leases, key=lambda lease: lease.collection)

    def expire(self, by: int = 1) -> None:
        """The database has not heard of it for longer than the lease."""
        past = database_time(self.engine.dialect.name) - by
        self.run(lambda connection: connection.execute(self._own(replicas.c.holder).values(expires_at=past)))

    def _own(self, column: Any) -> Any:
        return update(replicas).where(column == self.holder)


def alive(engine: Engine) -> set[str]:
    with reading(engine).connect() as connection:
        return alive_holders(connection)


def test_slots_are_the_lowest_that_are_free(engine: Engine) -> None:
    first, second, third = Member(engine), Member(engine), Member(engine)
    assert [member.slots for member in (first, second, third)] == [[0], [1], [2]]
    second.expire()
    assert alive(engine) == {first.holder, third.holder}
    assert Member(engine).slots == [1]
    second.beat()
    assert second.slots == [1, 3]  # its own was taken
    third.expire()
    third.beat()
    assert third.slots == [2]  # nobody had taken it


def test_processes_that_start_together_get_slots_of_their_own(engine: Engine) -> None:
    with ThreadPoolExecutor(8) as pool:
        members = list(pool.map(lambda _: Member(engine), range(8)))
    assert sorted(member.slots[0] for member in members) == list(range(8))


def test_a_clock_that_was_put_back_keeps_no_dead_process_alive(engine: Engine) -> None:
    dead, living = Member(engine), Member(engine)
    dead.expire(by=-3_600_000)  # its last beat is an hour ahead of the database's clock
    assert alive(engine) == {living.holder}
    assert Member(engine).slots == [0]


def test_a_lease_is_taken_when_it_is_free_or_its_holder_is_dead(engine: Engine) -> None:
    one, other = Member(engine), Member(engine)
    assert one.take(1, 2) == [Lease(1, one.holder, 1), Lease(2, one.holder, 1)]
    assert other.take(2, 3) == [Lease(3, other.holder, 1)]
    one.expire()
    assert other.take(1, 2) == [Lease(1, other.holder, 2), Lease(2, other.holder, 2)]
    other.run(lambda connection: free_leases(connection, [Lease(2, other.holder, 2), Lease(3, other.holder, 99)]))
    one.beat()
    assert one.take(1, 2, 3) == [Lease(2, one.holder, 3)]
    with reading(engine).connect() as connection:
        found = read_leases(connection)
    assert found.alive == {one.holder, other.holder}
    assert {number: lease.holder for number, lease in found.held.items()} == {
        1: other.holder,
        2: one.holder,
        3: other.holder,
    }
    assert found.free == set(range(4, 11))


def test_of_many_that_want_a_lease_one_gets_it(engine: Engine) -> None:
    members = [Member(engine) for _ in range(6)]
    with ThreadPoolExecutor(6) as pool:
        taken = [lease for some in pool.map(lambda member: member.take(*range(1, 11)), members) for lease in some]
    assert Counter(lease.collection for lease in taken) == dict.fromkeys(range(1, 11), 1)


def publish(edition: int) -> Callable[[Connection], None]:
    return lambda connection: replace_publication(connection, 1, Edition(edition, 1, 0), "{}")


def editions(engine: Engine) -> list[int]:
    with reading(engine).connect() as connection:
        return list(connection.execute(select(publications.c.term)).scalars())


def test_nothing_is_written_under_a_lease_that_another_has_taken(engine: Engine) -> None:
    frozen, heir = Member(engine), Member(engine)
    [old] = frozen.take(1)
    frozen.run(held(old, publish(1)))
    frozen.expire()
    [new] = heir.take(1)
    heir.run(held(new, publish(2)))
    frozen.beat()  # it wakes up, and does not know
    with pytest.raises(LeaseLost):
        frozen.run(held(old, publish(1)))
    assert editions(engine) == [2]
    frozen.run(publish(1))  # as it would be without the check
    assert editions(engine) == [1]


def test_a_lease_is_not_taken_while_something_is_written_under_it(engine: Engine) -> None:
    slow, heir = Member(engine), Member(engine)
    [lease] = slow.take(1)
    slow.expire()
    writing_now, go_on = threading.Event(), threading.Event()

    def write(connection: Connection) -> None:
        writing_now.set()
        assert go_on.wait(PATIENCE)
        publish(1)(connection)

    with ThreadPoolExecutor(2) as pool:
        written = pool.submit(slow.run, held(lease, write))
        assert writing_now.wait(PATIENCE)
        taken = pool.submit(heir.take, 1)
        if engine.dialect.name == "postgresql":  # it is passed over; with SQLite one waits for the other
            assert taken.result(PATIENCE) == []
        go_on.set()
        written.result(PATIENCE)
        [new] = taken.result(PATIENCE) or heir.take(1)
    heir.run(held(new, publish(2)))
    assert editions(engine) == [2]


def test_a_dead_process_gets_no_leases(engine: Engine) -> None:
    late = Member(engine)
    late.expire()
    assert late.take(1) == []


def test_collections_are_spread_and_few_move() -> None:
    holders = [f"{i:016x}" for i in range(5)]
    before = {number: preferred(number, holders) for number in range(2_000)}
    after = {number: preferred(number, holders[:4]) for number in range(2_000)}
    assert all(300 < amount < 500 for amount in Counter(before.values()).values())
    assert {number for number in before if before[number] != after[number]} == {
        number for number, holder in before.items() if holder == holders[4]
    }


def test_a_new_collections_lease_is_its_makers(engine: Engine) -> None:
    maker = Member(engine)
    row = {"id": "new", "specification": "{}", "state": "open", "created_at": 0}

    def make(connection: Connection) -> int:
        number: int = connection.execute(insert(collections).returning(collections.c.number), row).scalar_one()
        insert_lease(connection, number, maker.holder)
        return number

    number = maker.run(make)
    with reading(engine).connect() as connection:
        assert read_leases(connection).held[number] == Lease(number, maker.holder, 1)


def test_the_database_being_away_ends_nothing(engine: Engine) -> None:
    member = Member(engine)
    away = threading.Event()
    asked = threading.Semaphore(0)

    def run(job: Callable[[Connection], Any]) -> Any:
        asked.release()
        if away.is_set():
            raise OSError
        return member.run(job)

    membership = Membership(run, lambda slot: None, "")
    assert not membership.alive
    membership.start()
    assert membership.alive
    away.set()
    for _ in range(int(LEASE_SECONDS) + 2):
        asked.acquire()
    assert not membership.alive
    away.clear()
    asked.acquire()
    asked.acquire()
    assert membership.alive
    membership.stop()
    member.beat()
    assert alive(engine) == {member.holder}
