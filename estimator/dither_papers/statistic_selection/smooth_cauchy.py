"""Pure ε-differential privacy from smooth sensitivity, with Cauchy noise (section 3.3; Nissim et al. 2007).

Neighbouring data move the statistic by at most the smaller smooth sensitivity S and change S by at most a factor
`e^β`. Cauchy noise of scale `S / α` loses at most `2 asinh(α/2)` by the move, the supremum of
`log (1 + (z + α)²) / (1 + z²)`, and at most β by the factor. So `ε = 2 asinh(α/2) + β` holds for all data with no δ.
"""

import math

__all__ = ["cauchy_epsilon", "cauchy_rates", "published_cauchy_rates"]


def cauchy_epsilon(alpha: float, beta: float) -> float:
    """An ε that Cauchy noise of scale `S / α` keeps, S the β-smooth sensitivity."""
    return 2.0 * math.asinh(alpha / 2.0) + beta


def cauchy_rates(epsilon: float, beta_share: float = 0.5) -> tuple[float, float]:
    """α and β that spend `epsilon` completely; `beta_share` of it goes to β, which makes the sensitivity smoother."""
    if not (epsilon > 0.0 < beta_share < 1.0):
        raise ValueError("epsilon must be above 0 and the share between 0 and 1")
    beta = beta_share * epsilon
    return 2.0 * math.sinh((epsilon - beta) / 2.0), beta


def published_cauchy_rates(epsilon: float) -> tuple[float, float]:
    """`α = β = ε / 6`, of Nissim et al. for a density `∝ 1 / (1 + |z|²)`."""
    return epsilon / 6.0, epsilon / 6.0
