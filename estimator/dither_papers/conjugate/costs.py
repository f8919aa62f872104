"""The ε that posterior sampling costs (Foulds et al., section 2.2, Table 1 and section 4.1)."""

import math

__all__ = ["posterior_sample_cost", "random_scan_cost", "temperature"]


def posterior_sample_cost(sensitivity: float) -> float:
    """Theorem 2: one posterior sample is 2C-private if no two entries' log-likelihoods differ by more than C."""
    return 2.0 * sensitivity


def temperature(sensitivity: float, epsilon: float) -> float:
    """(10): the temperature at which a posterior sample is ε-private; 1 if the posterior itself costs at most ε."""
    return max(1.0, posterior_sample_cost(sensitivity) / epsilon)


def random_scan_cost(sensitivity: float, share: float) -> float:
    """The cost of a Gibbs pass over a random share `q = Q / N` of the `θ_l`: `log(1 + q (e^ε₀ - 1))`, `ε₀ = 2Δ`.

    Each `θ_l` depends on entry l only, and a pass over all of them costs ε₀ (section 4.1).
    The paper's `4Δ Q / N` approximates this for small Δ and is too low for large Δ: with q = 1/10 and Δ = 5 the cost is
    7.7, not 2. It holds only if nobody learns which were updated; otherwise the cost is ε₀, whatever the share.
    """
    return math.log1p(share * math.expm1(posterior_sample_cost(sensitivity)))
