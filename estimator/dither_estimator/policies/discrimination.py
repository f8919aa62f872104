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

import numpy as np
from scipy.special import ndtr

from dither_client import InvalidQuery, Query, Transform
from dither_estimator.design.mechanism import MechanismDesign
from dither_estimator.design.registry import MECHANISMS, Mechanism
from dither_estimator.families import Family, FloatArray
from dither_estimator.mechanisms.channels import Channel, channel_of
from dither_estimator.mechanisms.lattice import (
    BITS_OF_WIDE,
    rebuilt,
    rounded,
    with_bits,
    with_fewer_levels,
    with_levels_of,
)
from dither_estimator.particles.system import ParticleSystem, systematic_resample

__all__ = [
    "candidate_cuts",
    "candidate_edges",
    "discriminating_power",
    "most_discriminating",
    "number_discriminating",
]

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
    rho: Fraction | None = None,
) -> Query | None:
    """The question that tells the families of `systems` best apart, on the first one's scale and lattice.

    It is at ε, or if that is given at ρ. None where there is no question of so many `levels`
    that would.
    """
    families = [system.prior.family for system in systems]
    members = [
        system.theta[rng.permutation(systematic_resample(rng, system.weights, min(_SUBSAMPLE, len(system.weights))))]
        for system in systems
    ]
    cuts = candidate_cuts(families, members)
    kind, best, most = MECHANISMS[mechanism], None, 0.0
    for size in (levels,) if levels is not None else kind.sizes(epsilon):
        question = kind.question(size, epsilon, rho)
        judged = with_fewer_levels(question)
        edges = candidate_edges(cuts, kind, judged.n_cells - 1)
        query = _first(edges, judged, transform)
        if query is None:
            continue
        points, places = np.unique(edges, return_inverse=True)
        below = np.stack(
            [family.cdf(theta, points).mean(axis=0) for family, theta in zip(families, members, strict=True)]
        )
        power = discriminating_power(below[:, places.reshape(edges.shape).T], channel_of(query))
        place = int(np.argmax(power))
        if power[place] > most:
            found, most = _first(edges[place:], judged, transform), float(power[place])
            best = None if found is None else with_levels_of(question, found)
    return best


def discriminating_power(below: FloatArray, channel: Channel) -> FloatArray:
    """The score of each of q questions that share a channel, shape (q,).

    `below`: the mean over each family's posterior of its CDF at the edges, shape (families, edges, q). With equal
    weights, `cov(p_s, 1[family = f]) = (p̄_fs - p̄_s) / F` for F families, `p̄_fs` the mean over family f.
    """
    by_family = channel.probabilities(below)
    mean = by_family.mean(axis=0)
    covariances = (by_family - mean) / len(below)
    power: FloatArray = (covariances**2 / mean).sum(axis=(0, 1))
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
        points = points[np.abs(points) < _FAR * step]
        cuts |= set((np.floor(points) + 0.5 if families[0].discrete else rounded(points, np.array(step))).tolist())
    return sorted(cuts)


def candidate_edges(cuts: Sequence[float], kind: MechanismDesign, size: int) -> FloatArray:
    """The edges of questions of `size` edges, among `cuts` or, on intervals, spread evenly over them: (q, size)."""
    points = np.array(cuts)
    if size == 1:
        return points[:, None]
    most = min(_MOST_ENDS, max(4, math.isqrt(2 * _EDGES // size)), len(points))
    ends = np.linspace(0, len(points) - 1, most).round().astype(int)
    first, last = np.triu_indices(len(ends), 1)
    start, end = ends[first, None], ends[last, None]
    edges: FloatArray
    if not kind.on_intervals:
        edges = points[np.round(start + (end - start) * np.arange(size) / (size - 1)).astype(int)]
        return edges[(np.diff(edges, axis=1) > 0).all(axis=1)]
    rung = with_bits((points[end] - points[start]) / (size - 1), BITS_OF_WIDE)
    edges = points[start] + rung * np.arange(size)
    return edges


def _first(edges: FloatArray, question: Query, transform: Transform) -> Query | None:
    """The question of the first row that floating point can hold."""
    for row in edges.tolist():
        try:
            return rebuilt(question, row, transform)
        except InvalidQuery:
            continue
    return None
