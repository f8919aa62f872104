"""LBaPP, the Bayes estimate with Laplace noise on it: (5), (6), (13) and Algorithm 2 of Lakshminarayanan & Rojas."""

import numpy as np

from dither_estimator.families import FloatArray
from dither_papers.bayes_point.problem import Moments

__all__ = ["lbapp_mse", "lbapp_squared_errors", "sensitivity"]


def sensitivity(means: FloatArray) -> float:
    """`σ_δ` of (6): the most that one person changes the estimate, for a count with the estimates `means`."""
    return float(np.abs(np.diff(means)).max())


def lbapp_mse(moments: Moments, epsilon: float) -> float:
    """The mean squared error of (5), exactly: that of the Bayes estimate, and the noise's variance `2 (σ_δ / ε)²`."""
    return moments.bayes_risk + 2.0 * (sensitivity(moments.means) / epsilon) ** 2


def lbapp_squared_errors(rng: np.random.Generator, trials: int, epsilon: float, draws: int) -> FloatArray:
    """Algorithm 2 for Bernoulli trials with a uniform prior: the squared errors of `draws` estimates (13), (draws,)."""
    theta = rng.random(draws)
    ones = rng.binomial(trials, theta)
    noise = rng.laplace(0.0, 1.0 / ((trials + 2) * epsilon), draws)
    errors: FloatArray = (ones + 1) / (trials + 2) + noise - theta
    return errors**2
