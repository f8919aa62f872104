"""What the Gaussian mechanism keeps private: Gaussian differential privacy and (ε, δ), each exactly.

Noise N(0, (Δ/m)²) on a value that moves by at most Δ is m-Gaussian differentially private (Dong, Roth & Su 2022): to
tell two values from an answer is no easier than to tell N(0, 1) from N(m, 1). It is (ε, δ)-private if and only if
`δ ≥ Φ(m/2 - ε/m) - e^ε Φ(-m/2 - ε/m)` (Balle & Wang 2018).
"""

import math
from collections.abc import Iterable

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr

__all__ = ["composed", "gaussian_delta", "gaussian_epsilon", "gaussian_parameter"]

_MAX_PARAMETER = 1e3
_TOLERANCE = 1e-13


def gaussian_delta(parameter: float, epsilon: float) -> float:
    """The least δ at ε of a mechanism that is m-Gaussian private, m = `parameter`."""
    if parameter == 0.0:
        return 0.0
    first, second = log_ndtr(parameter / 2 - epsilon / parameter), log_ndtr(-parameter / 2 - epsilon / parameter)
    return float(-np.exp(first) * np.expm1(min(0.0, epsilon + second - first)))


def gaussian_epsilon(parameter: float, delta: float) -> float:
    """The least ε at δ of a mechanism that is m-Gaussian private; 0 if it is (0, δ)-private."""
    if gaussian_delta(parameter, 0.0) <= delta:
        return 0.0
    top = 1.0
    while gaussian_delta(parameter, top) > delta:
        top *= 2.0
    return float(brentq(lambda epsilon: gaussian_delta(parameter, epsilon) - delta, 0.0, top, xtol=_TOLERANCE))


def gaussian_parameter(epsilon: float, delta: float) -> float:
    """The largest m for which m-Gaussian privacy implies (ε, δ); the noise is Δ/m. Raises `ValueError`."""
    if not (epsilon >= 0.0 and 0.0 < delta < 1.0):
        raise ValueError("epsilon must be at least 0 and delta between 0 and 1")
    return float(brentq(lambda m: gaussian_delta(m, epsilon) - delta, 1e-12, _MAX_PARAMETER, xtol=_TOLERANCE))


def composed(parameters: Iterable[float]) -> float:
    """The m of several answers by the same person: `(Σ m²)^½`, exact for Gaussian mechanisms."""
    return math.hypot(*parameters)
