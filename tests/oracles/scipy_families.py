"""Every family as SciPy writes it: the independent side of the estimator's tests."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import stats

from dither_estimator.families import FloatArray

__all__ = ["ORACLES", "Oracle"]

Support = Literal["real", "positive", "unit"]

LINE = [(0.0, 1.0), (3.0, 0.2), (-50.0, 12.0)]


@dataclass(frozen=True)
class Oracle:
    law: Callable[..., Any]
    """SciPy's distribution at a θ, one argument for each parameter."""
    thetas: Sequence[tuple[float, ...]]
    """Members to test."""
    supports: Sequence[Support] = ()
    """The supports of the parameters, in order; all are positive unless this is given."""

    def constrain(self, coordinates: Sequence[FloatArray]) -> list[FloatArray]:
        """Parameters from coordinates on the line: the exponential of a positive one's, the logistic of a share's."""
        maps: Mapping[str, Callable[[FloatArray], FloatArray]] = {
            "real": lambda u: u,
            "positive": np.exp,
            "unit": lambda u: 1 / (1 + np.exp(-u)),
        }
        return [maps[support](u) for support, u in zip(self._supports(coordinates), coordinates, strict=True)]

    def unconstrain(self, theta: Sequence[float]) -> list[float]:
        """The coordinates of a member."""
        maps: Mapping[str, Callable[[float], float]] = {
            "real": lambda x: x,
            "positive": lambda x: float(np.log(x)),
            "unit": lambda x: float(np.log(x / (1 - x))),
        }
        return [maps[support](x) for support, x in zip(self._supports(theta), theta, strict=True)]

    def slopes(self, theta: Sequence[FloatArray]) -> list[FloatArray]:
        """`d parameter / d coordinate` of each parameter."""
        maps: Mapping[str, Callable[[FloatArray], FloatArray]] = {
            "real": np.ones_like,
            "positive": lambda x: x,
            "unit": lambda x: x * (1 - x),
        }
        return [maps[support](x) for support, x in zip(self._supports(theta), theta, strict=True)]

    def _supports(self, theta: Sequence[Any]) -> Sequence[Support]:
        return self.supports or ["positive"] * len(theta)


ON_THE_LINE: Sequence[Support] = ("real", "positive")

ORACLES: Mapping[str, Oracle] = {
    "normal": Oracle(stats.norm, LINE, ON_THE_LINE),
    "laplace": Oracle(stats.laplace, LINE, ON_THE_LINE),
    "logistic": Oracle(stats.logistic, LINE, ON_THE_LINE),
    "gumbel": Oracle(stats.gumbel_r, LINE, ON_THE_LINE),
    "student_t:4": Oracle(lambda mu, sigma: stats.t(4, mu, sigma), LINE, ON_THE_LINE),
    "student_t": Oracle(
        lambda mu, sigma, df: stats.t(df, mu, sigma),
        [(0.0, 1.0, 30.0), (3.0, 0.2, 1.5), (-50.0, 12.0, 4.0)],
        ("real", "positive", "positive"),
    ),
    "exponential": Oracle(lambda scale: stats.expon(scale=scale), [(1.0,), (0.01,), (30.0,)]),
    "gamma": Oracle(lambda shape, scale: stats.gamma(shape, scale=scale), [(0.5, 1.0), (40.0, 0.1), (3.0, 7.0)]),
    "weibull": Oracle(
        lambda shape, scale: stats.weibull_min(shape, scale=scale), [(0.7, 1.0), (9.0, 40.0), (1.8, 5.0)]
    ),
    "beta": Oracle(stats.beta, [(0.5, 0.5), (20.0, 3.0), (2.0, 5.0)]),
    "bernoulli": Oracle(stats.bernoulli, [(0.5,), (0.02,), (0.3,)], ("unit",)),
    "poisson": Oracle(stats.poisson, [(0.3,), (200.0,), (6.0,)]),
    "negative_binomial": Oracle(
        lambda mean, size: stats.nbinom(size, size / (size + mean)), [(0.5, 0.4), (50.0, 9.0), (6.0, 3.0)]
    ),
}
"""SciPy's distribution for each family's name; the last of its members is typical."""
