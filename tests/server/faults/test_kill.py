"""A server is killed at random moments under load, and started again each time."""

import asyncio

import pytest

from testing.faults.checker import check
from testing.faults.load import under_load
from testing.faults.scenarios import end_server, kill_owner, kill_server

KILLS = 4
STOP_EVERY = 2
"""After so many kills one end is orderly, so that there are snapshots to resume from."""
OWNERS = 2


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_or_counted_twice(database_url: str) -> None:
    async def test() -> None:
        async with under_load(database_url) as load:
            for kill in range(1, KILLS + 1):
                await kill_server(load)
                await load.more()
                if kill % STOP_EVERY == 0:
                    await end_server(load)
            assert load.lost_connections >= KILLS  # each kill was felt
            await load.settle()
            await asyncio.to_thread(check, load)

    asyncio.run(test())


@pytest.mark.slow
def test_another_takes_over_from_an_owner_that_is_killed(database_url: str) -> None:
    async def test() -> None:
        async with under_load(database_url, servers=3) as load:
            for _ in range(OWNERS):
                await load.more()
                await kill_owner(load)
            await kill_server(load)  # any of the three
            await load.settle()
            await asyncio.to_thread(check, load)

    asyncio.run(test())
