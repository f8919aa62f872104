"""The base: a distribution with location, scale, skewness and two kinds of tails, fitted to the answers.

The base's quantile function is `m + s (sinh((asinh z + k) e^-d) - sinh(k e^-d)) exp(h z²/2)` with `z = Φ⁻¹(u)`: the
sinh-arcsinh distribution (Jones & Pewsey 2009) with the tails of Tukey's h distribution (Hoaglin 1985), which are those
of a power law with exponent 1/h. It increases for all parameters, since the difference has the sign of z. Without h no
base comes near the tails of a Student t with 2 degrees of freedom, and since smoothness is relative to the base, the
posterior would be certain of tails that are too light.

The base only decides where bins lie and what is smooth. Counts refer to cuts on the real line, so nothing is lost when
the base changes.
"""

import math

import numpy as np
from scipy.special import ndtr, ndtri

from dither_estimator.families import FloatArray
from dither_estimator.nonparametric.support import LARGEST

__all__ = ["BASE_PARAMETERS", "SHAPE_SD", "Base", "ShapedBase", "Z", "scale_of"]

BASE_PARAMETERS = 5
"""The median m, log s, skewness k, lightness of the tails d, and η with `h = η²`."""
SHAPE_SD = np.array([0.7, 0.35, 0.5])
"""The prior sd of k, d and η, each with mean 0."""

_TAIL = np.geomspace(4.0, 9.0, 40)[1:]
Z = np.concatenate([-_TAIL[::-1], np.linspace(-4.0, 4.0, 321), _TAIL])
"""Normal quantiles at which the quantile function is tabulated."""
_MAX_EXPONENT = 300.0
"""Keeps the quantiles of absurd parameters, which a search may try, finite."""
_MAX_LOG_SCALE = 690.0
_STEP = 1e-2
"""The step of numerical derivatives by the parameters, in units of the scale for the location."""


class Base:
    """A continuous distribution, by its quantiles at normal quantiles `Z`."""

    def __init__(self, table: FloatArray) -> None:
        self.table = table
        """Increasing, shape (len(Z),)."""

    def cdf(self, y: FloatArray) -> FloatArray:
        """The distribution function at `y`, of any shape."""
        return ndtr(np.interp(y, self.table, Z))

    def quantile(self, u: FloatArray) -> FloatArray:
        """Quantiles at levels `u` strictly between 0 and 1, of any shape."""
        return np.interp(ndtri(u), Z, self.table)

    def density(self, y: FloatArray) -> FloatArray:
        """The density at `y`, of any shape."""
        widths = np.gradient(self.table, Z)
        slopes = np.where(widths > 0, 1 / np.maximum(widths, 1 / LARGEST), 0.0)
        z = np.interp(y, self.table, Z)
        density = np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi) * np.interp(z, Z, slopes)
        return np.where((y > self.table[0]) & (y < self.table[-1]), density, 0.0)


class ShapedBase(Base):
    """The member with these `parameters` (5,), of `BASE_PARAMETERS`."""

    def __init__(self, parameters: FloatArray) -> None:
        self.parameters = parameters
        self._location, log_scale, self._k, self._d, eta = map(float, parameters)
        self._scale = scale_of(log_scale)
        self._h = eta**2
        super().__init__(self._value(Z))

    def quantile(self, u: FloatArray) -> FloatArray:
        return self._value(ndtri(u))

    def slopes(self, y: FloatArray) -> FloatArray:
        """The derivatives of the distribution function at `y` by the parameters, shape (5, …).

        That by the location is in units of the scale.
        """
        found = []
        for parameter in range(BASE_PARAMETERS):
            step = np.zeros(BASE_PARAMETERS)
            step[parameter] = _STEP * (self._scale if parameter == 0 else 1.0)
            above, below = ShapedBase(self.parameters + step), ShapedBase(self.parameters - step)
            found.append((above.cdf(y) - below.cdf(y)) / (2 * _STEP))
        return np.array(found)

    def _value(self, z: FloatArray) -> FloatArray:
        centre, stretch = self._k * math.exp(-self._d), np.minimum(self._h * z**2 / 2, _MAX_EXPONENT)
        bent = _sinh((np.arcsinh(z) + self._k) * math.exp(-self._d)) - _sinh(np.array(centre))
        with np.errstate(over="ignore"):
            return (self._location + self._scale * bent * np.exp(stretch)).clip(-LARGEST, LARGEST)


def scale_of(log_scale: float) -> float:
    """The scale with this logarithm, which may be absurd."""
    return math.exp(min(max(log_scale, -_MAX_LOG_SCALE), _MAX_LOG_SCALE))


def _sinh(x: FloatArray) -> FloatArray:
    return np.sinh(x.clip(-_MAX_EXPONENT, _MAX_EXPONENT))
