"""Draws from the posterior of shares in several public groups, which borrow from each other.

The prior is that of `prior`: how far groups are apart is learnt, too. A chain alternates between a trajectory of each
group's log weights, given what groups share; trajectories of what they share, given how they are apart from it;
Metropolis moves of what they share, given the groups' log weights; and moves of both spreads, alone and in proportion.
Each mixes well where others do not: many groups with few answers tell what they share in another way than a few with
many (Papaspiliopoulos et al. 2007). Categories exchange their places in all groups or in one. The likelihood is exact.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from dither_estimator.categorical import prior
from dither_estimator.categorical.group_start import Directions, start
from dither_estimator.categorical.group_target import Groups, State, Target
from dither_estimator.categorical.moves import PROPORTIONAL_STEP, spreads_moved, trajectory
from dither_estimator.families import FloatArray
from dither_estimator.likelihood.counts import Counts

__all__ = ["GroupShares", "estimate_group_shares"]

_CHAINS = 50
_BURN_IN = 40
_FIRST_STEP = 0.4
_ACCEPTED = 0.8
"""The share of proposals to accept, towards which steps go during the burn-in."""
_SHARED_MOVES = 4
_SHARED_STEP = 2.4
"""A proposal's sd of what groups share of a category, in units of about its own given the groups' log weights."""
_AN_EXCHANGE = 16
"""Two categories try to exchange their places once in each turn for every so many of them."""


@dataclass(frozen=True)
class GroupShares:
    """Equally likely draws."""

    shares: FloatArray
    """Shape (groups, draws, categories); each row sums to 1, and equally numbered draws belong together."""
    between: FloatArray
    """How far groups are apart: the standard deviation of a log weight between them, shape (draws,)."""


def estimate_group_shares(
    rng: np.random.Generator, tables: Sequence[Counts], categories: int, draws: int, z: FloatArray | None = None
) -> GroupShares:
    """`draws` from the posterior given the count table of each group, any of which may be empty.

    `z` (groups,) is what the groups' log weights may depend on.
    """
    target = Target.of(tables, categories, z)
    chains = min(_CHAINS, draws)
    state, directions = start(rng, target, chains)
    rows = range(len(target.design))
    group_step, shared_steps = np.full((len(tables), 1, 1), _FIRST_STEP), np.full(len(rows), _FIRST_STEP)
    shares, between = [], []
    for turn in range(_BURN_IN + -(-draws // chains)):
        state, accepted = _groups_moved(rng, target, state, directions, group_step)
        shared_accepted = np.empty(len(rows))
        for row in rows:
            state, all_accepted = _shared_moved(rng, target, state, directions, row, shared_steps[row])
            shared_accepted[row] = all_accepted.mean()
        state = _spreads_alone(rng, target, _shared_alone(rng, target, state))
        state = _exchanged(rng, target, _in_proportion(rng, target, state))
        if turn < _BURN_IN:
            group_step = group_step * np.exp(accepted.mean(axis=1) - _ACCEPTED)[:, np.newaxis, np.newaxis]
            shared_steps = shared_steps * np.exp(shared_accepted - _ACCEPTED)
        else:
            shares.append(prior.shares_of(state.log_weights))
            between.append(prior.SD * state.between)
    return GroupShares(np.concatenate(shares, axis=1)[:, :draws], np.concatenate(between)[:draws])


@dataclass(frozen=True)
class _Shared:
    """A row of what groups share, given how they are apart from it."""

    state: State
    design: FloatArray
    """Shape (groups,)."""
    row: int

    @property
    def place(self) -> FloatArray:
        return self.state.shared[self.row]

    @property
    def height(self) -> FloatArray:
        before = prior.shared_log_terms(self.row, self.place, self.state.spreads).sum(axis=-1)
        return np.asarray(self.state.likelihood.sum(axis=0) + before)

    @property
    def slopes(self) -> FloatArray:
        by_all = np.tensordot(self.design, self.state.slopes, axes=1)
        return np.asarray(by_all + prior.shared_slopes(self.row, self.place, self.state.spreads))

    def where(self, chosen: npt.NDArray[np.bool_], other: "_Shared") -> "_Shared":
        return replace(self, state=self.state.where(chosen, other.state))


def _groups_moved(
    rng: np.random.Generator, target: Target, state: State, directions: Directions, step: FloatArray
) -> tuple[State, FloatArray]:
    """A trajectory of each group's log weights, and how probably each was accepted (groups, chains)."""
    centre = target.centre(state.shared)

    def slopes_at(log_weights: FloatArray) -> FloatArray:
        return np.asarray(target.slopes(log_weights) + prior.slopes(log_weights - centre, state.between))

    def at(log_weights: FloatArray) -> Groups:
        return Groups(log_weights, centre, state.between, *target.told(log_weights))

    now = Groups(state.log_weights, centre, state.between, state.likelihood, state.slopes)
    scales = directions.group_scales(state.between)
    end, accepted = trajectory(rng, slopes_at, at, now, directions.group_axes, scales, step)
    return replace(state, log_weights=end.place, likelihood=end.likelihood, slopes=end.likelihood_slopes), accepted


def _shared_moved(
    rng: np.random.Generator, target: Target, state: State, directions: Directions, row: int, step: float
) -> tuple[State, FloatArray]:
    """A trajectory of a row of what groups share, by which all their log weights move."""
    design = target.design[row]

    def moved(place: FloatArray) -> FloatArray:
        return np.asarray(state.log_weights + np.multiply.outer(design, place - state.shared[row]))

    def slopes_at(place: FloatArray) -> FloatArray:
        by_all = np.dot(design[np.newaxis], target.slopes(moved(place)).reshape(len(design), -1)).reshape(place.shape)
        return np.asarray(by_all + prior.shared_slopes(row, place, state.spreads))

    def at(to: FloatArray) -> _Shared:
        return _Shared(target.state(state.with_shared(row, to), moved(to), state.spreads, state.between), design, row)

    precision = directions.information[row] + prior.shared_curvature(row, state.spreads)
    now, axes = _Shared(state, design, row), directions.axes[row]
    found, accepted = trajectory(rng, slopes_at, at, now, axes, precision**-0.5, step)
    return found.state, accepted


def _shared_alone(rng: np.random.Generator, target: Target, state: State) -> State:
    """What groups share moves, category by category, and the groups' log weights stay."""
    of_groups = prior.curvature(np.zeros(1), state.between)

    def height(state: State) -> FloatArray:
        rows = [prior.shared_log_terms(row, place, state.spreads) for row, place in enumerate(state.shared)]
        return np.asarray(sum(rows) + prior.log_terms(target.apart(state), state.between).sum(axis=0))

    now = height(state)
    for _ in range(_SHARED_MOVES):
        for row, design in enumerate(target.design):
            precision = prior.shared_curvature(row, state.spreads) + (design**2).sum() * of_groups
            place = state.shared[row]
            tried = place + _SHARED_STEP * precision**-0.5 * rng.standard_normal(place.shape)
            found = height(replace(state, shared=state.with_shared(row, tried)))
            moved = np.log(rng.random(place.shape)) < found - now
            state = replace(state, shared=state.with_shared(row, np.where(moved, tried, place)))
            now = np.where(moved, found, now)
    return state


def _spreads_alone(rng: np.random.Generator, target: Target, state: State) -> State:
    """Both spreads move, and log weights stay."""
    apart = target.apart(state)

    def of_spreads(spreads: FloatArray) -> FloatArray:
        return prior.log_density(state.shared[0], spreads) + prior.log_density_of_spread(spreads)

    def of_between(between: FloatArray) -> FloatArray:
        return prior.log_density(apart, between).sum(axis=0) + prior.log_density_of_between(between)

    spreads = spreads_moved(rng, state.spreads, of_spreads)
    return replace(state, spreads=spreads, between=spreads_moved(rng, state.between, of_between))


def _in_proportion(rng: np.random.Generator, target: Target, state: State) -> State:
    """What is common moves in proportion to its spread, and then how groups are apart, in proportion to theirs."""
    factors = np.exp(PROPORTIONAL_STEP * rng.standard_normal(len(state.spreads)))
    common = state.shared[0] * factors[:, np.newaxis]
    log_weights = state.log_weights + common - state.shared[0]
    tried = target.state(state.with_shared(0, common), log_weights, state.spreads * factors, state.between)
    change = tried.likelihood.sum(axis=0) + prior.log_density_of_spread(tried.spreads)
    change -= state.likelihood.sum(axis=0) + prior.log_density_of_spread(state.spreads)
    state = tried.where(np.log(rng.random(len(change))) < change, state)

    factors = np.exp(PROPORTIONAL_STEP * rng.standard_normal(len(state.between)))
    log_weights = target.centre(state.shared) + target.apart(state) * factors[:, np.newaxis]
    tried = target.state(state.shared, log_weights, state.spreads, state.between * factors)
    change = tried.likelihood.sum(axis=0) + prior.log_density_of_between(tried.between)
    change -= state.likelihood.sum(axis=0) + prior.log_density_of_between(state.between)
    return tried.where(np.log(rng.random(len(change))) < change, state)


def _exchanged(rng: np.random.Generator, target: Target, state: State) -> State:
    """Two categories exchange their places in all groups, and two in each group, as often as the way back.

    In one group the prior is another afterwards, since what groups share stays.
    """
    groups, chains, categories = state.log_weights.shape
    rows, columns = np.arange(groups)[:, np.newaxis], np.arange(chains)
    for _ in range(-(-categories // _AN_EXCHANGE)):
        order = np.broadcast_to(np.arange(categories), (chains, categories)).copy()
        one, other = rng.integers(categories, size=(2, chains))
        order[columns, one], order[columns, other] = other, one
        shared, log_weights = (
            np.take_along_axis(part, np.broadcast_to(order, part.shape), axis=-1)
            for part in (state.shared, state.log_weights)
        )
        found = target.likelihoods(log_weights)
        change = found.sum(axis=0) - state.likelihood.sum(axis=0)
        mask = (np.log(rng.random(chains)) < change)[:, np.newaxis]
        state = replace(
            state,
            shared=np.where(mask, shared, state.shared),
            log_weights=np.where(mask, log_weights, state.log_weights),
            likelihood=np.where(mask[:, 0], found, state.likelihood),
        )

        one, other = rng.integers(categories, size=(2, groups, chains))
        tried = state.log_weights.copy()
        tried[rows, columns, one] = state.log_weights[rows, columns, other]
        tried[rows, columns, other] = state.log_weights[rows, columns, one]
        found, centre = target.likelihoods(tried), target.centre(state.shared)
        change = found - state.likelihood + prior.log_density(tried - centre, state.between)
        change -= prior.log_density(state.log_weights - centre, state.between)
        moved = np.log(rng.random((groups, chains))) < change
        state = replace(
            state,
            log_weights=np.where(moved[..., np.newaxis], tried, state.log_weights),
            likelihood=np.where(moved, found, state.likelihood),
        )
    return target.state(state.shared, state.log_weights, state.spreads, state.between)
