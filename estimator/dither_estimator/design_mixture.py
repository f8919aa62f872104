"""The convex part of a design: the best weights on given queries, and what their information is worth.

A mixture that asks query `i` with probability `w_i` has information `M = Σ w_i F_i` per respondent. A design minimises
the weighted sum of variances `φ(M) = Σ_j g_j (M⁻¹)_jj = tr(G M⁻¹)`, which is convex in `w` (A-optimality; the
c-optimality of one parameter is its limit). With `W = M⁻¹ G M⁻¹`, the derivative towards a query with information `F`
is `φ - tr(W F)`, so a design is optimal exactly if no query has `tr(W F) > φ` (the general equivalence theorem: Kiefer
& Wolfowitz 1960; Pukelsheim, Optimal Design of Experiments, chapter 7).
"""

from dataclasses import dataclass

import numpy as np

from dither_estimator.families import FloatArray

__all__ = ["Criterion", "best_weights", "mix"]

_RIDGE = 1e-7
_STEPS = 60
_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class Criterion:
    """`φ` with a ridge, `tr(G (M + δR)⁻¹)`: finite for singular `M`, and never above `φ(M)`.

    `weights`: the diagonal of G, shape (d,). `ridge`: `δR`, shape (d, d), positive definite.
    """

    weights: FloatArray
    ridge: FloatArray

    @classmethod
    def of(cls, weights: FloatArray, informations: FloatArray) -> "Criterion":
        """The criterion whose ridge is a tiny share of the mean of `informations` (n, d, d), which must be regular."""
        return cls(weights, _RIDGE * informations.mean(axis=0))

    def value(self, matrix: FloatArray) -> float:
        """`φ` at the information `M` (d, d)."""
        return float(np.diag(self._inverse(matrix)) @ self.weights)

    def slope(self, matrix: FloatArray) -> FloatArray:
        """`W = M⁻¹ G M⁻¹` (d, d): minus the derivative of `φ` at `M`."""
        inverse = self._inverse(matrix)
        slope: FloatArray = (inverse * self.weights) @ inverse
        return slope

    def derivatives(self, matrix: FloatArray, informations: FloatArray) -> tuple[FloatArray, FloatArray]:
        """`tr(W F_i)` (n,), minus the derivatives by the weights of `informations`, and the second ones (n, n)."""
        inverse, slope, n = self._inverse(matrix), self.slope(matrix), len(informations)
        left, right = slope @ informations, inverse @ informations
        half = left.reshape(n, -1) @ right.swapaxes(1, 2).reshape(n, -1).T
        return np.trace(left, axis1=1, axis2=2), half + half.T

    def bound(self, matrix: FloatArray, best: float) -> float:
        """What no mixture can go below, if `best` is the largest `tr(W F)` of any query, with `W` the slope at `M`.

        It is `φ(M)² / max tr(W F)`: by Cauchy–Schwarz `tr(G M*⁻¹) tr(M⁻¹ G M⁻¹ M*) ≥ tr(G M⁻¹)²` for every `M*`.
        """
        return self.value(matrix) ** 2 / (best + float(np.sum(self.slope(matrix) * self.ridge)))

    def _inverse(self, matrix: FloatArray) -> FloatArray:
        total = matrix + self.ridge
        scale = 1.0 / np.sqrt(np.diag(total))
        scales = np.outer(scale, scale)
        inverse: FloatArray = np.linalg.inv(total * scales) * scales
        return inverse


def mix(weights: FloatArray, informations: FloatArray) -> FloatArray:
    """`Σ w_i F_i` (d, d)."""
    matrix: FloatArray = np.tensordot(weights, informations, 1)
    return matrix


def best_weights(criterion: Criterion, informations: FloatArray) -> FloatArray:
    """The weights (n,) on the simplex that minimise the criterion of `Σ w_i F_i`, for `informations` (n, d, d).

    A primal-dual interior-point method (Boyd & Vandenberghe, section 11.7) with a line search on the barrier function:
    `slack` are the multipliers of `w ≥ 0`. Queries that the optimum leaves out keep weights near 0.
    """
    n = len(informations)
    weights = np.full(n, 1.0 / n)
    slack = np.full(n, criterion.value(mix(weights, informations)))
    for _ in range(_STEPS):
        matrix = mix(weights, informations)
        if weights @ slack < _TOLERANCE * criterion.value(matrix):
            break
        target = 0.1 * float(weights @ slack) / n
        gains, curvature = criterion.derivatives(matrix, informations)
        system = np.ones((n + 1, n + 1))
        system[:n, :n] = curvature + np.diag(slack / weights)
        system[n, n] = 0.0
        step = np.linalg.solve(system, np.append(gains + target / weights, 0.0))[:n]
        slack_step = target / weights - slack - slack / weights * step
        weights = _descend(criterion, informations, weights, step, target)
        slack = slack + _room(slack, slack_step) * slack_step
    return weights / weights.sum()


def _descend(
    criterion: Criterion, informations: FloatArray, weights: FloatArray, step: FloatArray, target: float
) -> FloatArray:
    def barrier(at: FloatArray) -> float:
        return criterion.value(mix(at, informations)) - target * float(np.log(at).sum())

    length, here = _room(weights, step), barrier(weights)
    while length > 1e-6 and barrier(weights + length * step) > here:
        length /= 2
    moved: FloatArray = weights + length * step
    return moved


def _room(position: FloatArray, step: FloatArray) -> float:
    """The longest step, at most 1, that keeps `position` positive."""
    falling = step < 0
    return min(1.0, 0.99 * float((-position[falling] / step[falling]).min())) if falling.any() else 1.0
