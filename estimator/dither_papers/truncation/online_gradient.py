"""Maximum likelihood by online gradients with adaptive questions, which the paper suggests for very large n.

The estimate of (μ, log σ) follows the score of each answer, preconditioned by the questions' information, with steps of
`t^(-2/3)`; the result is the average over the second half (Polyak & Juditsky 1992). The cost of an answer does not
depend on the number of earlier ones. There is no posterior to draw from, so questions are asked about the estimate
itself.
"""

from collections.abc import Iterator

import numpy as np

from dither_estimator.families import FloatArray
from dither_papers.truncation.clipped import Answers, answer, scores
from dither_papers.truncation.information import monte_carlo_scores
from dither_papers.truncation.intervals import Mixture

__all__ = ["averaged", "estimates"]

_STEP_DELAY = 10.0
_STEP_POWER = 2.0 / 3.0
_MAX_STEP = 1.0
"""An answer moves μ by at most this many σ, and log σ by at most this."""


def estimates(
    rng: np.random.Generator,
    values: FloatArray,
    mixture: Mixture,
    epsilon: float,
    start: tuple[float, float],
    n_samples: int | None = None,
) -> Iterator[tuple[float, float]]:
    """(μ, σ) after each of `values` was asked about one of the mixture's intervals, starting from `start`.

    Scores are exact, or with `n_samples` those of Algorithm 5.
    """
    inverse = np.linalg.inv(mixture.information)
    picks = rng.choice(len(mixture.intervals), len(values), p=mixture.weights)
    mu, sigma = start
    for t, (value, pick) in enumerate(zip(values.tolist(), picks.tolist(), strict=True)):
        a, b = mixture.intervals[pick]
        low, high = mu + a * sigma, mu + b * sigma
        y = answer(rng, value, low, high, epsilon)
        asked = Answers(y.reshape(1), np.array([low]), np.array([high]), epsilon)
        theta = np.array([[mu, sigma]])
        score = (
            scores(theta, asked)[0, 0] if n_samples is None else monte_carlo_scores(rng, theta[0], asked, n_samples)[0]
        )
        step = (_STEP_DELAY + t) ** -_STEP_POWER * inverse @ (sigma * score)
        by_mean, by_spread = np.clip(step, -_MAX_STEP, _MAX_STEP).tolist()
        mu, sigma = mu + sigma * by_mean, sigma * float(np.exp(by_spread))
        yield mu, sigma


def averaged(path: FloatArray) -> tuple[float, float]:
    """The means of μ and of log σ (as σ) over the second half of a path (n, 2) of estimates."""
    late = path[len(path) // 2 :]
    return float(late[:, 0].mean()), float(np.exp(np.log(late[:, 1]).mean()))
