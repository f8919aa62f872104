"""Exact samplers in integers, from a source of uniform random integers.

Nothing here touches floating point, so the distributions are exact and no low-order bit can leak
(Mironov 2012). Algorithms 1 to 3 of Canonne, Kamath & Steinke, *The discrete Gaussian for differential privacy*, 2020.
"""

import math
import os
from collections.abc import Callable
from fractions import Fraction

__all__ = [
    "RandBelow",
    "bernoulli_exp",
    "discrete_gaussian",
    "discrete_laplace",
    "randomized_response",
    "system_randbelow",
    "uniform",
]

RandBelow = Callable[[int], int]
"""Uniform on `0..n-1` for an integer `n >= 1`."""


def uniform(take: Callable[[int], bytes]) -> RandBelow:
    """Whole numbers from the random bytes that `take(size)` gives, as the protocol draws them.

    As many bytes as the bits of `n` need, the first one the highest; bits beyond those of `n` are dropped at the lower
    end, and what is not below `n` is drawn again.
    """

    def randbelow(n: int) -> int:
        bits = n.bit_length()
        size = (bits + 7) // 8
        beyond = 8 * size - bits
        while (drawn := int.from_bytes(take(size)) >> beyond) >= n:
            pass
        return drawn

    return randbelow


system_randbelow: RandBelow = uniform(os.urandom)
"""The operating system's generator."""


def bernoulli_exp(numerator: int, denominator: int, randbelow: RandBelow) -> bool:
    """True with probability exactly `exp(-numerator / denominator)`, for any rational ≥ 0."""
    while numerator > denominator:
        if not _bernoulli_exp_unit(1, 1, randbelow):
            return False
        numerator -= denominator
    return _bernoulli_exp_unit(numerator, denominator, randbelow)


def _bernoulli_exp_unit(numerator: int, denominator: int, randbelow: RandBelow) -> bool:
    """`bernoulli_exp` for a rational in [0, 1], by the alternating series of exp."""
    k = 1
    while randbelow(denominator * k) < numerator:
        k += 1
    return k % 2 == 1


def randomized_response(own: int, size: int, epsilon: Fraction, randbelow: RandBelow) -> int:
    """One of `0..size-1`: `own` with a probability that is `exp(epsilon)` times that of each other one."""
    # Rejection from the uniform: accept one's own always, another one with probability exp(-ε).
    while True:
        proposal = randbelow(size)
        if bernoulli_exp(epsilon.numerator, epsilon.denominator, randbelow) or proposal == own:
            return proposal


def discrete_laplace(numerator: int, denominator: int, randbelow: RandBelow) -> int:
    """An integer Z with `P(Z = z)` proportional to `exp(-|z| numerator / denominator)`, both positive."""
    while True:
        # |Z| = floor((u + denominator * v) / numerator), with u + denominator * v geometric of rate 1 / denominator.
        u = randbelow(denominator)
        if not _bernoulli_exp_unit(u, denominator, randbelow):
            continue
        v = 0
        while _bernoulli_exp_unit(1, 1, randbelow):
            v += 1
        magnitude = (u + denominator * v) // numerator
        negative = randbelow(2) == 1
        if not (negative and magnitude == 0):
            return -magnitude if negative else magnitude


def discrete_gaussian(numerator: int, denominator: int, randbelow: RandBelow) -> int:
    """An integer Z with `P(Z = z)` proportional to `exp(-z² / (2σ²))`; σ² is `numerator / denominator`, above 0."""
    t = math.isqrt(numerator // denominator) + 1  # floor(σ) + 1
    while True:
        proposal = discrete_laplace(1, t, randbelow)
        # Accepted with probability exp(-(|Y| - σ²/t)² / (2σ²)).
        excess = abs(proposal) * denominator * t - numerator
        if bernoulli_exp(excess**2, 2 * numerator * denominator * t**2, randbelow):
            return proposal
