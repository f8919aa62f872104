"""Priors: an independent named distribution for each parameter or for its square."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dither_estimator.families import Family, FloatArray, Parameter
from dither_estimator.priors.distributions import Distribution, find_distribution, find_shapes

__all__ = ["InvalidPrior", "ParameterPrior", "Prior", "parse_prior"]


_MAX_QUARTILE = 1e100
"""Bound on the quartiles and on 1 / their distance: beyond it floating point loses squares and variances."""
_MAX_DRAW = 1e150
"""Bound on single draws: beyond it their squares overflow."""
_DRAW_TAIL = 1e-6
"""Tail probability of the quantiles that `_MAX_DRAW` bounds."""


class InvalidPrior(ValueError):
    """The prior does not name a proper distribution on its parameter's support."""


@dataclass(frozen=True)
class ParameterPrior:
    """The prior distribution of one parameter or of its square.

    With `of_variance` the distribution is that of the square, so the parameter's density carries the factor `2 x`.
    """

    parameter: Parameter
    distribution: Distribution
    of_variance: bool

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """`size` independent draws of the parameter."""
        draws = self.distribution.sample(rng, size)
        return np.sqrt(draws) if self.of_variance else draws

    def quantiles(self, probabilities: FloatArray) -> FloatArray:
        """The parameter's quantiles at `probabilities` inside (0, 1)."""
        found = self.distribution.quantiles(probabilities)
        return np.sqrt(found) if self.of_variance else found

    def log_density(self, coordinate: FloatArray) -> FloatArray:
        """The log density of the parameter's unconstrained coordinate, including the change of variable."""
        value = self.parameter.constrain(coordinate)
        log_jacobian = self.parameter.log_jacobian(coordinate)
        if self.of_variance:
            log_jacobian = log_jacobian + np.log(2) + coordinate  # `coordinate` is log(parameter)
            with np.errstate(over="ignore"):
                value = value**2
        return self.distribution.log_density(value) + log_jacobian


@dataclass(frozen=True)
class Prior:
    """Independent priors of a family's parameters, in the family's order."""

    family: Family
    parts: tuple[ParameterPrior, ...]

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Unconstrained coordinates of `size` draws, shape (size, d)."""
        return self.family.unconstrain(np.column_stack([part.sample(rng, size) for part in self.parts]))

    def log_density(self, coordinates: FloatArray) -> FloatArray:
        """Log density of unconstrained coordinates, shape (n,) for (n, d)."""
        total = np.zeros(len(coordinates))
        for column, part in zip(coordinates.T, self.parts, strict=True):
            total += part.log_density(column)
        return total


def parse_prior(family: Family, data: Mapping[str, Any]) -> Prior:
    """Parse a specification's prior: `{PARAM: {"dist": name, **parameters, "of": "variance"}}`.

    Raises `InvalidPrior`, whose message says how to fix it.
    """
    if not isinstance(data, Mapping) or set(data) != set(family.names):
        raise InvalidPrior(f"prior must name exactly the parameters {', '.join(family.names)}")
    return Prior(family, tuple(_parse_part(parameter, data[parameter.name]) for parameter in family.parameters))


def _parse_part(parameter: Parameter, data: Any) -> ParameterPrior:
    name = parameter.name
    if not isinstance(data, Mapping) or not isinstance(data.get("dist"), str):
        raise InvalidPrior(f'prior of {name} must be an object with "dist", such as {{"dist": "norm", "scale": 10}}')
    shapes = find_shapes(data["dist"])
    if shapes is None:
        raise InvalidPrior(f"prior of {name}: dist must name a continuous distribution of scipy.stats")
    if data.get("of", "variance") != "variance":
        raise InvalidPrior(f'prior of {name}: "of" can only be "variance"')
    of_variance = "of" in data
    if of_variance and parameter.support != "positive":
        raise InvalidPrior(f'prior of {name}: "of": "variance" is for positive parameters')
    values = {key: _number(name, key, value) for key, value in data.items() if key not in ("dist", "of")}
    allowed = [*shapes, "loc", "scale"]
    if not set(shapes) <= set(values) <= set(allowed):
        raise InvalidPrior(f"prior of {name}: {data['dist']} takes {', '.join(allowed)}")
    distribution = find_distribution(data["dist"], values)
    low, high = distribution.support
    if not low < high:
        raise InvalidPrior(f"prior of {name}: these parameters do not define a distribution")
    if low < parameter.limits[0]:
        raise InvalidPrior(f"prior of {name}: the distribution must not reach below 0")
    if high > parameter.limits[1]:
        raise InvalidPrior(f"prior of {name}: the distribution must not reach above 1")
    levels = np.array([_DRAW_TAIL, 0.25, 0.75, 1 - _DRAW_TAIL])
    try:
        with np.errstate(all="ignore"):
            lowest, below, above, highest = distribution.quantiles(levels).tolist()
    except (ArithmeticError, RuntimeError, ValueError) as error:  # what SciPy's searches raise
        raise InvalidPrior(f"prior of {name}: SciPy finds no quantiles of {data['dist']} with these numbers") from error
    if not (max(abs(below), abs(above)) <= _MAX_QUARTILE and above - below >= 1 / _MAX_QUARTILE):
        limits = f"between {-_MAX_QUARTILE:g} and {_MAX_QUARTILE:g}, at least {1 / _MAX_QUARTILE:g} apart"
        raise InvalidPrior(f"prior of {name}: the distribution's quartiles must lie {limits}")
    if not max(abs(lowest), abs(highest)) <= _MAX_DRAW:
        raise InvalidPrior(f"prior of {name}: all but one or two of a million draws must lie within ±{_MAX_DRAW:g}")
    return ParameterPrior(parameter, distribution, of_variance)


def _number(name: str, key: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = np.nan
    if isinstance(value, bool | str) or not np.isfinite(number):
        raise InvalidPrior(f"prior of {name}: {key} must be a finite number")
    return number
