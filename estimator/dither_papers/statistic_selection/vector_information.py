"""Algorithms 1, 2 and 3 for p parameters, d statistics and any noise: the information matrix of what is released.

They differ in what is latent: the average of the statistics, about normal (1); everyone's value (2); the one value of a
sequential release (3). In each the score of a release is the latent variables' score, averaged over draws from the
population that are weighted by the density of the release (Fisher's identity).
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from dither_estimator.families import FloatArray
from dither_papers.statistic_selection.noise import Noise

__all__ = [
    "DrawVectorLatents",
    "VectorLatents",
    "VectorMoments",
    "average_latents",
    "best_statistic",
    "information_matrix",
    "value_latents",
]


class VectorLatents(NamedTuple):
    """R draws of latent variables from the population at one θ."""

    location: FloatArray
    """The location of the release, shape (R, d)."""
    scale: FloatArray
    """The scale of its noise, shape (R,)."""
    score: FloatArray
    """`∂ log p(latent | θ) / ∂θ`, shape (R, p)."""


DrawVectorLatents = Callable[[np.random.Generator, int], VectorLatents]


class VectorMoments(NamedTuple):
    """Moments of the statistics `s(X)` at one θ, the arguments of `information.normal_information`."""

    mean: FloatArray
    """Shape (d,)."""
    covariance: FloatArray
    """Shape (d, d)."""
    mean_slopes: FloatArray
    """Shape (p, d)."""
    covariance_slopes: FloatArray
    """Shape (p, d, d)."""

    def of_average(self, size: int) -> "VectorMoments":
        """The moments of the average over `size` values, (8)."""
        return self._replace(covariance=self.covariance / size, covariance_slopes=self.covariance_slopes / size)


def information_matrix(
    rng: np.random.Generator, draw: DrawVectorLatents, noise: Noise, outer: int, inner: int
) -> FloatArray:
    """The information in a release about θ, shape (p, p); `outer` and `inner` are the paper's N and M.

    Biased upwards by about the variance of the estimated scores, of order `1 / inner`.
    """
    given = draw(rng, outer)
    released = given.location + given.scale[:, None] * noise.sample(rng, given.location.shape)
    scores = np.empty_like(given.score)
    for i, y in enumerate(released):
        latents = draw(rng, inner)
        logs = noise.log_density(y, latents.location, latents.scale)
        weights = np.exp(logs - logs.max())
        scores[i] = weights @ latents.score / weights.sum()
    return np.asarray(scores.T @ scores / outer)


def average_latents(moments: VectorMoments, size: int, scale: float) -> DrawVectorLatents:
    """Algorithm 1: the average of the statistics over `size` values, about normal (11), is latent."""
    average = moments.of_average(size)
    root, inverse = np.linalg.cholesky(average.covariance), np.linalg.inv(average.covariance)
    scaled = inverse @ average.covariance_slopes @ inverse
    traces = np.einsum("ab,iba->i", inverse, average.covariance_slopes)

    def draw(rng: np.random.Generator, count: int) -> VectorLatents:
        z = rng.standard_normal((count, len(root))) @ root.T
        score = z @ inverse @ average.mean_slopes.T + 0.5 * (np.einsum("ra,iab,rb->ri", z, scaled, z) - traces)
        return VectorLatents(average.mean + z, np.full(count, scale), score)

    return draw


def value_latents(
    values: Callable[[np.random.Generator, int, int], FloatArray],
    score: Callable[[FloatArray], FloatArray],
    released: Callable[[FloatArray], tuple[FloatArray, FloatArray]],
    size: int,
) -> DrawVectorLatents:
    """Algorithm 2: everyone's value is latent; with a `size` of 1 Algorithm 3, whose information counts n times.

    `values` draws R samples (R, size), `score` has `∂ log p(x | θ) / ∂θ`, shape (R, size, p), and `released` the
    location (R, d) and scale (R,) of what is released about each sample.
    """

    def draw(rng: np.random.Generator, count: int) -> VectorLatents:
        x = values(rng, count, size)
        return VectorLatents(*released(x), score(x).sum(axis=1))

    return draw


def best_statistic(
    candidates: Mapping[str, Callable[[FloatArray], FloatArray]],
    theta: FloatArray,
    score: Callable[[FloatArray], float],
) -> tuple[str, dict[str, float]]:
    """The statistic with the largest mean score of its information over `theta` (R, p), and the mean scores of all.

    `theta` are draws of the prior, or, as the paper suggests where none is best at every θ, of the posterior given a
    first chunk of the data, which then is the prior of the rest.
    """
    found = {name: float(np.mean([score(matrix(at)) for at in theta])) for name, matrix in candidates.items()}
    return max(found, key=lambda name: found[name]), found
