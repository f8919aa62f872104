"""Location-scale families: one standard distribution function, moved and stretched."""

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from dither_estimator.families.base import Family, FloatArray, Parameter

__all__ = ["LocationScale"]


class LocationScale(Family):
    """`F_θ(x) = G((x - m) / c)` with θ = (m, c), `c > 0`, for a standard distribution function G.

    Information transports: `F(m, c) = F(0, 1) / c²` for a query moved by the same map (Theorem 3 of Yıldırım 2024).
    """

    parameters: ClassVar[tuple[Parameter, ...]] = (Parameter("mu", "real"), Parameter("sigma", "positive"))
    location_scale: ClassVar[bool] = True

    @abstractmethod
    def standard_cdf(self, z: FloatArray) -> FloatArray:
        """G(z)."""

    @abstractmethod
    def standard_pdf(self, z: FloatArray) -> FloatArray:
        """G'(z)."""

    @property
    def standard(self) -> FloatArray:
        return np.array([0.0, 1.0])

    def cdf(self, theta: FloatArray, edges: FloatArray) -> FloatArray:
        return self.standard_cdf(_standardise(theta, edges))

    def cdf_gradient(self, theta: FloatArray, edges: FloatArray) -> FloatArray:
        z = _standardise(theta, edges)
        by_location = -self.standard_pdf(z) / theta[:, 1:2]
        return np.stack([by_location, np.where(by_location == 0, 0.0, z) * by_location], axis=-1)


def _standardise(theta: FloatArray, edges: FloatArray) -> FloatArray:
    z: FloatArray = (edges - theta[:, :1]) / theta[:, 1:2]
    return z
