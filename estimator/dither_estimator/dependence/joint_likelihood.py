"""The exact likelihood of answers about several numbers, under a Gaussian copula of any margins."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from dither_estimator.dependence.normal_pairs import normal_cdf
from dither_estimator.dependence.questions import Corner, JointQuestion
from dither_estimator.families import FloatArray

__all__ = ["Corners", "JointCounts", "JointLikelihood", "check_joint_counts", "normal_scores"]

JointCounts = Mapping[JointQuestion, npt.NDArray[np.int64]]
"""How often each answer was given to each question."""

Corners = dict[tuple[int, ...], FloatArray]
"""Values (n, c) of the joint distribution functions of one or two components at some corners, by these components."""

_FAR = 38.0
"""The scores of all probabilities that floating point holds lie within this range."""
_LEAST = 1e-300


def check_joint_counts(counts: Mapping[JointQuestion, Sequence[int] | npt.NDArray[np.int64]]) -> JointCounts:
    """The counts as arrays. Raises `ValueError` for negative counts and for rows that are no question's answers."""
    found = {}
    for question, row in counts.items():
        checked = np.asarray(row)
        if checked.shape != (question.n_answers,) or checked.dtype.kind not in "iu" or (checked < 0).any():
            raise ValueError(f"counts of this question must be {question.n_answers} integers that are not negative")
        found[question] = checked.astype(np.int64)
    return found


def normal_scores(shares: FloatArray) -> FloatArray:
    """The scores at which the standard normal distribution function has these values, up to rounding from 0 to 1."""
    return np.clip(ndtri(np.clip(shares, 0.0, 1.0)), -_FAR, _FAR)


@dataclass(frozen=True, eq=False)
class JointLikelihood:
    """The log likelihood of `counts` in the margins and the correlations, a sum of terms for some questions each.

    Margins are given by the normal scores (n, k) of the shares of the population at or below each of `cuts`, by
    component; correlations have the shape (n, d, d).
    """

    counts: JointCounts

    @cached_property
    def cuts(self) -> dict[int, FloatArray]:
        """Every cut of each component that a question is about, increasing, on the transformed scale."""
        found: dict[int, set[float]] = {}
        for question in self.counts:
            for component, cuts in zip(question.components, question.cuts, strict=True):
                found.setdefault(component, set()).update(cuts)
        return {component: np.array(sorted(cuts)) for component, cuts in found.items()}

    def log_likelihood(self, scores: Mapping[int, FloatArray], correlations: FloatArray) -> FloatArray:
        """The log likelihood (n,), for answers in a given order."""
        return self.terms(self.corners(scores, correlations)).sum(axis=1)

    def log_likelihood_about(
        self, component: int, scores: Mapping[int, FloatArray], correlations: FloatArray
    ) -> FloatArray:
        """The part (n,) of the log likelihood that depends on a component's margin.

        What is the same for all n, scores of other components or correlations, may have the first dimension 1.
        """
        return self.terms(self.corners(scores, correlations), self.terms_about(component)).sum(axis=1)

    def corners(
        self, scores: Mapping[int, FloatArray], correlations: FloatArray, component: int | None = None
    ) -> Corners:
        """The joint distribution functions where questions need them: all, or those that `component` is part of."""
        found: Corners = {(one,): ndtr(scores[one]) for one in scores if component in (None, one)}
        for (i, j), (first, second) in self._pairs.items():
            if component in (None, i, j):
                rho = correlations[:, i, j, np.newaxis]
                found[i, j] = normal_cdf(scores[i][:, first], scores[j][:, second], rho)
        return found

    def terms(self, corners: Corners, numbers: Iterable[int] | None = None) -> FloatArray:
        """The terms (n, t) of the sum: all, or those with these numbers."""
        size = max(map(len, corners.values()), default=0)
        parts = self._parts if numbers is None else [self._parts[number] for number in numbers]
        return np.array([part.log_likelihood(corners, size) for part in parts]).T.reshape(size, len(parts))

    def terms_about(self, component: int) -> list[int]:
        """The numbers of the terms that depend on a component's margin, or on its correlations."""
        return self._about.get(component, [])

    @cached_property
    def _about(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for number, part in enumerate(self._parts):
            for component in part.components:
                found.setdefault(component, []).append(number)
        return found

    @cached_property
    def _pairs(self) -> dict[tuple[int, int], tuple[list[int], list[int]]]:
        """The columns of either component's scores at the corners of both, by pair."""
        return {
            (pair[0], pair[1]): (
                [self._columns[pair[0]][corner[0][1]] for corner in corners],
                [self._columns[pair[1]][corner[1][1]] for corner in corners],
            )
            for pair, corners in self._corners.items()
            if len(pair) == 2
        }

    @cached_property
    def _columns(self) -> dict[int, dict[float, int]]:
        return {component: {cut: k for k, cut in enumerate(cuts)} for component, cuts in self.cuts.items()}

    @cached_property
    def _corners(self) -> dict[tuple[int, ...], dict[Corner, int]]:
        """Every corner of one or two components, by these, with its column."""
        found: dict[tuple[int, ...], dict[Corner, int]] = {
            (component,): {((component, cut),): k for cut, k in columns.items()}
            for component, columns in self._columns.items()
        }
        for question in self.counts:
            for corner in question.states():
                if len(corner) == 2:
                    of_pair = found.setdefault((corner[0][0], corner[1][0]), {})
                    of_pair.setdefault(corner, len(of_pair))
        return found

    @cached_property
    def _parts(self) -> list["_Part"]:
        alike: dict[tuple[tuple[int, ...], tuple[Corner, ...]], list[JointQuestion]] = {}
        for question in self.counts:
            alike.setdefault((question.components, tuple(question.states())), []).append(question)
        return [
            _Part(
                components,
                [
                    (of := tuple(component for component, _ in corner), self._corners[of][corner] if of else 0)
                    for corner in corners
                ],
                np.hstack([np.array(list(each.states().values())) @ each.matrix for each in questions]),
                np.concatenate([self.counts[each] for each in questions]).astype(float),
            )
            for (components, corners), questions in alike.items()
        ]


@dataclass(frozen=True, eq=False)
class _Part:
    """Questions with the same corners, which differ in how their states are answered."""

    components: tuple[int, ...]
    corners: list[tuple[tuple[int, ...], int]]
    """The components and the column of each corner; of none for the constant 1."""
    coefficients: FloatArray
    """The probability of each answer, shape (C, A), as coefficients of the values at the corners."""
    counts: FloatArray
    """How often each answer (A,) was given."""

    def log_likelihood(self, corners: Corners, size: int) -> FloatArray:
        values = np.ones((len(self.corners), size))
        for row, (of, column) in zip(values, self.corners, strict=True):
            if of:
                row[:] = corners[of][:, column]
        answers = self.coefficients.T @ values
        return self.counts @ np.log(np.maximum(answers, _LEAST, out=answers), out=answers)
