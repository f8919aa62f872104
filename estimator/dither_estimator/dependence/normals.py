"""Standard normal numbers with equal correlations: the population for which questions about several numbers are made.

Its parameters are the mean and the standard deviation of each number, and the correlation of each pair.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, permutations

import numpy as np
from scipy.special import ndtr

from dither_estimator.dependence.normal_pairs import normal_cdf, normal_cdf_slopes
from dither_estimator.dependence.questions import Corner, JointQuestion
from dither_estimator.families import FloatArray
from dither_estimator.mechanisms.information import answer_information

__all__ = ["EqualNormals"]


@dataclass(frozen=True)
class EqualNormals:
    """`d` standard normal numbers, each two of which have the correlation `rho`."""

    components: int
    rho: float

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The pairs of components, in order."""
        return tuple(combinations(range(self.components), 2))

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters: `mu_1, sigma_1, mu_2, …`, then `rho_12, rho_13, …`."""
        margins = [f"{name}_{j + 1}" for j in range(self.components) for name in ("mu", "sigma")]
        return (*margins, *(f"rho_{i + 1}{j + 1}" for i, j in self.pairs))

    @property
    def of_correlations(self) -> FloatArray:
        """1 for the correlations and 0 for the margins' parameters, shape (D,)."""
        return np.repeat([0.0, 1.0], [2 * self.components, len(self.pairs)])

    def information(self, question: JointQuestion) -> FloatArray:
        """The Fisher information of one answer, shape (D, D)."""
        chances, slopes = self.states(question)
        matrix = question.matrix
        return answer_information((chances @ matrix)[np.newaxis], (slopes.T @ matrix)[np.newaxis])[0]

    def states(self, question: JointQuestion) -> tuple[FloatArray, FloatArray]:
        """The probabilities of the question's states (S,), and their gradients (S, D)."""
        forms = question.states()
        values, gradients = zip(*map(self._corner, forms), strict=True)
        coefficients = np.array(list(forms.values()))
        return np.maximum(coefficients.T @ np.array(values), 0.0), coefficients.T @ np.array(gradients)

    def of_margins(self, informations: Iterable[FloatArray]) -> FloatArray:
        """The information (D, D) of questions about single numbers, from that about each one's mean and sd (2, 2)."""
        found = np.zeros((len(self.names), len(self.names)))
        for number, block in enumerate(informations):
            found[2 * number : 2 * number + 2, 2 * number : 2 * number + 2] = block
        return found

    def exchanged(self, information: FloatArray, named: Sequence[int]) -> FloatArray:
        """The mean information (D, D) of a question about the components `named` and the same about any others.

        Components are drawn at random, in any order; so is the direction of all numbers, which changes the signs of the
        means.
        """
        count = self.components
        rest = [number for number in range(count) if number not in named]
        moved = []
        for chosen in permutations(range(count), len(named)):
            others = [number for number in range(count) if number not in chosen]
            place = dict(zip((*named, *rest), (*chosen, *others), strict=True))
            moved.append(information[np.ix_(*[self._permuted(place)] * 2)])
        sign = np.where([name.startswith("mu") for name in self.names], -1.0, 1.0)
        mean = np.mean(moved, axis=0)
        return (mean + mean * np.outer(sign, sign)) / 2

    def _permuted(self, place: dict[int, int]) -> list[int]:
        """The index of the parameter that takes each parameter's place when components move to `place`."""
        back = {new: old for old, new in place.items()}
        margins = [2 * back[j] + part for j in range(self.components) for part in range(2)]
        pairs = [self.pairs.index((min(back[i], back[j]), max(back[i], back[j]))) for i, j in self.pairs]
        return [*margins, *(2 * self.components + pair for pair in pairs)]

    def _corner(self, corner: Corner) -> tuple[float, FloatArray]:
        """The distribution function at a corner, and its gradient (D,)."""
        gradient = np.zeros(len(self.names))
        if not corner:
            return 1.0, gradient
        if len(corner) == 1:
            [(number, cut)] = corner
            density = math.exp(-0.5 * cut * cut) / math.sqrt(2 * math.pi)
            gradient[2 * number : 2 * number + 2] = -density, -cut * density
            return float(ndtr(cut)), gradient
        (first, a), (second, b) = corner
        h, k = np.array(a), np.array(b)
        in_h, in_k, in_rho = map(float, normal_cdf_slopes(h, k, self.rho))
        gradient[2 * first : 2 * first + 2] = -in_h, -a * in_h
        gradient[2 * second : 2 * second + 2] = -in_k, -b * in_k
        gradient[2 * self.components + self.pairs.index((first, second))] = in_rho
        return float(normal_cdf(h, k, np.array(self.rho))), gradient
