"""A staircase mechanism under construction: its cuts, the sets of cells that its answers represent, and their weights.

Coverage does not depend on the cuts, so cuts and weights are improved in turn: given the cuts, the best weights solve a
convex programme (`convex`); given the weights, the cuts are only constrained by their order. `scipy.optimize`, which no
other mechanism needs, is imported only when a scheme is improved.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dither_estimator.design.columns import Patterns
from dither_estimator.design.convex import Criterion, minimise, mix
from dither_estimator.design.member import Member
from dither_estimator.families import FloatArray
from dither_estimator.mechanisms.information import answer_information, cell_moments

__all__ = ["Scheme"]

_TOLERANCE = 1e-6
_PRUNING_SHARES = (0.02, 0.005, 0.001)
_SIMPLIFYING_SHARES = (0.3, 0.1, 0.03)
_MAX_TURNS = 3
_DIFFERENCE_STEP = 3e-4
"""Step of central differences, in spreads; gradients of CDFs have rounding errors of their own."""
_MIN_PROBABILITY = 1e-12
_MAX_IMPROVEMENT = 1.2
"""Better cuts and fewer sets improve the criterion by at most this factor."""


@dataclass(frozen=True, eq=False)
class Scheme:
    """Sets of cells with real weights that cover all cells equally, for one member at one ε.

    For a symmetric member the cuts are symmetric, and mirrored sets have equal weights.
    """

    member: Member
    low: float
    """`e^-ε`."""
    criterion: Criterion
    cuts: FloatArray
    """The cuts, shape (n - 1,)."""
    patterns: Patterns
    """The sets, shape (N, n): distinct, none empty or full."""
    weights: FloatArray
    """The weights of the sets, shape (N,): `Σ_y w_y S_yx = 1` with `S` in `{e^-ε, 1}`."""

    @cached_property
    def value(self) -> float:
        """The value of the criterion."""
        return self.criterion.value(mix(self.weights, self._informations(self.cuts)))

    @property
    def information(self) -> FloatArray:
        """The information of one answer, shape (d, d)."""
        return mix(self.weights, self._informations(self.cuts))

    @property
    def probable(self) -> FloatArray:
        """The mean probability of each answer over the cells, shape (N,)."""
        return self.weights * self._columns.mean(axis=1)

    @cached_property
    def orbits(self) -> FloatArray:
        """Which of k weights each set has, shape (N, k) of 0 and 1; mirror images share one."""
        if self.member.mirror is None:
            return np.eye(len(self.patterns))
        names = [min(row.tobytes(), row[::-1].tobytes()) for row in self.patterns]
        _, numbers = np.unique(np.array(names, dtype=object), return_inverse=True)
        return np.eye(numbers.max() + 1)[numbers]

    def with_weights(self, weights: FloatArray) -> "Scheme":
        """The scheme with weights (N,) that cover equally up to a factor."""
        return replace(self, weights=weights / (weights @ self._columns)[0])

    def improved(self, enough: float) -> "Scheme":
        """Optimise weights and cuts and drop sets, as long as the criterion stays below `enough`.

        If that is out of reach, only the weights are optimised.
        """
        best = self.reweighted()
        if best is None or best.value > _MAX_IMPROVEMENT * enough:
            return best or self
        if not self.member.family.discrete:
            best = best.pruned(enough)
            for _ in range(_MAX_TURNS):
                before, moved = best, best.recut()
                best = moved.reweighted() or moved
                if before.value - best.value < 1e-5 * best.value:
                    break
        best = best.pruned(max(enough, best.value * (1 + 1e-6)))
        return best if self.member.family.discrete else best._simplified(enough).recut()

    def reweighted(self) -> "Scheme | None":
        """The scheme with the best weights for its cuts and sets, all positive; None if there are none."""
        informations = np.einsum("yk,yij->kij", self.orbits, self._informations(self.cuts))
        constraints = self._constraints
        start = _interior(constraints)
        if start is None:
            return None
        weights = minimise(self.criterion, informations, constraints, start, _TOLERANCE)
        return self.with_weights(self.orbits @ weights)

    def pruned(self, enough: float) -> "Scheme":
        """Drop sets that are not needed for the criterion to stay below `enough`."""
        best = self
        for share in _PRUNING_SHARES:
            if (fewer := best.without(best.probable < share * best.probable.max())) and fewer.value <= enough:
                best = fewer
                break
        tried: set[bytes] = set()
        while left := [y for y in np.argsort(best.probable).tolist() if best.patterns[y].tobytes() not in tried]:
            drop = best.orbits[:, best.orbits[left[0]].argmax()] > 0
            tried |= {row.tobytes() for row in best.patterns[drop]}
            if (fewer := best.without(drop)) and fewer.value <= enough:
                best = fewer
        return best

    def _simplified(self, enough: float) -> "Scheme":
        """Drop rarely given answers if other cuts then bring the criterion below `enough`."""
        for share in _SIMPLIFYING_SHARES:
            fewer = self.without(self.probable < share * self.probable.max())
            if fewer and (moved := fewer.merged().recut()).value <= enough:
                return moved
        return self

    def merged(self) -> "Scheme":
        """Drop cuts at which no set changes."""
        change = (self.patterns[:, 1:] != self.patterns[:, :-1]).any(axis=0)
        return replace(self, cuts=self.cuts[change], patterns=self.patterns[:, np.append(True, change)])

    def recut(self) -> "Scheme":
        """The best cuts near the present ones, for the present weights."""

        def relative(free: FloatArray) -> tuple[float, FloatArray]:
            value, slopes = self._value_and_slopes(self._from_free(free))
            return value / self.value, self._free_slopes(free, slopes) / self.value

        start = self._free(self.cuts)
        if not len(start):
            return self
        from scipy.optimize import minimize

        found = minimize(relative, start, jac=True, method="BFGS", options={"gtol": 1e-5, "maxiter": 60})
        cuts = self._from_free(found.x)
        better = found.fun < 1 and bool((np.diff(cuts) > 1e-3 * self.member.spread).all())
        return replace(self, cuts=cuts) if better else self

    def vertex(self) -> "Scheme":
        """The scheme with no more sets than cells: an extreme point, optimal if the criterion were linear."""
        from scipy.optimize import linprog

        slope = self.criterion.slope(self.information)
        worth = np.einsum("yk,yij,ij->k", self.orbits, self._informations(self.cuts), slope)
        constraints = self._constraints
        found = linprog(-worth, A_eq=constraints, b_eq=np.eye(len(constraints))[0], method="highs-ds")
        if found.x is None:
            raise np.linalg.LinAlgError("the linear programme has no solution in floating point")
        weights: FloatArray = self.orbits @ found.x
        used = weights > 1e-9 * weights.max()
        return replace(self, patterns=self.patterns[used], weights=weights[used]).with_weights(weights[used])

    def without(self, drop: npt.NDArray[np.bool_]) -> "Scheme | None":
        """Drop some sets and optimise the weights of the others; None if none are left or no weights are feasible."""
        if drop.all() or not drop.any():
            return None
        kept = replace(self, patterns=self.patterns[~drop], weights=self.weights[~drop])
        return kept.reweighted()

    @cached_property
    def _columns(self) -> FloatArray:
        return np.where(self.patterns, 1.0, self.low)

    def _informations(self, cuts: FloatArray) -> FloatArray:
        """The information of each answer per unit of weight, shape (N, d, d)."""
        cells, slopes = cell_moments(self.member.family, self.member.theta, cuts[np.newaxis])
        columns = self._columns
        chances, gradients = columns @ cells[0], columns @ slopes[0]
        return answer_information(chances[:, np.newaxis], gradients[:, :, np.newaxis])

    @cached_property
    def _constraints(self) -> FloatArray:
        """Equal coverage of all cells, and its total, in independent rows, shape (m, k)."""
        counts = self.patterns.T @ self.orbits
        _, sizes, rows = np.linalg.svd(np.diff(counts, axis=0), full_matrices=False)
        total = self._columns.mean(axis=1) @ self.orbits
        return np.concatenate([total[np.newaxis], rows[sizes > 1e-9 * max(1.0, sizes.max(initial=0.0))]])

    def _free(self, cuts: FloatArray) -> FloatArray:
        """Unconstrained coordinates of the cuts, in spreads: the first cut and log gaps; of one half if symmetric."""
        mirror, spread = self.member.mirror, self.member.spread
        if mirror is None:
            return np.append(cuts[0] / spread, np.log(np.diff(cuts) / spread))
        offsets = (cuts - mirror.centre) / spread
        outer = offsets[len(cuts) - len(cuts) // 2 :]
        return np.log(np.diff(outer, prepend=0.0))

    def _from_free(self, free: FloatArray) -> FloatArray:
        mirror, spread = self.member.mirror, self.member.spread
        if mirror is None:
            return spread * np.cumsum(np.append(free[0], np.exp(free[1:])))
        outer = np.cumsum(np.exp(free))
        middle = np.zeros(len(self.cuts) % 2)
        return mirror.centre + spread * np.concatenate([-outer[::-1], middle, outer])

    def _free_slopes(self, free: FloatArray, slopes: FloatArray) -> FloatArray:
        """Derivatives by the unconstrained coordinates, from those by the cuts (n - 1,)."""
        if self.member.mirror is None:
            gaps = np.append(1.0, np.exp(free[1:]))
        else:
            gaps = np.exp(free)
            slopes = (slopes - slopes[::-1])[-len(free) :]
        return self.member.spread * gaps * np.cumsum(slopes[::-1])[::-1]

    def _value_and_slopes(self, cuts: FloatArray) -> tuple[float, FloatArray]:
        """The criterion at other cuts (n - 1,), and its derivatives with respect to them."""
        family, member, h = self.member.family, np.array([self.member.theta]), _DIFFERENCE_STEP * self.member.spread
        points = np.concatenate([cuts - h, cuts, cuts + h])
        below, at, above = family.cdf(member, points)[0].reshape(3, -1)
        low, mid, high = family.cdf_gradient(member, points)[0].reshape(3, len(cuts), -1)
        columns = self._columns
        steps = columns[:, :-1] - columns[:, 1:]
        chances = np.maximum(columns[:, -1] + steps @ at, self.low * _MIN_PROBABILITY)
        gradients = steps @ mid
        means = gradients / chances[:, np.newaxis]
        matrix = (self.weights[:, np.newaxis] * gradients).T @ means
        pull = (self.weights[:, np.newaxis] * means) @ self.criterion.slope(matrix)
        # tr(W dM) = Σ_y w_y (2 dg_yᵀ W g_y / p_y - dp_y g_yᵀ W g_y / p_y²)
        by_gradient, by_chance = steps.T @ (2.0 * pull), steps.T @ (pull * means).sum(axis=1)
        gains = ((high - low) * by_gradient).sum(axis=1) - (above - below) * by_chance
        return self.criterion.value(matrix), -gains / (2.0 * h)


def _interior(constraints: FloatArray) -> FloatArray | None:
    """Positive weights (k,) with `A w = (1, 0, …)` whose minimum is as large as possible; None if there are none."""
    from scipy.optimize import linprog

    m, k = constraints.shape
    shares = constraints[0]
    rows = np.hstack([constraints, constraints.sum(axis=1, keepdims=True)])
    found = linprog(np.append(np.zeros(k), -1.0), A_eq=rows, b_eq=np.eye(m)[0], method="highs")
    if found.x is None or found.x[-1] < 1e-7 / shares.sum():
        return None
    return found.x[:-1] + found.x[-1]
