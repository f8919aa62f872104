"""Shares of categories in groups that borrow from each other, beside each group alone.

    python -m benchmarks.category_groups [SEEDS]

Of 8 categories, whose shares in all groups together are in proportion to 1, 1/2, 1/3, …; a group's logarithms of shares
are apart from these by normal numbers with the standard deviation `apart`. Each group is asked at ε = 1 as a collection
asks it. Errors are root mean squares of the sums over categories, over groups and seeds; coverage is that of the 90%
intervals of all shares. `alone` has the same answers, and the posterior of a collection of that group.
"""

import sys
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from dither_client import Query
from dither_estimator.categorical.posterior import estimate_shares
from dither_estimator.families import FloatArray
from dither_estimator.learning.description import CategoryShares
from dither_estimator.learning.grouped_learner import GroupedLearner
from dither_estimator.likelihood.counts import Counts
from dither_estimator.mechanisms.channels import channel_of
from dither_estimator.specification.specification import Specification
from testing.tables import print_table

__all__ = ["main"]

_SEEDS = 12
_CATEGORIES = 8
_GROUPS, _PEOPLE, _APART = (4, 20), (100, 400), (0.0, 0.3, 1.0)
_DRAWS = 1_000
_COLUMNS = ("groups", "people in each", "apart", "error", "alone", "coverage", "alone")


def main(arguments: Sequence[str]) -> None:
    """Prints the table; the argument is the number of seeds."""
    seeds = int(arguments[0]) if arguments else _SEEDS
    print_table(f"Categories in groups: ε = 1, {seeds} seeds", _COLUMNS, _rows(seeds))


def _rows(seeds: int) -> Iterator[tuple[object, ...]]:
    for groups, people, apart in product(_GROUPS, _PEOPLE, _APART):
        runs = Parallel(n_jobs=-1)(delayed(_run)(groups, people, apart, seed) for seed in range(seeds))
        (error, covered), (alone, covered_alone) = np.mean(runs, axis=0)
        yield groups, people, apart, f"{error**0.5:.3f}", f"{alone**0.5:.3f}", f"{covered:.0%}", f"{covered_alone:.0%}"


def _run(groups: int, people: int, apart: float, seed: int) -> list[tuple[float, float]]:
    """The squared error and the coverage, of groups that borrow and of each alone."""
    rng, labels = np.random.default_rng([seed, 90]), [str(number) for number in range(groups)]
    spec = Specification.from_json(
        {
            "family": "categorical",
            "categories": [*"abcdefgh"],
            "epsilon": 1,
            "groups": {"name": "g", "labels": labels},
            "particles": _DRAWS,
        }
    )
    logs = -np.log(np.arange(1, _CATEGORIES + 1)) + apart * rng.standard_normal((groups, _CATEGORIES))
    truth = np.exp(logs) / np.exp(logs).sum(axis=1, keepdims=True)
    with threadpool_limits(1):
        learner = GroupedLearner(spec, seed)
        for label, shares in zip(labels, truth, strict=True):
            while learner.answers_of(label) < people:
                pool = learner.pool(group=label)
                asked = min(people - learner.answers_of(label), max(learner.answers_of(label), len(pool)))
                learner.learn_group_counts({label: _answers(rng, pool, shares, asked)})
        found = learner.posterior().groups
        assert found is not None
        together = [group.population for group in found().by_label.values()]
        alone = [estimate_shares(rng, table, _CATEGORIES, _DRAWS) for table in learner.group_counts.values()]
    return [
        _compared([part.shares for part in together if isinstance(part, CategoryShares)], truth),
        _compared(alone, truth),
    ]


def _answers(rng: np.random.Generator, pool: Sequence[Query], shares: FloatArray, asked: int) -> Counts:
    table: dict[Query, npt.NDArray[np.int64]] = {}
    for turn, query in enumerate(pool):
        number = len(range(turn, asked, len(pool)))
        row = rng.multinomial(number, shares @ channel_of(query).matrix)
        table[query] = table[query] + row if query in table else row
    return {query: row for query, row in table.items() if row.any()}


def _compared(draws: Sequence[FloatArray], truth: FloatArray) -> tuple[float, float]:
    means = np.array([part.mean(axis=0) for part in draws])
    low, high = np.quantile(np.array(draws), [0.05, 0.95], axis=1)
    return float(((means - truth) ** 2).sum(axis=1).mean()), float(((low <= truth) & (truth <= high)).mean())


if __name__ == "__main__":
    main(sys.argv[1:])
