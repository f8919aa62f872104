"""Answers of a search under the default prior, learnt at once: the narrow place that the search came to is found.

The questions of a search lie on all scales, from the prior's to the population's. The evidence tells whether a batch of
particles has found the place: a posterior that missed it has several nats too few.
"""

import random
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from dither_estimator.families import FloatArray
from dither_estimator.learning.learner import Learner
from dither_estimator.likelihood.counts import Counts
from dither_estimator.likelihood.table import CountLikelihood
from dither_estimator.particles import system as particles
from dither_estimator.particles.start import InitialMixture, questions_places
from dither_estimator.particles.system import init, update
from dither_estimator.priors.prior import Prior, parse_prior
from dither_estimator.specification.specification import Specification
from dither_estimator.weighted.sample import log_sum_exp

RUNS, PEOPLE, DRAWS = 6, 300, 100_000
NORMAL = Specification.from_json({"family": "normal", "epsilon": 1})


@cache
def searched(seed: int) -> Counts:
    """The answers of people with values N(50, 3²), to questions of a learner that learns them one by one."""
    values, chance = np.random.default_rng(seed).normal(50, 3, PEOPLE), random.Random(seed)
    learner = Learner(NORMAL, seed)
    for value in values.tolist():
        query = learner.ask()
        learner.learn(query, query.answer(value, chance.randrange))
    return learner.counts


@cache
def evidence(seed: int) -> float:
    """The log evidence by importance sampling from ranges around many cuts, on every scale between cuts."""
    prior, counts = NORMAL.prior, searched(seed)
    asked = [(edge, int(row.sum())) for query, row in counts.items() for edge in query.edges]
    cuts = np.sort(np.concatenate([np.full(answers, edge) for edge, answers in asked]))
    mixture = InitialMixture([prior, *_ranges(prior, cuts)])
    theta = mixture.sample(np.random.default_rng(seed), DRAWS)
    likelihood = CountLikelihood.of(prior.family, counts, {})
    logs = [
        likelihood.log_likelihood(prior.family.constrain(some)) + prior.log_density(some) - mixture.log_density(some)
        for some in np.array_split(theta, 20)
    ]
    return log_sum_exp(np.concatenate(logs)) - np.log(DRAWS)


def _ranges(prior: Prior, cuts: FloatArray) -> list[Prior]:
    family, span = prior.family, float(cuts[-1] - cuts[0])
    widths = [span / 4**power for power in range(12) if span / 4**power >= 1]
    middles = np.unique(np.quantile(cuts, np.linspace(0.05, 0.95, 13), method="inverted_cdf")).tolist()
    return [parse_prior(family, family.range_prior(m - w / 2, m + w / 2)) for m in middles for w in widths]


def errors() -> FloatArray:
    """The log evidence of tables learnt at once, less that of importance sampling, in nats."""
    prior = NORMAL.prior
    learnt = [
        update(np.random.default_rng(seed), init(np.random.default_rng(seed), prior, 1_000), searched(seed))
        for seed in range(RUNS)
    ]
    return np.array([state.log_evidence - evidence(seed) for seed, state in enumerate(learnt)])


def test_what_a_search_found_is_found_when_its_answers_are_learnt_at_once() -> None:
    """Both evidences are estimates; of these six tables they differ by up to 0.1."""
    assert np.abs(errors()).max() < 0.5


def test_without_the_narrow_ranges_some_are_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(particles, "questions_places", lambda *given: questions_places(*given)[:1])
    assert errors().min() < -2


def test_the_places_narrow_to_where_the_questions_are_close() -> None:
    """Ranges of the places, told by their priors' middles: all of them, then ever nearer to the population at 50."""
    places = questions_places(NORMAL.prior, searched(0), {})
    assert len(places) >= 3
    spreads = [np.ptp(np.quantile(p.sample(np.random.default_rng(1), 2_000)[:, 0], [0.25, 0.75])) for p in places]
    assert all(next_ < one for one, next_ in pairwise(spreads))
