"""Many small matrices at once, by their elements: shape (d, d, …), vectors (d, …).

With two or three rows that is many times faster than a loop over matrices, as NumPy's linear algebra has it. The last
axes broadcast.
"""

import numpy as np

from dither_estimator.families import FloatArray

__all__ = ["apply", "apply_transposed", "cholesky", "lower_inverse", "product", "transposed_product"]


def product(a: FloatArray, b: FloatArray) -> FloatArray:
    """`A B`."""
    return _summed([(a[:, i, None], b[i]) for i in range(a.shape[1])])


def transposed_product(a: FloatArray, b: FloatArray) -> FloatArray:
    """`Aᵀ B`."""
    return _summed([(row[:, None], other) for row, other in zip(a, b, strict=True)])


def apply(a: FloatArray, x: FloatArray) -> FloatArray:
    """`A x`."""
    return _summed([(a[:, i], x[i]) for i in range(a.shape[1])])


def apply_transposed(a: FloatArray, x: FloatArray) -> FloatArray:
    """`Aᵀ x`."""
    return _summed([*zip(a, x, strict=True)])


def cholesky(a: FloatArray) -> FloatArray:
    """The lower triangular L with `L Lᵀ = A`, for positive definite A."""
    found = np.zeros_like(a)
    for i in range(len(a)):
        for j in range(i + 1):
            rest = a[i, j] - _dot(found[i, :j], found[j, :j]) if j else a[i, j]
            found[i, j] = np.sqrt(rest) if i == j else rest / found[j, j]
    return found


def lower_inverse(lower: FloatArray) -> FloatArray:
    """The inverse of lower triangular matrices."""
    found = np.zeros_like(lower)
    for i in range(len(lower)):
        found[i, i] = 1 / lower[i, i]
        for j in range(i):
            found[i, j] = -_dot(lower[i, j:i], found[j:i, j]) * found[i, i]
    return found


def _dot(a: FloatArray, b: FloatArray) -> FloatArray:
    total: FloatArray = a[0] * b[0]
    for left, right in zip(a[1:], b[1:], strict=True):
        total += left * right
    return total


def _summed(pairs: list[tuple[FloatArray, FloatArray]]) -> FloatArray:
    """The sum of the products of each pair, all elements of a matrix or vector at once."""
    (first, second), *others = pairs
    total: FloatArray = np.multiply(first, second, order="C")
    for left, right in others:
        total += left * right
    return total
