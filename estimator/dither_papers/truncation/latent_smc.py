"""Algorithm 2: sequential Monte Carlo for θ and all latent values, (5), with rejuvenation by Algorithm 4.

A particle consists of μ, σ and a value for each respondent so far. Every answer costs a resampling and one update of
every value of every particle: O(N n²) for n answers. Particles are processed in blocks that fit a processor's cache.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from dither_estimator.families import FloatArray
from dither_papers.truncation.clipped import Answers, Interval
from dither_papers.truncation.prior import NormalPrior

__all__ = ["Degenerate", "LatentParticles", "Rejuvenation", "init", "log_target", "rejuvenate", "step"]

_BLOCK_SIZE = 1 << 15
"""The number of latent values in a block."""
_WALK_SCALE = 2.4 / np.sqrt(2.0)
"""Scale of the random walk on θ, in standard deviations of its conditional."""


class Degenerate(FloatingPointError):
    """No particle can explain an answer."""


@dataclass(frozen=True)
class Rejuvenation:
    """The MCMC move of Algorithm 2: a Metropolis-Hastings update of the latent values, then one of θ.

    With `theta="gibbs"`, μ and then σ are drawn from their conditionals, which section 3.1 suggests if they are
    tractable; `"metropolis"` is Algorithm 4 as printed, with a random walk on (μ, log σ). `subset` is the number of
    randomly chosen values of each particle that are updated, the paper's way to save time; None for all.
    """

    theta: Literal["gibbs", "metropolis"] = "gibbs"
    subset: int | None = None


@dataclass(frozen=True, eq=False)
class LatentParticles:
    """Weighted particles `(θ, x_{1:t})` that represent (5)."""

    mu: FloatArray
    """μ of each particle, shape (n,)."""
    sigma: FloatArray
    """σ of each particle, shape (n,)."""
    latents: FloatArray
    """The latent values of each particle, shape (n, t)."""
    log_weights: FloatArray
    """Normalised log-weights, shape (n,)."""
    answers: Answers

    @property
    def theta(self) -> FloatArray:
        """(μ, σ), shape (n, 2)."""
        return np.column_stack([self.mu, self.sigma])

    @property
    def weights(self) -> FloatArray:
        """Normalised weights, shape (n,)."""
        return np.exp(self.log_weights)


def init(rng: np.random.Generator, prior: NormalPrior, n_particles: int, epsilon: float) -> LatentParticles:
    """Draws from the prior, before any answer."""
    log_weights = np.full(n_particles, -np.log(n_particles))
    mu, sigma = prior.sample(rng, n_particles)
    return LatentParticles(mu, sigma, np.empty((n_particles, 0)), log_weights, Answers.none(epsilon))


def step(
    rng: np.random.Generator,
    prior: NormalPrior,
    state: LatentParticles,
    y: float,
    interval: Interval,
    rejuvenation: Rejuvenation,
) -> LatentParticles:
    """Algorithm 2: the particles given one more answer. Raises `Degenerate` if no weight is positive."""
    size = len(state.mu)
    picked = np.sort(rng.choice(size, size, p=state.weights))
    moved = rejuvenate(rng, prior, state, picked, rejuvenation)
    values = moved.mu + moved.sigma * rng.standard_normal(size)
    answers = state.answers.and_one(y, interval)
    log_weights = -np.abs(y - np.clip(values, *interval)) / answers.scale[-1]
    log_weights -= log_weights.max()
    log_weights -= np.log(np.exp(log_weights).sum())
    if not np.isfinite(log_weights).any():
        raise Degenerate("no particle can explain the answer")
    moved.latents[:, -1] = values
    return LatentParticles(moved.mu, moved.sigma, moved.latents, log_weights, answers)


def rejuvenate(
    rng: np.random.Generator,
    prior: NormalPrior,
    state: LatentParticles,
    picked: npt.NDArray[np.intp],
    rejuvenation: Rejuvenation,
) -> LatentParticles:
    """The particles `picked` (n,) after a move that leaves (5) invariant, with an empty last column of latents."""
    mu, sigma, answers = state.mu[picked].copy(), state.sigma[picked].copy(), state.answers
    size, t = len(mu), len(answers)
    latents = np.empty((size, t + 1))
    rows = max(1, _BLOCK_SIZE // (t + 1))
    for start in range(0, size, rows):
        block = slice(start, start + rows)
        values = state.latents[picked[block]]
        _update_values(rng, values, mu[block], sigma[block], answers, rejuvenation.subset)
        update = _gibbs if rejuvenation.theta == "gibbs" else _metropolis
        mu[block], sigma[block] = update(rng, prior, values, mu[block], sigma[block])
        latents[block, :t] = values
    log_weights = np.full(size, -np.log(size))
    return LatentParticles(mu, sigma, latents, log_weights, answers)


def log_target(prior: NormalPrior, mu: FloatArray, log_sigma: FloatArray, values: FloatArray) -> FloatArray:
    """`log η(θ) Π p_θ(x_k)` over (μ, log σ), up to a constant, shape (n,), for `values` (n, t)."""
    squares = ((values - mu[:, None]) ** 2).sum(axis=1)
    return prior.log_density(mu, log_sigma) - values.shape[1] * log_sigma - 0.5 * squares * np.exp(-2.0 * log_sigma)


def _update_values(
    rng: np.random.Generator,
    values: FloatArray,
    mu: FloatArray,
    sigma: FloatArray,
    answers: Answers,
    subset: int | None,
) -> None:
    """Metropolis-Hastings update of all values in place, with `q(x'|x) = p_θ(x')`: the ratio is that of the noise."""
    t = values.shape[1]
    if subset is not None and subset < t:
        columns = rng.choice(t, subset, replace=False)
        chosen = values[:, columns]
        some = Answers(answers.y[columns], answers.low[columns], answers.high[columns], answers.epsilon)
        _update_values(rng, chosen, mu, sigma, some, None)
        values[:, columns] = chosen
        return
    if t == 0:
        return
    proposed = np.multiply(rng.standard_normal(values.shape, dtype=np.float32), sigma[:, None], dtype=np.float64)
    proposed += mu[:, None]
    gain = _distance(values, answers)
    gain -= _distance(proposed, answers)
    gain *= 1.0 / answers.scale
    gain += rng.standard_exponential(values.shape, dtype=np.float32)
    np.copyto(values, proposed, where=gain > 0.0)


def _distance(values: FloatArray, answers: Answers) -> FloatArray:
    """The distance of each value's clipped version from its answer."""
    distance = np.maximum(values, answers.low)
    np.minimum(distance, answers.high, out=distance)
    distance -= answers.y
    return np.abs(distance, out=distance)


def _gibbs(
    rng: np.random.Generator, prior: NormalPrior, values: FloatArray, mu: FloatArray, sigma: FloatArray
) -> tuple[FloatArray, FloatArray]:
    t = values.shape[1]
    average = values.mean(axis=1) if t else np.zeros(len(mu))
    centred = values - average[:, None]
    squares = np.einsum("ij,ij->i", centred, centred)
    mu = prior.gibbs_mean(rng, t, average, sigma)
    return mu, prior.gibbs_spread(rng, t, squares + t * (average - mu) ** 2)


def _metropolis(
    rng: np.random.Generator, prior: NormalPrior, values: FloatArray, mu: FloatArray, sigma: FloatArray
) -> tuple[FloatArray, FloatArray]:
    t = max(1, values.shape[1])
    log_sigma = np.log(sigma)
    width = _WALK_SCALE * sigma / np.sqrt(t)
    new_mu = mu + width * rng.standard_normal(len(mu))
    new_log = log_sigma + _WALK_SCALE / np.sqrt(2.0 * t) * rng.standard_normal(len(mu))
    back = _WALK_SCALE * np.exp(new_log) / np.sqrt(t)
    ratio = log_target(prior, new_mu, new_log, values) - log_target(prior, mu, log_sigma, values)
    ratio += np.log(width / back) + 0.5 * (new_mu - mu) ** 2 * (1.0 / width**2 - 1.0 / back**2)
    accept = -rng.standard_exponential(len(mu)) < ratio
    return np.where(accept, new_mu, mu), np.where(accept, np.exp(new_log), sigma)
