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
from threadpoolctl import threadpool_limits

from benchmarks.random_collections.claims import claims
from benchmarks.random_collections.collection import RandomCollection
from benchmarks.random_collections.drawing import draw_collection
from benchmarks.random_collections.judging import judge, nats_missed
from benchmarks.random_collections.people import people, shared
from dither_client.posterior.wire import PosteriorReply
from dither_estimator.learning.any_learner import AnyLearner, any_learner
from dither_estimator.learning.checked_learner import CheckedLearner
from dither_estimator.learning.learner import Learner
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
    found: dict[str, Any] = {"seed": seed, "settings": collection.settings, "told": [], "said": [], "missed": 0.0}
    began = process_time()
    with threadpool_limits(1), warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            with _limited():
                specification, learner, reply = simulate(collection)
                found["seconds"] = process_time() - began
                found["told"] = [asdict(told) for told in judge(collection, specification, reply)]
                found["said"] = [asdict(claim) for claim in claims(collection, specification, reply)]
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
    rng = np.random.default_rng([collection.seed, 78])
    learner: AnyLearner | CheckedLearner
    if specification.misfit_check is not None:
        learner = CheckedLearner(specification, collection.seed, collection.outstanding)
        inner: AnyLearner = learner.learner
    else:
        learner = inner = any_learner(specification, collection.seed, collection.outstanding)
    values, labels = people(rng, collection, specification)
    choices = draw_choices(rng, np.zeros(len(values)), specification.epsilon_choices, "chance")
    noise = np.random.default_rng([collection.seed, 79])
    members = shared(np.random.default_rng([collection.seed, 81]), collection, specification)
    if isinstance(inner, Learner) and collection.institutions_first:
        inner.learn_members(members)
    outcome = simulate_in_process(
        learner, values, None, noise, choices=choices, labels=labels, outstanding=collection.outstanding
    )
    if not isinstance(inner, Learner) or not members or collection.institutions_first:
        return specification, inner, outcome.posterior
    inner.learn_members(members)
    posterior = inner.posterior()
    return specification, inner, posterior.described(posterior.reply(misfit=outcome.posterior.misfit))
