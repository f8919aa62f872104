"""What posterior sampling costs in ε (Foulds et al., section 2.2, Table 1 and section 4.1)."""

import math

__all__ = ["posterior_sample_cost", "posterior_sample_cost_bounded", "random_scan_cost", "scan_cost", "temperature"]


def posterior_sample_cost(sensitivity: float) -> float:
    """Theorem 2: one posterior sample is 2C-private if no two entries' log-likelihoods differ by more than C."""
    return 2.0 * sensitivity


def posterior_sample_cost_bounded(bound: float) -> float:
    """Theorem 3: one posterior sample is 4B-private if no log-likelihood exceeds B in size."""
    return posterior_sample_cost(2.0 * bound)


def temperature(sensitivity: float, epsilon: float) -> float:
    """(10): at which a posterior sample is ε-private; 1 where the posterior itself costs no more than ε."""
    return max(1.0, posterior_sample_cost(sensitivity) / epsilon)


def scan_cost(sensitivity: float) -> float:
    """A Gibbs pass that updates each `θ_l`, which belongs to entry l alone, exactly once (section 4.1)."""
    return posterior_sample_cost(sensitivity)


def random_scan_cost(sensitivity: float, share: float) -> float:
    """A Gibbs pass that updates a random share `q = Q / N` of the `θ_l`: `log(1 + q (e^ε₀ - 1))`, `ε₀ = 2Δ`.

    The paper has `4Δ Q / N`, which is its approximation for small Δ, and too low for large Δ: with q = 1/10 and Δ = 5
    the cost is 7.7, not 2. Only while nobody sees which were updated: whoever does is told ε₀, whatever the share.
    """
    return math.log1p(share * math.expm1(posterior_sample_cost(sensitivity)))
