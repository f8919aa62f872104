"""A simulation against a running server: sends all answers, waits until they are learnt, and reads the posterior."""

import asyncio
import random
import sys
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
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

_POLL_SECONDS = 0.1
_MAX_STALL = 30.0
"""Seconds without progress in learning after which the simulation gives up."""


class NotLearnt(DitherError):
    """The server acknowledged answers that its posterior does not include."""


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
    """Answers the collection of the server at `url` for everybody, and waits for a posterior that has learnt it all.

    If `choices` are given, each respondent asks for a ticket at its own ε. The first `alone` respondents come one by
    one, the others `concurrency` at a time. With `seed`, noise comes from a seeded generator, so that one respondent at
    a time gives reproducible answers; without, from the operating system's. `progress` receives how many respondents
    are done. Where the collection has groups, each respondent is of one at random, by their shares, whatever its value.
    Ctrl-C ends it early. Raises `DitherError` if the collection cannot be read, and `NotLearnt`.
    """
    with Api(url, token) as api:
        # Read the posterior first: a token that may not read it should fail before thousands have answered.
        before = _learnt(api, collection)
        generator = random.SystemRandom() if seed is None else random.Random(seed)
        told = api.get(collection_path(collection), exact=True)
        terms, groups = parse_terms(told), _groups(told, len(values), generator)
        crowd = Crowd(parse_address(url), collection, values, roles, generator, Retry(), choices, terms, groups)
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


def _groups(terms: Mapping[str, Any], count: int, generator: random.Random) -> list[str] | None:
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
            progress(crowd.done)
            await asyncio.sleep(_POLL_SECONDS)

    reporting = asyncio.create_task(report())
    try:
        await crowd.run(concurrency, alone)
    finally:
        reporting.cancel()
        progress(crowd.done)


def _run(main: Coroutine[Any, Any, None]) -> None:
    """Runs `main` in uvloop's event loop if it is installed."""
    factory: Callable[[], asyncio.AbstractEventLoop] | None = None
    if sys.platform != "win32":
        with suppress(ImportError):
            import uvloop

            factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(main)


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
