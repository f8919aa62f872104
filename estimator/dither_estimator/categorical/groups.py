"""Draws from the posterior of shares in several public groups, which borrow from each other.

The prior is that of `prior`: how far groups are apart is learnt, too. A chain alternates between a trajectory of each
group's log weights, given what is common; a trajectory of what is common, given how the groups are apart; Metropolis
moves of what is common, given the groups' log weights; and moves of both spreads, alone and in proportion. Each mixes
well where others do not: many groups with few answers tell what is common in another way than a few with many
(Papaspiliopoulos et al. 2007). Categories exchange their places in all groups or in one. The likelihood is exact.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from dither_estimator.categorical import prior
from dither_estimator.categorical.likelihood import SharesLikelihood
from dither_estimator.categorical.moves import PROPORTIONAL_STEP, spreads_moved, trajectory
from dither_estimator.families import FloatArray
from dither_estimator.likelihood.counts import Counts

__all__ = ["GroupShares", "estimate_group_shares"]

_CHAINS = 50
_BURN_IN = 40
_FIRST_STEP = 0.4
_ACCEPTED = 0.8
"""The share of proposals to accept, towards which steps go during the burn-in."""
_COMMON_MOVES = 4
_COMMON_STEP = 2.4
"""A proposal's sd of what is common to a category, in units of about its own given the groups' log weights."""
_AN_EXCHANGE = 16
"""Two categories try to exchange their places once in each turn for every so many of them."""
_REFINEMENTS = 20


@dataclass(frozen=True)
class GroupShares:
    """Equally likely draws."""

    shares: FloatArray
    """Shape (groups, draws, categories); each row sums to 1, and equally numbered draws belong together."""
    between: FloatArray
    """How far groups are apart: the standard deviation of a log weight between them, shape (draws,)."""


def estimate_group_shares(
    rng: np.random.Generator, tables: Sequence[Counts], categories: int, draws: int
) -> GroupShares:
    """`draws` from the posterior given the count table of each group, any of which may be empty."""
    target = _Target.of(tables, categories)
    chains = min(_CHAINS, draws)
    state, directions = _start(rng, target, chains)
    group_step, common_step = np.full((len(tables), 1, 1), _FIRST_STEP), _FIRST_STEP
    shares, between = [], []
    for turn in range(_BURN_IN + -(-draws // chains)):
        state, accepted = _groups_moved(rng, target, state, directions, group_step)
        state, all_accepted = _common_moved(rng, target, state, directions, common_step)
        state = _spreads_alone(rng, _common_alone(rng, state))
        state = _exchanged(rng, target, _in_proportion(rng, target, state))
        if turn < _BURN_IN:
            group_step = group_step * np.exp(accepted.mean(axis=1) - _ACCEPTED)[:, np.newaxis, np.newaxis]
            common_step *= float(np.exp(all_accepted.mean() - _ACCEPTED))
        else:
            shares.append(prior.shares_of(state.log_weights))
            between.append(prior.SD * state.between)
    return GroupShares(np.concatenate(shares, axis=1)[:, :draws], np.concatenate(between)[:draws])


@dataclass(frozen=True)
class _State:
    common: FloatArray
    """Shape (chains, categories)."""
    apart: FloatArray
    """Shape (groups, chains, categories)."""
    spreads: FloatArray
    """That of what is common, shape (chains,)."""
    between: FloatArray
    """Shape (chains,)."""
    likelihood: FloatArray
    """The log of each group's, shape (groups, chains)."""
    slopes: FloatArray
    """Its derivative by each log weight, shape (groups, chains, categories)."""

    @property
    def log_weights(self) -> FloatArray:
        return self.common + self.apart

    def where(self, chosen: npt.NDArray[np.bool_], other: "_State") -> "_State":
        """The chains (chains,) that are chosen, and the other state's elsewhere."""
        row, mask = chosen, chosen[:, np.newaxis]
        return _State(
            np.where(mask, self.common, other.common),
            np.where(mask, self.apart, other.apart),
            np.where(row, self.spreads, other.spreads),
            np.where(row, self.between, other.between),
            np.where(row, self.likelihood, other.likelihood),
            np.where(mask, self.slopes, other.slopes),
        )


@dataclass(frozen=True)
class _Target:
    """The likelihood of all groups' log weights."""

    chances: FloatArray
    """The chance of each answer in each category, shape (groups, answers, categories)."""
    times: FloatArray
    """How often each was given, 0 where a group has fewer kinds of answers than another; shape (groups, answers, 1)."""

    @classmethod
    def of(cls, tables: Sequence[Counts], categories: int) -> "_Target":
        each = [SharesLikelihood.of(counts, categories) for counts in tables]
        most = max(1, *(len(part.times) for part in each))
        chances, times = np.ones((len(each), most, categories)), np.zeros((len(each), most, 1))
        for place, part in enumerate(each):
            chances[place, : len(part.times)], times[place, : len(part.times), 0] = part.chances, part.times
        return cls(chances, times)

    def likelihoods(self, log_weights: FloatArray) -> FloatArray:
        """The log-likelihood of each group's (groups, chains, categories), shape (groups, chains)."""
        chances = prior.shares_of(log_weights) @ np.swapaxes(self.chances, 1, 2)
        return np.asarray((np.log(chances) @ self.times)[..., 0])

    def told(self, log_weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The same, and its derivative by each log weight."""
        shares = prior.shares_of(log_weights)
        chances = shares @ np.swapaxes(self.chances, 1, 2)
        by_share = (np.swapaxes(self.times, 1, 2) / chances) @ self.chances
        total = self.times.sum(axis=1, keepdims=True)
        return np.asarray((np.log(chances) @ self.times)[..., 0]), np.asarray(shares * (by_share - total))

    def state(self, common: FloatArray, apart: FloatArray, spreads: FloatArray, between: FloatArray) -> _State:
        return _State(common, apart, spreads, between, *self.told(common + apart))

    def information(self, log_weights: FloatArray) -> FloatArray:
        """That about each group's log weights (groups, 1, categories), shape (groups, categories, categories)."""
        shares = prior.shares_of(log_weights)
        weights = self.times / np.swapaxes(shares @ np.swapaxes(self.chances, 1, 2), 1, 2) ** 2
        by_share = np.swapaxes(self.chances * weights, 1, 2) @ self.chances
        turn = np.eye(shares.shape[-1]) * shares - np.swapaxes(shares, 1, 2) * shares
        return np.asarray(turn @ by_share @ turn)


@dataclass(frozen=True)
class _Directions:
    """The information about log weights, in the directions that answers tell of one by one."""

    group_axes: FloatArray
    group_information: FloatArray
    """Shape (groups, categories)."""
    axes: FloatArray
    information: FloatArray
    """That of all groups together, shape (categories,)."""

    @classmethod
    def of(cls, information: FloatArray) -> "_Directions":
        groups, whole = np.linalg.eigh(information), np.linalg.eigh(information.sum(axis=0))
        return cls(
            groups.eigenvectors,
            np.maximum(groups.eigenvalues, 0.0),
            whole.eigenvectors,
            np.maximum(whole.eigenvalues, 0.0),
        )


@dataclass(frozen=True)
class _Groups:
    """Each group's log weights, given what is common."""

    place: FloatArray
    common: FloatArray
    between: FloatArray
    likelihood: FloatArray
    likelihood_slopes: FloatArray

    @property
    def height(self) -> FloatArray:
        return np.asarray(self.likelihood + prior.log_density(self.place - self.common, self.between))

    @property
    def slopes(self) -> FloatArray:
        return np.asarray(self.likelihood_slopes + prior.slopes(self.place - self.common, self.between))

    def where(self, chosen: npt.NDArray[np.bool_], other: "_Groups") -> "_Groups":
        mask = chosen[..., np.newaxis]
        return replace(
            self,
            place=np.where(mask, self.place, other.place),
            likelihood=np.where(chosen, self.likelihood, other.likelihood),
            likelihood_slopes=np.where(mask, self.likelihood_slopes, other.likelihood_slopes),
        )


@dataclass(frozen=True)
class _Common:
    """What is common, given how the groups are apart from it."""

    state: _State

    @property
    def place(self) -> FloatArray:
        return self.state.common

    @property
    def height(self) -> FloatArray:
        return np.asarray(self.state.likelihood.sum(axis=0) + prior.log_density(self.state.common, self.state.spreads))

    @property
    def slopes(self) -> FloatArray:
        return np.asarray(self.state.slopes.sum(axis=0) + prior.slopes(self.state.common, self.state.spreads))

    def where(self, chosen: npt.NDArray[np.bool_], other: "_Common") -> "_Common":
        return _Common(self.state.where(chosen, other.state))


def _start(rng: np.random.Generator, target: _Target, chains: int) -> tuple[_State, _Directions]:
    """Chains around the mode of shares that all groups have alike."""
    groups, _, categories = target.chances.shape
    common, spreads = np.zeros((1, categories)), np.ones(1)
    for _ in range(_REFINEMENTS):
        at = np.broadcast_to(common, (groups, 1, categories))
        slope = target.told(at)[1].sum(axis=(0, 1)) + prior.slopes(common, spreads)[0]
        curvature = target.information(at).sum(axis=0) + np.diag(prior.curvature(common[0], spreads[0]))
        step = np.linalg.solve(curvature, slope)
        common = common + step / max(1.0, float(np.abs(step).max()))
    directions = _Directions.of(target.information(np.broadcast_to(common, (groups, 1, categories))))
    spreads = np.exp(rng.uniform(np.log(0.5), np.log(4.0), chains))
    between = np.exp(rng.uniform(np.log(0.1), np.log(1.5), chains))
    apart = 0.1 * between[:, np.newaxis] * rng.standard_normal((groups, chains, categories))
    return target.state(np.repeat(common, chains, axis=0), apart, spreads, between), directions


def _groups_moved(
    rng: np.random.Generator, target: _Target, state: _State, directions: _Directions, step: FloatArray
) -> tuple[_State, FloatArray]:
    """A trajectory of each group's log weights, and how probably each was accepted (groups, chains)."""

    def at(log_weights: FloatArray) -> _Groups:
        return _Groups(log_weights, state.common, state.between, *target.told(log_weights))

    now = _Groups(state.log_weights, state.common, state.between, state.likelihood, state.slopes)
    precision = directions.group_information[:, np.newaxis] + prior.curvature(np.zeros(1), state.between)
    found, accepted = trajectory(rng, at, now, directions.group_axes, precision**-0.5, step)
    moved = replace(
        state, apart=found.place - state.common, likelihood=found.likelihood, slopes=found.likelihood_slopes
    )
    return moved, accepted


def _common_moved(
    rng: np.random.Generator, target: _Target, state: _State, directions: _Directions, step: float
) -> tuple[_State, FloatArray]:
    """A trajectory of what is common, by which all groups' log weights move alike."""

    def at(common: FloatArray) -> _Common:
        return _Common(target.state(common, state.apart, state.spreads, state.between))

    precision = directions.information + prior.curvature(np.zeros(1), state.spreads)
    found, accepted = trajectory(rng, at, _Common(state), directions.axes, precision**-0.5, step)
    return found.state, accepted


def _common_alone(rng: np.random.Generator, state: _State) -> _State:
    """What is common moves, category by category, and the groups' log weights stay."""
    log_weights, common = state.log_weights, state.common
    flat = np.zeros(1)
    precision = prior.curvature(flat, state.spreads) + len(log_weights) * prior.curvature(flat, state.between)

    def height(common: FloatArray) -> FloatArray:
        of_groups = prior.log_terms(log_weights - common, state.between).sum(axis=0)
        return np.asarray(prior.log_terms(common, state.spreads) + of_groups)

    now = height(common)
    for _ in range(_COMMON_MOVES):
        tried = common + _COMMON_STEP * precision**-0.5 * rng.standard_normal(common.shape)
        found = height(tried)
        moved = np.log(rng.random(common.shape)) < found - now
        common, now = np.where(moved, tried, common), np.where(moved, found, now)
    return replace(state, common=common, apart=log_weights - common)


def _spreads_alone(rng: np.random.Generator, state: _State) -> _State:
    """Both spreads move, and log weights stay."""

    def of_spreads(spreads: FloatArray) -> FloatArray:
        return prior.log_density(state.common, spreads) + prior.log_density_of_spread(spreads)

    def of_between(between: FloatArray) -> FloatArray:
        return prior.log_density(state.apart, between).sum(axis=0) + prior.log_density_of_between(between)

    spreads = spreads_moved(rng, state.spreads, of_spreads)
    return replace(state, spreads=spreads, between=spreads_moved(rng, state.between, of_between))


def _in_proportion(rng: np.random.Generator, target: _Target, state: _State) -> _State:
    """What is common moves in proportion to its spread, and then how groups are apart, in proportion to theirs."""
    factors = np.exp(PROPORTIONAL_STEP * rng.standard_normal(len(state.spreads)))
    tried = target.state(state.common * factors[:, np.newaxis], state.apart, state.spreads * factors, state.between)
    change = tried.likelihood.sum(axis=0) + prior.log_density_of_spread(tried.spreads)
    change -= state.likelihood.sum(axis=0) + prior.log_density_of_spread(state.spreads)
    state = tried.where(np.log(rng.random(len(change))) < change, state)

    factors = np.exp(PROPORTIONAL_STEP * rng.standard_normal(len(state.between)))
    tried = target.state(state.common, state.apart * factors[:, np.newaxis], state.spreads, state.between * factors)
    change = tried.likelihood.sum(axis=0) + prior.log_density_of_between(tried.between)
    change -= state.likelihood.sum(axis=0) + prior.log_density_of_between(state.between)
    return tried.where(np.log(rng.random(len(change))) < change, state)


def _exchanged(rng: np.random.Generator, target: _Target, state: _State) -> _State:
    """Two categories exchange their places in all groups, and two in each group, as often as the way back.

    In one group the prior is another afterwards, since what is common stays.
    """
    groups, chains, categories = state.apart.shape
    rows, columns = np.arange(groups)[:, np.newaxis], np.arange(chains)
    for _ in range(-(-categories // _AN_EXCHANGE)):
        order = np.broadcast_to(np.arange(categories), (chains, categories)).copy()
        one, other = rng.integers(categories, size=(2, chains))
        order[columns, one], order[columns, other] = other, one
        apart = np.take_along_axis(state.apart, np.broadcast_to(order, state.apart.shape), axis=-1)
        common = np.take_along_axis(state.common, order, axis=-1)
        found = target.likelihoods(common + apart)
        change = found.sum(axis=0) - state.likelihood.sum(axis=0)
        mask = (np.log(rng.random(chains)) < change)[:, np.newaxis]
        state = replace(
            state,
            common=np.where(mask, common, state.common),
            apart=np.where(mask, apart, state.apart),
            likelihood=np.where(mask[:, 0], found, state.likelihood),
        )

        log_weights = state.log_weights
        one, other = rng.integers(categories, size=(2, groups, chains))
        tried = log_weights.copy()
        tried[rows, columns, one] = log_weights[rows, columns, other]
        tried[rows, columns, other] = log_weights[rows, columns, one]
        found = target.likelihoods(tried)
        change = found - state.likelihood + prior.log_density(tried - state.common, state.between)
        change -= prior.log_density(state.apart, state.between)
        moved = np.log(rng.random((groups, chains))) < change
        state = replace(
            state,
            apart=np.where(moved[..., np.newaxis], tried - state.common, state.apart),
            likelihood=np.where(moved, found, state.likelihood),
        )
    return target.state(state.common, state.apart, state.spreads, state.between)
