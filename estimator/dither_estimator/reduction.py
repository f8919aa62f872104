"""Expected variance reduction: what each candidate question is expected to take off the posterior's variances.

By the law of total variance, one answer to a query reduces the covariance of θ by `R = Σ_s c_s c_sᵀ / p̄_s` on average,
with `c_s = cov(p_s(θ), θ)` and `p̄_s = E p_s(θ)` over the posterior: exact for the particles, for any family and
channel, without derivatives. It is the particle form of the A-optimal criterion (design section 4).
"""

from collections.abc import Sequence

import numpy as np

from dither_estimator.channels import Cells
from dither_estimator.families import Family, FloatArray

__all__ = ["choose_batch", "expected_reductions"]


def expected_reductions(
    family: Family, theta: FloatArray, values: FloatArray, questions: Sequence[Cells]
) -> FloatArray:
    """`R` of each question, shape (q, d, d), for equally weighted `theta` (n, d).

    `values` (n, d) is what the variances are of: θ itself, or a function of it.
    """
    n, d = values.shape
    centred = (values - values.mean(axis=0)).T / n
    reductions = []
    for cells in questions:
        cdf = family.cdf(theta, cells.edges.ravel())
        means = cells.channel.probabilities(cdf.mean(axis=0).reshape(1, *cells.edges.shape))[0]
        # Probabilities are linear in the CDF at the edges, and so are their covariances.
        covariances = cells.channel.steps.T @ (centred @ cdf).reshape(d, *cells.edges.shape)
        by_question = (covariances / np.sqrt(means)).transpose(2, 0, 1)
        reductions.append(by_question @ by_question.swapaxes(1, 2))
    return np.concatenate(reductions)


def choose_batch(
    covariance: FloatArray, reductions: FloatArray, goal: FloatArray, size: int, repeats: float
) -> list[int]:
    """Indices of `size` questions, chosen one after the other, each the best once the earlier ones are answered.

    The first minimises the goal's expected variance exactly. For the next ones each question is taken to carry the
    Fisher information `V⁻¹ R V⁻¹` of a linear model at the covariance `V` (d, d). `repeats` is how many respondents
    will be asked each.
    """
    d = len(goal)
    scale = np.sqrt(np.diag(covariance))
    reductions = reductions / np.outer(scale, scale)
    weights = goal * scale**2
    chosen = [int(np.argmax(reductions.reshape(-1, d * d) @ np.diag(weights).ravel()))]
    if size == 1:
        return chosen
    precision = np.linalg.inv(covariance / np.outer(scale, scale))
    informations = precision @ reductions @ precision
    flat = informations.reshape(-1, d * d)
    for _ in range(size - 1):
        precision = precision + repeats * informations[chosen[-1]]
        remaining = np.linalg.inv(precision)
        gains = flat @ ((remaining * weights) @ remaining).ravel()
        chosen.append(int(np.argmax(gains)))
    return chosen
