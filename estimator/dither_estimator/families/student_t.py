"""Student's t family, with known or unknown degrees of freedom."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

import numpy as np
from scipy.special import gammaln, stdtr, stdtrit

from dither_client import Transform
from dither_estimator.families.base import Family, FloatArray, Parameter, PriorTerms
from dither_estimator.families.location_scale import LocationScale

__all__ = ["StudentT", "StudentTGiven"]

_LOG_STEP = 1e-5
"""The step of differences by the logarithm of the degrees of freedom."""
_FARTHEST = 1e150
"""Farther out the density is that at this place, whose square a number can hold."""


class StudentTGiven(LocationScale):
    """Student's t with location mu, scale sigma and `df` known degrees of freedom."""

    def __init__(self, df: float) -> None:
        self.df = df
        self.name = f"student_t:{df:g}"  # type: ignore[misc]  # its own, not of the class

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StudentTGiven) and self.df == other.df

    def __hash__(self) -> int:
        return hash((StudentTGiven, self.df))

    def standard_cdf(self, z: FloatArray) -> FloatArray:
        return np.asarray(stdtr(self.df, z), dtype=float)

    def standard_pdf(self, z: FloatArray) -> FloatArray:
        return _density(self.df, z)

    def standard_quantiles(self, probabilities: FloatArray) -> FloatArray:
        return np.asarray(stdtrit(self.df, probabilities), dtype=float)

    @property
    def standard_mean(self) -> float:
        return 0.0 if self.df > 1 else np.nan

    def standard_mgf(self, t: FloatArray) -> FloatArray:
        return np.full_like(t, np.inf)

    def sample(self, rng: np.random.Generator, theta: FloatArray, size: int) -> FloatArray:
        return np.asarray(theta[0] + theta[1] * rng.standard_t(self.df, size), dtype=float)


class StudentT(Family):
    """Student's t with location mu, scale sigma and unknown degrees of freedom `df`."""

    name: ClassVar[str] = "student_t"
    parameters: ClassVar[tuple[Parameter, ...]] = (*LocationScale.parameters, Parameter("df", "positive"))
    transforms: ClassVar[tuple[Transform, ...]] = LocationScale.transforms
    measured_in: ClassVar[Mapping[str, str]] = MappingProxyType({"mu": "sigma"})

    @property
    def shapes(self) -> tuple[int, ...]:
        return (2,)

    @property
    def standard(self) -> FloatArray:
        return np.array([0.0, 1.0, 5.0])

    def cdf(self, theta: FloatArray, edges: FloatArray) -> FloatArray:
        return np.asarray(stdtr(theta[:, 2:3], (edges - theta[:, :1]) / theta[:, 1:2]), dtype=float)

    def cdf_gradient(self, theta: FloatArray, edges: FloatArray) -> FloatArray:
        """By mu and sigma exactly, whatever the unit of values; by df by central differences of its logarithm."""
        z, df = (edges - theta[:, :1]) / theta[:, 1:2], theta[:, 2:3]
        by_location = -_density(df, z) / theta[:, 1:2]
        by_scale = np.where(by_location == 0, 0.0, z) * by_location
        above, below = (stdtr(df * np.exp(sign * _LOG_STEP), z) for sign in (1, -1))
        return np.stack([by_location, by_scale, (above - below) / (2 * _LOG_STEP * df)], axis=-1)

    def quantiles(self, theta: FloatArray, probabilities: FloatArray) -> FloatArray:
        return np.asarray(theta[:, :1] + theta[:, 1:2] * stdtrit(theta[:, 2:3], probabilities), dtype=float)

    def mean(self, theta: FloatArray, transform: Transform) -> FloatArray:
        if transform == "log":
            return np.full(len(theta), np.inf)
        return np.where(theta[:, 2] > 1, theta[:, 0], np.nan)

    def default_prior(self, transform: Transform) -> PriorTerms:
        return {**StudentTGiven(5).default_prior(transform), "df": _DF_PRIOR}

    def bounded_prior(self, transform: Transform, low: float, high: float) -> PriorTerms:
        return {**StudentTGiven(5).bounded_prior(transform, low, high), "df": _DF_PRIOR}

    def range_prior(self, low: float, high: float, guessed: bool = False) -> PriorTerms:
        return {**StudentTGiven(5).range_prior(low, high, guessed), "df": _DF_PRIOR}

    def sample(self, rng: np.random.Generator, theta: FloatArray, size: int) -> FloatArray:
        return np.asarray(theta[0] + theta[1] * rng.standard_t(theta[2], size), dtype=float)


_DF_PRIOR = {"dist": "lognorm", "s": 0.8, "scale": 6.0}


def _density(df: float | FloatArray, z: FloatArray) -> FloatArray:
    """The density at `z` of the t with `df` degrees of freedom."""
    half = (df + 1) / 2
    constant = gammaln(half) - gammaln(df / 2) - 0.5 * np.log(df * np.pi)
    return np.asarray(np.exp(constant - half * np.log1p(np.clip(z, -_FARTHEST, _FARTHEST) ** 2 / df)), dtype=float)
