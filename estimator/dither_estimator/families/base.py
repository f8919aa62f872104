"""What the estimator has to know of a population's law, and nothing else.

A family is a CDF that is evaluated at cell edges for many parameters at once, its derivatives, and the names and
supports of its parameters.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

__all__ = ["Family", "FloatArray", "Parameter"]

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Parameter:
    """A parameter's name and support, `"real"` (the line) or `"positive"`, which fix its unconstrained coordinate.

    The coordinate is the parameter itself on the line and its logarithm if it is positive.
    """

    name: str
    support: Literal["real", "positive"]

    def constrain(self, coordinate: FloatArray) -> FloatArray:
        """The parameter at an unconstrained coordinate."""
        return np.exp(coordinate) if self.support == "positive" else coordinate

    def unconstrain(self, value: FloatArray) -> FloatArray:
        """The unconstrained coordinate of a parameter value."""
        return np.log(value) if self.support == "positive" else value

    def log_jacobian(self, coordinate: FloatArray) -> FloatArray:
        """`log |d parameter / d coordinate|`, to carry a density over to the coordinate."""
        return coordinate if self.support == "positive" else np.zeros_like(coordinate)


class Family(ABC):
    """A parametric family on the (transformed) line. `theta` has shape (n, d), one row a member."""

    name: ClassVar[str]
    parameters: ClassVar[tuple[Parameter, ...]]
    location_scale: ClassVar[bool] = False

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters' names, in the order of the columns of `theta`."""
        return tuple(parameter.name for parameter in self.parameters)

    @property
    @abstractmethod
    def standard(self) -> FloatArray:
        """The standard member, shape (d,)."""

    @abstractmethod
    def cdf(self, theta: FloatArray, edges: FloatArray) -> FloatArray:
        """`F_θ(e)`, shape (n, k), for `theta` (n, d) and `edges` (k,)."""

    @abstractmethod
    def cdf_gradient(self, theta: FloatArray, edges: FloatArray) -> FloatArray:
        """`∂F_θ(e) / ∂θ`, shape (n, k, d)."""

    @abstractmethod
    def sample(self, rng: np.random.Generator, theta: FloatArray, size: int) -> FloatArray:
        """`size` independent draws from the member `theta`, shape (d,)."""

    def constrain(self, coordinates: FloatArray) -> FloatArray:
        """`theta`, shape (n, d), from unconstrained coordinates of the same shape."""
        columns = [p.constrain(coordinates[:, j]) for j, p in enumerate(self.parameters)]
        return np.column_stack(columns)

    def unconstrain(self, theta: FloatArray) -> FloatArray:
        """Unconstrained coordinates, shape (n, d), from `theta` of the same shape."""
        columns = [p.unconstrain(theta[:, j]) for j, p in enumerate(self.parameters)]
        return np.column_stack(columns)
