"""A quantile by noisy binary search, each person asked once: Aamand et al., arXiv 2502.02990 (ICML 2025).

Every person says by randomised response whether their number is at most a grid point. The points are coins whose
probabilities of heads increase, and the quantile is where they pass a target: the sorted coins of Gretta and Price
(ICALP 2024), whose Bayesian screening search narrows the grid, before a plain noisy binary search asks all who are left
about few points. Written from the papers' description. Rows are independent runs.
"""

import math

import numpy as np
import numpy.typing as npt

__all__ = ["binary_search", "screening_search"]

_FEW = 13
"""How many intervals are left to the plain search."""

Places = npt.NDArray[np.int64]


def screening_search(
    rng: np.random.Generator, people: Places, points: int, level: float, epsilon: float, step: float
) -> Places:
    """The numbers of the grid points found, shape (runs,), for people (runs, n) in cells 0 to `points`.

    A person in cell i is above the points below i, and at most at the others. Weights of intervals between points are
    updated as if each coin was at least `step √(ln points / n)` from the target, after randomised response. The shares
    of people are in proportion to `ln points`, its logarithm and 1.
    """
    logs = math.log(points), math.log(math.log(points))
    first, second = (int(people.shape[1] * each / (sum(logs) + 1)) for each in logs)
    margin = step * math.sqrt(logs[0] / people.shape[1])
    found = []
    for run in people:
        grid = np.arange(points)
        kept = _screened(rng, run[:first], grid, level, epsilon, margin, 1 / logs[0] ** 2)
        rest = run[first:]
        if len(kept) > _FEW:
            grid = np.unique([0, *kept, points - 1])
            kept = _screened(rng, rest[:second], grid, level, epsilon, margin, 1 / _FEW)
            rest = rest[second:]
        found.append(_halved(rng, rest, kept, level, epsilon))
    return np.array(found)


def binary_search(rng: np.random.Generator, people: Places, points: int, level: float, epsilon: float) -> Places:
    """Estimates a quantile by a noisy binary search alone, which asks equally many people at each of its points."""
    return np.array([_halved(rng, run, np.arange(points), level, epsilon) for run in people])


def _screened(
    rng: np.random.Generator, people: Places, grid: Places, level: float, epsilon: float, margin: float, share: float
) -> Places:
    """The ends of the intervals of the grid that are quantiles, at multiples of `share`, of those visited."""
    truth = 1 / (1 + math.exp(-epsilon))
    target = level * truth + (1 - level) * (1 - truth)
    margin = min(margin, 0.9 * target, 0.9 * (1 - target))
    low, high = target - margin, target + margin
    quantile = _best_input(low, high)
    lies = rng.random(len(people)) > truth
    weights = np.full(len(grid) - 1, 1 / (len(grid) - 1))
    visited = np.empty(len(people), dtype=np.int64)
    for number, (person, lie) in enumerate(zip(people.tolist(), lies.tolist(), strict=True)):
        sums = weights.cumsum()
        interval = min(int(sums.searchsorted(quantile * sums[-1])), len(weights) - 1)
        part = (quantile * sums[-1] - sums[interval]) / weights[interval] + 1
        coin = interval + (part > 1 - quantile)
        heads = (person <= grid[coin]) != lie
        # Where the target is above the coin, heads are rare.
        weights[:coin] *= high if heads else 1 - high
        weights[coin:] *= low if heads else 1 - low
        weights /= weights.sum()
        visited[number] = interval
    levels = share * np.arange(1, math.floor(1 / share) + 1)
    kept = np.unique(np.quantile(visited, levels.clip(max=1.0), method="nearest"))
    return np.unique([grid[kept], grid[kept + 1]])


def _halved(rng: np.random.Generator, people: Places, grid: Places, level: float, epsilon: float) -> int:
    """The coin asked about whose share of heads is nearest to the target, corrected for randomised response."""
    truth = 1 / (1 + math.exp(-epsilon))
    lies = rng.random(len(people)) > truth
    rounds = max(1, math.ceil(math.log2(len(grid) + 1)))
    low, high, asked = 0, len(grid) - 1, dict[int, float]()
    for part, wrong in zip(np.array_split(people, rounds), np.array_split(lies, rounds), strict=True):
        if low > high:
            break
        middle = (low + high) // 2
        heads = ((part <= grid[middle]) != wrong).mean()
        asked[int(grid[middle])] = share = (heads - (1 - truth)) / (2 * truth - 1)
        low, high = (middle + 1, high) if share < level else (low, middle - 1)
    return min(asked, key=lambda coin: abs(asked[coin] - level))


def _best_input(low: float, high: float) -> float:
    """How likely the target should be below the coin, for an answer to tell most (the channel's capacity)."""
    entropies = [-p * math.log(p) - (1 - p) * math.log(1 - p) for p in (low, high)]
    heads = 1 / (1 + math.exp((entropies[1] - entropies[0]) / (high - low)))
    return min(max((heads - low) / (high - low), 0.01), 0.99)
