"""A simulation against a running server: sends all answers, waits until they are learnt, and reads the posterior."""

import asyncio
import gc
import random
import sys
import time
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from dither_client import BadResponse, DitherError, Problem, Retry, Terms
from dither_client.addresses import collection_path, parse_address
from dither_client.posterior.wire import PosteriorReply, from_json
from dither_client.protocol.messages import parse_terms
from dither_client.transport.json_api import Api
from dither_estimator.workers import workers_of
from dither_server.simulate.crowd import Crowd
from dither_server.simulate.interrupts import on_interrupt
from dither_server.simulate.outcome import Outcome, Tally
from dither_server.simulate.respondents import Respondents

__all__ = ["NotLearnt", "draw_labels", "simulate_over_http"]

_POLL_SECONDS = 0.1
_PART = 1_000
"""How many respondents a worker of a scheduler answers for before it says what has become of them."""
_MAX_STALL = 30.0
"""Seconds without progress in learning after which the simulation gives up."""


class NotLearnt(DitherError):
    """The server acknowledged answers that its posterior does not include."""


def simulate_over_http(
    url: str,
    token: str | None,
    collection: str,
    people: Respondents,
    concurrency: int,
    progress: Callable[[int], None] = lambda done: None,
    alone: int = 0,
    scheduler: str | None = None,
) -> Outcome:
    """Answers the collection of the server at `url` for everybody, and waits for a posterior that has learnt it all.

    The first `alone` respondents come one by one, the others `concurrency` at a time. Where the collection has groups
    and `people` say nothing of them, each is of one at random, by their shares, whatever its value. With `scheduler`,
    the address of a Dask scheduler, its workers answer for parts of the population, each of them for `concurrency`
    people at a time: nobody is then `alone`, and late answers are the last of their part. `progress` receives how many
    respondents are done. Ctrl-C ends it early. Raises `DitherError` if the collection cannot be read, `NotLearnt`, and
    what `workers_of` does.
    """
    with Api(url, token) as api, workers_of(scheduler):
        # Read the posterior first: a token that may not read it should fail before thousands have answered.
        before = _learnt(api, collection)
        told = api.get(collection_path(collection), exact=True)
        labels = people.groups or draw_labels(told, len(people), random.Random(people.seed))
        asked = _Asked(url, collection, parse_terms(told), concurrency)
        began = time.perf_counter()
        grouped = replace(people, groups=labels)
        if scheduler is None:
            tally, interrupted = _here(asked, grouped, alone, progress)
        else:
            tally, interrupted = _on_workers(asked, grouped, progress)
        seconds = time.perf_counter() - began
        return Outcome(
            answers=tally.answered,
            dropped_out=tally.dropped_out,
            seconds=seconds,
            estimator_seconds=None,
            posterior=_settled(api, collection, before + tally.answered),
            interrupted=interrupted,
            load=tally.load(collection),
        )


@dataclass(frozen=True)
class _Asked:
    """The collection to answer, and how many people do so at a time."""

    url: str
    collection: str
    terms: Terms
    concurrency: int

    def crowd(self, people: Respondents) -> Crowd:
        return Crowd(parse_address(self.url), self.collection, people, Retry(), self.terms)


def _here(asked: _Asked, people: Respondents, alone: int, progress: Callable[[int], None]) -> tuple[Tally, bool]:
    """Everybody answers from this process. Returns what has become of them, and whether it was interrupted."""
    crowd = asked.crowd(people)
    with on_interrupt(crowd.stop):
        _run(_watched(crowd, asked.concurrency, alone, progress))
    return crowd.tally, crowd.stopped


def _on_workers(asked: _Asked, people: Respondents, progress: Callable[[int], None]) -> tuple[Tally, bool]:
    """Everybody answers from the workers of a scheduler, as `_here`.

    No further parts are handed out after Ctrl-C, or once the server cannot be reached.
    """
    from joblib import Parallel, delayed

    tally, stopped = Tally(), list[bool]()
    parts = takewhile(lambda _: not (stopped or tally.failures["unreachable"]), people.parts(_PART))
    with on_interrupt(lambda: stopped.append(True)):
        for part in Parallel(n_jobs=-1, return_as="generator_unordered")(
            delayed(_answer)(asked, part) for part in parts
        ):
            tally.add(part)
            progress(tally.done)
    return tally, bool(stopped)


def _answer(asked: _Asked, people: Respondents) -> Tally:
    """What becomes of a part of the population, on a worker."""
    crowd = asked.crowd(people)
    _run(crowd.run(asked.concurrency))
    return crowd.tally


def draw_labels(terms: Mapping[str, Any], count: int, generator: random.Random) -> list[str] | None:
    """The group of each respondent, by the shares in the terms, or in equal shares if they have none."""
    if terms.get("groups") is None:
        return None
    labels, shares = terms["groups"]["labels"], terms["groups"].get("shares")
    weights = None if shares is None else [float(shares[label]) for label in labels]
    return generator.choices(labels, weights, k=count)


async def _watched(crowd: Crowd, concurrency: int, alone: int, progress: Callable[[int], None]) -> None:
    """Runs the crowd and reports its progress."""

    async def report() -> None:
        while True:
            progress(crowd.tally.done)
            await asyncio.sleep(_POLL_SECONDS)

    reporting = asyncio.create_task(report())
    try:
        await crowd.run(concurrency, alone)
    finally:
        reporting.cancel()
        progress(crowd.tally.done)


def _run(main: Coroutine[Any, Any, None]) -> None:
    """Runs `main` in uvloop's event loop if it is installed."""
    factory: Callable[[], asyncio.AbstractEventLoop] | None = None
    if sys.platform != "win32":
        with suppress(ImportError):
            import uvloop

            factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        # To look through all modules for garbage takes a tenth of a second, which would count as a wait for a ticket.
        gc.collect()
        gc.freeze()
        try:
            runner.run(main)
        finally:
            gc.unfreeze()


def _settled(api: Api, collection: str, answers: int) -> PosteriorReply:
    """The posterior once `answers` answers are learnt or used for checking. Raises `NotLearnt` without progress."""
    learnt, since = -1, time.monotonic()
    while True:
        posterior = _posterior(api, collection)
        met = posterior.answers + (posterior.misfit.check_answers if posterior.misfit else 0)
        if met >= answers:
            return posterior
        if met > learnt:
            learnt, since = met, time.monotonic()
        if time.monotonic() - since > _MAX_STALL:
            raise NotLearnt(f"the server acknowledged {answers:,} answers but has learnt only {learnt:,} of them")
        time.sleep(_POLL_SECONDS)


def _learnt(api: Api, collection: str) -> int:
    """How many answers the collection has. Raises `Problem` if its posterior may not be read."""
    _posterior(api, collection)
    terms = api.get(collection_path(collection))
    return int(terms["answers"])


def _posterior(api: Api, collection: str) -> PosteriorReply:
    try:
        return from_json(PosteriorReply, api.get(collection_path(collection, "posterior")))
    except Problem as error:
        if error.name in ("unauthorized", "forbidden"):
            raise Problem(error.status, error.type, f"the posterior needs an analyst's token: {error}") from None
        raise
    except ValueError:
        raise BadResponse("the server's posterior is not one that this version can read") from None
