"""Questions that tell families apart.

Two thresholds fit any two-parameter family, so the questions that are best for θ say little about which family holds. A
discriminating question says the most about that, with the families weighted equally. It maximises
`Σ_f Σ_s cov(p_s, 1[family = f])² / p̄_s` over the mixture of the families and their posteriors: the expected reduction
of the variances of the families' indicators. Repeated, this gives the sequential T-optimal design of Atkinson & Fedorov
1975, *The design of experiments for discriminating between two rival models*.
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
from dither_estimator.particles.system import ParticleSystem
from dither_estimator.weighted.sample import systematic_sample

__all__ = [
    "candidate_cuts",
    "candidate_edges",
    "discriminating_power",
    "most_discriminating",
    "number_discriminating",
]

_JUDGING_PARTICLES = 400
"""Particles of each family with which candidates are judged."""
_CANDIDATE_PROBABILITIES = ndtr(np.linspace(-3.0, 3.0, 21))
"""Probabilities at whose quantiles the candidates lie."""
_CANDIDATE_PARTICLES = 8
"""Particles of each family that contribute candidates."""
_MAX_INTERVAL_ENDS = 24
_MAX_EDGES = 1_000
"""The approximate number of edges over all candidates: questions with many cells have fewer intervals."""
_MAX_LATTICE_STEPS = 2.0**50
"""Cuts lie fewer than this many lattice steps from 0; beyond that floating point cannot represent the lattice."""


def number_discriminating(rng: np.random.Generator, share: float, size: int) -> int:
    """How many of `size` questions discriminate: `share · size` on average, rounded at random."""
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
    """The question that best tells the families of `systems` apart, on the first family's scale and lattice.

    It has privacy ε, or ρ if given. None if no question with this number of `levels` tells them apart.
    """
    families = [system.prior.family for system in systems]
    members = []
    for system in systems:
        size = min(_JUDGING_PARTICLES, len(system.weights))
        members.append(system.theta[rng.permutation(systematic_sample(system.weights, size, rng.random()))])
    cuts = candidate_cuts(families, members)
    kind, best, most = MECHANISMS[mechanism], None, 0.0
    for n_levels in (levels,) if levels is not None else kind.sizes(epsilon):
        question = kind.question(n_levels, epsilon, rho)
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

    `below` is each family's posterior mean of its CDF at the edges, shape (families, edges, q). With equal weights,
    `cov(p_s, 1[family = f]) = (p̄_fs - p̄_s) / F` for F families, where `p̄_fs` is the mean over family f.
    """
    by_family = channel.probabilities(below)
    mean = by_family.mean(axis=0)
    covariances = (by_family - mean) / len(below)
    return (covariances**2 / mean).sum(axis=(0, 1))


def candidate_cuts(families: Sequence[Family], members: Sequence[FloatArray]) -> list[float]:
    """Increasing lattice points over the whole range in which any of the families expects values.

    The first family's spread sets the lattice step; for a discrete first family, cuts lie halfway between integers.
    """
    low, high = np.median(families[0].quantiles(members[0], ndtr(np.array([-1.0, 1.0]))), axis=0).tolist()
    step = 2.0 ** round(math.log2((high - low) / 20)) if 0 < high - low < np.inf else 2.0**-20
    cuts = set()
    for family, draws in zip(families, members, strict=True):
        points = family.quantiles(draws[:_CANDIDATE_PARTICLES], _CANDIDATE_PROBABILITIES).ravel()
        points = points[np.abs(points) < _MAX_LATTICE_STEPS * step]
        cuts |= set((np.floor(points) + 0.5 if families[0].discrete else rounded(points, np.array(step))).tolist())
    return sorted(cuts)


def candidate_edges(cuts: Sequence[float], kind: MechanismDesign, size: int) -> FloatArray:
    """The edges of q questions, shape (q, size): some of `cuts` or, on intervals, evenly spaced between two of them."""
    points = np.array(cuts)
    if size == 1:
        return points[:, None]
    most = min(_MAX_INTERVAL_ENDS, max(4, math.isqrt(2 * _MAX_EDGES // size)), len(points))
    ends = np.linspace(0, len(points) - 1, most).round().astype(int)
    first, last = np.triu_indices(len(ends), 1)
    start, end = ends[first, None], ends[last, None]
    if not kind.on_intervals:
        edges = points[np.round(start + (end - start) * np.arange(size) / (size - 1)).astype(int)]
        return edges[(np.diff(edges, axis=1) > 0).all(axis=1)]
    rung = with_bits((points[end] - points[start]) / (size - 1), BITS_OF_WIDE)
    return points[start] + rung * np.arange(size)


def _first(edges: FloatArray, question: Query, transform: Transform) -> Query | None:
    """The question with the first row of edges that floating point can represent."""
    for row in edges.tolist():
        try:
            return rebuilt(question, row, transform)
        except InvalidQuery:
            continue
    return None
