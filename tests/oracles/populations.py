"""Simulated respondents for the estimator's tests: a learner asks them one by one."""

from typing import Any

import numpy as np
import numpy.typing as npt

from dither_client import Query
from dither_estimator.learning.learner import Learner
from dither_estimator.mechanisms.channels import channel_of
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
    row = np.cumsum(channel_of(query).matrix[query.cell(value)])
    return min(int(np.searchsorted(row, rng.random(), side="right")), query.n_answers - 1)


def interview(learner: Learner, values: npt.NDArray[np.float64], rng: np.random.Generator) -> None:
    """Asks everyone in turn."""
    for value in values.tolist():
        query = learner.ask()
        learner.learn(query, answer(rng, query, value))
