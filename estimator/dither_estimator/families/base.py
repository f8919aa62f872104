"""What the estimator needs to know about a population's distribution.

A family is a CDF, evaluated at cell edges for many parameter values at once, its derivatives, and the names and
supports of its parameters.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit, ndtr

from dither_client import Transform

__all__ = ["Family", "FloatArray", "Parameter", "PriorTerms", "Values"]

FloatArray = npt.NDArray[np.float64]


PriorTerms = Mapping[str, Mapping[str, Any]]
"""A prior as written in a specification: for each parameter, a named distribution and its numbers."""

Values = Literal["measured", "counted", "yes-no"]
"""What kind of number a value is: any number of the support, an integer from 0, or 0 for no and 1 for yes."""

_DIFFERENCE_STEP = 1e-5
"""Finite-difference step in an unconstrained coordinate; it balances the errors of rounding and of curvature."""
_SMALLEST_POSITIVE = 5e-324
_ROUNDING = 2.0**-53
"""A draw that floating point rounded to the end of its support is moved inside by this much."""


_SCORES = np.linspace(-8.0, 8.0, 321)
MEAN_LEVELS = ndtr(_SCORES)
"""Levels of quantiles whose sum with `MEAN_WEIGHTS` is the mean: the trapezoidal rule in the normal score."""
MEAN_WEIGHTS = np.exp(-0.5 * _SCORES**2) / np.exp(-0.5 * _SCORES**2).sum()


@dataclass(frozen=True)
class Parameter:
    """A parameter's name and support; the support determines its unconstrained coordinate.

    The coordinate is the parameter itself if it is `"real"`, its logarithm if `"positive"`, its logit if `"unit"`.
    """

    name: str
    support: Literal["real", "positive", "unit"]

    @property
    def limits(self) -> tuple[float, float]:
        """The ends of the support."""
        return {"real": (-np.inf, np.inf), "positive": (0.0, np.inf), "unit": (0.0, 1.0)}[self.support]

    @property
    def coordinate(self) -> str:
        """The name of the unconstrained coordinate: `mu`, `log sigma`, `logit p`."""
        return {"real": "", "positive": "log ", "unit": "logit "}[self.support] + self.name

    def constrain(self, coordinate: FloatArray) -> FloatArray:
        """The parameter at an unconstrained coordinate."""
        if self.support == "real":
            return coordinate
        return np.asarray(np.exp(coordinate) if self.support == "positive" else expit(coordinate))

    def unconstrain(self, value: FloatArray) -> FloatArray:
        """The unconstrained coordinate of a parameter value; finite even at the ends of the support."""
        if self.support == "real":
            return value
        inside = np.clip(value, _SMALLEST_POSITIVE, 1 - _ROUNDING if self.support == "unit" else None)
        return np.asarray(np.log(inside) if self.support == "positive" else logit(inside))

    def log_jacobian(self, coordinate: FloatArray) -> FloatArray:
        """`log |d parameter / d coordinate|`, which transforms a density to the coordinate."""
        if self.support == "real":
            return np.zeros_like(coordinate)
        if self.support == "positive":
            return coordinate
        size = np.abs(coordinate)
        return -size - 2 * np.log1p(np.exp(-size))


class Family(ABC):
    """A parametric family on the (transformed) line. `theta` has shape (n, d), one member per row."""

    name: ClassVar[str]
    parameters: ClassVar[tuple[Parameter, ...]]
    location_scale: ClassVar[bool] = False
    log_location_scale: ClassVar[bool] = False
    """Whether logarithms of values have a location, the logarithm of `scale`, and a scale, the inverse of `shape`."""
    smooth: ClassVar[bool] = True
    """Whether the density has no kink inside the support."""
    values: ClassVar[Values] = "measured"
    transforms: ClassVar[tuple[Transform, ...]] = ("identity",)
    """Scales on which the family can be used; `"log"` needs a family on the whole line."""
    support: ClassVar[tuple[float, float]] = (-np.inf, np.inf)
    """The ends of where values lie, on the family's scale."""
    label: ClassVar[str] = ""
    """What lists of families to choose from say instead of the distribution's name."""
    shape: ClassVar[str] = ""
    """What tables say where the distribution has no name."""
    measured_in: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """The scale in whose units the variance of a location is weighed beside those of coordinates that have no unit.

    The family's first two parameters are then a location and a scale, and its others shapes.
    """

    @property
    def discrete(self) -> bool:
        """Whether values are integers; cuts then lie halfway between them."""
        return self.values != "measured"

    @property
    def shapes(self) -> tuple[int, ...]:
        """Indices of the parameters that change the distribution's shape rather than its location or scale."""
        return tuple(range(len(self.parameters)))

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters' names, in the order of the columns of `theta`."""
        return tuple(parameter.name for parameter in self.parameters)

    def units(self, theta: FloatArray) -> FloatArray:
        """What each coordinate is measured in, shape (n, d): 1, but for parameters that are `measured_in` others."""
        columns = [
            theta[:, self.names.index(self.measured_in[name])] if name in self.measured_in else np.ones(len(theta))
            for name in self.names
        ]
        return np.stack(columns, axis=1)

    @property
    @abstractmethod
    def standard(self) -> FloatArray:
        """The parameters of the standard member, shape (d,)."""

    @abstractmethod
    def cdf(self, theta: FloatArray, edges: FloatArray) -> FloatArray:
        """`F_θ(e)`, shape (n, k), for `theta` (n, d) and `edges` (k,)."""

    @abstractmethod
    def quantiles(self, theta: FloatArray, probabilities: FloatArray) -> FloatArray:
        """The least `x` with `F_θ(x) ≥ p`, shape (n, k), for `theta` (n, d) and `probabilities` (k,) inside (0, 1)."""

    def mean(self, theta: FloatArray, transform: Transform) -> FloatArray:
        """The mean of the values in their own units, shape (n,); infinite or NaN where it does not exist.

        With transform `log` it is that of the exponentials. The default integrates the quantiles, for a mean that
        exists.
        """
        values = self.quantiles(theta, MEAN_LEVELS)
        return (np.exp(values) if transform == "log" else values) @ MEAN_WEIGHTS

    @abstractmethod
    def default_prior(self, transform: Transform) -> PriorTerms:
        """A wide prior for use without prior knowledge; all its moments exist."""

    def bounded_prior(self, transform: Transform, low: float, high: float) -> PriorTerms:
        """The default prior where no value lies below `low` or above `high`, on the transformed scale, maybe infinite.

        The default is for families whose own support says as much.
        """
        return self.default_prior(transform)

    @abstractmethod
    def range_prior(self, low: float, high: float, guessed: bool = False) -> PriorTerms:
        """A prior from where most values lie, on the transformed scale.

        If that is `guessed`, it may be off by many times its width: then tails are long where they were short. With
        short ones, a guess that is off would leave narrow and wrong intervals after thousands of answers.
        """

    def cdf_gradient(self, theta: FloatArray, edges: FloatArray) -> FloatArray:
        """`∂F_θ(e) / ∂θ`, shape (n, k, d). The default uses central differences, accurate to about 1e-10."""
        coordinates = self.unconstrain(theta)
        columns = []
        for j, parameter in enumerate(self.parameters):
            shift = np.zeros(theta.shape[1])
            shift[j] = _DIFFERENCE_STEP
            above, below = (self.cdf(self.constrain(coordinates + sign * shift), edges) for sign in (1, -1))
            slope = np.exp(parameter.log_jacobian(coordinates[:, j]))
            columns.append((above - below) / (2 * _DIFFERENCE_STEP * slope[:, None]))
        return np.stack(columns, axis=-1)

    @abstractmethod
    def sample(self, rng: np.random.Generator, theta: FloatArray, size: int) -> FloatArray:
        """`size` independent draws from the member `theta` of shape (d,)."""

    def fitted(self, values: FloatArray) -> FloatArray | None:
        """The member of the greatest likelihood for `values`, shape (d,); None where there is no formula for it."""
        return None

    def constrain(self, coordinates: FloatArray) -> FloatArray:
        """`theta`, shape (n, d), from unconstrained coordinates of the same shape."""
        columns = [p.constrain(coordinates[:, j]) for j, p in enumerate(self.parameters)]
        return np.column_stack(columns)

    def unconstrain(self, theta: FloatArray) -> FloatArray:
        """Unconstrained coordinates, shape (n, d), from `theta` of the same shape."""
        columns = [p.unconstrain(theta[:, j]) for j, p in enumerate(self.parameters)]
        return np.column_stack(columns)
