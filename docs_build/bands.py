"""`python -m docs_build.bands` writes docs/pictures/bands.json, what a picture in docs/how-it-works.md draws.

Three simulated populations answer a collection each, without a family. The answers are seeded, and many have the fewer
ones among them. Questions cut the population into cells at quantiles of what is known so far.
"""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from dither_client import Query, RandomizedResponse
from dither_estimator.checks.averaging import average_distribution
from dither_estimator.families import FloatArray
from dither_estimator.likelihood.counts import Counts, merge_counts
from dither_estimator.nonparametric.distribution import Draws
from dither_estimator.nonparametric.known import KnownPopulation
from dither_estimator.nonparametric.posterior import estimate_mean
from dither_estimator.nonparametric.support import Support

__all__ = ["FILE", "POPULATIONS", "curves"]

FILE = Path(__file__).parent.parent / "docs" / "pictures" / "bands.json"

_SEED = 1
_EPSILON = Fraction(1)
_ANSWERS = (0, 30, 100, 300, 1_000, 3_000, 10_000, 30_000)
_AROUND = (0.0, 100.0)
_X = np.linspace(*_AROUND, 51)
_CELLS = 5
_SHIFTS = 8
_GROWTH = 1 / 3
"""Questions are chosen again whenever the answers have grown by this share."""
_DRAWS = 1_000
_SHOWN_DRAWS = 5

POPULATIONS = {
    "one group": KnownPopulation(stats.norm(50, 10).cdf, _X),
    "two groups": KnownPopulation(lambda x: (stats.norm.cdf(x, 35, 5) + stats.norm.cdf(x, 65, 5)) / 2, _X),
    "zeros": KnownPopulation(
        lambda x: 0.3 * (x >= 0) + 0.7 * stats.lognorm.cdf(x, 0.6, scale=30), _X, Support(minimum=0.0, atoms=(0.0,))
    ),
}
"""N(50, 10²); half N(35, 5²), half N(65, 5²); 30% zeros, and a lognormal with median 30 and σ = 0.6."""


def curves() -> dict[str, Any]:
    """Thousandths of the population at or below each x: the truth, and what is known after so many answers."""
    return {
        "epsilon": float(_EPSILON),
        "answers": list(_ANSWERS),
        "x": _X.astype(int).tolist(),
        "populations": [
            {"name": name, "truth": _thousandths(population.cdf(_X)), "stages": _stages(population)}
            for name, population in POPULATIONS.items()
        ],
    }


def _stages(population: KnownPopulation) -> list[dict[str, Any]]:
    rng, counts, at, found = np.random.default_rng(_SEED), dict[Query, Any](), 0, []
    for stage in _ANSWERS:
        while at < stage:
            size = min(stage - at, max(_SHIFTS, int(at * _GROWTH)))
            counts = merge_counts(counts, _answers(rng, counts, population, size))
            at += size
        chains = np.random.default_rng(_SEED)
        posterior, _ = average_distribution(chains, counts, population.support, _DRAWS, _AROUND)
        found.append(_stage(posterior.cdf(_X)))
    return found


def _stage(shares: Draws) -> dict[str, Any]:
    low, high = shares.interval(0.9)
    few = shares.values[:: _DRAWS // _SHOWN_DRAWS]
    bands = {"mean": shares.mean, "low": low, "high": high}
    return {name: _thousandths(line) for name, line in bands.items()} | {"draws": [_thousandths(draw) for draw in few]}


def _answers(rng: np.random.Generator, counts: Counts, population: KnownPopulation, size: int) -> Counts:
    """The answers of so many people, the questions in turn."""
    table: Counts = {}
    for turn, query in enumerate(_questions(counts, population.support)):
        people = len(range(turn, size, _SHIFTS))
        table = merge_counts(table, {query: rng.multinomial(people, population.chances(query))})
    return {query: row for query, row in table.items() if row.any()}


def _questions(counts: Counts, support: Support) -> list[Query]:
    """Randomised response over cells between quantiles; one that falls onto an atom cuts just above it."""
    known, found = estimate_mean(counts, support, _AROUND), list[Query]()
    for shift in range(_SHIFTS):
        levels = (np.arange(_CELLS - 1) + (shift + 0.5) / _SHIFTS) / (_CELLS - 1)
        cuts = np.unique(known.quantile(levels).values[0].round(1))
        found.append(RandomizedResponse(tuple(cuts.tolist()), _EPSILON))
    return found


def _thousandths(shares: FloatArray) -> list[int]:
    return [round(1000 * share) for share in shares.tolist()]


if __name__ == "__main__":
    FILE.write_text(json.dumps(curves(), separators=(",", ":")) + "\n", encoding="utf-8")
