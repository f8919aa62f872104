"""Crowds of simulated respondents that load servers, each from a process of its own, all beginning at one time."""

import asyncio
import gc
import multiprocessing
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Barrier

import uvloop

from benchmarks.loads.machine import LOAD_CORE, on_core
from benchmarks.loads.servers import TOKEN, Target
from dither_client import Retry
from dither_client.addresses import collection_path, parse_address
from dither_client.protocol.messages import parse_terms
from dither_client.transport.json_api import Api
from dither_server.simulate.crowd import Crowd
from dither_server.simulate.outcome import Tally
from dither_server.simulate.respondents import Respondents

__all__ = ["Course", "Crowds", "crowds_of"]

_LOOK_SECONDS = 0.01
_PATIENCE_SECONDS = 60


@dataclass(frozen=True)
class Course:
    """What became of a crowd."""

    tally: Tally
    done: list[tuple[float, int]]
    """How many respondents were done at moments of the clock `time.perf_counter`, from the first to the last."""


class Crowds:
    """The processes of several crowds, on the core for the load. Each run begins in all of them at once."""

    def __init__(self, pool: ProcessPoolExecutor) -> None:
        self._pool = pool

    def answer(
        self, targets: Sequence[Target], collection: str, crowds: Sequence[Respondents], at_once: int
    ) -> list[Course]:
        """Each crowd answers the collection at its own target, so many respondents at a time."""
        asked = [
            self._pool.submit(_answer, target.url, collection, people, at_once)
            for target, people in zip(targets, crowds, strict=True)
        ]
        return [course.result() for course in asked]


@contextmanager
def crowds_of(number: int) -> Iterator[Crowds]:
    """Starts the processes of so many crowds, and ends them."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(number, context, _prepare, (context.Barrier(number),)) as pool:
        with on_core(LOAD_CORE):
            for started in [pool.submit(_begin) for _ in range(number)]:
                started.result()
        yield Crowds(pool)


_together: Barrier


def _prepare(together: Barrier) -> None:
    global _together
    _together = together


def _begin() -> None:
    """Waits for the other crowds, so that each has a process of its own."""
    gc.collect()
    gc.freeze()  # to look through all modules for garbage takes .1 s, which would count as a wait for the server
    _together.wait(_PATIENCE_SECONDS)


def _answer(url: str, collection: str, people: Respondents, at_once: int) -> Course:
    with Api(url, TOKEN) as api:
        terms = parse_terms(api.get(collection_path(collection), exact=True))
    crowd = Crowd(parse_address(url), collection, people, Retry(), terms)
    _begin()
    return Course(crowd.tally, uvloop.run(_watched(crowd, at_once)))


async def _watched(crowd: Crowd, at_once: int) -> list[tuple[float, int]]:
    done = [(time.perf_counter(), 0)]

    async def look() -> None:
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            done.append((time.perf_counter(), crowd.tally.done))

    looking = asyncio.create_task(look())
    await crowd.run(at_once)
    looking.cancel()
    return [*done, (time.perf_counter(), crowd.tally.done)]
