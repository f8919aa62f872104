"""Fisher information by Monte Carlo: Algorithms 2 and 3, which differ only in their latent variables.

Given a latent variable, `Y` is Laplace around a location with a scale. The score of `Y` is the average of the latent
variable's score over draws from the population, weighted by `p(y | latent)` (Fisher's identity, section 3.2). The mean
of its square over draws of `Y` is biased upwards by about the variance of that average, of order `1 / inner`.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dither_estimator.families import FloatArray

__all__ = ["Latents", "monte_carlo_information", "sample_latents", "single_latents"]


class Latents(NamedTuple):
    """Draws of latent variables from the population at one θ; each field has shape (size,)."""

    location: FloatArray
    scale: FloatArray
    score: FloatArray
    """`∂ log p(latent | θ) / ∂θ`."""


DrawLatents = Callable[[np.random.Generator, int], Latents]


def monte_carlo_information(rng: np.random.Generator, draw: DrawLatents, outer: int, inner: int) -> float:
    """The information in `Y` about θ. `outer` and `inner` are the paper's N and M."""
    given = draw(rng, outer)
    released = given.location + given.scale * rng.laplace(size=outer)
    total = 0.0
    for y in released:
        latents = draw(rng, inner)
        logs = -np.abs(y - latents.location) / latents.scale - np.log(latents.scale)
        weights = np.exp(logs - logs.max())
        total += float((weights @ latents.score) / weights.sum()) ** 2
    return total / outer


def sample_latents(
    theta: float, size: int, statistic: Callable[[FloatArray], tuple[FloatArray, FloatArray]], bound: float
) -> DrawLatents:
    """Algorithm 2: the whole sample of N(0, θ) is latent; `statistic` gives location and scale for sorted `|X|`."""

    def draw(rng: np.random.Generator, count: int) -> Latents:
        x = np.abs(rng.standard_normal((count, size))) * np.sqrt(theta)
        score = ((x**2).sum(axis=1) / theta - size) / (2 * theta)
        x.sort(axis=1)
        return Latents(*statistic(np.minimum(x, bound)), score)

    return draw


def single_latents(power: float, theta: float, scale: float) -> DrawLatents:
    """Algorithm 3: one `X` of N(0, θ) is latent, `Y` is noisy `|X|^power`; n of them have n times the information."""

    def draw(rng: np.random.Generator, count: int) -> Latents:
        x = np.abs(rng.standard_normal(count)) * np.sqrt(theta)
        return Latents(x**power, np.full(count, scale), (x**2 / theta - 1) / (2 * theta))

    return draw
