"""One private estimate of a share θ in [0, 1] with a Beta prior: UBaPP for a count, without a grid or a solver.

A curator knows how many of `people` have a property. By `geometric`, no ε-private estimator has a smaller mean squared
error than the posterior mean of θ given the count with two-sided geometric noise, clipped to `0..people`. The noise is
drawn in integers from the operating system's generator, so the release is exactly ε-private; everything after it reads
the noisy count alone and costs no more.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.special import betaln, gammaln

from dither_client.mechanisms.epsilon import wire_epsilon
from dither_client.mechanisms.sampling import RandBelow, discrete_laplace, system_randbelow
from dither_estimator.families import FloatArray
from dither_papers.bayes_point.problem import InvalidProblem

__all__ = ["MOST_PEOPLE", "ShareRelease", "release_share", "share_given"]

MOST_PEOPLE = 10_000_000
"""The most people, for whom a release takes about a second."""


@dataclass(frozen=True)
class ShareRelease:
    """An estimate of a share, and the ε that it costs everyone in the data, which the curator must charge."""

    estimate: float = field(repr=False)
    """The posterior mean of θ."""
    sd: float = field(repr=False)
    """The posterior standard deviation of θ, the sampling of the people included."""
    noisy_count: int = field(repr=False)
    """What was released; the estimate and its standard deviation follow from it."""
    epsilon: Fraction


def release_share(
    count: int,
    people: int,
    epsilon: Any,
    prior: tuple[float, float] = (1.0, 1.0),
    randbelow: RandBelow = system_randbelow,
) -> ShareRelease:
    """Release the share of which `count` of `people` are a sample; each call spends `epsilon` again.

    Data sets are neighbours if they differ in one person's value; how many people there are is public. `epsilon` is a
    decimal of at most six places and `prior` the two parameters of a Beta distribution. Raises `InvalidEpsilon`, and
    `InvalidProblem` without the count.
    """
    asked = wire_epsilon(epsilon)
    if not 1 <= people <= MOST_PEOPLE:
        raise InvalidProblem(f"people must be a whole number from 1 to {MOST_PEOPLE:,}")
    if not 0 <= count <= people:
        raise InvalidProblem("the count must be a whole number from 0 to the number of people")
    if not all(0 < parameter <= MOST_PEOPLE for parameter in prior):
        raise InvalidProblem(f"the prior's two parameters must be above 0 and at most {MOST_PEOPLE:,}")
    noise = discrete_laplace(asked.numerator, asked.denominator, randbelow)
    noisy = min(max(int(count) + noise, 0), people)
    estimate, sd = share_given(noisy, people, float(asked), prior)
    return ShareRelease(estimate, sd, noisy, asked)


def share_given(noisy: int, people: int, epsilon: float, prior: tuple[float, float]) -> tuple[float, float]:
    """The posterior mean and standard deviation of θ given the clipped noisy count, by the sum over all counts."""
    a, b = prior
    counts = np.arange(people + 1, dtype=np.float64)
    # The clipped end has all noise beyond it; as a function of the count that is e^(-ε |count - end|) there, too.
    logs = _log_prior(counts, people, a, b) - epsilon * np.abs(counts - noisy)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    means = (a + counts) / (a + b + people)
    mean = float(weights @ means)
    within = means * (1 - means) / (a + b + people + 1)
    return mean, float(np.sqrt(weights @ (within + (means - mean) ** 2)))


def _log_prior(counts: FloatArray, people: int, a: float, b: float) -> FloatArray:
    """The log of the beta-binomial probabilities of counts, up to a constant."""
    ways = -gammaln(counts + 1) - gammaln(people - counts + 1)
    return np.asarray(ways + betaln(counts + a, people - counts + b))
