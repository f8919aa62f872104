"""Draws from the posterior of shares: Hamiltonian Monte Carlo in logarithms of weights, and moves of their spread.

The prior is that of `prior`. A chain alternates between a trajectory of the log weights, given their spread; moves of
the spread, given the log weights, which mix well where answers tell these; and a move of both in proportion, which
mixes well where they do not (Yu & Meng 2011). Categories exchange their places, since answers may leave open which of
several has people, and no trajectory leads from one to another. Where the likelihood's curvature is diagonal, a
trajectory takes steps of the posterior's own size in every direction, whatever the chain's spread is. The likelihood is
exact, and so are the draws but for Monte Carlo error and the end of a burn-in that begins near the modes, one for each
spread.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from dither_estimator.categorical import prior
from dither_estimator.categorical.likelihood import SharesLikelihood
from dither_estimator.categorical.moves import PROPORTIONAL_STEP, spreads_moved, trajectory
from dither_estimator.families import FloatArray
from dither_estimator.likelihood.counts import Counts

__all__ = ["draw_shares", "estimate_shares", "sketch_shares"]

_CHAINS = 100
_BURN_IN = 24
_FIRST_STEP = 0.4
_START = 0.3
"""How far from the mode chains begin, in standard deviations: farther off, where it is steep, they would be stuck."""
_ACCEPTED = 0.8
"""The share of proposals to accept, towards which the step goes during the burn-in."""
_NEWTON_STEPS = 60
_CONVERGED = 1e-6
"""A step that gains less is the last."""
_SPREADS = np.geomspace(0.05, 20.0, 12)
"""Where chains may begin."""
_AN_EXCHANGE = 16
"""Two categories try to exchange their places once in each turn for every so many of them."""


def estimate_shares(rng: np.random.Generator, counts: Counts, categories: int, draws: int) -> FloatArray:
    """`draws` equally likely shares of so many categories, shape (draws, categories); each row sums to 1."""
    if not counts:
        return prior.prior_draws(rng, categories, draws)
    return draw_shares(rng, SharesLikelihood.of(counts, categories), draws)


def sketch_shares(rng: np.random.Generator, counts: Counts, categories: int, draws: int) -> FloatArray:
    """Shares at the mode for each spread, as often as that is likely: their mean is near that of `estimate_shares`.

    They vary less, and take a tenth of the time.
    """
    if not counts:
        return prior.prior_draws(rng, categories, draws)
    modes = _Modes.of(_Target(SharesLikelihood.of(counts, categories)))
    return prior.shares_of(modes.state.log_weights)[modes.choose(rng, draws)]


def draw_shares(rng: np.random.Generator, likelihood: SharesLikelihood, draws: int) -> FloatArray:
    """The same, given the likelihood of some answers."""
    target = _Target(likelihood)
    chains = min(_CHAINS, draws)
    state, directions = _start(rng, target, chains)
    step, kept = _FIRST_STEP, []
    for turn in range(_BURN_IN + -(-draws // chains)):
        slopes_at, at = partial(target.slopes_at, spreads=state.spreads), partial(target.at, spreads=state.spreads)
        scales = directions.scales(state.spreads)
        state, accepted = trajectory(rng, slopes_at, at, state, directions.axes, scales, step)
        state = _spreads_in_proportion(rng, target, _spreads_alone(rng, _exchanged(rng, target, state)))
        if turn < _BURN_IN:
            step *= float(np.exp(accepted.mean() - _ACCEPTED))
        else:
            kept.append(prior.shares_of(state.log_weights))
    return np.concatenate(kept)[:draws]


@dataclass(frozen=True)
class _State:
    """Chains."""

    log_weights: FloatArray
    """Shape (chains, categories)."""
    spreads: FloatArray
    """Shape (chains,)."""
    likelihood: FloatArray
    """Its log, shape (chains,)."""
    likelihood_slopes: FloatArray
    """Its derivative by each log weight, shape (chains, categories)."""

    @property
    def height(self) -> FloatArray:
        """The log density of the log weights given the spreads, shape (chains,)."""
        return np.asarray(self.likelihood + prior.log_density(self.log_weights, self.spreads))

    @property
    def slopes(self) -> FloatArray:
        """The derivative of `height` by each log weight, shape (chains, categories)."""
        return np.asarray(self.likelihood_slopes + prior.slopes(self.log_weights, self.spreads))

    @property
    def place(self) -> FloatArray:
        return self.log_weights

    def taking(self, chains: npt.NDArray[np.intp]) -> "_State":
        """These chains alone."""
        return _State(
            self.log_weights[chains], self.spreads[chains], self.likelihood[chains], self.likelihood_slopes[chains]
        )

    def where(self, chosen: npt.NDArray[np.bool_], other: "_State") -> "_State":
        """The chains that are chosen, and the other state's elsewhere."""
        mask = chosen[:, np.newaxis]
        return _State(
            np.where(mask, self.log_weights, other.log_weights),
            np.where(chosen, self.spreads, other.spreads),
            np.where(chosen, self.likelihood, other.likelihood),
            np.where(mask, self.likelihood_slopes, other.likelihood_slopes),
        )


@dataclass(frozen=True)
class _Target:
    """The posterior, but for the prior."""

    likelihood: SharesLikelihood

    def at(self, log_weights: FloatArray, spreads: FloatArray) -> _State:
        shares = prior.shares_of(log_weights)
        chances = shares @ self.likelihood.chances.T
        by_share = (self.likelihood.times / chances) @ self.likelihood.chances
        return _State(
            log_weights,
            spreads,
            self.log_likelihood(chances),
            shares * (by_share - self.likelihood.times.sum()),
        )

    def slopes_at(self, log_weights: FloatArray, spreads: FloatArray) -> FloatArray:
        """The chains' slopes alone."""
        shares = prior.shares_of(log_weights)
        by_share = (self.likelihood.times / (shares @ self.likelihood.chances.T)) @ self.likelihood.chances
        return np.asarray(shares * (by_share - self.likelihood.times.sum()) + prior.slopes(log_weights, spreads))

    def log_likelihood(self, chances: FloatArray) -> FloatArray:
        """By the chance of each answer, shape (chains, answers)."""
        return np.asarray(np.log(chances) @ self.likelihood.times)

    def information(self, log_weights: FloatArray) -> FloatArray:
        """The likelihood's about log weights (chains, categories), shape (chains, categories, categories)."""
        shares = prior.shares_of(log_weights)
        across = shares[:, np.newaxis]
        turn = across * np.eye(shares.shape[1]) - np.swapaxes(across, 1, 2) * across
        return np.asarray(turn @ self.likelihood.information(shares) @ turn)


@dataclass(frozen=True)
class _Directions:
    """The likelihood's information about log weights, in the directions that it tells of one by one."""

    axes: FloatArray
    information: FloatArray

    def scales(self, spreads: FloatArray) -> FloatArray:
        """About the posterior's sd in each direction, for each spread, shape (chains, categories)."""
        return np.asarray((self.information + prior.curvature(np.zeros(1), spreads)) ** -0.5)


@dataclass(frozen=True)
class _Modes:
    """Where the log weights are likeliest for each of `_SPREADS`."""

    state: _State
    curvatures: FloatArray
    """Shape (spreads, categories, categories)."""
    chances: FloatArray
    """How likely each spread is, if log weights are about normal around the mode, shape (spreads,)."""

    @classmethod
    def of(cls, target: _Target) -> "_Modes":
        state = _highest(target)
        curvatures = _curvatures(target, state)
        likely = state.height - 0.5 * np.linalg.slogdet(curvatures).logabsdet + prior.log_density_of_spread(_SPREADS)
        chances = np.exp(likely - likely.max())
        return cls(state, curvatures, chances / chances.sum())

    def choose(self, rng: np.random.Generator, size: int) -> npt.NDArray[np.intp]:
        """The places of `size` spreads, as often as these are likely."""
        return rng.choice(len(_SPREADS), size, p=self.chances)


def _start(rng: np.random.Generator, target: _Target, chains: int) -> tuple[_State, _Directions]:
    """Chains near the modes."""
    modes = _Modes.of(target)
    axes = np.linalg.eigh(target.information(modes.state.log_weights)[int(modes.chances.argmax())])
    directions = _Directions(axes.eigenvectors, np.maximum(axes.eigenvalues, 0.0))
    chosen = modes.choose(rng, chains)
    scales = directions.scales(_SPREADS[chosen])
    beside = _START * (scales * rng.standard_normal(scales.shape)) @ directions.axes.T
    return target.at(modes.state.log_weights[chosen] + beside, _SPREADS[chosen]), directions


def _highest(target: _Target) -> _State:
    """About where the density is highest for each of `_SPREADS`: damped Newton steps from equal shares, all at once."""
    state = target.at(np.zeros((len(_SPREADS), target.likelihood.chances.shape[1])), _SPREADS)
    halvings, rows = 0.5 ** np.arange(8), np.arange(len(_SPREADS))
    for _ in range(_NEWTON_STEPS):
        step = np.linalg.solve(_curvatures(target, state), state.slopes[..., np.newaxis])[..., 0]
        places = state.log_weights + step * halvings[:, np.newaxis, np.newaxis]
        tried = target.at(places.reshape(-1, step.shape[1]), np.tile(_SPREADS, len(halvings)))
        heights = tried.height.reshape(len(halvings), -1)
        best = heights.argmax(axis=0)
        better = heights[best, rows] - state.height >= _CONVERGED
        if not better.any():
            break
        state = tried.taking(best * len(rows) + rows).where(better, state)
    return state


def _curvatures(target: _Target, state: _State) -> FloatArray:
    """About minus the second derivative of each chain's height, shape (chains, categories, categories)."""
    curvature = prior.curvature(state.log_weights, state.spreads)
    return target.information(state.log_weights) + curvature[..., np.newaxis] * np.eye(curvature.shape[1])


def _exchanged(rng: np.random.Generator, target: _Target, state: _State) -> _State:
    """Two categories exchange their log weights: one that people have rather than one of few, and any other.

    So it is proposed as often as the way back, and the prior is the same.
    """
    chains = np.arange(len(state.spreads))
    log_weights, height = state.log_weights, state.likelihood
    for _ in range(-(-log_weights.shape[1] // _AN_EXCHANGE)):
        up_to = prior.shares_of(log_weights).cumsum(axis=1)
        one = np.minimum((up_to < rng.random((len(chains), 1))).sum(axis=1), up_to.shape[1] - 1)
        other = rng.integers(up_to.shape[1], size=len(chains))
        tried = log_weights.copy()
        tried[chains, one], tried[chains, other] = log_weights[chains, other], log_weights[chains, one]
        found = target.log_likelihood(prior.shares_of(tried) @ target.likelihood.chances.T)
        exchanged = np.log(rng.random(len(chains))) < found - height
        log_weights = np.where(exchanged[:, np.newaxis], tried, log_weights)
        height = np.where(exchanged, found, height)
    return target.at(log_weights, state.spreads)


def _spreads_alone(rng: np.random.Generator, state: _State) -> _State:
    """The spreads move, and log weights stay."""

    def density(spreads: FloatArray) -> FloatArray:
        return prior.log_density(state.log_weights, spreads) + prior.log_density_of_spread(spreads)

    return replace(state, spreads=spreads_moved(rng, state.spreads, density))


def _spreads_in_proportion(rng: np.random.Generator, target: _Target, state: _State) -> _State:
    """Log weights move in proportion to the spreads: the density of their ratio does not change."""
    factors = np.exp(PROPORTIONAL_STEP * rng.standard_normal(len(state.spreads)))
    tried = target.at(state.log_weights * factors[:, np.newaxis], state.spreads * factors)
    change = tried.likelihood + prior.log_density_of_spread(tried.spreads)
    change -= state.likelihood + prior.log_density_of_spread(state.spreads)
    return tried.where(np.log(rng.random(len(change))) < change, state)
