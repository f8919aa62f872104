"""How many draws a weighted sample is worth, systematic samples of it, and its quantiles."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dither_estimator.families import FloatArray

__all__ = ["effective_sample_size", "log_sum_exp", "systematic_sample", "weighted_quantiles"]


def effective_sample_size(log_weights: FloatArray) -> float:
    """`(Σ w)² / Σ w²`, unaffected by a common factor of the weights."""
    weights = np.exp(log_weights - log_weights.max())
    return float(weights.sum() ** 2 / (weights @ weights))


def log_sum_exp(values: FloatArray) -> float:
    """`log Σ exp(values)` without overflow."""
    largest = values.max()
    return float(largest + np.log(np.exp(values - largest).sum()))


def systematic_sample(weights: FloatArray, size: int, start: float = 0.5) -> npt.NDArray[np.intp]:
    """Indices (size,) of a systematic sample: each is drawn in proportion to its weight, rounded up or down.

    The sample is unbiased if `start` is a uniform draw from 0 to 1. Weights need not sum to 1.
    """
    cumulative = np.cumsum(weights)
    places = (np.arange(size) + start) / size
    return np.searchsorted(cumulative / cumulative[-1], places).clip(max=len(weights) - 1)


def weighted_quantiles(values: FloatArray, weights: FloatArray, levels: Sequence[float]) -> FloatArray:
    """Quantiles of a weighted sample by linear interpolation of its distribution function, shape (len(levels),)."""
    order = np.argsort(values)
    cumulative = np.cumsum(weights[order])
    middle = cumulative - 0.5 * weights[order]
    return np.interp(levels, middle / cumulative[-1], values[order])
