"""Draws from the posterior of shares, by Hamiltonian Monte Carlo in square roots of shares.

The prior of the shares is Dirichlet with every parameter 1/2: Jeffreys' for values that are told without noise. It
expects four fifths of the people in 4 of 10 categories and 21 of 64. Shares with that prior are the squares of a point
that is uniform on a sphere. So points are coordinates in which the prior is flat and shares near 0 are nothing special;
how far a point is from the origin says nothing, and is kept near the sphere. The likelihood is exact, and so are the
draws but for Monte Carlo error and the end of a burn-in that begins at the posterior's mode.
"""

from dataclasses import dataclass

import numpy as np

from dither_estimator.categorical.likelihood import SharesLikelihood
from dither_estimator.families import FloatArray
from dither_estimator.likelihood.counts import Counts

__all__ = ["CONCENTRATION", "draw_shares", "estimate_shares"]

CONCENTRATION = 0.5
"""The prior's Dirichlet parameter of each category. The coordinates belong to this prior."""

_CHAINS = 100
_BURN_IN = 24
_LEAPS = 10
_FIRST_STEP = 0.4
_STEPS = 0.25, 1.25
"""Each trajectory's own step, as a multiple: between these, since what is steep takes small ones."""
_START = 0.3
"""How far from the mode chains begin, in standard deviations: farther off, where it is steep, they would be stuck."""
_ACCEPTED = 0.8
"""The share of proposals to accept, towards which the step goes during the burn-in."""
_NEWTON_STEPS = 60
_SMALLEST_SHARE = 1e-300


def estimate_shares(rng: np.random.Generator, counts: Counts, categories: int, draws: int) -> FloatArray:
    """`draws` equally likely shares of so many categories, shape (draws, categories); each row sums to 1."""
    if not counts:
        return np.maximum(rng.dirichlet(np.full(categories, CONCENTRATION), draws), _SMALLEST_SHARE)
    return draw_shares(rng, SharesLikelihood.of(counts, categories), draws)


def draw_shares(rng: np.random.Generator, likelihood: SharesLikelihood, draws: int) -> FloatArray:
    """The same, given the likelihood of some answers."""
    target, categories = _Target(likelihood), likelihood.chances.shape[1]
    mode = _mode(target, categories)
    chains = min(_CHAINS, draws)
    rounds = -(-draws // chains)
    # Where the curvature is the identity, one step suits all directions.
    whitening = np.linalg.inv(np.linalg.cholesky(target.curvature(mode))).T
    points = mode + _START * rng.standard_normal((chains, categories)) @ whitening.T
    step, kept = _FIRST_STEP, []
    state = target.at(points)
    for turn in range(_BURN_IN + rounds):
        state, accepted = _trajectory(rng, target, state, whitening, step)
        if turn < _BURN_IN:
            step *= float(np.exp(accepted - _ACCEPTED))
        else:
            kept.append(_shares(state.points))
    return np.concatenate(kept)[:draws]


@dataclass(frozen=True)
class _State:
    points: FloatArray
    """Shape (chains, categories)."""
    height: FloatArray
    """The log density, shape (chains,)."""
    slopes: FloatArray
    """Shape (chains, categories)."""


@dataclass(frozen=True)
class _Target:
    """The posterior density of points, whose squares are in proportion to shares."""

    likelihood: SharesLikelihood

    def at(self, points: FloatArray) -> _State:
        size, squares = points.shape[1], (points**2).sum(axis=1, keepdims=True)
        beyond = squares / size - 1  # the sphere's radius is the root of the number of categories
        chances = _shares(points) @ self.likelihood.chances.T
        height = np.log(chances) @ self.likelihood.times - size / 2 * beyond[:, 0] ** 2
        by_share = (self.likelihood.times / chances) @ self.likelihood.chances
        pull = 2 / squares * (by_share - self.likelihood.times.sum())
        return _State(points, height, points * (pull - 2 * beyond))

    def curvature(self, point: FloatArray) -> FloatArray:
        """About minus the second derivative at a point (categories,); positive definite."""
        [shares] = _shares(point[np.newaxis])
        turn = 2 / (point @ point) * (np.diag(point) - np.outer(shares, point))
        by_share = (self.likelihood.times / (self.likelihood.chances @ shares)) @ self.likelihood.chances
        pull = 2 / (point @ point) * (by_share - self.likelihood.times.sum())
        likely = turn.T @ self.likelihood.information(shares) @ turn
        return np.asarray(likely + np.diag(1 + np.maximum(-pull, 0.0)))


def _shares(points: FloatArray) -> FloatArray:
    squares = np.maximum(points**2, _SMALLEST_SHARE)
    return np.asarray(squares / squares.sum(axis=1, keepdims=True))


def _mode(target: _Target, categories: int) -> FloatArray:
    """About where the density is highest: damped Newton steps from equal shares."""
    state = target.at(np.ones((1, categories)))
    for _ in range(_NEWTON_STEPS):
        step = np.linalg.solve(target.curvature(state.points[0]), state.slopes[0])
        tried = target.at(state.points + step * 0.5 ** np.arange(8)[:, np.newaxis])
        best = int(np.argmax(tried.height))
        if tried.height[best] - state.height[0] < 1e-6:
            break
        state = _State(tried.points[[best]], tried.height[[best]], tried.slopes[[best]])
    return state.points[0]


def _trajectory(
    rng: np.random.Generator, target: _Target, state: _State, whitening: FloatArray, step: float
) -> tuple[_State, float]:
    """One Hamiltonian trajectory of each chain, and the share of proposals that were accepted."""
    momentum = rng.standard_normal(state.points.shape)
    energy = state.height - 0.5 * (momentum**2).sum(axis=1)
    size = step * rng.uniform(*_STEPS, (len(state.points), 1))
    now = state
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        momentum = momentum + 0.5 * size * now.slopes @ whitening
        for leap in range(_LEAPS):
            now = target.at(now.points + size * momentum @ whitening.T)
            momentum = momentum + (0.5 if leap == _LEAPS - 1 else 1.0) * size * now.slopes @ whitening
        change = now.height - 0.5 * (momentum**2).sum(axis=1) - energy
    chance = np.exp(np.minimum(np.nan_to_num(change, nan=-np.inf), 0.0))
    moved = rng.random(len(chance)) < chance
    chosen = _State(
        np.where(moved[:, np.newaxis], now.points, state.points),
        np.where(moved, now.height, state.height),
        np.where(moved[:, np.newaxis], now.slopes, state.slopes),
    )
    return chosen, float(chance.mean())
