"""Many small matrices at once, by their elements: shape (d, d, …), vectors (d, …).

With two or three rows that is many times faster than a loop over matrices, as NumPy's linear algebra has it. The last
axes broadcast.
"""

import numpy as np

from dither_estimator.families import FloatArray

__all__ = ["apply", "apply_transposed", "cholesky", "lower_inverse", "product", "transposed_product"]


def product(a: FloatArray, b: FloatArray) -> FloatArray:
    """`A B`."""
    return _filled([[_dot(row, b[:, k]) for k in range(b.shape[1])] for row in a])


def transposed_product(a: FloatArray, b: FloatArray) -> FloatArray:
    """`Aᵀ B`."""
    return _filled([[_dot(a[:, i], b[:, k]) for k in range(b.shape[1])] for i in range(a.shape[1])])


def apply(a: FloatArray, x: FloatArray) -> FloatArray:
    """`A x`."""
    return np.stack([_dot(row, x) for row in a])


def apply_transposed(a: FloatArray, x: FloatArray) -> FloatArray:
    """`Aᵀ x`."""
    return np.stack([_dot(a[:, i], x) for i in range(a.shape[1])])


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


def _filled(rows: list[list[FloatArray]]) -> FloatArray:
    found = np.empty((len(rows), len(rows[0]), *rows[0][0].shape))
    for i, row in enumerate(rows):
        for k, element in enumerate(row):
            found[i, k] = element
    return found
