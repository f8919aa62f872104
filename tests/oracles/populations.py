"""Simulated respondents for the estimator's tests: a learner asks them one by one."""

from bisect import bisect_right
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from dither_client import Query
from dither_estimator.learning.learner import Learner
from dither_estimator.mechanisms.channels import Channel, channel_of
from dither_estimator.specification.specification import Specification

__all__ = ["PAPER_PRIOR", "answer", "interview", "specification"]

PAPER_PRIOR = {
    "mu": {"dist": "norm", "loc": 0, "scale": 100},
    "sigma": {"dist": "invgamma", "a": 1, "scale": 1, "of": "variance"},
}


def specification(**fields: Any) -> Specification:
    """A specification of the normal family with the paper's prior unless told otherwise."""
    return Specification.from_json({"family": "normal", "epsilon": 1, "prior": PAPER_PRIOR, **fields})


def answer(rng: np.random.Generator, query: Query, value: float) -> int:
    """One answer drawn by floating point from the exact channel."""
    return min(bisect_right(_cumulative(channel_of(query), query.cell(value)), rng.random()), query.n_answers - 1)


@lru_cache(maxsize=4096)
def _cumulative(channel: Channel, cell: int) -> list[float]:
    """The probabilities of each answer or a lower one, given the cell."""
    row: list[float] = np.cumsum(channel.matrix[cell]).tolist()
    return row


def interview(learner: Learner, values: npt.NDArray[np.float64], rng: np.random.Generator) -> None:
    """Asks everyone in turn."""
    for value in values.tolist():
        query = learner.ask()
        learner.learn(query, answer(rng, query, value))
