"""What many private steps cost together: a whole private Gibbs chain, and a sampler that only approximates its target.

Foulds et al., sections 2.1.3 and 4 (with Proposition 3). Each update of a private chain is a release of its own.
"""

import math
from dataclasses import dataclass

__all__ = ["Cost", "advanced_composition", "approximate_sample_cost", "basic_composition", "chain_cost", "step_epsilon"]


@dataclass(frozen=True)
class Cost:
    """(ε, δ)."""

    epsilon: float
    delta: float = 0.0


def basic_composition(step: Cost, steps: int) -> Cost:
    """Theorem 1: both add up."""
    return Cost(step.epsilon * steps, step.delta * steps)


def advanced_composition(step: Cost, steps: int, slack: float) -> Cost:
    """k-fold adaptive composition (Dwork, Rothblum & Vadhan 2010), with the mean loss of Kairouz, Oh & Viswanath 2015.

    `ε √(2k log(1/slack)) + k ε (e^ε - 1) / (e^ε + 1)` at `δ = k δ_step + slack`.
    """
    if not 0.0 < slack < 1.0:
        raise ValueError("slack must be between 0 and 1")
    mean = steps * step.epsilon * math.tanh(step.epsilon / 2.0)
    epsilon = step.epsilon * math.sqrt(2.0 * steps * math.log(1.0 / slack)) + mean
    return Cost(epsilon, steps * step.delta + slack)


def chain_cost(step: Cost, variables: int, sweeps: int, slack: float = 0.0, parallel: bool = False) -> Cost:
    """The cost of a private Gibbs chain whose every state is released: the lesser of the two compositions.

    A sweep updates `variables` one after another at the cost of `step` each; with `parallel` each depends on one entry
    alone, so that a sweep costs one step (section 4.1). A `slack` of 0 leaves only the basic composition.
    """
    steps = sweeps * (1 if parallel else variables)
    basic = basic_composition(step, steps)
    if slack == 0.0:
        return basic
    advanced = advanced_composition(step, steps, slack)
    return advanced if advanced.epsilon < basic.epsilon else basic


def step_epsilon(epsilon: float, steps: int, slack: float) -> float:
    """The ε of each of `steps` pure steps that together cost at most `epsilon` at δ = `slack`, to about 1e-9."""
    top, low = epsilon, epsilon / steps
    for _ in range(60):
        middle = (low + top) / 2.0
        within = chain_cost(Cost(middle), 1, steps, slack).epsilon <= epsilon
        low, top = (middle, top) if within else (low, middle)
    return low


def approximate_sample_cost(epsilon: float, distance: float) -> Cost:
    """Proposition 3: a sampler within the L1 distance `distance` of an ε-private one, for all data.

    `δ = (1 + e^ε) distance / 2`: the probability of a set differs by half the L1 distance at most. The paper has twice
    as much (and as printed a bracket is missing).
    """
    return Cost(epsilon, (1.0 + math.exp(epsilon)) * distance / 2.0)
