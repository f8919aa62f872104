"""Two numbers of one person: the limit, designs, and what others would reach at the same ε.

    python -m benchmarks.pairs

Criteria are the sum of the variances of both means, both standard deviations and the correlation, per respondent, for a
normal population with standard margins: exact, from Fisher information. An efficiency is the limit's share.
- The design is `dither design --components 2`; the split asks about one number or about sides.
- Splitting ε has everybody answer about both numbers with ε/2 each, by randomised response over the best of three
  divisions into 3, 4 and 6 cells.
- The 2-D histogram is the cell of the plane, of 4×4, by randomised response or by optimised unary encoding.
- RS+FD (Arcolezi et al. 2021, *Random sampling plus fake data*, CIKM, as in `multi-freq-ldpy` 0.2.5) reports a cell of
  both numbers: of one, drawn at random, by randomised response at the amplified ε `log(2 (e^ε - 1) + 1)`; the other is
  made up. Reports tell nothing of ρ, so their information about the five parameters has rank 4 and the margins alone
  are compared. The published ε bounds what a report says if one number changes; where both do, the ratio within the
  matrix is the amplified one, so it is shown with the same ε as the others, too.
"""

import math
import sys
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
from threadpoolctl import threadpool_limits

from dither_client import RandomizedResponse
from dither_estimator.dependence.cells_channel import CELL_CUTS
from dither_estimator.dependence.design import joint_design
from dither_estimator.dependence.normals import EqualNormals
from dither_estimator.dependence.questions import PairCells
from dither_estimator.families import FloatArray
from dither_estimator.mechanisms.information import answer_information
from testing.tables import print_table

__all__ = ["main", "randomized_response", "rsfd_channel", "split_epsilon_channel", "unary_channel"]

_RHOS = (0.0, 0.6, 0.9)
_EPSILONS = ("0.5", "1", "2", "5")
COLUMNS = (
    "ρ", "ε", "limit", "gap", "design", "efficiency", "split", "splitting ε", "histogram by randomised response",
    "by unary encoding", "RS+FD: rank", "ε of its matrix", "its margins, of the design's", "at the same ε",
)  # fmt: skip
_SMALL = 1e-9
_CUTS_OF_EITHER = ((-0.7, 0.7), CELL_CUTS, (-1.4, -0.7, 0.0, 0.7, 1.4))


def main(_: Sequence[str]) -> None:
    """Prints the table."""
    print_table("Two numbers: criteria of the limit and the design; else efficiencies", COLUMNS, _rows())


def _rows() -> Iterator[Sequence[object]]:
    for rho in _RHOS:
        for epsilon in _EPSILONS:
            design = joint_design(2, rho, Fraction(epsilon))
            limit, e = design.limit.criterion, float(epsilon)
            published, equal = (rsfd_channel(4, amplified) for amplified in (math.log(2 * math.expm1(e) + 1), e))
            of_margins = float(design.variances[:4].sum())
            histograms = np.array(RandomizedResponse(range(15), epsilon).channel()), unary_channel(16, e)
            yield (
                rho,
                epsilon,
                f"{limit:.4g}",
                f"{design.limit.gap / limit:.1%}",
                f"{design.criterion:.4g}",
                f"{design.efficiency:.2f}",
                f"{limit / design.split.criterion:.2f}",
                f"{limit / min(_splitting(rho, cuts, e) for cuts in _CUTS_OF_EITHER):.2f}",
                *(f"{limit / _trace(_information(rho, CELL_CUTS, channel)):.2f}" for channel in histograms),
                int((np.linalg.eigvalsh(_information(rho, CELL_CUTS, published)) > _SMALL).sum()),
                f"{np.log((published.max(axis=0) / published.min(axis=0)).max()):.2f}",
                *(
                    f"{of_margins / _trace(_information(rho, CELL_CUTS, some)[:4, :4]):.2f}"
                    for some in (published, equal)
                ),
            )


def _splitting(rho: float, cuts: Sequence[float], epsilon: float) -> float:
    return _trace(_information(rho, cuts, split_epsilon_channel(len(cuts) + 1, epsilon)))


def _information(rho: float, cuts: Sequence[float], channel: FloatArray) -> FloatArray:
    """The information (5, 5) of an answer with this channel over the cells of the plane."""
    cells = PairCells.at((0, 1), (cuts, cuts), RandomizedResponse(range((len(cuts) + 1) ** 2 - 1), "1"))
    chances, slopes = EqualNormals(2, rho).states(cells)
    return answer_information((chances @ channel)[np.newaxis], (slopes.T @ channel)[np.newaxis])[0]


def _trace(information: FloatArray) -> float:
    return float(np.trace(np.linalg.inv(information)))


def split_epsilon_channel(cells: int, epsilon: float) -> FloatArray:
    """Each number's cell by randomised response with half of ε, shape (cells², cells²)."""
    one = randomized_response(cells, math.exp(epsilon / 2))
    return np.asarray(np.kron(one, one), dtype=float)


def rsfd_channel(cells: int, amplified: float) -> FloatArray:
    """RS+FD with randomised response and uniform fake data for two numbers, shape (cells², cells²)."""
    one = randomized_response(cells, math.exp(amplified))
    fake = np.full((cells, cells), 1 / cells)
    return (np.kron(one, fake) + np.kron(fake, one)) / 2


def unary_channel(cells: int, epsilon: float) -> FloatArray:
    """Optimised unary encoding of a cell (Wang et al. 2017), shape (cells, 2^cells)."""
    own, other = 0.5, 1 / (math.exp(epsilon) + 1)
    bits = (np.arange(1 << cells)[:, np.newaxis] >> np.arange(cells) & 1).astype(bool)
    base = np.where(bits, other, 1 - other).prod(axis=1)
    return np.stack([base * np.where(bits[:, c], own / other, (1 - own) / (1 - other)) for c in range(cells)])


def randomized_response(cells: int, e: float) -> FloatArray:
    """Randomised response over so many cells with the ratio `e`, shape (cells, cells)."""
    return np.asarray((np.ones((cells, cells)) + (e - 1) * np.eye(cells)) / (e + cells - 1))


if __name__ == "__main__":
    with threadpool_limits(1):
        main(sys.argv[1:])
