"""The Fisher information by Monte Carlo: Algorithms 1, 2 and 3, which are one, with different latent variables.

Noise of `Y` given a latent variable is Laplace around a location with a scale. The score of `Y` is the latent
variable's own score, averaged over latent draws from the population with weights `p(y | latent)` (Fisher's identity,
section 3.2). The mean of its square over draws of `Y` is too large by about the variance of that average, of order
`1 / inner`.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dither_estimator.families import FloatArray
from dither_papers.statistic_selection.powers import Power

__all__ = ["Latents", "additive_latents", "monte_carlo_information", "sample_latents", "single_latents"]


class Latents(NamedTuple):
    """Draws from the population at one θ, each field of shape (size,)."""

    location: FloatArray
    scale: FloatArray
    score: FloatArray
    """`∂ log p(latent | θ) / ∂θ`."""


DrawLatents = Callable[[np.random.Generator, int], Latents]


def monte_carlo_information(rng: np.random.Generator, draw: DrawLatents, outer: int, inner: int) -> float:
    """The information of `Y` about θ. `outer` and `inner` are the paper's N and M."""
    given = draw(rng, outer)
    released = given.location + given.scale * rng.laplace(size=outer)
    total = 0.0
    for y in released:
        latents = draw(rng, inner)
        logs = -np.abs(y - latents.location) / latents.scale - np.log(latents.scale)
        weights = np.exp(logs - logs.max())
        total += float((weights @ latents.score) / weights.sum()) ** 2
    return total / outer


def additive_latents(power: Power, theta: float, size: int, scale: float) -> DrawLatents:
    """Algorithm 1: `U = S_n(X)`, by the normal approximation (11)."""
    moments = power.moments(np.asarray(theta)).of_average(size)

    def draw(rng: np.random.Generator, count: int) -> Latents:
        u = moments.mean + np.sqrt(moments.variance) * rng.standard_normal(count)
        return Latents(u, np.full(count, scale), moments.score(u))

    return draw


def sample_latents(
    theta: float, size: int, statistic: Callable[[FloatArray], tuple[FloatArray, FloatArray]], bound: float
) -> DrawLatents:
    """Algorithm 2: the whole sample `X_1..X_n` of N(0, θ); `statistic` gives location and scale for sorted `|X|`."""

    def draw(rng: np.random.Generator, count: int) -> Latents:
        x = np.abs(rng.standard_normal((count, size))) * np.sqrt(theta)
        score = ((x**2).sum(axis=1) / theta - size) / (2 * theta)
        x.sort(axis=1)
        return Latents(*statistic(np.minimum(x, bound)), score)

    return draw


def single_latents(power: float, theta: float, scale: float) -> DrawLatents:
    """Algorithm 3: one `X` of N(0, θ) and `Y = |X|^power` with noise; n of them have n times the information."""

    def draw(rng: np.random.Generator, count: int) -> Latents:
        x = np.abs(rng.standard_normal(count)) * np.sqrt(theta)
        return Latents(x**power, np.full(count, scale), (x**2 / theta - 1) / (2 * theta))

    return draw
