"""What an answer through a channel is worth at given shares: the six utilities of Aydin & Yıldırım.

Every utility takes channels `P(answer | category)` of shape (n, K, K) and shares of shape (B, K) in falling order, and
returns the worth of each channel at each of the shares, shape (B, n); the larger the better.
"""

from collections.abc import Callable, Mapping

import numpy as np

from dither_estimator.families import FloatArray

__all__ = ["UTILITIES", "Utility", "variances"]

Utility = Callable[[FloatArray, FloatArray], FloatArray]


def variances(channels: FloatArray, shares: FloatArray) -> FloatArray:
    """The variance of each category's share, times the number of answers, shape (B, n, K), as answers become many.

    An invertible channel G makes answers multinomial with p = Gθ, so θ is estimated with the covariance
    `G⁻¹ (diag(p) - p pᵀ) G⁻ᵀ`, which is the inverse Fisher information.
    """
    inverse = np.linalg.inv(channels)
    return np.einsum("nxy,bny->bnx", inverse**2, _answers(channels, shares)) - shares[:, np.newaxis] ** 2


def _answers(channels: FloatArray, shares: FloatArray) -> FloatArray:
    """`p = Gθ`, shape (B, n, K)."""
    return np.einsum("nyx,bx->bny", channels, shares)


def _fisher(channels: FloatArray, shares: FloatArray) -> FloatArray:
    """`-tr F(θ)⁻¹` for all shares but the last, which follows from the others."""
    return -variances(channels, shares)[..., :-1].sum(axis=2)


def _entropy(channels: FloatArray, shares: FloatArray) -> FloatArray:
    """Minus the entropy of an answer."""
    answers = _answers(channels, shares)
    return np.asarray((answers * np.log(answers)).sum(axis=2))


def _answer_variation(channels: FloatArray, shares: FloatArray) -> FloatArray:
    """Minus the total variation distance between the distributions of an answer and of a category."""
    return -np.abs(_answers(channels, shares) - shares[:, np.newaxis]).sum(axis=2) / 2


def _posterior_variation(channels: FloatArray, shares: FloatArray) -> FloatArray:
    """The expected total variation distance between a category's distributions before and after its answer."""
    moved = np.abs(channels - _answers(channels, shares)[..., np.newaxis])
    return np.einsum("bnyx,bx->bn", moved, shares) / 2


def _squared_error(channels: FloatArray, shares: FloatArray) -> FloatArray:
    """Minus the expected squared error of the posterior mean of a category's indicators, given its answer."""
    sums = np.einsum("nyx,bx->bny", channels**2, shares**2)
    return np.asarray((sums / _answers(channels, shares)).sum(axis=2)) - 1


def _honest(channels: FloatArray, shares: FloatArray) -> FloatArray:
    """The probability that the answer is the category."""
    return np.einsum("nxx,bx->bn", channels, shares)


UTILITIES: Mapping[str, Utility] = {
    "Fisher information": _fisher,
    "entropy": _entropy,
    "TV of answers": _answer_variation,
    "TV of posteriors": _posterior_variation,
    "squared error": _squared_error,
    "honest answer": _honest,
}
"""The paper's, by name."""
