"""The exact likelihood of answers about several numbers, under a Gaussian copula of any margins."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from dither_estimator.dependence.normal_pairs import normal_cdf
from dither_estimator.dependence.questions import Corner, JointQuestion
from dither_estimator.families import FloatArray

__all__ = ["JointCounts", "JointLikelihood", "check_joint_counts"]

JointCounts = Mapping[JointQuestion, npt.NDArray[np.int64]]
"""How often each answer was given to each question."""

_FAR = 38.0
"""Scores of probabilities that floating point holds lie within."""
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


@dataclass(frozen=True, eq=False)
class JointLikelihood:
    """The log likelihood of `counts` in the margins and the correlations."""

    counts: JointCounts

    @cached_property
    def cuts(self) -> dict[int, FloatArray]:
        """Every cut of each component that a question is about, increasing, on the transformed scale."""
        found: dict[int, set[float]] = {}
        for question in self.counts:
            for component, cuts in zip(question.components, question.cuts, strict=True):
                found.setdefault(component, set()).update(cuts)
        return {component: np.array(sorted(cuts)) for component, cuts in found.items()}

    def log_likelihood(self, below: Mapping[int, FloatArray], correlations: FloatArray) -> FloatArray:
        """The log likelihood (n,), for answers in a given order.

        `below` has the shares (n, k) of the population at or below each of `cuts`, by component; `correlations` has the
        shape (n, d, d).
        """
        corners = self._corner_values(below, correlations)
        total = np.zeros(len(correlations))
        for question, counts in self.counts.items():
            forms, coefficients = self._forms[question]
            values = np.stack([corners[corner] for corner in forms], axis=1)
            states = np.maximum(values @ coefficients, 0.0)
            answers = states @ question.matrix
            total += np.log(np.maximum(answers, _LEAST)) @ counts
        return total

    @cached_property
    def _forms(self) -> dict[JointQuestion, tuple[list[Corner], FloatArray]]:
        """The corners (C,) of each question, and the coefficients (C, n_states) of its states."""
        forms = {question: question.states() for question in self.counts}
        return {question: (list(form), np.array(list(form.values()))) for question, form in forms.items()}

    @cached_property
    def _corners(self) -> dict[tuple[int, int], list[Corner]]:
        """The corners of two components, by pair."""
        found: dict[tuple[int, int], dict[Corner, None]] = {}
        for question in self.counts:
            for corner in question.states():
                if len(corner) == 2:
                    found.setdefault((corner[0][0], corner[1][0]), {})[corner] = None
        return {pair: list(corners) for pair, corners in found.items()}

    def _corner_values(self, below: Mapping[int, FloatArray], correlations: FloatArray) -> dict[Corner, FloatArray]:
        found: dict[Corner, FloatArray] = {(): np.ones(len(correlations))}
        places = {component: {cut: k for k, cut in enumerate(cuts)} for component, cuts in self.cuts.items()}
        scores = {component: np.clip(ndtri(shares), -_FAR, _FAR) for component, shares in below.items()}
        for component, place in places.items():
            found |= {((component, cut),): below[component][:, k] for cut, k in place.items()}
        for (i, j), corners in self._corners.items():
            first = scores[i][:, [places[i][corner[0][1]] for corner in corners]]
            second = scores[j][:, [places[j][corner[1][1]] for corner in corners]]
            values = normal_cdf(first, second, correlations[:, i, j, np.newaxis])
            found |= dict(zip(corners, values.T, strict=True))
        return found
