"""Expected variance reduction: what each candidate question is expected to take off the posterior's variances.

By the law of total variance, one answer to a query reduces the covariance of θ by `R = Σ_s c_s c_sᵀ / p̄_s` on average,
with `c_s = cov(p_s(θ), θ)` and `p̄_s = E p_s(θ)` over the posterior: exact for the particles, for any family and
channel, without derivatives. It is the particle form of the A-optimal criterion (design section 4).
"""

from collections.abc import Sequence

import numpy as np

from dither_client import Query
from dither_estimator.channels import group_queries
from dither_estimator.families import Family, FloatArray

__all__ = ["choose_batch", "expected_reductions"]


def expected_reductions(family: Family, theta: FloatArray, values: FloatArray, queries: Sequence[Query]) -> FloatArray:
    """`R` of each query, shape (q, d, d), for equally weighted `theta` (n, d).

    `values` (n, d) is what the variances are of: θ itself, or a function of it.
    """
    n, d = values.shape
    centred = (values - values.mean(axis=0)) / n
    reductions = np.empty((len(queries), d, d))
    for group in group_queries(queries):
        shares = group.probabilities(family, theta).reshape(n, -1)
        covariances = (centred.T @ shares) / np.sqrt(shares.mean(axis=0))
        by_query = covariances.reshape(d, -1, len(group.queries))
        reductions[list(group.indices)] = np.einsum("isq,jsq->qij", by_query, by_query)
    return reductions


def choose_batch(
    covariance: FloatArray, reductions: FloatArray, goal: FloatArray, size: int, repeats: float
) -> list[int]:
    """Indices of `size` questions, chosen one after the other, each the best once the earlier ones are answered.

    The first minimises the goal's expected variance exactly. For the next ones each question is taken to carry the
    Fisher information `V⁻¹ R V⁻¹` of a linear model at the covariance `V` (d, d). `repeats` is how many respondents
    will be asked each.
    """
    scale = np.sqrt(np.diag(covariance))
    precision = np.linalg.inv(covariance / np.outer(scale, scale))
    reductions = reductions / np.outer(scale, scale)
    weights = goal * scale**2
    chosen = [int(np.argmax(np.diagonal(reductions, axis1=1, axis2=2) @ weights))]
    if size == 1:
        return chosen
    informations = precision @ reductions @ precision
    for _ in range(size - 1):
        precision = precision + repeats * informations[chosen[-1]]
        remaining = np.linalg.inv(precision)
        gains = np.diagonal(remaining @ informations @ remaining, axis1=1, axis2=2) @ weights
        chosen.append(int(np.argmax(gains)))
    return chosen
