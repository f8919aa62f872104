"""Noise of a statistic in standard form: Laplace, normal and Cauchy. A release is `location + scale · noise`."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from dither_estimator.families import FloatArray

__all__ = ["CAUCHY", "GAUSSIAN", "LAPLACE", "Noise"]


@dataclass(frozen=True)
class Noise:
    """Independent noise with a scale of 1 on each component of a statistic."""

    law: Literal["laplace", "normal", "cauchy"]

    def sample(self, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        """Independent draws of this shape."""
        if self.law == "laplace":
            return rng.laplace(size=shape)
        return rng.standard_normal(shape) if self.law == "normal" else rng.standard_cauchy(shape)

    def log_density(self, y: FloatArray, location: FloatArray, scale: FloatArray) -> FloatArray:
        """`log p(y | location)` up to a constant, summed over the d components of the last axis.

        `scale` lacks that axis.
        """
        z = (y - location) / scale[..., None]
        if self.law == "laplace":  # noqa: SIM108  # one nested in another is harder to read
            logs = -np.abs(z)
        else:
            logs = -0.5 * z**2 if self.law == "normal" else -np.log1p(z**2)
        return np.asarray(logs.sum(axis=-1) - z.shape[-1] * np.log(scale))


LAPLACE, GAUSSIAN, CAUCHY = Noise("laplace"), Noise("normal"), Noise("cauchy")
