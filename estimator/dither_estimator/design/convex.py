"""The convex part of a design: the best weights on given queries, and what their information is worth.

A mixture that asks query `i` with probability `w_i` has information `M = Σ w_i F_i` per respondent. A design minimises
the goal's variances `φ(M) = tr(G M⁻¹)`, which is convex in `w` (A-optimality; the c-optimality of one parameter, or of
one function of them, is its limit). With `W = M⁻¹ G M⁻¹`, the derivative towards a query with information `F`
is `φ - tr(W F)`, so a design is optimal exactly if no query has `tr(W F) > φ` (the general equivalence theorem: Kiefer
& Wolfowitz 1960; Pukelsheim, Optimal Design of Experiments, chapter 7).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dither_estimator.design.interior_point import Factorised, centre, longest_step
from dither_estimator.families import FloatArray

__all__ = ["Criterion", "best_weights", "minimise", "mix"]

_RIDGE = 1e-7
_STEPS = 60
_TOLERANCE = 1e-9
_STEP_SHARE = 0.99
_POLISHES = 30
_ROUNDING_ERROR = 1e-14
_SLOPE_TOLERANCE = 2e-7
"""How far a query's slope may be above the mean, relatively."""


@dataclass(frozen=True, eq=False)
class Criterion:
    """`φ` with a ridge, `tr(G (M + δR)⁻¹)`: finite for singular `M`, and never above `φ(M)`.

    `aim`: G, shape (d, d), positive semi-definite. `ridge`: `δR`, shape (d, d), positive definite.
    """

    aim: FloatArray
    ridge: FloatArray

    @classmethod
    def of(cls, aim: FloatArray, informations: FloatArray) -> "Criterion":
        """The criterion whose ridge is a tiny share of the mean of `informations` (n, d, d), which must be regular."""
        return cls(aim, _RIDGE * informations.mean(axis=0))

    def value(self, matrix: FloatArray) -> float:
        """`φ` at the information `M` (d, d)."""
        return self.at(matrix).value

    def slope(self, matrix: FloatArray) -> FloatArray:
        """`W = M⁻¹ G M⁻¹` (d, d): minus the derivative of `φ` at `M`.

        It is the square of `M⁻¹ √G`, since a nearly singular `M⁻¹` on both sides of G would square its rounding error.
        """
        return self.at(matrix).slope

    def at(self, matrix: FloatArray) -> "_At":
        """All of that at `M` (d, d)."""
        total = matrix + self.ridge
        scale = 1.0 / np.sqrt(np.diag(total))
        scales = np.outer(scale, scale)
        return _At(self, np.linalg.inv(total * scales) * scales)

    def bound(self, matrix: FloatArray, best: float) -> float:
        """What no mixture can go below, if `best` is the largest `tr(W F)` of any query, with `W` the slope at `M`.

        It is `φ(M)² / max tr(W F)`: by Cauchy–Schwarz `tr(G M*⁻¹) tr(M⁻¹ G M⁻¹ M*) ≥ tr(G M⁻¹)²` for every `M*`.
        Raises `LinAlgError` where floating point leaves nothing of the slope.
        """
        here = self.at(matrix)
        most = best + float(np.sum(here.slope * self.ridge))
        if not most > 0:
            raise np.linalg.LinAlgError("the slope is 0")
        return here.value**2 / most

    @cached_property
    def root(self) -> FloatArray:
        """A root of G in the units of the ridge, without the directions that are nothing but rounding error."""
        units = np.sqrt(np.diag(self.ridge))
        values, vectors = np.linalg.eigh(self.aim / np.outer(units, units))
        used = values > _ROUNDING_ERROR * values[-1]
        return np.asarray(units[:, np.newaxis] * vectors[:, used] * np.sqrt(values[used]))


@dataclass(frozen=True, eq=False)
class _At:
    """A criterion at one information, whose inverse, with the ridge, is computed once."""

    criterion: Criterion
    inverse: FloatArray

    @property
    def value(self) -> float:
        return float(np.sum(self.inverse * self.criterion.aim))

    @cached_property
    def slope(self) -> FloatArray:
        half = self.inverse @ self.criterion.root
        return np.asarray(half @ half.T)

    @property
    def curvature(self) -> FloatArray:
        """`K` (d², k) with `vec(E)ᵀ K Kᵀ vec(E)` the second derivative of `φ` along a symmetric `E`."""
        values, vectors = np.linalg.eigh(_kron(self.slope, self.inverse) + _kron(self.inverse, self.slope))
        used = values > 1e-14 * values[-1]
        return vectors[:, used] * np.sqrt(values[used])


def _kron(a: FloatArray, b: FloatArray) -> FloatArray:
    """As `np.kron` of square matrices of one size, in a fraction of its time where these are small."""
    return (a[:, np.newaxis, :, np.newaxis] * b[:, np.newaxis]).reshape(len(a) ** 2, -1)


def mix(weights: FloatArray, informations: FloatArray) -> FloatArray:
    """`Σ w_i F_i` (d, d)."""
    n, *shape = informations.shape
    return np.asarray(np.dot(weights[np.newaxis], informations.reshape(n, -1)).reshape(shape))


def best_weights(criterion: Criterion, informations: FloatArray) -> FloatArray:
    """The weights (n,) on the simplex that minimise the criterion of `Σ w_i F_i`, for `informations` (n, d, d).

    Queries that the optimum leaves out keep weights near 0.
    """
    n = len(informations)
    weights = minimise(criterion, informations, np.ones((1, n)), np.full(n, 1.0 / n), _TOLERANCE)
    return _polished(criterion, informations, weights / weights.sum())


def _polished(criterion: Criterion, informations: FloatArray, weights: FloatArray) -> FloatArray:
    """Weights nearer to the optimum, by `w_i ∝ w_i √tr(W F_i)`, which never raises the criterion (Torsney 1983).

    A criterion within 1e-9 of the least allows slopes that differ by 1e-5, since it is flat there.
    """
    vectors = informations.reshape(len(weights), -1)
    for _ in range(_POLISHES):
        gains = np.dot(vectors, criterion.slope(mix(weights, informations)).reshape(-1, 1))[:, 0]
        # Where floating point cannot tell gains from 0, they cannot be compared either.
        if not gains.min() > 0 or gains.max() <= (1 + _SLOPE_TOLERANCE) * float(weights @ gains):
            break
        weights = weights * np.sqrt(gains)
        weights = weights / weights.sum()
    return weights


def minimise(
    criterion: Criterion, informations: FloatArray, constraints: FloatArray, start: FloatArray, tolerance: float
) -> FloatArray:
    """The `w ≥ 0` (n,) that minimise the criterion of `Σ w_i F_i` subject to `A w = A start`.

    `informations`: shape (n, d, d). `constraints`: `A`, shape (m, n). `start`: positive, shape (n,). `tolerance`: the
    relative gap to stop at. As the criterion's second derivative has rank `d²` at most, a step solves `m + d²`
    equations, however many weights there are.
    """
    weights, vectors = start, informations.reshape(len(start), -1)
    slack = criterion.value(mix(weights, informations)) / (len(start) * weights)
    for _ in range(_STEPS):
        mean = float(weights @ slack) / len(weights)
        here = criterion.at(mix(weights, informations))
        if mean * len(weights) < tolerance * here.value:
            break
        rows = np.concatenate([constraints, (vectors @ here.curvature).T])
        newton = _Newton.of(weights, slack, vectors @ here.slope.ravel(), rows, len(constraints))
        step, slack_step = newton.towards(np.zeros_like(weights))
        left = float(_moved(weights, step) @ _moved(slack, slack_step)) / (mean * len(weights))
        step, slack_step = newton.towards(centre(mean, left) - step * slack_step)
        weights, slack = _moved(weights, step), _moved(slack, slack_step)
    return weights


def _moved(position: FloatArray, step: FloatArray) -> FloatArray:
    return position + longest_step(position, step, _STEP_SHARE) * step


@dataclass(frozen=True, eq=False)
class _Newton:
    """The linear equations of one interior-point step, factorised."""

    weights: FloatArray
    slack: FloatArray
    gains: FloatArray
    rows: FloatArray
    """Constraints, then roots of the second derivative, shape (m + k, n)."""
    system: Factorised

    @classmethod
    def of(cls, weights: FloatArray, slack: FloatArray, gains: FloatArray, rows: FloatArray, m: int) -> "_Newton":
        system = (rows * (weights / slack)) @ rows.T
        system[range(m, len(rows)), range(m, len(rows))] += 1.0
        return cls(weights, slack, gains, rows, Factorised.of(system))

    def towards(self, products: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Steps of weights and slack after which, to first order, `w s` equals `products`."""
        pull = self.gains + products / self.weights
        ratio = self.weights / self.slack
        step = ratio * (pull - self.system.solve(self.rows @ (ratio * pull)) @ self.rows)
        return step, products / self.weights - self.slack - step / ratio
