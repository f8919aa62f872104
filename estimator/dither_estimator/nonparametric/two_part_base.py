"""A base of two parts: most people, as by a base of one part, and others, who are elsewhere or much more alike.

Where some people are far from all others, or form groups, no base of one part has bins where they are, and deviations
that are smooth can hardly make room for them.
"""

import math
from functools import cached_property

import numpy as np
from scipy.special import expit, ndtr, ndtri

from dither_estimator.families import FloatArray
from dither_estimator.nonparametric.base import BASE_PARAMETERS, PLACE_SD, FittedBase, ShapedBase, Z, scale_of

__all__ = ["TwoPartBase", "base_of"]

_LOG_ODDS = -2.0
"""The log prior odds of two parts against one."""
_SHARE_SD, _DISTANCE_SD = 2.0, 5.0
"""The prior sds of the log odds of the others' share, and of their distance in units of the first part's scale."""
_LOG_RATIO, _LOG_RATIO_SD = -0.5, 1.0
"""The prior mean and sd of the logarithm of the ratio of the others' scale to the first part's."""
_FAR = 1e3
"""Further from the others' place, in their scales, they are all on one side."""
_LEAST_GAP = 1e-12
"""The least distance between two normal quantiles."""


class TwoPartBase(FittedBase):
    """`(1 - w) F₁ + w F₂`, with F₁ a `ShapedBase` and F₂ normal, by `parameters` (8,).

    They are those of F₁, then `log(w / (1 - w))`, with prior mean 0, and the location and the log scale of F₂.
    """

    sds = np.concatenate([ShapedBase.sds, [_SHARE_SD, PLACE_SD, PLACE_SD]])
    wide = (0, 1, BASE_PARAMETERS + 1, BASE_PARAMETERS + 2)
    steps = np.concatenate([ShapedBase.steps, [0.1, 0.1, 0.1]])

    def __init__(self, parameters: FloatArray) -> None:
        self.parameters = parameters
        log_odds, self._location, log_scale = map(float, parameters[BASE_PARAMETERS:])
        self._first = ShapedBase(parameters[:BASE_PARAMETERS])
        self._share, self._scale = float(expit(log_odds)), scale_of(log_scale)
        self.scale = self._first.scale

    @property
    def units(self) -> FloatArray:
        return np.concatenate([self._first.units, [1.0, self._scale, 1.0]])

    @property
    def whitened(self) -> FloatArray:
        return np.concatenate([self._first.whitened, [self.parameters[-3] / self.sds[-3], 0.0, 0.0]])

    @property
    def log_prior(self) -> float:
        room = math.log(PLACE_SD / _DISTANCE_SD) + math.log(PLACE_SD / _LOG_RATIO_SD)
        room += _LOG_RATIO + _LOG_RATIO_SD**2 / 2
        return _LOG_ODDS + room - 0.5 * float(np.square(self.places()[0]).sum())

    def places(self) -> tuple[FloatArray, FloatArray]:
        distance = (self._location - float(self.parameters[0])) / self.scale
        log_ratio = float(self.parameters[-1] - self.parameters[1])
        # A location is measured in units of its scale, so that its density has the ratio as a factor.
        expected = _LOG_RATIO + _LOG_RATIO_SD**2
        apart = np.array([distance / _DISTANCE_SD, (log_ratio - expected) / _LOG_RATIO_SD])
        slopes = np.zeros((2, len(self.parameters)))
        slopes[0, [0, 1, -2]] = np.array([-1.0, -distance, self._scale / self.scale]) / _DISTANCE_SD
        slopes[1, [1, -1]] = -1 / _LOG_RATIO_SD, 1 / _LOG_RATIO_SD
        return apart, slopes

    def cdf(self, y: FloatArray) -> FloatArray:
        return (1 - self._share) * self._first.cdf(y) + self._share * ndtr(self._standard(y))

    def survival(self, y: FloatArray) -> FloatArray:
        return (1 - self._share) * self._first.survival(y) + self._share * ndtr(-self._standard(y))

    def slopes(self, y: FloatArray) -> FloatArray:
        z = self._standard(y)
        by_place = -self._share * np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi)
        by_log_odds = self._share * (1 - self._share) * (ndtr(z) - self._first.cdf(y))
        return np.concatenate([(1 - self._share) * self._first.slopes(y), [by_log_odds, by_place, by_place * z]])

    @cached_property
    def nodes(self) -> tuple[FloatArray, FloatArray]:
        y = np.sort(np.concatenate([self._first.table, self._location + self._scale * Z]))
        below = self.cdf(y)
        z = np.where(below < 0.5, ndtri(below), -ndtri(self.survival(y)))
        kept = np.append(True, np.diff(np.maximum.accumulate(z)) > _LEAST_GAP) & np.isfinite(z)
        return y[kept], z[kept]

    def _standard(self, y: FloatArray) -> FloatArray:
        return ((y - self._location) / self._scale).clip(-_FAR, _FAR)


def base_of(parameters: FloatArray) -> FittedBase:
    """The base of one part or two with these parameters, of which there are five or eight."""
    return ShapedBase(parameters) if len(parameters) == BASE_PARAMETERS else TwoPartBase(parameters)
