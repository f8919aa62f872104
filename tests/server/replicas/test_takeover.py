"""The process that runs a collection's particle system dies, is stopped, or leaves, under load: another goes on."""

import asyncio
import random
import signal
from typing import Any

import pytest
from sqlalchemy import func, select

from dither_server.database.engine import make_engine, reading
from dither_server.database.schema import answers, publications, snapshots
from dither_server.replicas.membership import BEAT_SECONDS, LEASE_SECONDS
from dither_server.service.poller import POLL_SECONDS
from testing.databases import check_counts
from testing.patience import PATIENCE, ever
from testing.servers.defaults import RETRY_KEY
from testing.servers.fleet import Fleet

RESPONDENTS = 4
TAKEOVER = 5.0
"""Seconds from the owner's death to the first answer that another has learnt since, as `testing.long` measures."""
TAKEOVERS = 2
"""In a test."""

# The dead process's place expires, the others look, one takes over: what remains is for the work.
assert LEASE_SECONDS + POLL_SECONDS < TAKEOVER - 1
assert BEAT_SECONDS < LEASE_SECONDS / 2


async def under_load(fleet: Fleet, during: Any) -> dict[str, Any]:
    """Runs `during` while everybody answers; the posterior when all is quiet, the same from every process."""
    await fleet.create()
    population = [asyncio.create_task(fleet.respond_for_ever()) for _ in range(RESPONDENTS)]
    while len(fleet.acknowledged) < 30:
        await asyncio.sleep(0.02)
    await during
    fleet.done = True
    await asyncio.gather(*population)
    found = [await fleet.learnt(number, len(fleet.acknowledged)) for number in fleet.processes]
    assert {posterior["answers"] for posterior in found} == {len(fleet.acknowledged)}
    for ticket, (answer, receipt) in fleet.rng.sample(sorted(fleet.acknowledged.items()), 20):
        body = {"ticket": ticket, "answer": answer, "retry_key": RETRY_KEY}
        again = await fleet.post(f"/v1/collections/{fleet.collection}/responses", body)
        assert (again.status_code, again.json()["receipt"]) == (200, receipt)
    return found[0]


async def wait_for_owner(fleet: Fleet) -> int:
    async def owners() -> list[int]:
        owner = await fleet.owner()
        return [] if owner is None else [owner]

    return (await ever(owners, "nobody owns the collection"))[0]


async def goes_on(fleet: Fleet) -> None:
    """Returns once a process has learnt an answer that was given from now on."""
    before = len(fleet.acknowledged)
    survivor = next(iter(fleet.processes))
    # As many answers may be stored and not yet acknowledged as there are respondents.
    await fleet.learnt(survivor, before + RESPONDENTS + 1)


async def kill_owners(fleet: Fleet) -> None:
    for _ in range(TAKEOVERS):
        owner = await wait_for_owner(fleet)
        assert await fleet.end(owner, signal.SIGKILL) == -signal.SIGKILL
        await goes_on(fleet)
        await fleet.start(owner)


def check_database(url: str, fleet: Fleet) -> None:
    """Acknowledged = rows = counts."""
    engine = make_engine(url)
    check_counts(engine)
    with reading(engine).connect() as connection:
        assert connection.execute(select(func.count()).select_from(answers)).scalar_one() == len(fleet.acknowledged)
    engine.dispose()


@pytest.mark.slow
def test_when_the_owner_is_killed_another_takes_over_and_nothing_is_lost_or_counted_twice(database_url: str) -> None:
    async def run() -> Fleet:
        async with Fleet(database_url, 3, random.Random(1)) as fleet:
            await under_load(fleet, kill_owners(fleet))
            return fleet

    fleet = asyncio.run(run())
    assert fleet.failures > 0  # the kills were felt
    check_database(database_url, fleet)


async def stop_and_continue(fleet: Fleet, url: str) -> None:
    stopped = await wait_for_owner(fleet)
    process = fleet.processes.pop(stopped)
    process.signal(signal.SIGSTOP)
    await goes_on(fleet)
    heir = await wait_for_owner(fleet)
    before = stored(url)
    fleet.processes[stopped] = process
    process.signal(signal.SIGCONT)
    for _ in range(30):
        await asyncio.sleep(0.1)
        after = stored(url)
        assert after >= before, "what the new owner had stored was overwritten with something older"
        before = after
    assert heir != stopped


def stored(url: str) -> tuple[int, int, int, int]:
    """Term, version and answers of what is published, and answers of the snapshot."""
    engine = make_engine(url)
    columns = (publications.c.term, publications.c.version, publications.c.answers)
    with reading(engine).connect() as connection:
        term, version, known = connection.execute(select(*columns)).one()
        snapshot = connection.execute(select(snapshots.c.answers)).scalar_one_or_none()
    engine.dispose()
    return term, version, known, snapshot or 0


@pytest.mark.slow
@pytest.mark.postgres
def test_an_owner_that_was_stopped_for_too_long_overwrites_nothing(postgres_url: str) -> None:
    async def run() -> Fleet:
        async with Fleet(postgres_url, 3, random.Random(2)) as fleet:
            await under_load(fleet, stop_and_continue(fleet, postgres_url))
            return fleet

    check_database(postgres_url, asyncio.run(run()))


async def leave(fleet: Fleet) -> None:
    for _ in range(TAKEOVERS):
        owner = await wait_for_owner(fleet)
        failures = fleet.failures
        assert await fleet.end(owner, signal.SIGTERM) == 0
        await goes_on(fleet)
        await fleet.start(owner)
        assert fleet.failures > failures  # its port was closed, and the others answered


@pytest.mark.slow
def test_an_owner_that_leaves_hands_over_at_once(database_url: str) -> None:
    """Nothing has to expire, and in this test nothing does."""

    async def run() -> Fleet:
        async with Fleet(database_url, 2, random.Random(3), lease_seconds=10 * PATIENCE) as fleet:
            await under_load(fleet, leave(fleet))
            return fleet

    check_database(database_url, asyncio.run(run()))
