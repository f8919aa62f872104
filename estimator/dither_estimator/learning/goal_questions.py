"""Questions for a goal about a distribution without a family: some about its numbers, the others about all of it.

What is known of one quantile or share grows fastest with thresholds at it. Thresholds alone, though, never show what
the distribution is like around them: two groups with a gap at the median would be taken for one. So a part of the
questions always cuts the whole population into cells.
"""

import math
from collections.abc import Sequence

import numpy as np

from dither_client import Query
from dither_estimator.design.goal import Goal
from dither_estimator.families import FloatArray
from dither_estimator.likelihood.counts import Counts
from dither_estimator.nonparametric.base import FittedBase
from dither_estimator.nonparametric.distribution import Distribution
from dither_estimator.nonparametric.questions import Templates, whole_questions

__all__ = ["goal_questions"]

_WHOLE_SHARE = 0.25
"""The share of questions that cut the whole population into cells; those about the goal's numbers are the others.

At n = 20,000 and ε = 1 the 90% bands of the median of .5 N(35, 5²) + .5 N(65, 5²) hold it in 57% of 30 runs with none,
and in 78, 93 and 88% of 60 with 0.12, 0.25 and 0.4; the sd of the median of N(50, 10²) is 0.33 for the goal
distribution, and then 0.215, 0.23 and 0.24.
"""
_MIN_SHIFTS = 8
_SLOPE_STEP = 0.05


def goal_questions(
    rng: np.random.Generator,
    distribution: Distribution,
    goal: Goal,
    templates: Templates,
    cells: int | None,
    size: int,
    counts: Counts,
) -> list[Query]:
    """`size` queries at the templates' ε, to be asked equally often; the other arguments are `whole_questions`'.

    As long as the place of the population is sought, and for the goal to learn all of it, they are about all of it.
    """
    first = int(rng.integers(1 << 20))
    numbers = _numbers(distribution, goal)
    total = float(numbers.sum()) + math.sqrt(goal.distribution)
    if not len(numbers) or not isinstance(distribution.base, FittedBase):
        return whole_questions(distribution, templates, cells, size, counts, first)
    whole = _WHOLE_SHARE + (1 - _WHOLE_SHARE) * math.sqrt(goal.distribution) / total
    about_all = _rounded(rng, np.array([whole, 1 - whole]), size)[0]
    turns = _rounded(rng, numbers / numbers.sum(), size - about_all)
    cuts = _cuts(rng, distribution, goal, turns)
    queries = [templates.threshold.with_edges((cut,), "identity") for cut in cuts]
    if about_all:
        cutting = whole_questions(distribution, templates, cells, max(about_all, _MIN_SHIFTS), counts, first)
        queries += [cutting[i] for i in rng.choice(len(cutting), about_all, replace=False)]
    return [queries[i] for i in rng.permutation(size)]


def _numbers(distribution: Distribution, goal: Goal) -> FloatArray:
    """How often to ask about each quantile, then about each share, up to a common factor; shape (k,).

    Variances `v / n` with weights `w` have the least sum if each `n` is proportional to `√(w v)`.
    """
    weights = np.array([weight for _, weight in (*goal.quantiles, *goal.above)])
    if not goal.quantiles or goal.of_shares:
        return np.sqrt(weights)
    levels = np.array(goal.levels)
    step = _SLOPE_STEP * np.minimum(levels, 1 - levels)
    low, high = distribution.mean.quantile(np.concatenate([levels - step, levels + step])).values.reshape(2, -1)
    widths = (high - low) / step
    return np.sqrt(weights) * (widths / widths.max() if widths.max() > 0 else 1.0)


def _cuts(rng: np.random.Generator, distribution: Distribution, goal: Goal, turns: Sequence[int]) -> list[float]:
    """Draws the cuts to ask about: for each quantile and share as many as `turns` says.

    A quantile is cut where it may lie, by the posterior; around it where it is at an atom, or a rounded value.
    """
    support, cuts = distribution.support, []
    quantiles = distribution.quantile(np.array(goal.levels)).values if goal.quantiles else np.empty((1, 0))
    for draws, number in zip(quantiles.T, turns, strict=False):
        places = (np.arange(number) + rng.random(number)) / max(number, 1)
        for cut in np.quantile(draws, places, method="nearest").tolist():
            stepped = cut in support.points or support.decimals is not None
            around = support.around(cut) if stepped else (cut,)
            cuts.append(around[rng.integers(len(around))])
    for value, number in zip(goal.values, turns[len(goal.quantiles) :], strict=True):
        cuts += [value] * number
    return list(support.inside(np.array(cuts)))


def _rounded(rng: np.random.Generator, shares: FloatArray, total: int) -> list[int]:
    """Whole numbers with this total whose expectations are `total` times the shares: a systematic sample."""
    ends = np.floor(np.append(0.0, np.cumsum(shares)) * total + rng.random() * (1 - 1e-9))
    ends[-1] = ends[0] + total
    return np.diff(ends).astype(int).tolist()
