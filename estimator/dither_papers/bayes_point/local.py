"""The same estimate without a curator: everyone uses randomised response, and the estimate is the exact posterior mean.

Each answer is ε-private by itself (local differential privacy), a stronger requirement than UBaPP's: nobody has to be
trusted with the values. This is what Dither's service does with Bernoulli values.
"""

import math

import numpy as np

from dither_papers.bayes_point.problem import Moments, binomial_likelihood, moments_of

__all__ = ["local_moments"]


def local_moments(trials: int, epsilon: float) -> Moments:
    """The moments given the number of answers 1, for uniform θ; `bayes_risk` is the mean squared error.

    Exact: Gauss–Legendre quadrature of a polynomial of degree `trials + 2`.
    """
    nodes, weights = np.polynomial.legendre.leggauss(trials // 2 + 2)
    theta = (nodes + 1.0) / 2.0
    honest = 1.0 / (1.0 + math.exp(-epsilon))
    says_one = honest * theta + (1.0 - honest) * (1.0 - theta)
    return moments_of(theta, binomial_likelihood(trials, says_one), weights / 2.0)
