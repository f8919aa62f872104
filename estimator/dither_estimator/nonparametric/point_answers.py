"""How many people have the points of a support, by the answers alone: expectation maximisation."""

from dataclasses import dataclass

import numpy as np

from dither_estimator.families import FloatArray
from dither_estimator.nonparametric.answer_kinds import AnswerKinds

__all__ = ["PointAnswers"]

_EXPECTATION_STEPS = 400
"""With answers at a small ε each step of expectation maximisation goes a short part of the way."""
_SHARE_TOLERANCE = 1e-5
"""The search for shares ends when none moves by more than this."""
_LEAST = 1e-300


@dataclass(frozen=True)
class PointAnswers:
    """What answers tell of the shares of the points and of all else, if the distribution of all else is known."""

    chances: FloatArray
    """The chance of each observed kind of answer for people at each point, and for all else; shape (kinds, shares)."""
    counts: FloatArray
    """How often each came, shape (kinds,)."""

    @classmethod
    def of(cls, kinds: AnswerKinds, below: FloatArray) -> "PointAnswers":
        """What was given, if the distribution function of all else has the values `below` (edges,) at the edges."""
        chances = np.column_stack([kinds.at_points, kinds.chances(below[:, np.newaxis])])
        return cls(chances.clip(_LEAST), kinds.counts)

    def shares(self, first: FloatArray, expected: FloatArray) -> FloatArray:
        """The shares that fit best, from `first` on (expectation maximisation), if there were some people more.

        So many of them as `expected` (points + 1,) says were at each point, or elsewhere. Without them, points of which
        the answers tell little, or all else, would have nobody, and what is known of them lies around that.
        """
        shares = first
        for _ in range(_EXPECTATION_STEPS):
            moved = shares * (self.counts / (self.chances @ shares) @ self.chances) + expected
            before, shares = shares, moved / moved.sum()
            if np.abs(shares - before).max() < _SHARE_TOLERANCE:
                break
        return shares

    def information(self, shares: FloatArray) -> FloatArray:
        """The information about the logarithms of the points' shares relative to all else, shape (points, points)."""
        moved = self.chances @ _by_log_ratio(shares) / (self.chances @ shares)[:, np.newaxis]
        return np.asarray((moved.T * self.counts) @ moved)


def _by_log_ratio(shares: FloatArray) -> FloatArray:
    """The derivatives of shares by the logarithms of the points' shares relative to the last one."""
    return np.asarray(np.diag(shares) - np.outer(shares, shares))[:, :-1]
