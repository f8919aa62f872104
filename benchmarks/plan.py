"""`dither plan` against simulation: of runs with as many respondents as planned, how precise is the posterior?

    python -m benchmarks.plan [SEEDS [EPSILON …]]

N(50, 3.16²) under two priors at each ε, then a member of other families at ε = 1 under the default prior, then shapes
at ε = 2 of which so little is to be known that their posterior has a long tail.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from dither_estimator.families import FloatArray
from dither_estimator.learning.learner import Learner
from dither_estimator.planning.precision import Precision, precision_of_answers
from dither_estimator.specification.specification import Specification
from dither_server.simulate.behaviours import Behaviours, draw_roles
from dither_server.simulate.in_process import simulate_in_process
from dither_server.simulate.population import draw_population
from testing.tables import print_table

__all__ = ["main"]

TRUTH = {"mu": 50.0, "sigma": 10**0.5}
TARGET = {"mu": 0.5}
MECHANISMS = ("laplace", "randomized_response")
OTHERS: Sequence[tuple[str, dict[str, float], dict[str, float]]] = (
    ("logistic", {"mu": 50, "sigma": 3}, {"mu": 0.5}),
    ("gumbel", {"mu": 50, "sigma": 3}, {"mu": 0.4}),
    ("student_t:4", {"mu": 50, "sigma": 3}, {"mu": 0.5}),
    ("exponential", {"scale": 50}, {"scale": 4}),
    ("gamma", {"shape": 3, "scale": 20}, {"shape": 0.5}),
    ("weibull", {"shape": 2, "scale": 50}, {"scale": 4}),
    ("beta", {"a": 2, "b": 5}, {"a": 0.3}),
    ("poisson", {"rate": 30}, {"rate": 0.6}),
    ("negative_binomial", {"mean": 30, "size": 3}, {"mean": 2}),
)
"""Families with a member and what is to be known of it."""
SHAPES: Sequence[tuple[str, dict[str, Any], dict[str, float], dict[str, float]]] = (
    ("student_t", {"range": [0, 100]}, {"mu": 50, "sigma": 10, "df": 2}, {"df": 0.2}),
    ("gamma", {}, {"shape": 3, "scale": 20}, {"shape": 0.75}),
    ("weibull", {"range": [1, 150]}, {"shape": 2, "scale": 50}, {"shape": 0.5}),
    ("negative_binomial", {}, {"mean": 30, "size": 3}, {"size": 0.75}),
)
"""Families with fields of a collection, a member and nearly the largest standard deviation that can be planned."""
PRIORS: dict[str, dict[str, Any]] = {"default": {}, "range 44 to 56": {"range": [44, 56]}}

_SEEDS = 30
_FIRST_SEED = 1_000
"""The constants of plans were chosen on seeds below."""


def main(arguments: Sequence[str]) -> None:
    """Prints the table; the first argument is the number of seeds, the others are the ε."""
    seeds = int(arguments[0]) if arguments else _SEEDS
    measured = (
        "respondents",
        "mean posterior sds",
        "to the planned",
        "answers spent on finding: planned; measured",
        "respondents needed, to those planned",
        "runs below the sd planned for 90%",
    )
    title = f"Plans: N(50, 3.16²), sd of mu {TARGET['mu']}, by μ; σ, {seeds} seeds"
    print_table(title, ("mechanism", "prior", "ε", *measured), _rows(seeds, arguments[1:] or ("0.5", "1", "2", "5")))
    title = f"Plans: other families, ε = 1, default prior, by parameter, {seeds} seeds"
    print_table(title, ("mechanism", "family", "member", "to know", *measured), _other_rows(seeds))
    title = f"Plans: shapes, ε = 2, `laplace`, by parameter, {seeds} seeds"
    print_table(title, ("family", "fields", "member", "to know", *measured), _shape_rows(seeds))


def _rows(seeds: int, epsilons: Sequence[str]) -> Iterator[tuple[object, ...]]:
    for mechanism, (prior, fields), epsilon in product(MECHANISMS, PRIORS.items(), epsilons):
        spec = Specification.from_json({"family": "normal", "mechanism": mechanism, "epsilon": epsilon, **fields})
        yield mechanism, prior, epsilon, *_measured(spec, TRUTH, TARGET, seeds)


def _other_rows(seeds: int) -> Iterator[tuple[object, ...]]:
    for mechanism, (family, truth, target) in product(MECHANISMS, OTHERS):
        spec = Specification.from_json({"family": family, "mechanism": mechanism, "epsilon": "1"})
        member, sds = (", ".join(f"{name} {value:g}" for name, value in some.items()) for some in (truth, target))
        yield mechanism, family, member, sds, *_measured(spec, truth, target, seeds)


def _shape_rows(seeds: int) -> Iterator[tuple[object, ...]]:
    for family, fields, truth, target in SHAPES:
        spec = Specification.from_json({"family": family, "mechanism": "laplace", "epsilon": "2", **fields})
        member, sds = (", ".join(f"{name} {value:g}" for name, value in some.items()) for some in (truth, target))
        yield family, fields, member, sds, *_measured(spec, truth, target, seeds)


def _measured(
    spec: Specification, truth: dict[str, float], target: dict[str, float], seeds: int
) -> tuple[str, str, str, str, str, str]:
    precision = precision_of_answers(spec, list(truth.values()))
    respondents = precision.respondents(target)
    planned, within = (np.array(list(precision.sd(respondents, c).values()), dtype=float) for c in (None, 0.9))
    runs = Parallel(n_jobs=-1)(delayed(_sds)(spec, truth, respondents, _FIRST_SEED + seed) for seed in range(seeds))
    sds = np.array(runs)
    means = sds.mean(axis=0)
    ratios, spent = means / planned, _spent(precision, respondents, means)
    errors = sds.std(axis=0, ddof=1) / planned / np.sqrt(seeds)
    return (
        f"{respondents:,}",
        _joined(means, ".3g"),
        "; ".join(f"{ratio:.2f} ± {error:.2f}" for ratio, error in zip(ratios, errors, strict=True)),
        f"{_joined(precision.search, '.0f')}; {_joined(spent, '.0f')}",
        _joined((respondents + spent - precision.search) / respondents, ".2f"),
        _joined((sds <= within).mean(axis=0), ".0%"),
    )


def _spent(precision: Precision, respondents: int, means: FloatArray) -> FloatArray:
    """How many answers the mean posterior sds are short of: those that went into finding the population, shape (d,)."""
    ideal = replace(precision, search=np.zeros(len(precision.names)))
    used = [ideal.respondents({name: mean}) for name, mean in zip(precision.names, means.tolist(), strict=True)]
    return respondents - np.array(used, dtype=float)


def _joined(numbers: Iterable[float], form: str) -> str:
    return "; ".join(format(number, form) for number in numbers)


def _sds(spec: Specification, truth: dict[str, float], respondents: int, seed: int) -> list[float]:
    """The posterior standard deviations of one simulated collection."""
    with threadpool_limits(1):
        for_people, for_noise, for_learner = np.random.SeedSequence(seed).spawn(3)
        rng = np.random.default_rng(for_people)
        people = draw_population(rng, spec.family, truth, "identity", respondents)
        roles = draw_roles(rng, Behaviours(), respondents)
        learner = Learner(spec, for_learner)
        simulate_in_process(learner, people.values, roles, np.random.default_rng(for_noise))
        return [summary.sd for summary in learner.posterior().parameters.values()]


if __name__ == "__main__":
    main(sys.argv[1:])
