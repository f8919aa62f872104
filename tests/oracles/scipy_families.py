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
    supports: Sequence[Support]
    """Of the parameters."""

    def constrain(self, coordinates: Sequence[FloatArray]) -> list[FloatArray]:
        """Parameters from coordinates on the line: the exponential of a positive one's, the logistic of a share's."""
        maps: Mapping[str, Callable[[FloatArray], FloatArray]] = {
            "real": lambda u: u,
            "positive": np.exp,
            "unit": lambda u: 1 / (1 + np.exp(-u)),
        }
        return [maps[support](u) for support, u in zip(self.supports, coordinates, strict=True)]

    def unconstrain(self, theta: Sequence[float]) -> list[float]:
        """The coordinates of a member."""
        maps: Mapping[str, Callable[[float], float]] = {
            "real": lambda x: x,
            "positive": lambda x: float(np.log(x)),
            "unit": lambda x: float(np.log(x / (1 - x))),
        }
        return [maps[support](x) for support, x in zip(self.supports, theta, strict=True)]

    def slopes(self, theta: Sequence[FloatArray]) -> list[FloatArray]:
        """`d parameter / d coordinate` of each parameter."""
        maps: Mapping[str, Callable[[FloatArray], FloatArray]] = {
            "real": np.ones_like,
            "positive": lambda x: x,
            "unit": lambda x: x * (1 - x),
        }
        return [maps[support](x) for support, x in zip(self.supports, theta, strict=True)]


def _line(law: Any) -> Oracle:
    return Oracle(law, LINE, ("real", "positive"))


def _positive(law: Callable[..., Any], thetas: Sequence[tuple[float, ...]]) -> Oracle:
    supports: list[Support] = ["positive"] * len(thetas[0])
    return Oracle(law, thetas, supports)


ORACLES: Mapping[str, Oracle] = {
    "normal": _line(stats.norm),
    "laplace": _line(stats.laplace),
    "logistic": _line(stats.logistic),
    "gumbel": _line(stats.gumbel_r),
    "student_t:4": _line(lambda mu, sigma: stats.t(4, mu, sigma)),
    "student_t": Oracle(
        lambda mu, sigma, df: stats.t(df, mu, sigma),
        [(0.0, 1.0, 30.0), (3.0, 0.2, 1.5), (-50.0, 12.0, 4.0)],
        ("real", "positive", "positive"),
    ),
    "exponential": _positive(lambda scale: stats.expon(scale=scale), [(1.0,), (0.01,), (30.0,)]),
    "gamma": _positive(lambda shape, scale: stats.gamma(shape, scale=scale), [(0.5, 1.0), (40.0, 0.1), (3.0, 7.0)]),
    "weibull": _positive(
        lambda shape, scale: stats.weibull_min(shape, scale=scale), [(0.7, 1.0), (9.0, 40.0), (1.8, 5.0)]
    ),
    "beta": _positive(stats.beta, [(0.5, 0.5), (20.0, 3.0), (2.0, 5.0)]),
    "bernoulli": Oracle(stats.bernoulli, [(0.5,), (0.02,), (0.3,)], ("unit",)),
    "poisson": _positive(stats.poisson, [(0.3,), (200.0,), (6.0,)]),
    "negative_binomial": _positive(
        lambda mean, size: stats.nbinom(size, size / (size + mean)), [(0.5, 0.4), (50.0, 9.0), (6.0, 3.0)]
    ),
}
"""By the family's name; the last member of each is typical."""
