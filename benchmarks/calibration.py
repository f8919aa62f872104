"""Simulation-based calibration: is the posterior right, whatever the prior says the truth may be?

    python -m benchmarks.calibration [DRAWS [FOLDER]]

A truth θ is drawn from the prior, a population from θ, and everyone answers, by the client's own sampler, what a
learner asks. Then the posterior probability below each parameter of θ is uniform over the draws (Cook, Gelman & Rubin
2006; Talts et al. 2018), and so is that of a lower log-likelihood than θ's, which unlike the others also shows a
posterior that passes over some of the answers (Modrák et al. 2023). Each is held twice against the uniform one, by
Kolmogorov-Smirnov: as it is, for posteriors that lie to one side, and folded at its middle, for those that are too
narrow or too wide. The false-alarm rate of all these tests together is `FALSE_ALARMS`, by Bonferroni's bound.

All of it takes hours. What is done is kept in `FOLDER`, so that the same command goes on where it stopped; after a
change to the estimator it needs another folder.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from random import Random
from types import MappingProxyType
from typing import Any

import numpy as np
from joblib import Memory, Parallel, delayed
from scipy import stats
from threadpoolctl import threadpool_limits

from dither_client import Query
from dither_estimator.design.registry import MECHANISMS
from dither_estimator.families import FloatArray
from dither_estimator.learning.learner import Learner
from dither_estimator.likelihood.counts import check_counts
from dither_estimator.likelihood.table import CountLikelihood
from dither_estimator.priors.prior import Prior
from dither_estimator.specification.specification import Specification
from testing.tables import print_table

__all__ = ["FALSE_ALARMS", "MODELS", "main", "pvalues", "ranks"]

FALSE_ALARMS = 1e-3
"""How often a table of a right estimator has a p-value below the limit that is printed with it."""

_SHAPE = {"dist": "lognorm", "s": 0.6, "scale": 2.0}
_SCALE = {"dist": "lognorm", "s": 0.8, "scale": 3.0}
_LINE = {"mu": {"dist": "norm", "scale": 10.0}, "sigma": {"dist": "lognorm", "s": 0.6, "scale": 3.0}}

MODELS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "normal": {"mu": _LINE["mu"], "sigma": {"dist": "invgamma", "a": 5, "scale": 50, "of": "variance"}},
        "laplace": _LINE,
        "logistic": _LINE,
        "student_t:4": _LINE,
        "student_t": {**_LINE, "df": {"dist": "lognorm", "s": 0.6, "scale": 5.0}},
        "gumbel": _LINE,
        "exponential": {"scale": _SCALE},
        "gamma": {"shape": _SHAPE, "scale": _SCALE},
        "weibull": {"shape": {"dist": "lognorm", "s": 0.5, "scale": 1.5}, "scale": _SCALE},
        "beta": {"a": _SHAPE, "b": _SHAPE},
        "bernoulli": {"p": {"dist": "beta", "a": 2, "b": 3}},
        "poisson": {"rate": {"dist": "lognorm", "s": 0.8, "scale": 5.0}},
        "negative_binomial": {"mean": {"dist": "lognorm", "s": 0.8, "scale": 5.0}, "size": _SHAPE},
    }
)
"""Every family with a prior of moderate width: under the default priors, which cover anything, most of the answers
would go into finding out where the population is. A logarithm changes the values alone, so it has no row of its own."""

_DRAWS = 400
_ANSWERS = 200
_PARTICLES = 300
_EPSILONS = (1, 5)
_OUTSTANDING = 10
"""How many people are asked at once: choosing each one's question after the answer of the one before takes longer."""
_CHUNK = 10

_Chunk = Callable[[Mapping[str, Any], Sequence[int]], FloatArray]
"""`ranks` of a specification's fields, from the first truths to the last."""


def main(arguments: Sequence[str]) -> None:
    """Prints the table; the arguments are those of the command."""
    draws = int(arguments[0]) if arguments else _DRAWS
    chunk = Memory(arguments[1] if len(arguments) > 1 else None, verbose=0).cache(_chunk)
    tests = sum(2 * (len(prior) + 1) for prior in MODELS.values()) * len(MECHANISMS) * len(_EPSILONS)
    title = f"Calibration: {draws} draws from each prior, {_ANSWERS} answers, {_PARTICLES} particles"
    print(
        f"\nEach figure is the smallest p-value of a family's parameters and its likelihood. Of all {tests} p-values a"
        f"\nright estimator has any below {FALSE_ALARMS / tests:.1e} once in {1 / FALSE_ALARMS:,.0f} times."
    )
    columns = ("family", *(f"{mechanism}, ε = {epsilon}" for mechanism, epsilon in product(MECHANISMS, _EPSILONS)))
    print_table(title, columns, _rows(draws, chunk))


def _rows(draws: int, chunk: _Chunk) -> Iterator[tuple[object, ...]]:
    for family, prior in MODELS.items():
        row: list[object] = [family]
        for mechanism, epsilon in product(MECHANISMS, _EPSILONS):
            fields = {"family": family, "mechanism": mechanism, "epsilon": epsilon, "particles": _PARTICLES}
            each = pvalues(_in_parallel({**fields, "prior": prior}, draws, chunk))
            print(family, mechanism, epsilon, *(f"{p:.2g}" for p in each.ravel()), file=sys.stderr, flush=True)
            row.append(f"{each.min():.2g}")
        yield tuple(row)


def _in_parallel(fields: Mapping[str, Any], draws: int, chunk: _Chunk) -> FloatArray:
    chunks = [range(start, min(start + _CHUNK, draws)) for start in range(0, draws, _CHUNK)]
    return np.concatenate(Parallel(n_jobs=-1)(delayed(chunk)(fields, seeds) for seeds in chunks))


def _chunk(fields: Mapping[str, Any], seeds: Sequence[int]) -> FloatArray:
    with threadpool_limits(1):
        return ranks(Specification.from_json(fields), seeds, _ANSWERS)


def pvalues(ranks: FloatArray) -> FloatArray:
    """P-values of the test that each column of `ranks` (draws, k) is uniform, plain and folded at 1/2: shape (k, 2)."""
    both = [(column, np.abs(2 * column - 1)) for column in ranks.T]
    return np.array([[stats.kstest(some, "uniform").pvalue for some in pair] for pair in both])


def ranks(
    specification: Specification,
    seeds: Sequence[int],
    answers: int,
    *,
    truth: Prior | None = None,
    learner: Callable[[Specification, int], Learner] = Learner,
) -> FloatArray:
    """The posterior probability below each parameter of a truth, and below its log-likelihood: shape (seeds, d + 1).

    The truths are drawn from `truth`, by default the specification's own prior.
    """
    drawn = specification.prior if truth is None else truth
    return np.array([_ranks(learner(specification, seed), drawn, answers, seed) for seed in seeds])


def _ranks(learner: Learner, prior: Prior, answers: int, seed: int) -> FloatArray:
    rng = np.random.default_rng([seed, 4])
    family, transform = learner.specification.family, learner.specification.transform
    theta = family.constrain(prior.sample(rng, 1))
    drawn = family.sample(rng, theta[0], answers)
    table = _interview(learner, np.exp(drawn) if transform == "log" else drawn, Random(seed))
    particles, weights = learner.particles()
    likelihood = CountLikelihood.of(family, check_counts(table)).log_likelihood(np.concatenate([theta, particles]))
    return np.append(weights @ (particles < theta), weights @ (likelihood[1:] < likelihood[0]))


def _interview(learner: Learner, values: FloatArray, random: Random) -> dict[Query, list[int]]:
    """Asks everyone, in groups that are asked at once, and returns what they answered."""
    table: dict[Query, list[int]] = {}
    for group in np.split(values, range(_OUTSTANDING, len(values), _OUTSTANDING)):
        for query, value in zip(learner.pool(len(group)), group.tolist(), strict=False):
            answer = query.answer(value, random.randrange)
            learner.learn(query, answer)
            table.setdefault(query, [0] * query.n_answers)[answer] += 1
    return table


if __name__ == "__main__":
    main(sys.argv[1:])
