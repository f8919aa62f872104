"""Markov chains for θ given a noisy additive statistic: Algorithms 4, 5 and 6, with many chains in parallel.

The prior is flat on `(0, upper)`; θ' is a random-walk proposal. Each chain `c` has its own observation `y_c`.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from dither_estimator.families import FloatArray
from dither_papers.statistic_selection.powers import Power

__all__ = ["Additive", "Walk", "averaged_ratio_chain", "metropolis_chain", "pick", "pseudo_marginal_chain"]

LogDensity = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class Walk:
    """The starts of the chains (C,), the standard deviation of steps, the end of the prior, and the length."""

    start: FloatArray
    step: float
    upper: float
    iterations: int

    def propose(self, rng: np.random.Generator, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """θ' and the log ratio of the prior densities, 0 or minus infinity; if that is infinite, θ' is θ."""
        proposed = theta + self.step * rng.standard_normal(theta.shape)
        inside = (proposed > 0) & (proposed < self.upper)
        return np.where(inside, proposed, theta), np.where(inside, 0.0, -np.inf)


@dataclass(frozen=True)
class Additive:
    """The average of `s` over `size` values, about normal (8), with Laplace noise of this scale; `y` (C,)."""

    power: Power
    size: int
    scale: float
    y: FloatArray

    def draw(self, rng: np.random.Generator, theta: FloatArray, count: int) -> FloatArray:
        """`count` draws of `U` for each chain's θ, shape (C, count)."""
        moments = self.power.moments(theta).of_average(self.size)
        normal = rng.standard_normal((len(theta), count))
        return np.asarray(moments.mean[:, None] + np.sqrt(moments.variance)[:, None] * normal)

    def log_f(self, u: FloatArray, theta: FloatArray) -> FloatArray:
        """`log f_(S_n)(u | θ)`, (11), for `u` (C, N), up to `log √(2π)`."""
        moments = self.power.moments(theta).of_average(self.size)
        variance = moments.variance[:, None]
        return np.asarray(-0.5 * (u - moments.mean[:, None]) ** 2 / variance - 0.5 * np.log(variance))

    def log_g(self, u: FloatArray) -> FloatArray:
        """`log g(y | u)` up to a constant, shape (C, N)."""
        return np.asarray(-np.abs(self.y[:, None] - u) / self.scale)


def metropolis_chain(rng: np.random.Generator, log_likelihood: LogDensity, walk: Walk) -> FloatArray:
    """Algorithm 4: Metropolis-Hastings on (15) with a known likelihood. Returns states (iterations, C)."""
    theta = walk.start
    current = log_likelihood(theta)
    states = np.empty((walk.iterations, len(theta)))
    for i in range(walk.iterations):
        proposed, log_prior = walk.propose(rng, theta)
        new = log_likelihood(proposed)
        accept = np.log(rng.random(len(theta))) < log_prior + new - current
        theta, current = np.where(accept, proposed, theta), np.where(accept, new, current)
        states[i] = theta
    return states


def pseudo_marginal_chain(rng: np.random.Generator, model: Additive, walk: Walk, draws: int) -> FloatArray:
    """Algorithm 5 (PMMH): the likelihood (10), estimated from `draws` of `U`, is kept until the next acceptance."""

    def estimate(theta: FloatArray) -> FloatArray:
        return np.asarray(logsumexp(model.log_g(model.draw(rng, theta, draws)), axis=1))

    return metropolis_chain(rng, estimate, walk)


def averaged_ratio_chain(rng: np.random.Generator, model: Additive, walk: Walk, draws: int) -> FloatArray:
    """Algorithm 6 (MHAAR): numerator and denominator use the same `draws` of `U`, one of which is the state's.

    `U` is proposed from its distribution at `(θ + θ') / 2`, which is symmetric in both. It is redrawn by weight even if
    the move is rejected.
    """
    theta = walk.start
    rows = np.arange(len(theta))
    u = model.draw(rng, theta, 1)[:, 0]
    states = np.empty((walk.iterations, len(theta)))
    for i in range(walk.iterations):
        proposed, log_prior = walk.propose(rng, theta)
        middle = (theta + proposed) / 2
        all_u = np.concatenate([u[:, None], model.draw(rng, middle, draws - 1)], axis=1)
        common = model.log_g(all_u) - model.log_f(all_u, middle)
        here, there = common + model.log_f(all_u, theta), common + model.log_f(all_u, proposed)
        log_ratio = log_prior + logsumexp(there, axis=1) - logsumexp(here, axis=1)
        accept = np.log(rng.random(len(theta))) < log_ratio
        u = all_u[rows, pick(rng, np.where(accept[:, None], there, here))]
        theta = np.where(accept, proposed, theta)
        states[i] = theta
    return states


def pick(rng: np.random.Generator, logs: FloatArray) -> npt.NDArray[np.intp]:
    """One index along the last axis, with probability proportional to `exp(logs)`."""
    steps = np.exp(logs - logs.max(axis=-1, keepdims=True)).cumsum(axis=-1)
    return (steps <= rng.random((*logs.shape[:-1], 1)) * steps[..., -1:]).sum(axis=-1)
