"""Stochastic gradient Langevin dynamics for shares given private answers: the approximate sampler of AdOBEst-LDP.

Shares are `θ = φ / Σφ` with independent gamma variates φ, whose prior makes θ Dirichlet. A move follows the gradient of
the log density of φ, estimated on a few of the answers, with noise; what would be negative is reflected. All functions
move B chains at once, each with answers of its own.
"""

import numpy as np

from dither_estimator.families import FloatArray

__all__ = ["BATCH", "gradient", "move"]

BATCH = 50
"""Answers in a gradient, drawn with replacement: the published program's number."""


def gradient(phi: FloatArray, chances: FloatArray, answers: int, concentration: float) -> FloatArray:
    """The gradient of the log density at `phi`, shape (B, K), estimated on `chances` `P(y | x)`, shape (B, n, K).

    `answers` is how many there are, of which the n are a sample; `concentration` is the Dirichlet parameter of each
    category. Since `θ · ∇_θ log P(y)` is 1 for every answer, `∂ log P(y) / ∂φ_x = (P(y | x) / P(y) - 1) / Σφ`.
    """
    total = phi.sum(axis=1, keepdims=True)
    likely = np.matmul(chances, (phi / total)[:, :, np.newaxis])[..., 0]
    ratios = np.matmul((1 / likely)[:, np.newaxis], chances)[:, 0] / chances.shape[1]
    return answers * (ratios - 1) / total + (concentration - 1) / phi - 1


def move(
    rng: np.random.Generator, phi: FloatArray, chances: FloatArray, step: float, moves: int, concentration: float = 1.0
) -> FloatArray:
    """The states after each of `moves` moves of length `step`, shape (moves, B, K), given all answers so far."""
    chains, answers, categories = chances.shape
    batch = min(answers, BATCH)
    rows = np.arange(chains)[:, np.newaxis]
    noise = np.sqrt(step) * rng.standard_normal((moves, chains, categories))
    picks = rng.integers(answers, size=(moves, chains, batch))
    states = np.empty_like(noise)
    for m in range(moves):
        slope = gradient(phi, chances[rows, picks[m]], answers, concentration)
        phi = states[m] = np.abs(phi + step / 2 * slope + noise[m])
    return states
