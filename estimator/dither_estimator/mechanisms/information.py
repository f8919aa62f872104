"""Exact Fisher information of an answer: finite sums over answers, without Monte Carlo.

For a query with cells `k`, channel `Q[k, s]` and cell probabilities `π_k(θ)`, an answer has probability
`p_s = Σ_k π_k Q[k, s]` and carries the information `F(θ) = Σ_s ∂p_s ∂p_sᵀ / p_s` about θ. The family contributes only
its CDF and the CDF's gradient at the cell edges.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dither_client import Query
from dither_estimator.families import Family, FloatArray

__all__ = ["answer_information", "cell_moments", "channel_information", "information"]

_MIN_PROBABILITY = 1e-280
"""Answers less likely than this are left out: they carry no information, and dividing by them would overflow."""


def information(family: Family, theta: npt.ArrayLike, query: Query) -> FloatArray:
    """The Fisher information of one answer to `query` about `theta` (d,), shape (d, d)."""
    edges = np.asarray(query.edges)[np.newaxis]
    return channel_information(family, theta, edges, query.channel())[0]


def channel_information(
    family: Family, theta: npt.ArrayLike, edges: FloatArray, channel: FloatArray | Sequence[Sequence[float]]
) -> FloatArray:
    """The information of n queries that share a channel, at one θ, shape (n, d, d).

    `edges` (n, k) are the cell edges of each query; `channel` has shape (k + 1, answers).
    """
    cells, slopes = cell_moments(family, theta, edges)
    matrix = np.asarray(channel)
    return answer_information(cells @ matrix, np.swapaxes(slopes, -1, -2) @ matrix)


def cell_moments(family: Family, theta: npt.ArrayLike, edges: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Cell probabilities `π` (n, k + 1) and their gradients `∂π` (n, k + 1, d) at θ (d,), for `edges` (n, k)."""
    member = np.atleast_2d(np.asarray(theta, dtype=float))
    n, k = edges.shape
    cdf = family.cdf(member, edges.ravel())[0].reshape(n, k)
    gradient = family.cdf_gradient(member, edges.ravel())[0].reshape(n, k, -1)
    return np.maximum(_differences(cdf, 1.0), 0.0), _differences(gradient, 0.0)


def _differences(values: FloatArray, last: float) -> FloatArray:
    """Between neighbours along the second axis (n, k, …), with 0 before them and `last` after; shape (n, k + 1, …)."""
    n, k, *others = values.shape
    padded = np.empty((n, k + 2, *others))
    padded[:, 0], padded[:, 1:-1], padded[:, -1] = 0.0, values, last
    return padded[:, 1:] - padded[:, :-1]


def answer_information(probabilities: FloatArray, gradients: FloatArray) -> FloatArray:
    """`Σ_s ∂p_s ∂p_sᵀ / p_s`, shape (n, d, d), from `probabilities` (n, s) and `gradients` (n, d, s)."""
    possible = probabilities > _MIN_PROBABILITY
    inverse = np.where(possible, 1.0 / np.where(possible, probabilities, 1.0), 0.0)
    return (gradients * inverse[:, np.newaxis, :]) @ np.swapaxes(gradients, -1, -2)
