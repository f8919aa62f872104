"""A sketch of what answers about several numbers say, for choosing questions: quicker than a posterior, and coarser."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dither_estimator.dependence.joint_likelihood import JointCounts, JointLikelihood, normal_scores
from dither_estimator.families import FloatArray
from dither_estimator.weighted.sample import log_sum_exp

__all__ = ["Sketch", "sketch_correlation", "sketch_dependence"]

_GRID = np.linspace(-0.95, 0.95, 39)
_ROUNDS = 2
"""How often each number is looked at, given what is known of the others by then."""


@dataclass(frozen=True, eq=False)
class Sketch:
    """What is known of each number, and of how they go together."""

    weights: Sequence[FloatArray]
    """How likely each draw of a number's margin is, normalised, shape (n,)."""
    correlations: Mapping[tuple[int, ...], float]
    """The approximate correlation of each two numbers about which there are answers."""


def sketch_dependence(counts: JointCounts, margins: Sequence[Callable[[FloatArray], FloatArray]]) -> Sketch:
    """Weighs draws of each margin, given the answers about that number alone, by the answers about several.

    `margins` are functions of points (k,) on the transformed scale: the shares (n, k) of the population at or below
    them, by draw. While a number is weighed, the others and all correlations are taken as known.
    """
    likelihood = JointLikelihood(counts)
    shares = {component: margins[component](cuts) for component, cuts in likelihood.cuts.items()}
    sizes = [len(margin(np.empty(0))) for margin in margins]
    weights = [np.full(size, 1 / size) for size in sizes]
    pairs = {question.components for question in counts if len(question.components) == 2}
    correlations: dict[tuple[int, ...], float] = {}
    for _ in range(_ROUNDS if counts else 0):
        for pair in sorted(pairs):
            correlations[pair] = sketch_correlation(
                {question: row for question, row in counts.items() if question.components == pair},
                {component: _mean_of(margins[component], weights[component]) for component in pair},
            )
        matrix = np.eye(len(margins))
        for (i, j), rho in correlations.items():
            matrix[i, j] = matrix[j, i] = rho
        for component, own in shares.items():
            scores = {
                other: normal_scores(own if other == component else weights[other] @ there[np.newaxis])
                for other, there in shares.items()
            }
            told = likelihood.log_likelihood_about(component, scores, matrix[np.newaxis])
            weights[component] = np.exp(told - log_sum_exp(told))
    return Sketch(weights, correlations)


def _mean_of(margin: Callable[[FloatArray], FloatArray], weights: FloatArray) -> Callable[[FloatArray], FloatArray]:
    return lambda cuts: np.asarray(weights @ margin(cuts))


def sketch_correlation(counts: JointCounts, margins: Mapping[int, Callable[[FloatArray], FloatArray]]) -> float:
    """The posterior mean of a correlation that is uniform before, given answers about the same two numbers.

    The margins are taken as known: the shares of the population at or below points (k,) on the transformed scales.
    """
    if not counts:
        return 0.0
    [(first, second)] = {question.components for question in counts}
    likelihood = JointLikelihood(counts)
    scores = {
        component: np.broadcast_to(normal_scores(margins[component](cuts)), (len(_GRID), len(cuts)))
        for component, cuts in likelihood.cuts.items()
    }
    matrices = np.broadcast_to(np.eye(second + 1), (len(_GRID), second + 1, second + 1)).copy()
    matrices[:, first, second] = matrices[:, second, first] = _GRID
    log_likelihood = likelihood.log_likelihood(scores, matrices)
    return float(np.exp(log_likelihood - log_sum_exp(log_likelihood)) @ _GRID)
