"""MHAAR for independent answers, the paper's MCMC: Andrieu, Yıldırım, Doucet & Chopin 2020, section 3.

Spelled out as Algorithm 8 of Alparslan & Yıldırım 2022: `x_t = μ + σ z_t` with standard normal z, and an acceptance
ratio averaged, for every answer, over its present z and fresh ones, which θ and θ' share. If θ' is rejected, each z is
redrawn by its weight under θ; the authors' program subtracts a logarithm from itself there.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dither_estimator.families import FloatArray
from dither_papers.truncation.clipped import Answers
from dither_papers.truncation.prior import NormalPrior

__all__ = ["Chain", "sample"]

_BURN_IN_SHARE = 0.25
"""The share of the iterations that is dropped and during which the proposal is still adapted."""
_REFIT_EVERY = 50
_TARGET_ACCEPTANCE = 0.3
"""The acceptance rate to which the proposal's scale is tuned."""

Float32Array = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Chain:
    """θ after the burn-in, shape (n, 2), and the share of proposals that were accepted."""

    theta: FloatArray
    rate: float


def sample(
    rng: np.random.Generator,
    prior: NormalPrior,
    answers: Answers,
    start: tuple[float, float],
    n_iterations: int = 100_000,
    n_proposals: int = 20,
) -> Chain:
    """A chain that leaves (5) invariant, started at `start` (μ, σ); `n_proposals` values of each z are averaged.

    θ' is a random walk on (μ, log σ) with the covariance and scale found during the burn-in.
    """
    kernel = _Kernel.of(answers, n_proposals)
    at = np.array([start[0], np.log(start[1])])
    z = rng.standard_normal(len(answers), dtype=np.float32)
    walk = _Walk.first(at, len(answers))
    burn_in = int(_BURN_IN_SHARE * n_iterations)
    states, accepted = np.empty((n_iterations, 2)), np.zeros(n_iterations, dtype=bool)
    for i in range(n_iterations):
        proposed = at + walk.factor @ rng.standard_normal(2)
        ratio = prior.log_density(*proposed[:, None])[0] - prior.log_density(*at[:, None])[0]
        pool = kernel.pool(rng, z)
        weights, new_weights = kernel.weights(pool, at), kernel.weights(pool, proposed)
        with np.errstate(divide="ignore"):
            ratio += _log_average(new_weights) - _log_average(weights)
        if -rng.standard_exponential() < ratio:
            at, weights, accepted[i] = proposed, new_weights, True
        z = kernel.pick(rng, pool, weights)
        states[i] = at
        if i < burn_in and (i + 1) % _REFIT_EVERY == 0:
            walk = walk.refitted(states[i // 2 : i + 1], float(accepted[i + 1 - _REFIT_EVERY : i + 1].mean()), i + 1)
    kept = states[burn_in:]
    return Chain(np.column_stack([kept[:, 0], np.exp(kept[:, 1])]), float(accepted[burn_in:].mean()))


@dataclass(frozen=True, eq=False)
class _Kernel:
    """The noise's density for many z at once, in single precision relative to the middle of the intervals."""

    y: Float32Array
    low: Float32Array
    high: Float32Array
    rate: Float32Array
    """1 / the noise's scale."""
    middle: float
    n_proposals: int
    columns: npt.NDArray[np.intp]

    @classmethod
    def of(cls, answers: Answers, n_proposals: int) -> "_Kernel":
        middle = float(np.mean(answers.low + answers.high) / 2.0)
        y, low, high = ((x - middle).astype(np.float32) for x in (answers.y, answers.low, answers.high))
        return cls(y, low, high, (1.0 / answers.scale).astype(np.float32), middle, n_proposals, np.arange(len(y)))

    def pool(self, rng: np.random.Generator, z: Float32Array) -> Float32Array:
        """The present z and fresh ones, shape (n_proposals, n)."""
        pool = np.empty((self.n_proposals, len(z)), dtype=np.float32)
        pool[0] = z
        rng.standard_normal(dtype=np.float32, out=pool[1:])
        return pool

    def weights(self, pool: Float32Array, at: FloatArray) -> Float32Array:
        """`h(y_t | z_t^{(i)}, θ)`, shape (n_proposals, n), up to a factor for each t; in units of σ, like z."""
        mu, sigma = np.float32(at[0] - self.middle), np.float32(np.exp(at[1]))
        low, high, y = ((x - mu) / sigma for x in (self.low, self.high, self.y))
        nearest = np.abs(y - np.clip(y, low, high))
        found: Float32Array = np.maximum(pool, low)
        np.minimum(found, high, out=found)
        found -= y
        np.abs(found, out=found)
        found -= nearest
        found *= -self.rate * sigma
        return np.exp(found, out=found)

    def pick(self, rng: np.random.Generator, pool: Float32Array, weights: Float32Array) -> Float32Array:
        """One z per answer, by weight; `weights` are accumulated in place."""
        for row, above in zip(weights[1:], weights[:-1], strict=True):  # np.cumsum takes five times as long
            row += above
        places = (weights < rng.random(pool.shape[1], dtype=np.float32) * weights[-1]).sum(axis=0)
        return pool[places, self.columns]


def _log_average(weights: Float32Array) -> float:
    """`Σ_t log Σ_i` of weights (n_proposals, n)."""
    return float(np.log(np.add.reduce(weights, axis=0).astype(float)).sum())


@dataclass(frozen=True, eq=False)
class _Walk:
    factor: FloatArray
    scale: float

    @classmethod
    def first(cls, at: FloatArray, n: int) -> "_Walk":
        return cls(np.diag([np.exp(at[1]), 1.0]) / np.sqrt(n), 1.0)

    def refitted(self, states: FloatArray, rate: float, iterations: int) -> "_Walk":
        """The covariance of `states`, and a scale that moves `rate` towards its target in steps that become smaller."""
        scale = self.scale * float(
            np.exp((rate - _TARGET_ACCEPTANCE) * min(1.0, 10.0 * _REFIT_EVERY / iterations) * 2.0)
        )
        covariance = np.cov(states.T) + np.diag(np.var(states, axis=0) * 1e-6 + 1e-12)
        factor: FloatArray = np.linalg.cholesky(covariance).astype(np.float64)
        return _Walk(scale * factor, scale)
