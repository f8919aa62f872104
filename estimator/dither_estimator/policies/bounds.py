"""Questions about values that people may have: an answer at cuts beyond the public bounds tells nothing of anybody."""

import math
from collections.abc import Sequence

import numpy as np

from dither_estimator.particles.system import ParticleSystem
from dither_estimator.policies.transport import Offers
from dither_estimator.specification.specification import Specification

__all__ = ["between_bounds"]

_LEAST_INSIDE = 0.5
"""The probability that the median lies between the bounds from which on questions beyond them are left out. Before,
they are what refutes the members beyond: those with a large enough scale can explain any answer at one cut between."""


def between_bounds(spec: Specification, particles: ParticleSystem, offered: Sequence[Offers]) -> list[Offers]:
    """The questions with a cut between two public bounds; all of them if most medians lie beyond."""
    low, high = spec.support.bounds(spec.transform)
    if math.isinf(high - low):
        return list(offered)
    tells = [((low < some.edges) & (some.edges < high)).any(axis=0) for some in offered]
    if all(each.all() for each in tells):
        return list(offered)
    below, up_to = spec.family.cdf(particles.theta, np.array([np.nextafter(low, -np.inf), high])).T
    if particles.weights @ ((below < 0.5) & (up_to >= 0.5)) < _LEAST_INSIDE:  # the median is not between
        return list(offered)
    inside = [some.taking(np.flatnonzero(each)) for some, each in zip(offered, tells, strict=True) if each.any()]
    return inside or list(offered)
