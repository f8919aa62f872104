"""The probabilities of the boxes into which cuts of every number divide several equally correlated normal numbers.

With a common factor `t`, `X_j = √ρ t + √(1 - ρ) e_j`, the numbers are independent, so a box has the mean over `t` of a
product. So it is for the others once one or two numbers are known: their common factor has another mean and spread.
"""

import math
from functools import cached_property
from itertools import product

import numpy as np
from scipy.special import ndtr

from dither_estimator.dependence.normals import EqualNormals
from dither_estimator.families import FloatArray

__all__ = ["Boxes"]

_FACTOR = np.linspace(-9.0, 9.0, 401)
_WEIGHTS = np.exp(-0.5 * _FACTOR**2) / np.exp(-0.5 * _FACTOR**2).sum()


class Boxes:
    """The boxes between `cuts`, the same increasing ones (k,) of each number, for 0 ≤ ρ < 1.

    There are `(k + 1)^d` boxes, those of the last number next to each other.
    """

    def __init__(self, normals: EqualNormals, cuts: FloatArray) -> None:
        self._normals, self._cuts = normals, cuts
        self._edges = np.concatenate([[-np.inf], cuts, [np.inf]])

    @cached_property
    def probabilities(self) -> FloatArray:
        """Shape (n,)."""
        rho = self._normals.rho
        return self._others(0.0, math.sqrt(rho), self._normals.components).ravel()

    @cached_property
    def slopes(self) -> FloatArray:
        """The gradients of the probabilities in the parameters, shape (n, D)."""
        found = [gradient for j in range(self._normals.components) for gradient in self._in_margin(j)]
        found += [self._in_correlation(i, j) for i, j in self._normals.pairs]
        return np.stack([gradient.ravel() for gradient in found], axis=1)

    def _in_margin(self, j: int) -> tuple[FloatArray, FloatArray]:
        """The derivatives in the mean and in the standard deviation of number j."""
        rho, d = self._normals.rho, self._normals.components
        at_cuts = [
            _density(cut) * self._others(rho * cut, math.sqrt(rho * (1 - rho)), d - 1) for cut in self._cuts.tolist()
        ]
        zero = np.zeros_like(at_cuts[0])
        mean = -np.diff(np.stack([zero, *at_cuts, zero]), axis=0)
        weighted = [cut * each for cut, each in zip(self._cuts.tolist(), at_cuts, strict=True)]
        sd = -np.diff(np.stack([zero, *weighted, zero]), axis=0)
        return np.moveaxis(mean, 0, j), np.moveaxis(sd, 0, j)

    def _in_correlation(self, i: int, j: int) -> FloatArray:
        rho, k = self._normals.rho, len(self._cuts)
        spread = math.sqrt(rho * (1 - rho) / (1 + rho))
        count = self._normals.components - 2
        at_corners = np.zeros((k + 2, k + 2, *(k + 1 for _ in range(count))))
        for a, b in product(range(k), range(k)):
            x, y = self._cuts[a], self._cuts[b]
            density = _density(x) * _density((y - rho * x) / math.sqrt(1 - rho**2)) / math.sqrt(1 - rho**2)
            at_corners[a + 1, b + 1] = density * self._others(rho * (x + y) / (1 + rho), spread, count)
        return np.moveaxis(np.diff(np.diff(at_corners, axis=0), axis=1), (0, 1), (i, j))

    def _others(self, mean: float, spread: float, count: int) -> FloatArray:
        """The boxes of `count` numbers `mean + spread t + √(1 - ρ) e`, shape (k + 1,) * count."""
        found = _WEIGHTS[:, np.newaxis]
        if count == 0:
            return np.array(1.0)
        centres = mean + spread * _FACTOR
        cells = np.diff(ndtr((self._edges - centres[:, np.newaxis]) / math.sqrt(1 - self._normals.rho)), axis=1)
        for _ in range(count - 1):
            found = (found[:, :, np.newaxis] * cells[:, np.newaxis, :]).reshape(len(_FACTOR), -1)
        return (found.T @ cells).reshape((cells.shape[1],) * count)


def _density(x: float) -> float:
    return math.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)
