"""The question about the cell of the plane that tells most: the limit's own mechanism on 4×4 cells, in whole numbers.

The cells are few enough to hold every mechanism there is against the best one. Its answers stand for sets of cells with
weights. These become whole numbers, and the cells that rounding leaves short join in sets of their own, so that every
cell lies in sets of exactly the same weight: the ratio of any two entries of a column of the matrix is then `e^ε` or 1,
however the question was found.
"""

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dither_client import Staircase
from dither_client.mechanisms.staircase import MAX_SETS
from dither_estimator.dependence.limit import Grid, best_on_grid
from dither_estimator.dependence.normals import EqualNormals
from dither_estimator.dependence.questions import PairCells
from dither_estimator.design.channel import BestChannel
from dither_estimator.design.columns import Columns
from dither_estimator.design.convex import Criterion
from dither_estimator.design.optimum import DesignError
from dither_estimator.families import FloatArray

__all__ = ["CELL_CUTS", "best_pair_cells"]

CELL_CUTS = (-0.9, 0.0, 0.9)
"""Where both numbers are cut, in standard deviations from the median."""
_ENOUGH = 1.001
"""The total of the weights is the smallest that costs less than this factor of the criterion."""
_TOTALS = (50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 100_000)


@lru_cache(maxsize=64)
def best_pair_cells(rho: float, epsilon: Fraction) -> PairCells:
    """The question about 4×4 cells that minimises the sum of the variances of both margins and the correlation.

    Raises `DesignError` if it has too many answers.
    """
    grid = Grid(EqualNormals(2, abs(rho)), CELL_CUTS, epsilon)
    best = best_on_grid(grid)
    weights = _few(grid.columns, best)
    used = weights > 0
    patterns, weights = best.patterns[used], weights[used]
    if rho < 0:
        patterns = patterns.reshape(-1, 4, 4)[:, ::-1].reshape(-1, 16)
    normals, criterion = EqualNormals(2, rho), Criterion.of(np.eye(5), best.information[np.newaxis])
    found: tuple[float, PairCells] | None = None
    for total in _TOTALS:
        whole = _covering(patterns, np.floor(total * weights / weights.max()).astype(int).tolist())
        if len(whole) > MAX_SETS:
            continue
        question = PairCells.at((0, 1), (CELL_CUTS, CELL_CUTS), _staircase(whole, epsilon))
        value = criterion.value(normals.information(question))
        if found is None or value < found[0]:
            found = value, question
        if value <= _ENOUGH * best.criterion:
            break
    if found is None:
        raise DesignError("the best question about the cells of two numbers has too many answers at this epsilon")
    return found[1]


def _few(columns: Columns, best: BestChannel) -> FloatArray:
    """Weights (N,) of the same information, of which at most 31 are positive: a vertex of all that have it."""
    from scipy.optimize import linprog  # here, since whoever only estimates needs none of it

    values = columns.values(best.patterns)
    gradients = values @ columns.slopes / np.sqrt(values @ columns.cells)[:, np.newaxis]
    upper = np.triu_indices(gradients.shape[1])
    scale = 1.0 / np.sqrt(np.diag(best.information))
    gradients = gradients * scale
    rows = np.concatenate([values.T, (gradients[:, upper[0]] * gradients[:, upper[1]]).T])
    found = linprog(values.mean(axis=1) ** 2, A_eq=rows, b_eq=rows @ best.weights, method="highs-ds")
    return np.asarray(found.x) if found.x is not None else best.weights


def _covering(patterns: np.ndarray, weights: list[int]) -> dict[tuple[int, ...], int]:
    """The sets with positive weights, and single cells with what makes the coverage of all cells equal."""
    found = {tuple(np.flatnonzero(row).tolist()): w for row, w in zip(patterns, weights, strict=True) if w > 0}
    coverage = [sum(w for some, w in found.items() if cell in some) for cell in range(patterns.shape[1])]
    for cell, covered in enumerate(coverage):
        if covered < max(coverage):
            found[cell,] = found.get((cell,), 0) + max(coverage) - covered
    return found


def _staircase(whole: dict[tuple[int, ...], int], epsilon: Fraction) -> Staircase:
    ordered, divisor = sorted(whole), math.gcd(*whole.values())
    cells = max(max(some) for some in ordered) + 1
    return Staircase(range(cells - 1), ordered, [whole[some] // divisor for some in ordered], epsilon)
