"""A simulation against a running server: send everybody's answer, wait until the server has learnt them, and look."""

import asyncio
import random
import sys
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Any

from dither_client import BadResponse, DitherError, Problem, Retry
from dither_client.addresses import collection_path, parse_address
from dither_client.posterior.wire import PosteriorReply, from_json
from dither_client.protocol.messages import parse_terms
from dither_client.transport.json_api import Api
from dither_estimator.families import FloatArray
from dither_server.simulate.behaviours import Roles
from dither_server.simulate.crowd import Crowd
from dither_server.simulate.interrupts import on_interrupt
from dither_server.simulate.outcome import Outcome

__all__ = ["NotLearnt", "simulate_over_http"]

_LOOK_SECONDS = 0.1
_PATIENCE = 30.0
"""Seconds for which a server may learn nothing new before it is given up."""


class NotLearnt(DitherError):
    """The server acknowledged answers that its posterior did not take in."""


def simulate_over_http(
    url: str,
    token: str | None,
    collection: str,
    values: FloatArray,
    roles: Roles,
    concurrency: int,
    seed: int | None,
    progress: Callable[[int], None] = lambda done: None,
    alone: int = 0,
    choices: Sequence[Fraction] | None = None,
) -> Outcome:
    """Has everybody answer the collection of the server at `url`, and returns the posterior that has learnt them all.

    Each asks for a ticket at the ε that it chose, one of `choices` for each, if they are given. The first `alone`
    respondents come one by one, the others `concurrency` at a time.
    With `seed`, noise comes from a seeded generator: one respondent at a time answers the same questions the same way;
    otherwise from the operating system's. `progress` is told how many respondents are done. Ctrl-C ends it early.
    Raises `DitherError` when the collection cannot be read and `NotLearnt`.
    """
    with Api(url, token) as api:
        # Read first: a token that cannot see the posterior had better be known before thousands have answered.
        before = _learnt(api, collection)
        generator = random.SystemRandom() if seed is None else random.Random(seed)
        terms = parse_terms(api.get(collection_path(collection), exact=True))
        crowd = Crowd(parse_address(url), collection, values, roles, generator, Retry(), choices, terms)
        began = time.perf_counter()
        with on_interrupt(crowd.stop):
            _run(_watched(crowd, concurrency, alone, progress))
        seconds = time.perf_counter() - began
        return Outcome(
            answers=crowd.answered,
            dropped_out=crowd.dropped_out,
            seconds=seconds,
            estimator_seconds=None,
            posterior=_settled(api, collection, before + crowd.answered),
            interrupted=crowd.stopped,
            load=crowd.load,
        )


async def _watched(crowd: Crowd, concurrency: int, alone: int, progress: Callable[[int], None]) -> None:
    """Runs the crowd while `progress` is told how far it is."""

    async def report() -> None:
        while True:
            progress(crowd.done)
            await asyncio.sleep(_LOOK_SECONDS)

    reporting = asyncio.create_task(report())
    try:
        await crowd.run(concurrency, alone)
    finally:
        reporting.cancel()
        progress(crowd.done)


def _run(main: Coroutine[Any, Any, None]) -> None:
    """Runs `main` in the fastest event loop there is."""
    factory: Callable[[], asyncio.AbstractEventLoop] | None = None
    if sys.platform != "win32":
        with suppress(ImportError):
            import uvloop

            factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(main)


def _settled(api: Api, collection: str, answers: int) -> PosteriorReply:
    """The posterior once `answers` answers are learnt or checked by. Raises `NotLearnt` when it gets no nearer."""
    learnt, since = -1, time.monotonic()
    while True:
        posterior = _posterior(api, collection)
        met = posterior.answers + (posterior.misfit.check_answers if posterior.misfit else 0)
        if met >= answers:
            return posterior
        if met > learnt:
            learnt, since = met, time.monotonic()
        if time.monotonic() - since > _PATIENCE:
            raise NotLearnt(f"the server acknowledged {answers:,} answers and has learnt {learnt:,} of them")
        time.sleep(_LOOK_SECONDS)


def _learnt(api: Api, collection: str) -> int:
    """How many answers the collection has, as far as its posterior can be read at all."""
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
