"""Simulates one random collection, with a limit on its processor time."""

import signal
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from time import process_time
from typing import Any

import numpy as np
from scipy.special import ndtr
from threadpoolctl import threadpool_limits

from benchmarks.random_collections.drawing import RandomCollection, draw_collection
from benchmarks.random_collections.judging import judge, nats_missed
from dither_client.posterior.wire import PosteriorReply
from dither_estimator.families import FloatArray
from dither_estimator.learning.any_learner import AnyLearner, any_learner
from dither_estimator.specification.specification import Specification, SpecificationError
from dither_server.simulate.choices import draw_choices
from dither_server.simulate.in_process import simulate_in_process

__all__ = ["TOO_LONG", "run", "simulate"]

TOO_LONG = 60.0
"""The processor time, in seconds, after which a collection is given up."""


class _TookTooLong(Exception):
    """The processor time is over."""


def run(seed: int) -> dict[str, Any]:
    """What became of a collection, as JSON."""
    collection = draw_collection(seed)
    found: dict[str, Any] = {"seed": seed, "settings": collection.settings, "told": [], "missed": 0.0}
    began = process_time()
    with threadpool_limits(1), warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            with _limited():
                specification, learner, reply = simulate(collection)
                found["seconds"] = process_time() - began
                found["told"] = [asdict(told) for told in judge(collection, specification, reply)]
                found["missed"] = nats_missed(collection, learner)
        except SpecificationError as error:
            found["refused"] = str(error)
        except _TookTooLong:
            found["error"] = f"took more than {TOO_LONG:g} s"
        except Exception as error:  # whatever it is, it is what is looked for
            frame = traceback.extract_tb(sys.exc_info()[2])[-1]
            found["error"] = f"{type(error).__name__}: {error} ({frame.filename.rpartition('/')[2]}, {frame.name})"
    found.setdefault("seconds", process_time() - began)
    found["warnings"] = sorted({f"{each.message} ({each.filename.rpartition('/')[2]}:{each.lineno})" for each in heard})
    return found


@contextmanager
def _limited() -> Iterator[None]:
    def end(*_: object) -> None:
        raise _TookTooLong

    before = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, TOO_LONG)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def simulate(collection: RandomCollection) -> tuple[Specification, AnyLearner, PosteriorReply]:
    """The specification, the learner that has heard everybody, and its posterior. Raises `SpecificationError`."""
    specification = Specification.from_json(collection.fields)
    learner = any_learner(specification, collection.seed, collection.outstanding)
    rng = np.random.default_rng([collection.seed, 78])
    values, labels = _people(rng, collection)
    choices = draw_choices(rng, np.zeros(len(values)), specification.epsilon_choices, "chance")
    noise = np.random.default_rng([collection.seed, 79])
    outcome = simulate_in_process(
        learner, values, None, noise, choices=choices, labels=labels, outstanding=collection.outstanding
    )
    return specification, learner, outcome.posterior


def _people(rng: np.random.Generator, collection: RandomCollection) -> tuple[FloatArray, list[str] | None]:
    """Everybody's value, and everybody's group or period if there are any."""
    size = collection.respondents
    if "components" in collection.fields:
        return _several_numbers(rng, collection), None
    names = list(collection.shares or collection.truths)
    if "period" in collection.fields:
        of_each = np.sort(rng.integers(len(names), size=size))
    else:
        of_each = rng.integers(len(names), size=size)
    values = np.empty(size)
    for number, name in enumerate(names):
        here = of_each == number
        if collection.shares:
            values[here] = rng.choice(len(collection.shares[name]), int(here.sum()), p=collection.shares[name])
        else:
            values[here] = collection.truths[name].draw(rng, int(here.sum()))
    return values, None if names == [""] else [names[number] for number in of_each]


def _several_numbers(rng: np.random.Generator, collection: RandomCollection) -> FloatArray:
    """The numbers of each, (n, d), with equal correlations of their normal scores."""
    count = len(collection.truths)
    covariance = np.full((count, count), collection.correlation) + (1 - collection.correlation) * np.eye(count)
    levels = ndtr(rng.standard_normal((collection.respondents, count)) @ np.linalg.cholesky(covariance).T)
    columns = [truth.values_at(levels[:, number]) for number, truth in enumerate(collection.truths.values())]
    return np.stack(columns, axis=1)
