"""Location-scale families: one standard distribution function, shifted and scaled."""

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from dither_client import Transform
from dither_estimator.families.base import MEAN_LEVELS, MEAN_WEIGHTS, Family, FloatArray, Parameter, PriorTerms

__all__ = ["LocationScale"]


class LocationScale(Family):
    """`F_θ(x) = G((x - m) / c)` with θ = (m, c), `c > 0`, for a standard distribution function G.

    Information transports: `F(m, c) = F(0, 1) / c²` for a query moved by the same map (Theorem 3 of Yıldırım 2024).
    """

    parameters: ClassVar[tuple[Parameter, ...]] = (Parameter("mu", "real"), Parameter("sigma", "positive"))
    location_scale: ClassVar[bool] = True
    transforms: ClassVar[tuple[Transform, ...]] = ("identity", "log")

    @abstractmethod
    def standard_cdf(self, z: FloatArray) -> FloatArray:
        """G(z)."""

    @abstractmethod
    def standard_pdf(self, z: FloatArray) -> FloatArray:
        """G'(z)."""

    @abstractmethod
    def standard_quantiles(self, probabilities: FloatArray) -> FloatArray:
        """The inverse of G."""

    @property
    def standard_mean(self) -> float:
        """The mean of G; NaN if it has none. The default integrates its quantiles."""
        return float(self.standard_quantiles(MEAN_LEVELS) @ MEAN_WEIGHTS)

    def standard_mgf(self, t: FloatArray) -> FloatArray:
        """The mean of `exp(t z)` under G for t (n,) above 0, infinite where it does not exist; the default as above."""
        return np.exp(np.outer(t, self.standard_quantiles(MEAN_LEVELS))) @ MEAN_WEIGHTS

    def quantiles(self, theta: FloatArray, probabilities: FloatArray) -> FloatArray:
        return theta[:, :1] + theta[:, 1:2] * self.standard_quantiles(probabilities)

    def mean(self, theta: FloatArray, transform: Transform) -> FloatArray:
        if transform == "log":
            return np.exp(theta[:, 0]) * self.standard_mgf(theta[:, 1])
        return theta[:, 0] + theta[:, 1] * self.standard_mean

    def default_prior(self, transform: Transform) -> PriorTerms:
        """Covers `|mu|` around 1e5 and scales from 1e-9 to 1e9; on the log scale, any value met in practice.

        Values may be in any unit, and a location may lie far beyond. With lighter tails, it would take more answers
        than there are until the posterior were there, and meanwhile it would be narrow and wrong.
        """
        if transform == "identity":
            return _long_tailed(location=0.0, spread=1e5, scale=1.0, log_scale_sd=5.0)
        return _prior(location=0.0, location_sd=30.0, scale=1.0, log_scale_sd=1.5)

    def bounded_prior(self, transform: Transform, low: float, high: float) -> PriorTerms:
        """Between two bounds, the default moved and narrowed to where values can lie; one bound changes nothing."""
        width = high - low
        if width == np.inf:
            return self.default_prior(transform)
        mu, sigma = (dict(self.default_prior(transform)[name]) for name in self.names)
        reach = min(mu["scale"], width / 2)
        mu["loc"] = min(max(mu["loc"], low + reach), high - reach)
        mu["scale"] = min(mu["scale"], width / 4)
        sigma["scale"] = min(sigma["scale"], width / 8)
        return {"mu": mu, "sigma": sigma}

    def range_prior(self, low: float, high: float, guessed: bool = False) -> PriorTerms:
        """Reads the range as about two scales on either side of the centre."""
        width = high - low
        if guessed:  # the middle half of mu's is that of the other, nearly
            return _long_tailed(low + width / 2, 0.4 * width, scale=width / 4, log_scale_sd=1.25)
        return _prior(location=low + width / 2, location_sd=width / 2, scale=width / 4, log_scale_sd=1.0)

    @property
    def shapes(self) -> tuple[int, ...]:
        return ()

    @property
    def standard(self) -> FloatArray:
        return np.array([0.0, 1.0])

    def cdf(self, theta: FloatArray, edges: FloatArray) -> FloatArray:
        return self.standard_cdf(_standardise(theta, edges))

    def cdf_gradient(self, theta: FloatArray, edges: FloatArray) -> FloatArray:
        z = _standardise(theta, edges)
        by_location = -self.standard_pdf(z) / theta[:, 1:2]
        return np.stack([by_location, np.where(by_location == 0, 0.0, z) * by_location], axis=-1)


# Both priors have variances, so posteriors do too, whatever the answers: the likelihood of clipped answers does not
# vanish as the scale grows.
def _long_tailed(location: float, spread: float, scale: float, log_scale_sd: float) -> PriorTerms:
    return {
        "mu": {"dist": "t", "df": 3, "loc": location, "scale": spread},
        "sigma": {"dist": "lognorm", "s": log_scale_sd, "scale": scale},
    }


def _prior(location: float, location_sd: float, scale: float, log_scale_sd: float) -> PriorTerms:
    return {
        "mu": {"dist": "norm", "loc": location, "scale": location_sd},
        "sigma": {"dist": "lognorm", "s": log_scale_sd, "scale": scale},
    }


def _standardise(theta: FloatArray, edges: FloatArray) -> FloatArray:
    z: FloatArray = edges - theta[:, :1]
    z /= theta[:, 1:2]
    return z
