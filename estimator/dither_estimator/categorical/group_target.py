"""The posterior of all groups' log weights: the likelihood, where what groups share puts them, and a chain's state."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from dither_estimator.categorical import prior
from dither_estimator.categorical.likelihood import SharesLikelihood
from dither_estimator.families import FloatArray
from dither_estimator.likelihood.counts import Counts

__all__ = ["Groups", "State", "Target"]


@dataclass(frozen=True)
class State:
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

    def where(self, chosen: npt.NDArray[np.bool_], other: "State") -> "State":
        """The chains (chains,) that are chosen, and the other state's elsewhere."""
        row, mask = chosen, chosen[:, np.newaxis]
        return State(
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
class Target:
    """The likelihood of all groups' log weights, and where what they share puts them."""

    chances: FloatArray
    """The chance of each answer in each category, shape (groups, answers, categories)."""
    times: FloatArray
    """How often each was given, 0 where a group has fewer kinds of answers than another; shape (groups, answers, 1)."""
    design: FloatArray
    """Ones and, if there is one, z, shape (rows, groups)."""

    @classmethod
    def of(cls, tables: Sequence[Counts], categories: int, z: FloatArray | None) -> "Target":
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

    def apart(self, state: State) -> FloatArray:
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

    def state(self, shared: FloatArray, log_weights: FloatArray, spreads: FloatArray, between: FloatArray) -> State:
        return State(shared, log_weights, spreads, between, *self.told(log_weights))

    def information(self, log_weights: FloatArray) -> FloatArray:
        """That about each group's log weights (groups, 1, categories), shape (groups, categories, categories)."""
        shares = prior.shares_of(log_weights)
        weights = self.times / np.swapaxes(shares @ np.swapaxes(self.chances, 1, 2), 1, 2) ** 2
        by_share = np.swapaxes(self.chances * weights, 1, 2) @ self.chances
        turn = np.eye(shares.shape[-1]) * shares - np.swapaxes(shares, 1, 2) * shares
        return np.asarray(turn @ by_share @ turn)


@dataclass(frozen=True)
class Groups:
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

    def where(self, chosen: npt.NDArray[np.bool_], other: "Groups") -> "Groups":
        mask = chosen[..., np.newaxis]
        return replace(
            self,
            place=np.where(mask, self.place, other.place),
            likelihood=np.where(chosen, self.likelihood, other.likelihood),
            likelihood_slopes=np.where(mask, self.likelihood_slopes, other.likelihood_slopes),
        )
