"""The cells of two cut numbers with normal scores, from the distribution function of two normals."""

import numpy as np
from scipy.special import ndtr

from dither_estimator.dependence.normal_pairs import normal_cdf
from dither_estimator.families import FloatArray

__all__ = ["cell_probabilities"]


def cell_probabilities(first: FloatArray, second: FloatArray, rho: FloatArray) -> FloatArray:
    """The probabilities of the cells of two cut numbers, shape (n, I + 1, J + 1), not below 0.

    `first` (n, I) and `second` (n, J) are the increasing normal scores of the cuts, `rho` has shape (n,).
    """
    corners = normal_cdf(first[:, :, np.newaxis], second[:, np.newaxis, :], rho[:, np.newaxis, np.newaxis])
    n, rows, columns = corners.shape
    below = np.zeros((n, rows + 2, columns + 2))
    below[:, 1:-1, 1:-1] = corners
    below[:, 1:-1, -1], below[:, -1, 1:-1], below[:, -1, -1] = ndtr(first), ndtr(second), 1.0
    return np.maximum(np.diff(np.diff(below, axis=1), axis=2), 0.0)
