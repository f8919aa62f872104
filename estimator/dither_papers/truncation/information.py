"""The Fisher information of an answer, (6): exactly, and by the paper's Monte Carlo, (7) with Algorithm 5.

Outside the interval the score is constant, so those answers count as two points with half of G(l) and of G(r). In
between the integrand is smooth, and Gauss-Legendre quadrature is exact to about 1e-12.
"""

from functools import lru_cache

import numpy as np

from dither_estimator.families import FloatArray
from dither_papers.truncation.clipped import Answers, Interval, answer, log_density, scores

__all__ = ["exact_information", "monte_carlo_information", "monte_carlo_scores"]

STANDARD = np.array([[0.0, 1.0]])
_MAX_PANEL_WIDTH = 1.0
"""The largest width of a panel of the quadrature, in units of σ and of noise scales."""
_MAX_PANELS = 64
_MAX_DISTANCE = 9.0
"""Values farther than this from the mean, in σ, are neglected: panels end there; the interval's ends are added."""


def exact_information(interval: Interval, epsilon: float, noise_epsilon: float | None = None) -> FloatArray:
    """`F_{a,b}^ε(0, 1)` about (μ, σ) of N(0, 1), shape (2, 2). For N(m, c²) and `[ac + m, bc + m]` divide it by c².

    With `noise_epsilon` it is the second moment of the stated model's score under noise of scale Δ/noise_epsilon.
    """
    y, weights = _nodes(interval, epsilon)
    asked = _asked(y, interval, epsilon)
    score = scores(STANDARD, asked)[0]
    drawn = epsilon if noise_epsilon is None else noise_epsilon
    density = np.exp(log_density(STANDARD, _asked(y, interval, drawn))[0])
    mass = density * weights
    mass[[0, -1]] = density[[0, -1]] * (interval[1] - interval[0]) / drawn  # all answers beyond an end
    return (score * mass[:, None]).T @ score


def monte_carlo_scores(rng: np.random.Generator, theta: FloatArray, answers: Answers, n_samples: int) -> FloatArray:
    """Algorithm 5: scores by self-normalised importance sampling with `n_samples` draws from P_θ, shape (n, 2).

    `theta` has shape (2,). Each answer has its own draws.
    """
    mu, sigma = theta.tolist()
    found = np.empty((len(answers), 2))
    for t in range(len(answers)):
        z = rng.standard_normal(n_samples)
        distance = np.abs(answers.y[t] - np.clip(mu + sigma * z, answers.low[t], answers.high[t]))
        weights = np.exp((distance.min() - distance) / answers.scale[t])
        weights /= weights.sum()
        found[t] = weights @ z / sigma, weights @ (z**2 - 1.0) / sigma
    return found


def monte_carlo_information(
    rng: np.random.Generator,
    interval: Interval,
    epsilon: float,
    n_answers: int = 1_000,
    n_samples: int = 10_000,
    noise_epsilon: float | None = None,
) -> FloatArray:
    """(7) at N(0, 1), shape (2, 2), with the paper's M = `n_answers` and Algorithm 5's N = `n_samples`."""
    low, high = interval
    x = rng.standard_normal(n_answers)
    y = answer(rng, x, low, high, epsilon if noise_epsilon is None else noise_epsilon)
    score = monte_carlo_scores(rng, STANDARD[0], _asked(y, interval, epsilon), n_samples)
    return score.T @ score / n_answers


def _asked(y: FloatArray, interval: Interval, epsilon: float) -> Answers:
    low, high = interval
    return Answers(y, np.full_like(y, low), np.full_like(y, high), epsilon)


def _nodes(interval: Interval, epsilon: float) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights over the interval; its ends are the first and the last node."""
    low, high = interval
    inner = np.clip([low, high], -_MAX_DISTANCE, _MAX_DISTANCE)
    panels = int(
        min(
            _MAX_PANELS,
            max(1.0, np.ceil((inner[1] - inner[0]) / _MAX_PANEL_WIDTH), np.ceil(epsilon / _MAX_PANEL_WIDTH)),
        )
    )
    edges = np.unique(np.concatenate([[low], np.linspace(inner[0], inner[1], panels + 1), [high]]))
    at, weights = _gauss(24)
    half = 0.5 * np.diff(edges)[:, None]
    nodes = edges[:-1, None] + half * (1.0 + at)
    return (
        np.concatenate([[low], nodes.ravel(), [high]]),
        np.concatenate([[0.0], (half * weights).ravel(), [0.0]]),
    )


@lru_cache
def _gauss(order: int) -> tuple[FloatArray, FloatArray]:
    at, weights = np.polynomial.legendre.leggauss(order)
    return at, weights
