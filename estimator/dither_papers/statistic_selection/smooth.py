"""The maximum and the median with noise scaled to their smooth sensitivity (section 5.4; Nissim et al. 2007).

Samples are sorted rows of values from 0 to `bound`. For even n the median is the value of rank n/2; with the average of
the middle two, the formula for the smooth sensitivity would not hold.
"""

import numpy as np

from dither_estimator.families import FloatArray

__all__ = [
    "maximum",
    "median",
    "noise_rates",
    "privacy_delta",
    "smooth_sensitivity_of_maximum",
    "smooth_sensitivity_of_median",
]

_GRID_RANGE = 60.0
_GRID_POINTS = 40_001


def maximum(rows: FloatArray) -> FloatArray:
    """The largest value of each of the sorted rows (R, n), shape (R,)."""
    return np.asarray(rows[:, -1])


def median(rows: FloatArray) -> FloatArray:
    """The value of rank `n/2`, rounded up, of each of the sorted rows (R, n), shape (R,)."""
    return np.asarray(rows[:, _rank(rows) - 1])


def smooth_sensitivity_of_maximum(rows: FloatArray, bound: float, beta: float) -> FloatArray:
    """`max_k e^(-kβ) max(A - s_(n-k), s_n - s_(n-k-1))`, with `s_j = 0` for j < 1; shape (R,)."""
    size = rows.shape[1]
    padded = np.concatenate([np.zeros((len(rows), 2)), rows], axis=1)
    best = np.zeros(len(rows))
    for k in range(size + 1):
        if np.exp(-k * beta) * bound <= best.min():
            break
        local = np.maximum(bound - padded[:, size - k + 1], rows[:, -1] - padded[:, size - k])
        best = np.maximum(best, np.exp(-k * beta) * local)
    return best


def smooth_sensitivity_of_median(rows: FloatArray, bound: float, beta: float) -> FloatArray:
    """`max_k e^(-kβ) max_(i ≤ k+1) s_(m+i) - s_(m+i-k-1)`, with `s_j = 0` for j < 1 and `A` for j > n; shape (R,)."""
    size, m = rows.shape[1], _rank(rows)
    ends = np.zeros((len(rows), size + 1)), np.full((len(rows), size + 1), bound)
    padded = np.concatenate([ends[0], rows, ends[1]], axis=1)
    at = m + size
    """The position of the median in a padded row."""
    best = np.zeros(len(rows))
    for k in range(size + 1):
        if np.exp(-k * beta) * bound <= best.min():
            break
        upper, lower = padded[:, at : at + k + 2], padded[:, at - k - 1 : at + 1]
        best = np.maximum(best, np.exp(-k * beta) * (upper - lower).max(axis=1))
    return best


def noise_rates(epsilon: float, delta: float) -> tuple[float, float]:
    """α and β such that noise Laplace(S / α), S the β-smooth sensitivity, is (ε, δ)-private if ε and δ are below 1."""
    return epsilon / 2, epsilon / (2 * np.log(2 / delta))


def privacy_delta(epsilon: float, alpha: float, beta: float) -> float:
    """The smallest δ for which noise of scale `S / α` is (ε, δ)-private for all data, also if ε is above 1.

    The statistics of two neighbouring data sets differ by at most the smaller S, and their S by a factor of at most
    `e^β`. The maximum over a grid of both is computed by the trapezoidal rule.
    """
    y = np.linspace(-_GRID_RANGE, _GRID_RANGE, _GRID_POINTS)
    p = 0.5 * np.exp(-np.abs(y))
    worst = 0.0
    for ratio in np.exp(beta * np.linspace(-1, 1, 9)):
        for shift in alpha * min(1.0, ratio) * np.linspace(0, 1, 9):
            q = 0.5 / ratio * np.exp(-np.abs(y - shift) / ratio)
            worst = max(worst, float(np.trapezoid(np.maximum(p - np.exp(epsilon) * q, 0.0), y)))
    return worst


def _rank(rows: FloatArray) -> int:
    return int(rows.shape[1] + 1) // 2
