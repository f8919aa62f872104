"""Gibbs sampling of the naive-Bayes hidden Markov model (Foulds et al. (47) to (51)), with or without a temperature.

Latent states are updated one by one from (48), emissions from (49). Noisy counts simply replace the counts, without
further privacy cost. One posterior sample (OPS) raises every conditional to the power 1/T, (19), and truncates the
emissions; its ε holds for the last sample if the chain has converged.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dither_estimator.families import FloatArray
from dither_papers.conjugate.costs import temperature
from dither_papers.private_gibbs.records import Records
from dither_papers.private_gibbs.transitions import Transitions
from dither_papers.private_gibbs.truncated_dirichlet import truncated_dirichlet_move

__all__ = ["Draw", "Truncation", "gibbs"]

ALPHA = 1.0
BETA = 1.0
"""Concentrations of the Dirichlet priors."""


@dataclass(frozen=True)
class Truncation:
    """OPS: emissions of at least `a_0 = 1 / (M K_d)` for a feature with K_d outcomes, at the temperature for ε."""

    multiplier: float
    epsilon: float

    def least(self, size: int) -> float:
        """`a_0` of a feature with `size` outcomes."""
        return 1.0 / (self.multiplier * size)

    def temperature(self, sizes: tuple[int, ...]) -> float:
        """`T = 2Δ / ε`, where Δ is the sum of (15) over the features of one entry."""
        ranges = [(1.0 - (size - 1) * self.least(size)) / self.least(size) for size in sizes]
        return temperature(sum(map(math.log, ranges)), self.epsilon)


@dataclass(frozen=True, eq=False)
class Draw:
    """A state of the Markov chain."""

    states: npt.NDArray[np.int64]
    """Latent states, shape (R, T)."""
    emissions: FloatArray
    """Emission distributions of all features in turn, shape (K, J)."""
    n_states: int

    def transitions(self) -> Transitions:
        """The counts of the transitions between its latent states."""
        return Transitions(self.states, self.n_states, ALPHA)


def gibbs(
    rng: np.random.Generator,
    records: Records,
    n_states: int,
    iterations: int,
    held_out: npt.NDArray[np.bool_] | None = None,
    truncation: Truncation | None = None,
) -> Iterator[Draw]:
    """Yield a draw after each iteration. Entries at `held_out` regions and times, shape (R, T), are not used."""
    counts = records.counts if held_out is None else np.where(held_out[:, :, np.newaxis], 0.0, records.counts)
    heat = 1.0 if truncation is None else truncation.temperature(records.sizes)
    states = rng.integers(n_states, size=counts.shape[:2])
    emissions = np.concatenate([np.full((n_states, size), 1.0 / size) for size in records.sizes], axis=1)
    for _ in range(iterations):
        emissions = _draw_emissions(rng, Records(counts, records.sizes), states, emissions, heat, truncation)
        states = _draw_states(rng, states, counts @ np.log(emissions).T, heat)
        yield Draw(states, emissions, n_states)


def _draw_emissions(
    rng: np.random.Generator,
    records: Records,
    states: npt.NDArray[np.int64],
    emissions: FloatArray,
    heat: float,
    truncation: Truncation | None,
) -> FloatArray:
    """(49), with exponents divided by the temperature."""
    sums = np.zeros_like(emissions)
    np.add.at(sums, states, records.counts)
    concentration = (sums + BETA - 1.0) / heat + 1.0
    found = np.empty_like(emissions)
    for size, part in zip(records.sizes, records.slices, strict=True):
        if truncation is None:
            drawn = np.maximum(rng.standard_gamma(concentration[:, part]), 1e-300)
            found[:, part] = drawn / drawn.sum(axis=1, keepdims=True)
        else:
            least = truncation.least(size)
            found[:, part] = truncated_dirichlet_move(rng, emissions[:, part], concentration[:, part], least)
    return found


def _draw_states(
    rng: np.random.Generator, states: npt.NDArray[np.int64], logs: FloatArray, heat: float
) -> npt.NDArray[np.int64]:
    """(48) for every region and time in turn; `logs` are log-likelihoods, shape (R, T, K)."""
    n_states = logs.shape[2]
    transitions = Transitions(states, n_states, ALPHA)
    # The argmax of logits plus Gumbel variates has the probabilities given by the logits.
    noise = rng.gumbel(size=logs.shape)
    found = states.copy()
    for row, own, gumbel in zip(found, logs, noise, strict=True):
        last = len(row) - 1
        before = n_states
        for t in range(last + 1):
            after = int(row[t + 1]) if t < last else None
            transitions.move(before, int(row[t]), after, -1.0)
            logits = (transitions.log_conditional(before, after) + own[t]) / heat
            row[t] = int((logits + gumbel[t]).argmax())
            transitions.move(before, int(row[t]), after, 1.0)
            before = int(row[t])
    return found
