"""A simulated collection of categories, as Dither asks and learns: beside the paper's methods, and in benchmarks."""

import numpy as np
import numpy.typing as npt

from dither_client import Query
from dither_estimator.families import FloatArray
from dither_estimator.learning.description import CategoryShares
from dither_estimator.learning.learners import new_learner
from dither_estimator.likelihood.counts import Counts
from dither_estimator.mechanisms.channels import channel_of
from dither_estimator.specification.specification import Specification

__all__ = ["dithers_shares"]


def dithers_shares(
    rng: np.random.Generator, seed: int, truth: FloatArray, epsilon: str, respondents: int
) -> tuple[FloatArray, Counts]:
    """Draws of the posterior, shape (draws, categories), and the answers; `seed` is the learner's.

    Everyone is asked once, and the questions are chosen anew whenever the learner does.
    """
    names = [f"category {number}" for number in range(len(truth))]
    spec = Specification.from_json({"family": "categorical", "categories": names, "epsilon": epsilon})
    learner, answers = new_learner(spec, seed), 0
    while answers < respondents:
        pool = learner.pool()
        people = int(min(learner.renew_at, respondents)) - answers
        table: dict[Query, npt.NDArray[np.int64]] = {}
        for query, number in zip(pool, rng.multinomial(people, np.full(len(pool), 1 / len(pool))), strict=True):
            given = rng.multinomial(number, truth @ channel_of(query).matrix)
            table[query] = table.get(query, np.zeros(query.n_answers, dtype=np.int64)) + given
        learner.learn_counts({query: row for query, row in table.items() if row.any()})
        answers += people
    population = learner.posterior().population
    assert isinstance(population, CategoryShares)
    return population.shares, learner.counts
