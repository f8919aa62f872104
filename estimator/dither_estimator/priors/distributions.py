"""The distributions that priors can name: the continuous ones of `scipy.stats`, by their names and shapes there.

Importing `scipy.stats` takes longer than learning a million answers. The usual distributions are therefore implemented
here, with SciPy's formulas and, given the same generator, identical draws; `scipy.stats` is imported only for others.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import betaincinv, betaln, gammainccinv, gammaincinv, gammaln, ndtri, stdtrit, xlog1py, xlogy

from dither_estimator.families import FloatArray

__all__ = ["TOO_SLOW", "WRITTEN", "Distribution", "find_distribution", "find_shapes"]

TOO_SLOW = frozenset(
    {"gausshyper", "irwinhall", "ksone", "kstwo", "levy_stable", "rel_breitwigner", "studentized_range"}
)
"""Draws, densities or quantiles of these take milliseconds each or, with large numbers, minutes: SciPy integrates,
searches or sums for every one of them.
"""


@dataclass(frozen=True)
class Distribution(ABC):
    """The distribution that `scipy.stats` calls `dist`, with the given shapes, `loc` and `scale`."""

    dist: str
    numbers: Mapping[str, float]

    @property
    @abstractmethod
    def support(self) -> tuple[float, float]:
        """The two ends of the support; NaN if the numbers do not define a distribution."""

    @abstractmethod
    def quantiles(self, probabilities: FloatArray) -> FloatArray:
        """Quantiles at `probabilities` inside (0, 1)."""

    @abstractmethod
    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """`size` independent draws."""

    @abstractmethod
    def log_density(self, x: FloatArray) -> FloatArray:
        """The log density at any `x`; -inf outside the support."""


def find_shapes(dist: str) -> tuple[str, ...] | None:
    """The names of a distribution's shape parameters; None if there is no continuous distribution with this name."""
    if dist in WRITTEN:
        return WRITTEN[dist].shapes
    from scipy import stats

    generator = getattr(stats, dist, None)
    if not isinstance(generator, stats.rv_continuous):
        return None
    return tuple(part.strip() for part in (generator.shapes or "").split(",") if part)


def find_distribution(dist: str, numbers: Mapping[str, float]) -> Distribution:
    """The distribution `dist`, a name known to `find_shapes`, with a value in `numbers` for each of its shapes."""
    return _WrittenDistribution(dist, numbers) if dist in WRITTEN else _ScipyDistribution(dist, numbers)


class _ScipyDistribution(Distribution):
    @property
    def support(self) -> tuple[float, float]:
        low, high = self._frozen.support()
        return float(low), float(high)

    def quantiles(self, probabilities: FloatArray) -> FloatArray:
        return np.asarray(self._frozen.ppf(probabilities), dtype=float)

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        return np.asarray(self._frozen.rvs(size=size, random_state=rng), dtype=float)

    def log_density(self, x: FloatArray) -> FloatArray:
        return np.asarray(self._frozen.logpdf(x), dtype=float)

    @cached_property
    def _frozen(self) -> Any:
        from scipy import stats

        return getattr(stats, self.dist)(**self.numbers)


@dataclass(frozen=True)
class _Formulas:
    """Formulas at location 0 and scale 1; only `log_density` takes a scale. Shapes come last and must be positive."""

    log_density: Callable[..., FloatArray]
    """Called with `x` in the support, the scale and the shapes."""
    quantiles: Callable[..., Any]
    sample: Callable[..., Any]
    shapes: tuple[str, ...] = ()
    support: tuple[float, float] = (0.0, np.inf)
    open: bool = False
    """Whether the density is set to 0 at the ends, where its formula may be undefined."""


class _WrittenDistribution(Distribution):
    @property
    def support(self) -> tuple[float, float]:
        if not (self._scale > 0 and all(shape > 0 for shape in self._shapes)):
            return np.nan, np.nan
        low, high = self._formulas.support
        return low * self._scale + self._loc, high * self._scale + self._loc

    def quantiles(self, probabilities: FloatArray) -> FloatArray:
        standard = self._formulas.quantiles(probabilities, *self._shapes)
        return np.asarray(standard * self._scale + self._loc, dtype=float)

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        standard = self._formulas.sample(rng, size, *self._shapes)
        return np.asarray(standard * self._scale + self._loc, dtype=float)

    def log_density(self, x: FloatArray) -> FloatArray:
        formulas, x = self._formulas, x - self._loc
        low, high = (end * self._scale for end in formulas.support)
        with np.errstate(all="ignore"):
            density = formulas.log_density(x, self._scale, *self._shapes)
            if (low, high) == (-np.inf, np.inf):
                return density
            inside = (low < x) & (x < high) if formulas.open else (low <= x) & (x <= high)
            return np.where(inside, density, -np.inf)

    @property
    def _formulas(self) -> _Formulas:
        return WRITTEN[self.dist]

    @property
    def _loc(self) -> float:
        return self.numbers.get("loc", 0.0)

    @property
    def _scale(self) -> float:
        return self.numbers.get("scale", 1.0)

    @property
    def _shapes(self) -> list[float]:
        return [self.numbers[shape] for shape in self._formulas.shapes]


_LOG_ROOT_2_PI = 0.5 * np.log(2 * np.pi)


def _log_normal(x: FloatArray, scale: float) -> FloatArray:
    return -np.log(scale) - _LOG_ROOT_2_PI - 0.5 * (x / scale) ** 2


def _log_t(x: FloatArray, scale: float, df: float) -> FloatArray:
    constant = gammaln((df + 1) / 2) - gammaln(df / 2) - 0.5 * np.log(df * np.pi) - np.log(scale)
    return constant - (df + 1) / 2 * np.log1p((x / scale) ** 2 / df)


def _log_lognormal(x: FloatArray, scale: float, s: float) -> FloatArray:
    return -np.log(s) - _LOG_ROOT_2_PI - np.log(x) - 0.5 * (np.log(x / scale) / s) ** 2


def _log_loglaplace(x: FloatArray, scale: float, c: float) -> FloatArray:
    return np.log(c / 2) - np.log(x) - c * np.abs(np.log(x / scale))


def _loglaplace_quantiles(probabilities: FloatArray, c: float) -> FloatArray:
    below = (2 * probabilities) ** (1 / c)
    return np.where(probabilities < 0.5, below, (2 * (1 - probabilities)) ** (-1 / c))


def _log_gamma(x: FloatArray, scale: float, a: float) -> FloatArray:
    return xlogy(a - 1, x / scale) - x / scale - gammaln(a) - np.log(scale)


def _log_inverse_gamma(x: FloatArray, scale: float, a: float) -> FloatArray:
    return a * np.log(scale) - gammaln(a) - (a + 1) * np.log(x) - scale / x


def _log_beta(x: FloatArray, scale: float, a: float, b: float) -> FloatArray:
    return xlog1py(b - 1, -x / scale) + xlogy(a - 1, x / scale) - betaln(a, b) - np.log(scale)


def _log_exponential(x: FloatArray, scale: float) -> FloatArray:
    return -x / scale - np.log(scale)


def _log_half_normal(x: FloatArray, scale: float) -> FloatArray:
    return 0.5 * np.log(2 / np.pi) - 0.5 * (x / scale) ** 2 - np.log(scale)


def _log_uniform(x: FloatArray, scale: float) -> FloatArray:
    return np.full_like(x, -np.log(scale))


def _inverse_gamma_quantiles(probabilities: FloatArray, a: float) -> FloatArray:
    return 1 / gammainccinv(a, probabilities)


WRITTEN: Mapping[str, _Formulas] = {
    "norm": _Formulas(
        _log_normal,
        quantiles=ndtri,
        sample=lambda rng, size: rng.standard_normal(size),
        support=(-np.inf, np.inf),
    ),
    "t": _Formulas(
        _log_t,
        quantiles=lambda probabilities, df: stdtrit(df, probabilities),
        sample=lambda rng, size, df: rng.standard_t(df, size),
        shapes=("df",),
        support=(-np.inf, np.inf),
    ),
    "lognorm": _Formulas(
        _log_lognormal,
        quantiles=lambda probabilities, s: np.exp(s * ndtri(probabilities)),
        sample=lambda rng, size, s: np.exp(s * rng.standard_normal(size)),
        shapes=("s",),
        open=True,
    ),
    "loglaplace": _Formulas(
        _log_loglaplace,
        quantiles=_loglaplace_quantiles,
        sample=lambda rng, size, c: _loglaplace_quantiles(rng.uniform(size=size), c),
        shapes=("c",),
        open=True,
    ),
    "gamma": _Formulas(
        _log_gamma,
        quantiles=lambda probabilities, a: gammaincinv(a, probabilities),
        sample=lambda rng, size, a: rng.standard_gamma(a, size),
        shapes=("a",),
        open=True,
    ),
    "invgamma": _Formulas(
        _log_inverse_gamma,
        quantiles=_inverse_gamma_quantiles,
        sample=lambda rng, size, a: _inverse_gamma_quantiles(rng.uniform(size=size), a),
        shapes=("a",),
        open=True,
    ),
    "beta": _Formulas(
        _log_beta,
        quantiles=lambda probabilities, a, b: betaincinv(a, b, probabilities),
        sample=lambda rng, size, a, b: rng.beta(a, b, size),
        shapes=("a", "b"),
        support=(0.0, 1.0),
        open=True,
    ),
    "expon": _Formulas(
        _log_exponential,
        quantiles=lambda probabilities: -np.log1p(-probabilities),
        sample=lambda rng, size: rng.standard_exponential(size),
    ),
    "halfnorm": _Formulas(
        _log_half_normal,
        quantiles=lambda probabilities: ndtri((1 + probabilities) / 2),
        sample=lambda rng, size: np.abs(rng.standard_normal(size)),
    ),
    "uniform": _Formulas(
        _log_uniform,
        quantiles=lambda probabilities: probabilities,
        sample=lambda rng, size: rng.uniform(size=size),
        support=(0.0, 1.0),
    ),
}
"""The distributions implemented here, by their names in `scipy.stats`."""
