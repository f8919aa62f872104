"""A family that holds on one scale while questions are asked on another; cell edges are mapped between them."""

import numpy as np

from dither_client import Transform
from dither_estimator.families.base import Family, FloatArray, PriorTerms

__all__ = ["Rescaled", "on_scale"]


class Rescaled(Family):
    """`inner` describes values on the scale `own`; edges, quantiles and draws are on the other scale, `asked`.

    Both scales increase, so `F(e) = F_inner(m(e))`, where m maps `asked` to `own`: `exp` from `log` to `identity`, and
    the logarithm from `identity` to `log`, which is -∞ at and below 0. θ is that of `inner`.
    """

    def __init__(self, inner: Family, own: Transform) -> None:
        self.inner, self.own = inner, own
        self.asked: Transform = "log" if own == "identity" else "identity"
        self.name = inner.name  # type: ignore[misc]  # its own, not of the class
        self.parameters = inner.parameters  # type: ignore[misc]  # its own, not of the class

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rescaled) and (self.inner, self.own) == (other.inner, other.own)

    def __hash__(self) -> int:
        return hash((Rescaled, self.inner, self.own))

    @property
    def standard(self) -> FloatArray:
        return self.inner.standard

    def cdf(self, theta: FloatArray, edges: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):  # edges may lie exponentially far out
            return self.inner.cdf(theta, _mapped(edges, self.own))

    def cdf_gradient(self, theta: FloatArray, edges: FloatArray) -> FloatArray:
        return self.inner.cdf_gradient(theta, _mapped(edges, self.own))

    def quantiles(self, theta: FloatArray, probabilities: FloatArray) -> FloatArray:
        """The quantiles, as in any family, but -∞ where a value at or below 0 has no logarithm."""
        return _mapped(self.inner.quantiles(theta, probabilities), self.asked)

    def mean(self, theta: FloatArray, transform: Transform) -> FloatArray:
        """The mean, as in any family. It is the same on any scale, so `transform` has no effect."""
        return self.inner.mean(theta, self.own)

    def default_prior(self, transform: Transform) -> PriorTerms:
        return self.inner.default_prior(self.own)

    def range_prior(self, low: float, high: float, guessed: bool = False) -> PriorTerms:
        """`low` and `high` are on the scale of the questions, `asked`."""
        low, high = _mapped(np.array([low, high]), self.own).tolist()
        return self.inner.range_prior(low, high, guessed)

    def sample(self, rng: np.random.Generator, theta: FloatArray, size: int) -> FloatArray:
        return _mapped(self.inner.sample(rng, theta, size), self.asked)


def on_scale(family: Family, own: Transform, asked: Transform) -> Family:
    """The family that holds on the scale `own`, with edges on the scale `asked`."""
    return family if own == asked else Rescaled(family, own)


def _mapped(values: FloatArray, to: Transform) -> FloatArray:
    """Maps values from the other scale to the scale `to`."""
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray(np.exp(values) if to == "identity" else np.log(np.maximum(values, 0.0)), dtype=float)
