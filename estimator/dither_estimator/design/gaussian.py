"""Candidate queries of `gaussian`: those of `laplace` with another channel, at a given ε or at a given ρ.

At a given ε each query has the largest ρ that its number of levels allows; at a given ρ the ε that its levels bring.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from dither_client import Gaussian, gaussian_epsilon, gaussian_rho
from dither_estimator.design.laplace import LaplaceCandidates, LaplaceDesign
from dither_estimator.design.mechanism import RhoBounds
from dither_estimator.design.member import Member

__all__ = ["GAUSSIAN_LEVELS", "GaussianCandidates", "GaussianDesign"]

GAUSSIAN_LEVELS = (1, 2, 3, 4)
"""The numbers of levels that a design may choose from.

At one ε more tell less, up to an ε of 50: clipping takes from Gaussian noise what makes its pure ε finite. At one ρ
more levels go on to tell more, by 6% at the most, but at a larger ε.
"""


def _question(levels: int, epsilon: Fraction, rho: Fraction | None) -> Gaussian:
    """A query with that many levels, on any interval; its ε follows from `rho` if that is given.

    Raises `InvalidQuery` if there is none.
    """
    if rho is not None:
        return Gaussian(0.0, 1.0, levels, rho, gaussian_epsilon(levels, rho))
    return Gaussian(0.0, 1.0, levels, gaussian_rho(levels, epsilon), epsilon)


def _largest_epsilon(rho: Fraction, levels: int | None) -> Fraction:
    """The ε that no question at ρ goes beyond, with `levels` levels if given. Raises `InvalidQuery`."""
    return max(gaussian_epsilon(count, rho) for count in (GAUSSIAN_LEVELS if levels is None else (levels,)))


def _largest_rho(epsilon: Fraction, levels: int | None) -> Fraction:
    """The ρ that no question at ε goes beyond, with `levels` levels if given. Raises `InvalidQuery`."""
    return max(gaussian_rho(count, epsilon) for count in (GAUSSIAN_LEVELS if levels is None else (levels,)))


@dataclass(frozen=True)
class GaussianCandidates(LaplaceCandidates):
    """Every interval, for each allowed number of levels. See `Candidates`."""

    rho: Fraction | None = None
    """Of every query; None for the largest that ε allows."""

    def question(self, levels: int) -> Gaussian:
        """A query with that many levels, on any interval."""
        return _question(levels, self.epsilon, self.rho)


class GaussianDesign(LaplaceDesign):
    """`gaussian`, at a given ε or at a given ρ."""

    name: ClassVar[str] = Gaussian.mechanism
    most_levels: ClassVar[int | None] = 128
    rho_bounds: ClassVar[RhoBounds | None] = RhoBounds(_largest_epsilon, _largest_rho)

    def candidates(
        self, member: Member, epsilon: Fraction, levels: int | None, rho: Fraction | None
    ) -> GaussianCandidates:
        return GaussianCandidates(member, epsilon, GAUSSIAN_LEVELS if levels is None else (levels,), rho)

    def question(self, n_edges: int, epsilon: Fraction, rho: Fraction | None) -> Gaussian:
        return _question(n_edges, epsilon, rho)
