"""The process that runs a collection's particle system dies, is stopped, or leaves, under load: another goes on."""

import asyncio
import random
import signal
import time
from typing import Any

import pytest
from sqlalchemy import func, select
from tests.server.conftest import check_counts
from tests.server.fleet import Fleet

from dither_server.database import make_engine
from dither_server.membership import BEAT_SECONDS, LEASE_SECONDS
from dither_server.poller import POLL_SECONDS
from dither_server.schema import answers, publications, snapshots

RESPONDENTS = 4
TAKEOVER = 5.0
"""Seconds from the owner's death to the first answer that another has learnt since."""
MOST = 5
"""Takeovers in a test, while none of them was fast enough."""
BUSY = 30.0
"""The same where processes have to wait for a core: the best of a test's takeovers is held to the figure above."""

# The dead process's place expires, the others look, one takes over: what remains is for the work and a busy machine.
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
    found = [await fleet.learnt(number, len(fleet.acknowledged), 15) for number in fleet.processes]
    assert {posterior["answers"] for posterior in found} == {len(fleet.acknowledged)}
    for ticket, (answer, receipt) in fleet.rng.sample(sorted(fleet.acknowledged.items()), 20):
        body = {"ticket": ticket, "answer": answer}
        again = await fleet.post(f"/v1/collections/{fleet.collection}/responses", body)
        assert (again.status_code, again.json()["receipt"]) == (200, receipt)
    return found[0]


async def wait_for_owner(fleet: Fleet) -> int:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        owner = await fleet.owner()
        if owner is not None:
            return owner
        await asyncio.sleep(0.02)
    raise AssertionError("nobody owns the collection")


async def time_to_go_on(fleet: Fleet) -> float:
    """Seconds until a process has learnt an answer that was given from now on."""
    began, before = time.monotonic(), len(fleet.acknowledged)
    survivor = next(iter(fleet.processes))
    # As many answers may be stored and not yet acknowledged as there are respondents.
    await fleet.learnt(survivor, before + RESPONDENTS + 1, BUSY)
    return time.monotonic() - began


async def kill_owners(fleet: Fleet, kills: int) -> None:
    seconds: list[float] = []
    while len(seconds) < kills or (min(seconds) >= TAKEOVER and len(seconds) < MOST):
        owner = await wait_for_owner(fleet)
        assert await fleet.end(owner, signal.SIGKILL) == -signal.SIGKILL
        seconds.append(await time_to_go_on(fleet))
        print(f"took over after {seconds[-1]:.2f} s")
        await fleet.start(owner)
    assert min(seconds) < TAKEOVER
    assert max(seconds) < BUSY


def check_database(url: str, fleet: Fleet) -> None:
    """Acknowledged = rows = counts."""
    engine = make_engine(url)
    check_counts(engine)
    with engine.connect() as connection:
        assert connection.execute(select(func.count()).select_from(answers)).scalar_one() == len(fleet.acknowledged)
    engine.dispose()


@pytest.mark.slow
def test_when_the_owner_is_killed_another_takes_over_and_nothing_is_lost_or_counted_twice(database_url: str) -> None:
    async def run() -> Fleet:
        async with Fleet(database_url, 3, random.Random(1)) as fleet:
            await under_load(fleet, kill_owners(fleet, 2))
            return fleet

    fleet = asyncio.run(run())
    assert fleet.failures > 0  # the kills were felt
    check_database(database_url, fleet)


async def stop_and_continue(fleet: Fleet, url: str) -> None:
    stopped = await wait_for_owner(fleet)
    fleet.send(stopped, signal.SIGSTOP)
    process = fleet.processes.pop(stopped)
    assert await time_to_go_on(fleet) < BUSY
    heir = await wait_for_owner(fleet)
    before = stored(url)
    fleet.processes[stopped] = process
    fleet.send(stopped, signal.SIGCONT)
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
    with engine.connect() as connection:
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


async def leave(fleet: Fleet, gaps: list[float]) -> None:
    while len(gaps) < 2 or (min(gaps) >= LEASE_SECONDS and len(gaps) < MOST):
        owner = await wait_for_owner(fleet)
        failures = fleet.failures
        assert await fleet.end(owner, signal.SIGTERM) == 0
        gaps.append(await time_to_go_on(fleet))
        await fleet.start(owner)
        assert fleet.failures > failures  # its port was closed, and the others answered


@pytest.mark.slow
def test_an_owner_that_leaves_hands_over_at_once(database_url: str) -> None:
    gaps: list[float] = []

    async def run() -> Fleet:
        async with Fleet(database_url, 2, random.Random(3)) as fleet:
            await under_load(fleet, leave(fleet, gaps))
            return fleet

    check_database(database_url, asyncio.run(run()))
    assert min(gaps) < LEASE_SECONDS  # nothing had to expire
    assert max(gaps) < BUSY
