"""The base: a distribution with location, scale, skewness and two kinds of tails, fitted to the answers.

The quantile function of a base of one part is `m + s B(z) / ((B(1) - B(-1)) / 2)` with `z = Φ⁻¹(u)` and
`B(z) = (sinh((asinh z + k) e^-d) - sinh(k e^-d)) exp(h z²/2)`: the sinh-arcsinh distribution (Jones & Pewsey 2009) with
the tails of Tukey's h distribution (Hoaglin 1985), which are those of a power law with exponent 1/h. It increases for
all parameters, since the difference has the sign of z. Without h no base comes near the tails of a Student t with 2
degrees of freedom, and since smoothness is relative to the base, the posterior would be certain of tails that are too
light.

The scale is half the distance of the quantiles at Φ(-1) and Φ(1), which answers tell, whatever the shape; and h is a
smooth increasing function of a parameter that can be any number. So a posterior is nearly normal, as it would not be
were the scale that in the middle alone, or at the border where h is 0.

The base only decides where bins lie and what is smooth. Counts refer to cuts on the real line, so nothing is lost when
the base changes.
"""

import math
from abc import ABC, abstractmethod
from typing import Self

import numpy as np
from scipy.special import expit, ndtr, ndtri

from dither_estimator.families import FloatArray
from dither_estimator.nonparametric.support import LARGEST

__all__ = ["BASE_PARAMETERS", "PLACE_SD", "SHAPE_SD", "Base", "FittedBase", "ShapedBase", "Z", "scale_of"]

BASE_PARAMETERS = 5
"""The median m, log s, skewness k, lightness of the tails d, and t with `h = 0.2 log(1 + e^(2.5 t - 1.5))`."""
SHAPE_SD = np.array([0.7, 0.35, 1.0])
"""The prior sd of k, d and t, each with mean 0."""
PLACE_SD = 1.5
"""The prior sd of the base's location, in units of its scale, and of its logarithm, around what was fitted: wide."""
_TAIL = 0.2
"""The unit of h: that of a Student t with 2 degrees of freedom is about twice this."""
_SOFTNESS, _HEAVIER = 2.5, 1.5

_OUTER = np.geomspace(4.0, 9.0, 40)[1:]
Z = np.concatenate([-_OUTER[::-1], np.linspace(-4.0, 4.0, 321), _OUTER])
"""Normal quantiles at which the quantile function is tabulated."""
_MAX_EXPONENT = 300.0
"""Keeps the quantiles of absurd parameters, which a search may try, finite."""
_MAX_LOG_SCALE = 690.0


class Base:
    """A continuous distribution, by its quantiles at normal quantiles `Z`."""

    def __init__(self, table: FloatArray) -> None:
        self.table = table
        """Increasing, shape (len(Z),)."""

    @property
    def nodes(self) -> tuple[FloatArray, FloatArray]:
        """Increasing quantiles, and the normal quantiles at which they are, between which these are interpolated."""
        return self.table, Z

    def cdf(self, y: FloatArray) -> FloatArray:
        """The distribution function at `y`, of any shape."""
        return ndtr(np.interp(y, *self.nodes))

    def survival(self, y: FloatArray) -> FloatArray:
        """The share above `y`, of any shape."""
        return ndtr(-np.interp(y, *self.nodes))

    def quantile(self, u: FloatArray) -> FloatArray:
        """Quantiles at levels `u` strictly between 0 and 1, of any shape."""
        table, z = self.nodes
        return np.interp(ndtri(u), z, table)

    def density(self, y: FloatArray) -> FloatArray:
        """The density at `y`, of any shape."""
        table, at = self.nodes
        widths = np.gradient(table, at)
        slopes = np.where(widths > 0, 1 / np.maximum(widths, 1 / LARGEST), 0.0)
        z = np.interp(y, table, at)
        density = np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi) * np.interp(z, at, slopes)
        return np.where((y > table[0]) & (y < table[-1]), density, 0.0)


class FittedBase(Base, ABC):
    """A base with parameters, of which the first two are a location and the logarithm of a scale."""

    parameters: FloatArray
    """Shape (p,)."""
    scale: float
    sds: FloatArray
    """Prior sds of the parameters in their `units`, shape (p,): those of places are around the fit."""
    wide: tuple[int, ...] = (0, 1)
    """Which parameters are locations, and after each its log scale."""
    steps: FloatArray
    """How far each may move, in prior sds, for differences of second order; shape (p,)."""

    @property
    def units(self) -> FloatArray:
        """What changes of the parameters are measured in, shape (p,): those of a location in its scale."""
        return np.append(self.scale, np.ones(len(self.sds) - 1))

    @property
    def whitened(self) -> FloatArray:
        """The parameters in prior sds from their prior means, shape (p,); 0 for locations and log scales."""
        return np.append([0.0, 0.0], self.parameters[2:] / self.sds[2:])

    @property
    def log_prior(self) -> float:
        """The log prior probability of so many parts, and that they lie as they do, beside one around the fit."""
        return 0.0

    def places(self) -> tuple[FloatArray, FloatArray]:
        """How far the parts lie from where they are expected, in sds (k,), and its slopes (k, p) in `units`."""
        return np.empty(0), np.empty((0, len(self.sds)))

    @abstractmethod
    def slopes(self, y: FloatArray) -> FloatArray:
        """The derivatives of the distribution function at `y` by the parameters, in `units`, shape (p, …)."""

    def moved(self, by: FloatArray) -> Self:
        """The base with parameters that differ `by` (p,) in prior sds."""
        return type(self)(self.parameters + self.units * self.sds * by)


class ShapedBase(FittedBase):
    """The member with these `parameters` (5,), of `BASE_PARAMETERS`."""

    sds = np.concatenate([[PLACE_SD, PLACE_SD], SHAPE_SD])
    steps = np.array([0.1, 0.1, 0.25, 0.25, 0.4])

    def __init__(self, parameters: FloatArray) -> None:
        self.parameters = parameters
        self._location, log_scale, self._k, self._d, tail = map(float, parameters)
        self.scale = scale_of(log_scale)
        """Half the distance between the quantiles at Φ(-1) and Φ(1)."""
        self._h = _TAIL * float(np.logaddexp(0.0, _SOFTNESS * tail - _HEAVIER))
        self._h_slope = _TAIL * _SOFTNESS * float(expit(_SOFTNESS * tail - _HEAVIER))
        low, high = self._bent(np.array([-1.0, 1.0]))
        self._unit = self.scale / (float(high - low) / 2)
        super().__init__(self._value(Z))

    def quantile(self, u: FloatArray) -> FloatArray:
        return self._value(ndtri(u))

    def slopes(self, y: FloatArray) -> FloatArray:
        # With `Q(z) = y` they are `-φ(z) (∂Q/∂parameter) / (∂Q/∂z)`.
        z = np.interp(y, self.table, Z)
        bent, by_shape, by_z = self._bent_slopes(z)
        (low, high), by_shape_at_ends, _ = self._bent_slopes(np.array([-1.0, 1.0]))
        of_unit = (by_shape_at_ends[:, 1] - by_shape_at_ends[:, 0]) / (high - low)
        by_location = (high - low) / 2 * np.exp((self._h * (1.0 - z**2) / 2).clip(-_MAX_EXPONENT))
        by_shape = by_shape - np.multiply.outer(of_unit, bent)
        by_shape[2] *= self._h_slope
        density = np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi)
        return -density / by_z * np.concatenate([[by_location, bent], by_shape])

    def _value(self, z: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            return (self._location + self._unit * self._bent(z)).clip(-LARGEST, LARGEST)

    def _bent(self, z: FloatArray) -> FloatArray:
        centre, stretch = self._k * math.exp(-self._d), np.minimum(self._h * z**2 / 2, _MAX_EXPONENT)
        bent = _sinh((np.arcsinh(z) + self._k) * math.exp(-self._d)) - _sinh(np.array(centre))
        with np.errstate(over="ignore"):
            return np.asarray(bent * np.exp(stretch)).clip(-LARGEST, LARGEST)

    def _bent_slopes(self, z: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """B(z), its derivatives by k, d and h, shape (3, …), and by z, all of them over `exp(h z²/2)`."""
        narrow = math.exp(-self._d)
        at, centre = (np.arcsinh(z) + self._k) * narrow, np.array(self._k * narrow)
        rise, rise_at_centre = _cosh(at), _cosh(centre)
        bent = _sinh(at) - _sinh(centre)
        by_shape = [narrow * (rise - rise_at_centre), centre * rise_at_centre - at * rise, bent * z**2 / 2]
        return bent, np.array(by_shape), narrow * rise / np.hypot(1.0, z) + self._h * z * bent


def scale_of(log_scale: float) -> float:
    """The scale with this logarithm, which may be absurd."""
    return math.exp(min(max(log_scale, -_MAX_LOG_SCALE), _MAX_LOG_SCALE))


def _sinh(x: FloatArray) -> FloatArray:
    return np.sinh(x.clip(-_MAX_EXPONENT, _MAX_EXPONENT))


def _cosh(x: FloatArray) -> FloatArray:
    return np.cosh(x.clip(-_MAX_EXPONENT, _MAX_EXPONENT))
