"""Candidate queries of `gaussian`: like those of `laplace` but with another channel, at a given ε or ρ.

At a given ε each query has the largest ρ possible for its levels; at a given ρ each has the ε that its levels entail.
"""

from fractions import Fraction
from typing import ClassVar

from dither_client import Gaussian, gaussian_epsilon, gaussian_rho
from dither_estimator.design.laplace import LaplaceDesign
from dither_estimator.design.mechanism import RhoBounds

__all__ = ["GAUSSIAN_LEVELS", "GaussianDesign"]

GAUSSIAN_LEVELS = (1, 2, 3, 4)
"""The numbers of levels from which a design may choose.

At a fixed ε of up to 50, more levels give less information, because only clipping makes the pure ε finite. At a fixed ρ
they give more, by at most 6%, but at a larger ε.
"""


def _largest_epsilon(rho: Fraction, levels: int | None) -> Fraction:
    """The largest ε of a question with this ρ, and with `levels` levels if given. Raises `InvalidQuery`."""
    return max(gaussian_epsilon(count, rho) for count in (GAUSSIAN_LEVELS if levels is None else (levels,)))


def _largest_rho(epsilon: Fraction, levels: int | None) -> Fraction:
    """The largest ρ of a question with this ε, and with `levels` levels if given. Raises `InvalidQuery`."""
    return max(gaussian_rho(count, epsilon) for count in (GAUSSIAN_LEVELS if levels is None else (levels,)))


class GaussianDesign(LaplaceDesign):
    """Designs of `gaussian`, at a given ε or ρ."""

    name: ClassVar[str] = Gaussian.mechanism
    label: ClassVar[str] = "A place between two thresholds, with Gaussian noise"
    most_levels: ClassVar[int | None] = 128
    rho_bounds: ClassVar[RhoBounds | None] = RhoBounds(_largest_epsilon, _largest_rho)

    def useful_levels(self, epsilon: Fraction) -> tuple[int, ...]:
        return GAUSSIAN_LEVELS

    def question(self, n_edges: int, epsilon: Fraction, rho: Fraction | None) -> Gaussian:
        """Raises `InvalidQuery` where there is none."""
        if rho is not None:
            return Gaussian(0.0, 1.0, n_edges, rho, gaussian_epsilon(n_edges, rho))
        return Gaussian(0.0, 1.0, n_edges, gaussian_rho(n_edges, epsilon), epsilon)
