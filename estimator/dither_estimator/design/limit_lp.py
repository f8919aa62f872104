"""The linear programme behind the limit: the best ε-LDP channel for given answers' meanings, and its prices by cell.

An answer `k` that is worth `V_kx` for each unit of probability that cell `x` gives it, and a channel `Q[x, k]` whose
columns vary by at most `e^ε`: `e^-ε q_k ≤ Q[x, k] ≤ q_k`. The programme is to maximise `Σ V_kx Q[x, k]` over `q` and
`Q` with `Σ_k Q[x, k] = 1`. All `2^n` staircase columns are in it, without being listed. Its dual minimises `Σ_x λ_x`
subject to `max_S Σ_x S_x (V_kx - λ_x) ≤ 0` for each `k`, over all `S` in `{e^-ε, 1}^n`.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dither_estimator.design.interior_point import Factorised, centre, longest_step
from dither_estimator.families import FloatArray

__all__ = ["least_prices"]

_STEPS = 80
_STEP_SHARE = 0.995


def least_prices(
    values: FloatArray, fold: FloatArray, low: float, tolerance: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The prices `λ` (n,) that solve the dual; `q` (K,) and `r` (K, n) of the best channel, `Q = low q + (1 - low) r`.

    `values`: `V`, shape (K, n), of order 1 / n. `fold`: shape (n, m), which of m prices a cell has, 1 or 0 (mirrored
    cells share one). `low`: `e^-ε`. `tolerance`: of `Σ λ`. An interior-point method with
    `0 ≤ r ≤ q`; everything but the m prices is eliminated, so a step takes `K n m` operations.
    """
    point = _Point.start(values, fold, low)
    for _ in range(_STEPS):
        if point.gap < tolerance and np.abs(point.imbalance).max() < tolerance:
            break
        equations = _Equations.of(point)
        ahead = equations.step(0.0, 0.0)
        left = point.moved(ahead, *point.reach(ahead)).gap / point.gap
        target = centre(point.gap / (2 * values.size), left)
        step = equations.step(target - ahead.r * ahead.u, target - ahead.s * ahead.v)
        point = point.moved(step, *point.reach(step))
    return fold @ point.prices, point.q, point.r


@dataclass(frozen=True, eq=False)
class _Step:
    prices: FloatArray
    q: FloatArray
    r: FloatArray
    s: FloatArray
    u: FloatArray
    v: FloatArray


@dataclass(frozen=True, eq=False)
class _Point:
    """An iterate: `u` and `v` are the multipliers of `r ≥ 0` and of `s = q - r ≥ 0`, all of shape (K, n)."""

    values: FloatArray
    fold: FloatArray
    low: float
    prices: FloatArray
    q: FloatArray
    r: FloatArray
    u: FloatArray
    v: FloatArray

    @classmethod
    def start(cls, values: FloatArray, fold: FloatArray, low: float) -> "_Point":
        """A channel that says nothing, and equal multipliers."""
        k, n = values.shape
        q = np.full(k, 2.0 / ((1.0 + low) * k))
        r = np.repeat(q[:, np.newaxis] / 2, n, axis=1)
        level = np.full((k, n), 1.0 / n)
        return cls(values, fold, low, np.full(fold.shape[1], 1.0 / n), q, r, level, level)

    @cached_property
    def s(self) -> FloatArray:
        """`q - r`."""
        return self.q[:, np.newaxis] - self.r

    @property
    def gap(self) -> float:
        """The complementarity: how far the objectives of both programmes can still be apart."""
        return float(np.vdot(self.u, self.r) + np.vdot(self.v, self.s))

    @cached_property
    def surplus(self) -> FloatArray:
        """`V - λ`."""
        return self.values - self.fold @ self.prices

    @property
    def imbalance(self) -> FloatArray:
        """What `low Σ_x (V - λ) + Σ_x v`, shape (K,), is short of 0."""
        return -(self.low * self.surplus.sum(axis=1) + self.v.sum(axis=1))

    def reach(self, step: _Step) -> tuple[float, float]:
        """The longest steps, at most 1, that keep the channel's part and the multipliers' part positive."""
        return (
            min(_longest(self.r, step.r), _longest(self.s, step.s)),
            min(_longest(self.u, step.u), _longest(self.v, step.v)),
        )

    def moved(self, step: _Step, primal: float, dual: float) -> "_Point":
        """The point after a step of these two lengths."""
        return replace(
            self,
            prices=self.prices + dual * step.prices,
            q=self.q + primal * step.q,
            r=self.r + primal * step.r,
            u=self.u + dual * step.u,
            v=self.v + dual * step.v,
        )


@dataclass(frozen=True, eq=False)
class _Equations:
    """Newton's equations at a point, reduced to the prices and factorised."""

    point: _Point
    lower: FloatArray
    """`u / r`, shape (K, n)."""
    upper: FloatArray
    """`v / s`, shape (K, n)."""
    curb: FloatArray
    """`u / r + v / s`, shape (K, n)."""
    share: FloatArray
    """`(v / s) / curb`, shape (K, n)."""
    weight: FloatArray
    """How `q_k` answers to pressure on it, inverted, shape (K,)."""
    supply: FloatArray
    """`Q` gained in each price's cells by a unit of `q_k`, shape (K, m)."""
    system: Factorised

    @classmethod
    def of(cls, point: _Point) -> "_Equations":
        high = 1.0 - point.low
        lower, upper = point.u / point.r, point.v / point.s
        curb = lower + upper
        share = upper / curb
        weight = (lower * share).sum(axis=1)
        supply = (point.low + high * share) @ point.fold
        system = (supply / weight[:, np.newaxis]).T @ supply
        system += np.diag(high**2 * ((1.0 / curb).sum(axis=0) @ point.fold))
        return cls(point, lower, upper, curb, share, weight, supply, Factorised.of(system))

    def step(self, lower: FloatArray | float, upper: FloatArray | float) -> _Step:
        """The step after which, to first order, `u r = lower` and `v s = upper`."""
        p, high = self.point, 1.0 - self.point.low
        lower_pull, upper_pull = lower / p.r - p.u, upper / p.s - p.v
        pull = high * p.surplus - (p.v - p.u) - upper_pull + lower_pull
        push = (self.share * pull + upper_pull).sum(axis=1) - p.imbalance
        short = p.fold.sum(axis=0) - p.fold.T @ (p.low * p.q.sum() + high * p.r.sum(axis=0))
        right = self.supply.T @ (push / self.weight) + high * ((pull / self.curb).sum(axis=0) @ p.fold) - short
        prices = self.system.solve(right)
        q = (push - self.supply @ prices) / self.weight
        r = self.share * q[:, np.newaxis] + (pull - high * (p.fold @ prices)) / self.curb
        s = q[:, np.newaxis] - r
        return _Step(prices, q, r, s, lower_pull - self.lower * r, upper_pull - self.upper * s)


def _longest(position: FloatArray, step: FloatArray) -> float:
    return longest_step(position, step, _STEP_SHARE)
