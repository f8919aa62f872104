"""What `docs/protocol.md` says of drawing an answer, for `third_client`: exact, in whole numbers."""

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import accumulate
from typing import Any

__all__ = ["Uniform", "sample", "uniform"]

Uniform = Callable[[int], int]


def uniform(take: Callable[[int], bytes]) -> Uniform:
    """Whole numbers from 0 to n - 1, of the bytes that `take` gives."""

    def below(n: int) -> int:
        bits = n.bit_length()
        size = -(-bits // 8)
        while True:
            drawn = int.from_bytes(take(size), "big") >> (8 * size - bits)
            if drawn < n:
                return drawn

    return below


def sample(query: dict[str, Any], k: int, uniform: Uniform) -> int:
    """An answer for whoever is in cell `k`."""
    if "about" in query:
        return sample(query.get("query") or query["channel"], k, uniform)
    epsilon = Fraction(query["epsilon"], 1_000_000)
    p, q = epsilon.numerator, epsilon.denominator
    mechanism, last = query["mechanism"], len(query["edges"])
    if mechanism == "laplace":
        return min(max(k + discrete_laplace(p, q * last, uniform), 0), last)
    if mechanism == "gaussian":
        rho = Fraction(query["rho"], 1_000_000)
        return min(max(k + discrete_gaussian(last**2 * rho.denominator, 2 * rho.numerator, uniform), 0), last)
    while True:
        if mechanism == "randomized_response":
            y = uniform(last + 1)
            own = y == k
        elif mechanism == "grouped_randomized_response":
            y = uniform(len(query["groups"]))
            own = k in query["groups"][y]
        else:
            point = uniform(sum(query["weights"]))
            y = next(y for y, so_far in enumerate(accumulate(query["weights"])) if so_far > point)
            own = k in query["sets"][y]
        if bernoulli_exp(p, q, uniform) or own:
            return y


def bernoulli_exp(a: int, b: int, uniform: Uniform) -> bool:
    while a > b:
        if not unit(1, 1, uniform):
            return False
        a -= b
    return unit(a, b, uniform)


def unit(a: int, b: int, uniform: Uniform) -> bool:
    k = 1
    while uniform(b * k) < a:
        k += 1
    return k % 2 == 1


def discrete_laplace(a: int, b: int, uniform: Uniform) -> int:
    while True:
        u = uniform(b)
        if not unit(u, b, uniform):
            continue
        v = 0
        while unit(1, 1, uniform):
            v += 1
        m = (u + b * v) // a
        negative = uniform(2) == 1
        if not (negative and m == 0):
            return -m if negative else m


def discrete_gaussian(a: int, b: int, uniform: Uniform) -> int:
    t = math.isqrt(a // b) + 1
    while True:
        y = discrete_laplace(1, t, uniform)
        if bernoulli_exp((abs(y) * b * t - a) ** 2, 2 * a * b * t**2, uniform):
            return y
