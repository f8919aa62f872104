"""What public groups gain from each other: errors and intervals beside separate estimates and an oracle.

    python -m benchmarks.groups [SEEDS]

50 groups of a normal population, σ around 10, ε = 1. Groups' middles are normal with the same standard deviation in
units of σ for mu as for log sigma. Each group is asked the best questions for its own middle, give or take the error
that its answers leave. `separate` has each group alone, under the collection's prior; `oracle` knows how groups differ:
both are exact, on a grid. Errors are mean squared errors of the posterior means of (mu / 10, log sigma), summed.
"""

import sys
from collections.abc import Iterator
from itertools import starmap
from time import process_time

import numpy as np
from threadpoolctl import threadpool_limits

from dither_estimator.design.design import optimal_design
from dither_estimator.families import FloatArray
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
_MU, _LOG_SIGMA = np.linspace(-80, 180, 131), np.log(_SIGMA) + np.linspace(-3, 3, 61)


def main() -> None:
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else _SEEDS
    columns = (
        "people",
        "sd between, σ",
        "separate",
        "pooled",
        "oracle",
        "pooled / oracle",
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
            alone, pooled, oracle, mu, sigma = found.tolist()
            errors = (f"{error:.4f}" for error in (alone, pooled, oracle))
            ratio = f"{pooled / oracle:.2f}" if oracle else ""
            yield f"{people}", f"{apart:.3f}", *errors, ratio, f"{mu:.1%}", f"{sigma:.1%}"


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
    """Mean squared errors: separate, pooled, oracle; then the coverage of 90% intervals of mu and of sigma."""
    with threadpool_limits(1, user_api="blas"):
        rng = np.random.default_rng([seed, people, round(1e6 * apart)])
        middle = np.array([50.0, np.log(_SIGMA)])
        truth = middle + apart * np.array([_SIGMA, 1.0]) * rng.standard_normal((_GROUPS, 2))
        tables = [_answered(rng, row, people, _PRICE / np.sqrt(people)) for row in truth]
        found = pool_groups(np.random.default_rng(seed), _SPEC.prior, tables, 1_000).coordinates
        low, high = np.quantile(found, [0.05, 0.95], axis=0)
        covered = ((low <= truth) & (truth <= high)).mean(axis=0)
        grid = np.array(np.meshgrid(_MU, _LOG_SIGMA, indexing="ij")).reshape(2, -1)
        points = np.repeat(grid[:, :, None], _GROUPS, axis=2)
        told = GroupLikelihood.of(_SPEC.family, tables).log_likelihood(points)
        wide = _SPEC.prior.log_density(grid.T)
        known = -0.5 * (((grid.T - middle) / (max(apart, 1e-3) * np.array([_SIGMA, 1.0]))) ** 2).sum(axis=1)
        oracle = middle[None] if apart == 0 else _means(grid, told, known)
        estimates = _means(grid, told, wide), found.mean(axis=0), oracle
        return [*(_error(each, truth) for each in estimates), *covered.tolist()]


def _means(grid: FloatArray, told: FloatArray, prior: FloatArray) -> FloatArray:
    """The posterior means (groups, 2) on the grid (2, k), given log-likelihoods (k, groups) and a log prior (k,)."""
    logs = told + prior[:, None]
    weights = np.exp(logs - logs.max(axis=0))
    return np.asarray((grid @ weights / weights.sum(axis=0)).T)


def _error(estimate: FloatArray, truth: FloatArray) -> float:
    return float((((estimate - truth) / [_SIGMA, 1.0]) ** 2).sum(axis=1).mean())


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
