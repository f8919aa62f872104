"""LBaPP, the Bayes estimate with Laplace noise: (5), (6), (13) and Algorithm 2 of Lakshminarayanan & Rojas."""

import numpy as np

from dither_estimator.families import FloatArray
from dither_papers.bayes_point.problem import Moments

__all__ = ["lbapp_mse", "lbapp_squared_errors", "sensitivity"]


def sensitivity(means: FloatArray) -> float:
    """`σ_δ` of (6): the largest change of the estimate by one person, for a count with the estimates `means`."""
    return float(np.abs(np.diff(means)).max())


def lbapp_mse(moments: Moments, epsilon: float) -> float:
    """The mean squared error (5): exactly that of the Bayes estimate plus the noise's variance `2 (σ_δ / ε)²`."""
    return moments.bayes_risk + 2.0 * (sensitivity(moments.means) / epsilon) ** 2


def lbapp_squared_errors(rng: np.random.Generator, trials: int, epsilon: float, draws: int) -> FloatArray:
    """Algorithm 2 for Bernoulli trials with a uniform prior: squared errors of estimates (13), shape (draws,)."""
    theta = rng.random(draws)
    ones = rng.binomial(trials, theta)
    noise = rng.laplace(0.0, 1.0 / ((trials + 2) * epsilon), draws)
    errors: FloatArray = (ones + 1) / (trials + 2) + noise - theta
    return errors**2
