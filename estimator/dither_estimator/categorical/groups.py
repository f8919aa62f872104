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
_SHARED_MOVES = 4
_SHARED_STEP = 2.4
"""A proposal's sd of what groups share of a category, in units of about its own given the groups' log weights."""
_AN_EXCHANGE = 16
"""Two categories try to exchange their places once in each turn for every so many of them."""
_REFINEMENTS = 20
_START = 0.3
"""How far from a group's mode chains begin, in standard deviations: farther off, they would be stuck."""
_NEWTON_STEPS, _CONVERGED = 60, 1e-6
"""A step that gains less is the last."""
_BETWEEN = 0.4
"""How far groups are thought to be apart where their modes are sought: the prior's median."""


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
    target = _Target.of(tables, categories, z)
    chains = min(_CHAINS, draws)
    state, directions = _start(rng, target, chains)
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
class _State:
    shared: FloatArray
    """What groups share: the log weights in common and, where there is a z, the slopes; (rows, chains, categories)."""
    log_weights: FloatArray
    """Shape (groups, chains, categories)."""
    spreads: FloatArray
    """That of what is common, shape (chains,)."""
    between: FloatArray
    """Shape (chains,)."""
    likelihood: FloatArray
    """The log of each group's, shape (groups, chains)."""
    slopes: FloatArray
    """Its derivative by each log weight, shape (groups, chains, categories)."""

    def where(self, chosen: npt.NDArray[np.bool_], other: "_State") -> "_State":
        """The chains (chains,) that are chosen, and the other state's elsewhere."""
        row, mask = chosen, chosen[:, np.newaxis]
        return _State(
            np.where(mask, self.shared, other.shared),
            np.where(mask, self.log_weights, other.log_weights),
            np.where(row, self.spreads, other.spreads),
            np.where(row, self.between, other.between),
            np.where(row, self.likelihood, other.likelihood),
            np.where(mask, self.slopes, other.slopes),
        )

    def with_shared(self, row: int, place: FloatArray) -> FloatArray:
        """What groups share, with another row."""
        shared = self.shared.copy()
        shared[row] = place
        return shared


@dataclass(frozen=True)
class _Target:
    """The likelihood of all groups' log weights, and where what they share puts them."""

    chances: FloatArray
    """The chance of each answer in each category, shape (groups, answers, categories)."""
    times: FloatArray
    """How often each was given, 0 where a group has fewer kinds of answers than another; shape (groups, answers, 1)."""
    design: FloatArray
    """Ones and, if there is one, z, shape (rows, groups)."""

    @classmethod
    def of(cls, tables: Sequence[Counts], categories: int, z: FloatArray | None) -> "_Target":
        each = [SharesLikelihood.of(counts, categories) for counts in tables]
        most = max(1, *(len(part.times) for part in each))
        chances, times = np.ones((len(each), most, categories)), np.zeros((len(each), most, 1))
        for place, part in enumerate(each):
            chances[place, : len(part.times)], times[place, : len(part.times), 0] = part.chances, part.times
        ones = np.ones(len(each))
        return cls(chances, times, np.array([ones] if z is None else [ones, z]))

    def centre(self, shared: FloatArray) -> FloatArray:
        """Where each group's log weights are expected, shape (groups, chains, categories)."""
        return np.asarray(np.dot(self.design.T, shared.reshape(len(shared), -1)).reshape(-1, *shared.shape[1:]))

    def apart(self, state: _State) -> FloatArray:
        """How each group's log weights are apart from there."""
        return np.asarray(state.log_weights - self.centre(state.shared))

    def likelihoods(self, log_weights: FloatArray) -> FloatArray:
        """The log-likelihood of each group's (groups, chains, categories), shape (groups, chains)."""
        chances = prior.shares_of(log_weights) @ np.swapaxes(self.chances, 1, 2)
        return np.asarray((np.log(chances) @ self.times)[..., 0])

    def told(self, log_weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The same, and its derivative by each log weight."""
        shares = prior.shares_of(log_weights)
        chances = shares @ np.swapaxes(self.chances, 1, 2)
        return np.asarray((np.log(chances) @ self.times)[..., 0]), self._slopes(shares, chances)

    def slopes(self, log_weights: FloatArray) -> FloatArray:
        """The derivative alone."""
        shares = prior.shares_of(log_weights)
        return self._slopes(shares, shares @ np.swapaxes(self.chances, 1, 2))

    def _slopes(self, shares: FloatArray, chances: FloatArray) -> FloatArray:
        by_share = (np.swapaxes(self.times, 1, 2) / chances) @ self.chances
        return np.asarray(shares * (by_share - self.times.sum(axis=1, keepdims=True)))

    def state(self, shared: FloatArray, log_weights: FloatArray, spreads: FloatArray, between: FloatArray) -> _State:
        return _State(shared, log_weights, spreads, between, *self.told(log_weights))

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
    """That of all groups together about each row of what they share, shape (rows, categories)."""

    def group_scales(self, between: FloatArray) -> FloatArray:
        """About each group's sd in each direction, given what groups share, shape (groups, chains, categories)."""
        return np.asarray((self.group_information[:, np.newaxis] + prior.curvature(np.zeros(1), between)) ** -0.5)

    @classmethod
    def of(cls, information: FloatArray, design: FloatArray) -> "_Directions":
        groups, shared = np.linalg.eigh(information), np.linalg.eigh(np.tensordot(design**2, information, axes=1))
        return cls(
            groups.eigenvectors,
            np.maximum(groups.eigenvalues, 0.0),
            shared.eigenvectors,
            np.maximum(shared.eigenvalues, 0.0),
        )


@dataclass(frozen=True)
class _Groups:
    """Each group's log weights, given what groups share."""

    place: FloatArray
    centre: FloatArray
    between: FloatArray
    likelihood: FloatArray
    likelihood_slopes: FloatArray

    @property
    def height(self) -> FloatArray:
        return np.asarray(self.likelihood + prior.log_density(self.place - self.centre, self.between))

    @property
    def slopes(self) -> FloatArray:
        return np.asarray(self.likelihood_slopes + prior.slopes(self.place - self.centre, self.between))

    def where(self, chosen: npt.NDArray[np.bool_], other: "_Groups") -> "_Groups":
        mask = chosen[..., np.newaxis]
        return replace(
            self,
            place=np.where(mask, self.place, other.place),
            likelihood=np.where(chosen, self.likelihood, other.likelihood),
            likelihood_slopes=np.where(mask, self.likelihood_slopes, other.likelihood_slopes),
        )


@dataclass(frozen=True)
class _Shared:
    """A row of what groups share, given how they are apart from it."""

    state: _State
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


def _start(rng: np.random.Generator, target: _Target, chains: int) -> tuple[_State, _Directions]:
    """Chains near each group's own mode, around that of shares that all groups have alike."""
    groups, _, categories = target.chances.shape
    common, spreads = np.zeros((1, categories)), np.ones(1)
    for _ in range(_REFINEMENTS):
        at = np.broadcast_to(common, (groups, 1, categories))
        slope = target.told(at)[1].sum(axis=(0, 1)) + prior.slopes(common, spreads)[0]
        curvature = target.information(at).sum(axis=0) + np.diag(prior.curvature(common[0], spreads[0]))
        step = np.linalg.solve(curvature, slope)
        common = common + step / max(1.0, float(np.abs(step).max()))
    own = _own_modes(target, common)
    directions = _Directions.of(target.information(own), target.design)
    spreads = np.exp(rng.uniform(np.log(0.5), np.log(4.0), chains))
    between = np.exp(rng.uniform(np.log(0.1), np.log(1.5), chains))
    shared = np.zeros((len(target.design), chains, categories))
    shared[0] = common
    scales = directions.group_scales(between)
    beside = _START * (scales * rng.standard_normal(scales.shape)) @ np.swapaxes(directions.group_axes, 1, 2)
    return target.state(shared, own + beside, spreads, between), directions


def _own_modes(target: _Target, common: FloatArray) -> FloatArray:
    """Where each group is likeliest if all expect `common`: damped Newton steps, shape (groups, 1, categories)."""
    between, halvings = np.array([_BETWEEN]), 0.5 ** np.arange(8)[:, np.newaxis]

    def at(log_weights: FloatArray) -> _Groups:
        return _Groups(log_weights, common, between, *target.told(log_weights))

    now = at(np.broadcast_to(common, (len(target.chances), 1, common.shape[-1])).copy())
    for _ in range(_NEWTON_STEPS):
        own = prior.curvature(now.place - common, between) * np.eye(common.shape[-1])
        step = np.linalg.solve(target.information(now.place) + own, np.swapaxes(now.slopes, 1, 2))
        tried = at(now.place + halvings * np.swapaxes(step, 1, 2))
        best = tried.height.argmax(axis=1, keepdims=True)
        tried = at(np.take_along_axis(tried.place, best[..., np.newaxis], axis=1))
        better = tried.height - now.height >= _CONVERGED
        if not better.any():
            break
        now = tried.where(better, now)
    return now.place


def _groups_moved(
    rng: np.random.Generator, target: _Target, state: _State, directions: _Directions, step: FloatArray
) -> tuple[_State, FloatArray]:
    """A trajectory of each group's log weights, and how probably each was accepted (groups, chains)."""
    centre = target.centre(state.shared)

    def slopes_at(log_weights: FloatArray) -> FloatArray:
        return np.asarray(target.slopes(log_weights) + prior.slopes(log_weights - centre, state.between))

    def at(log_weights: FloatArray) -> _Groups:
        return _Groups(log_weights, centre, state.between, *target.told(log_weights))

    now = _Groups(state.log_weights, centre, state.between, state.likelihood, state.slopes)
    scales = directions.group_scales(state.between)
    end, accepted = trajectory(rng, slopes_at, at, now, directions.group_axes, scales, step)
    return replace(state, log_weights=end.place, likelihood=end.likelihood, slopes=end.likelihood_slopes), accepted


def _shared_moved(
    rng: np.random.Generator, target: _Target, state: _State, directions: _Directions, row: int, step: float
) -> tuple[_State, FloatArray]:
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


def _shared_alone(rng: np.random.Generator, target: _Target, state: _State) -> _State:
    """What groups share moves, category by category, and the groups' log weights stay."""
    of_groups = prior.curvature(np.zeros(1), state.between)

    def height(state: _State) -> FloatArray:
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


def _spreads_alone(rng: np.random.Generator, target: _Target, state: _State) -> _State:
    """Both spreads move, and log weights stay."""
    apart = target.apart(state)

    def of_spreads(spreads: FloatArray) -> FloatArray:
        return prior.log_density(state.shared[0], spreads) + prior.log_density_of_spread(spreads)

    def of_between(between: FloatArray) -> FloatArray:
        return prior.log_density(apart, between).sum(axis=0) + prior.log_density_of_between(between)

    spreads = spreads_moved(rng, state.spreads, of_spreads)
    return replace(state, spreads=spreads, between=spreads_moved(rng, state.between, of_between))


def _in_proportion(rng: np.random.Generator, target: _Target, state: _State) -> _State:
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


def _exchanged(rng: np.random.Generator, target: _Target, state: _State) -> _State:
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
