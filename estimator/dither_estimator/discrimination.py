"""Questions that tell families apart.

Two thresholds fit any family of two parameters, so the questions that are best for θ say little about which family
holds. A discriminating question is the one that says most of that, families weighted equally: the largest
`Σ_f Σ_s cov(p_s, 1[family = f])² / p̄_s` over the mixture of families and of their posteriors, the expected reduction of
the variances of the families' indicators. Asked again and again it makes the sequential T-optimal design of Atkinson &
Fedorov 1975, *The design of experiments for discriminating between two rival models*.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np
from scipy.special import ndtr

from dither_client import InvalidQuery, Laplace, Query, RandomizedResponse, Transform
from dither_estimator.channels import group_queries
from dither_estimator.design import Mechanism
from dither_estimator.families import Family, FloatArray
from dither_estimator.lattice import threshold
from dither_estimator.particles import ParticleSystem, systematic_resample

__all__ = ["candidate_cuts", "candidates", "discriminating_power", "most_discriminating", "number_discriminating"]

_SUBSAMPLE = 400
"""Particles of each family that judge the candidates."""
_LEVELS = ndtr(np.linspace(-3.0, 3.0, 21))
"""Candidates lie at these quantiles."""
_MEMBERS = 8
"""Of so many particles of each family."""
_MOST_ENDS = 24
_EDGES = 1_000
"""Fewer ends of intervals do where each question has many cells, so that there are about so many edges in all."""
_FAR = 2.0**50
"""Farther out than so many steps, floating point has no lattice."""


def number_discriminating(rng: np.random.Generator, share: float, size: int) -> int:
    """How many of a pool of `size` questions are to discriminate: `share · size` on average, a coin for the rest."""
    return math.floor(share * size + rng.random()) if share > 0 else 0


def most_discriminating(
    rng: np.random.Generator,
    systems: Sequence[ParticleSystem],
    mechanism: Mechanism,
    levels: int | None,
    epsilon: Fraction,
    transform: Transform,
) -> Query | None:
    """The question at ε that tells the families of `systems` best apart, on the first one's scale and lattice.

    None where there is no question of so many `levels` that would.
    """
    families = [system.prior.family for system in systems]
    members = [
        system.theta[rng.permutation(systematic_resample(rng, system.weights, min(_SUBSAMPLE, len(system.weights))))]
        for system in systems
    ]
    asked = candidates(candidate_cuts(families, members), mechanism, levels, epsilon, transform)
    return asked[int(np.argmax(discriminating_power(families, members, asked)))] if asked else None


def discriminating_power(
    families: Sequence[Family], members: Sequence[FloatArray], queries: Sequence[Query]
) -> FloatArray:
    """The score of each query, shape (q,), for equally weighted draws (n, d) of each family's posterior.

    With equal weights, `cov(p_s, 1[family = f]) = (p̄_fs - p̄_s) / F` for F families, `p̄_fs` the mean over family f.
    """
    power = np.empty(len(queries))
    for group in group_queries(queries):
        shares = [group.probabilities(*pair).mean(axis=0) for pair in zip(families, members, strict=True)]
        by_family = np.stack(shares)
        mean = by_family.mean(axis=0)
        covariances = (by_family - mean) / len(families)
        power[list(group.indices)] = (covariances**2 / mean).sum(axis=(0, 1))
    return power


def candidate_cuts(families: Sequence[Family], members: Sequence[FloatArray]) -> list[float]:
    """Points of the lattice, increasing, over the whole range in which any of the families expects values.

    The first family's spread sets the lattice's step; if its values are whole numbers, cuts lie halfway between them.
    """
    low, high = np.median(families[0].quantiles(members[0], ndtr(np.array([-1.0, 1.0]))), axis=0).tolist()
    step = 2.0 ** round(math.log2((high - low) / 20)) if 0 < high - low < np.inf else 2.0**-20
    cuts = set()
    for family, draws in zip(families, members, strict=True):
        points = family.quantiles(draws[:_MEMBERS], _LEVELS).ravel()
        cuts |= {_rounded(x, step, families[0].discrete) for x in points[np.abs(points) < _FAR * step].tolist()}
    return sorted(cuts)


def candidates(
    cuts: Sequence[float], mechanism: Mechanism, levels: int | None, epsilon: Fraction, transform: Transform
) -> list[Query]:
    """Questions whose edges are among `cuts` or, for `laplace`, spread over them; only of so many `levels` if given."""
    found: dict[Query, None] = {}
    for size in (levels,) if levels is not None else _sizes(mechanism, epsilon):
        for edges in _edges(cuts, size):
            try:
                found[_query(edges, size, mechanism, epsilon, transform)] = None
            except InvalidQuery:  # too narrow for floating point, or too few cuts for so many cells
                continue
    return list(found)


def _sizes(mechanism: Mechanism, epsilon: Fraction) -> tuple[int, ...]:
    """Levels, or cells less one, that may be the best: more than two cells need less noise than low ε has."""
    if mechanism == "laplace":
        return (1,) if epsilon < 3 else (1, 2, 4)
    return (1, 2) if epsilon < 3 else (1, 2, 4, 8)


def _edges(cuts: Sequence[float], size: int) -> list[list[float]]:
    """`size` edges from every cut, or between the ends of every interval of some of the cuts."""
    if size == 1:
        return [[cut] for cut in cuts]
    most = min(_MOST_ENDS, max(4, math.isqrt(2 * _EDGES // size)), len(cuts))
    ends = np.linspace(0, len(cuts) - 1, most).round().astype(int).tolist()
    return [
        [cuts[i] for i in np.linspace(start, end, size).round().astype(int).tolist()]
        for start, end in combinations(ends, 2)
    ]


def _query(edges: Sequence[float], size: int, mechanism: Mechanism, epsilon: Fraction, transform: Transform) -> Query:
    if mechanism == "randomized_response":
        return RandomizedResponse(edges, epsilon, transform)
    if size == 1:
        return threshold(edges[0], epsilon, transform)
    # A power of two, so that every edge is dyadic.
    rung = 2.0 ** round(math.log2((edges[-1] - edges[0]) / (size - 1)))
    low = edges[0] - rung / 2
    return Laplace(low, low + rung * size, size, epsilon, transform)


def _rounded(value: float, step: float, discrete: bool) -> float:
    if discrete:
        return math.floor(value) + 0.5
    if 0 < abs(value) < 8 * step:
        step = 2.0 ** (math.frexp(value)[1] - 4)
    return round(value / step) * step
