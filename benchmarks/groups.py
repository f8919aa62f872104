"""What public groups gain from each other: errors and intervals beside separate estimates and an oracle.

    python -m benchmarks.groups [SEEDS]

50 groups of a normal population, σ around 10, ε = 1. Groups' middles are normal with the same standard deviation in
units of σ for mu as for log sigma. Each group is asked the best questions for its own middle, give or take the error
that its answers leave. `separate` has each group alone, under the collection's prior. Oracles know how far groups lie
apart, but not where: `oracle` that they are normal, and `oracle of the model` the Student t, which the model takes them
to be, that is nearest to it. All three are exact, on a grid, but for what is learnt of the middle, which is at its
likeliest.
Errors are mean squared errors of the posterior means of (mu / 10, log sigma), summed.
"""

import math
import sys
from collections.abc import Iterator
from itertools import starmap
from time import process_time

import numpy as np
from threadpoolctl import threadpool_limits

from dither_estimator.design.design import optimal_design
from dither_estimator.families import FloatArray
from dither_estimator.hierarchy.given_groups import DEGREES
from dither_estimator.hierarchy.group_likelihood import GroupLikelihood
from dither_estimator.hierarchy.pooling import pool_groups
from dither_estimator.likelihood.counts import Counts, merge_counts
from dither_estimator.mechanisms.channels import channel_of
from dither_estimator.specification.specification import Specification
from testing.tables import print_table

__all__ = ["main"]

_SEEDS = 8
_GROUPS = 50
_SIGMA = 10.0
_PRICE = 3.9
"""At ε = 1 a group of n people tells its mean to about this many σ / √n."""
_SPEC = Specification.from_json({"family": "normal", "epsilon": 1, "range": [0, 100]})
_MIDDLE, _UNITS = np.array([50.0, np.log(_SIGMA)]), np.array([_SIGMA, 1.0])
_NEAREST = 0.853
"""The scale of the Student t with 4 degrees of freedom that is nearest to two independent standard normal numbers."""
_NEAR_ENOUGH = 1e-4
"""The middle is found when it moves by less, in units of σ."""
_MU, _LOG_SIGMA = np.linspace(-80, 180, 131), np.log(_SIGMA) + np.linspace(-3, 3, 61)


def main() -> None:
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else _SEEDS
    columns = (
        "people",
        "sd between, σ",
        "separate",
        "pooled",
        "oracle",
        "oracle of the model",
        "pooled / oracle",
        "/ oracle of the model",
        "coverage of mu",
        "of sigma",
    )
    print_table(f"{_GROUPS} groups, ε = 1: {seeds} seeds", columns, _rows(seeds))
    print_table(
        "Time", ("groups", "questions each", "processor seconds"), starmap(_timed, ((50, 2), (500, 2), (500, 10)))
    )


def _rows(seeds: int) -> Iterator[tuple[str, ...]]:
    for people in (100, 400):
        for times in (0.0, 0.25, 0.5, 1.0, 2.0):
            apart = times * _PRICE / np.sqrt(people)
            found = np.mean([_run(seed, people, apart) for seed in range(seeds)], axis=0)
            alone, pooled, *oracles, mu, sigma = found.tolist()
            errors = (f"{error:.4f}" if error else "" for error in (alone, pooled, *oracles))
            ratios = (f"{pooled / oracle:.2f}" if oracle else "" for oracle in oracles)
            yield f"{people}", f"{apart:.3f}", *errors, *ratios, f"{mu:.1%}", f"{sigma:.1%}"


def _timed(groups: int, questions: int) -> tuple[str, str, str]:
    rng = np.random.default_rng(1)
    truth = np.column_stack([rng.normal(50, 3, groups), rng.normal(np.log(_SIGMA), 0.2, groups)])
    tables = [{q: n for _ in range(questions) for q, n in _answered(rng, row, 40, 1.0).items()} for row in truth]
    with threadpool_limits(1, user_api="blas"):
        pool_groups(np.random.default_rng(1), _SPEC.prior, tables, 1_000)
        began = process_time()
        pool_groups(np.random.default_rng(1), _SPEC.prior, tables, 1_000)
    return f"{groups}", f"{np.mean([len(table) for table in tables]):.1f}", f"{process_time() - began:.2f}"


def _run(seed: int, people: int, apart: float) -> list[float]:
    """Mean squared errors: separate, pooled, both oracles; then the coverage of 90% intervals of mu and of sigma.

    Where groups are all alike there is nothing that an oracle would know of how they differ: 0.
    """
    with threadpool_limits(1, user_api="blas"):
        rng = np.random.default_rng([seed, people, round(1e6 * apart)])
        truth = _MIDDLE + apart * _UNITS * rng.standard_normal((_GROUPS, 2))
        tables = [_answered(rng, row, people, _PRICE / np.sqrt(people)) for row in truth]
        found = pool_groups(np.random.default_rng(seed), _SPEC.prior, tables, 1_000).coordinates
        low, high = np.quantile(found, [0.05, 0.95], axis=0)
        covered = ((low <= truth) & (truth <= high)).mean(axis=0)
        grid = np.array(np.meshgrid(_MU, _LOG_SIGMA, indexing="ij")).reshape(2, -1)
        points = np.repeat(grid[:, :, None], _GROUPS, axis=2)
        told = GroupLikelihood.of(_SPEC.family, tables).log_likelihood(points)
        wide = _SPEC.prior.log_density(grid.T)
        errors = [_error(each, truth) for each in (_means(grid, told, wide), found.mean(axis=0))]
        for scale, degrees in ((apart, math.inf), (_NEAREST * apart, DEGREES)):
            errors.append(_error(_knowing(grid, told, scale, degrees), truth) if apart else 0.0)
        return [*errors, *covered.tolist()]


def _knowing(grid: FloatArray, told: FloatArray, scale: float, degrees: float) -> FloatArray:
    """The posterior means (groups, 2) of groups that are Student t around their likeliest middle, which EM finds."""
    middle = _MIDDLE
    while True:
        distance = (((grid.T - middle) / (scale * _UNITS)) ** 2).sum(axis=1)
        normal = math.isinf(degrees)
        prior = -0.5 * (distance if normal else (degrees + 2) * np.log1p(distance / degrees))
        shares = _shares(told, prior)
        weights = np.ones(len(distance)) if normal else (degrees + 2) / (degrees + distance)
        last, middle = middle, np.asarray(((grid * weights) @ shares).sum(axis=1) / (weights @ shares).sum())
        if np.abs((middle - last) / _UNITS).max() < _NEAR_ENOUGH:
            return np.asarray((grid @ shares).T)


def _means(grid: FloatArray, told: FloatArray, prior: FloatArray) -> FloatArray:
    """The posterior means (groups, 2) on the grid (2, k), given log-likelihoods (k, groups) and a log prior (k,)."""
    return np.asarray((grid @ _shares(told, prior)).T)


def _shares(told: FloatArray, prior: FloatArray) -> FloatArray:
    """The posterior of each group on the grid, shape (k, groups)."""
    logs = told + prior[:, None]
    weights = np.exp(logs - logs.max(axis=0))
    return np.asarray(weights / weights.sum(axis=0))


def _error(estimate: FloatArray, truth: FloatArray) -> float:
    return float((((estimate - truth) / _UNITS) ** 2).sum(axis=1).mean())


def _answered(rng: np.random.Generator, row: FloatArray, people: int, error: float) -> Counts:
    """The answers of a group to the best questions for what may be known of it."""
    kind = "randomized_response"
    design = optimal_design(_SPEC.family, _SPEC.family.standard, kind, _SPEC.epsilon, _SPEC.standard_goal)
    centre = row[0] + min(error, 1.0) * _SIGMA * rng.standard_normal()
    values = rng.normal(row[0], np.exp(row[1]), people)
    parts = np.split(values, (np.cumsum(design.weights)[:-1] * people).astype(int))
    table: Counts = {}
    for standard, part in zip(design.queries, parts, strict=True):
        query = standard.with_edges([round(centre + _SIGMA * edge, 3) for edge in standard.edges], "identity")
        cells = np.searchsorted(np.array(query.edges), part)
        cumulative = np.cumsum(channel_of(query).matrix, axis=1)[cells, :-1]
        answers = (rng.random(len(part))[:, None] > cumulative).sum(axis=1)
        table = merge_counts(table, {query: np.bincount(answers, minlength=query.n_answers)})
    return table


if __name__ == "__main__":
    main()
