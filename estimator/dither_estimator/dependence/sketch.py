"""About what answers say of the correlation of two numbers, for choosing questions: a grid in place of particles."""

from collections.abc import Callable, Mapping

import numpy as np

from dither_estimator.dependence.joint_likelihood import JointCounts, JointLikelihood, normal_scores
from dither_estimator.families import FloatArray
from dither_estimator.particles.system import log_sum_exp

__all__ = ["sketch_correlation"]

_GRID = np.linspace(-0.95, 0.95, 39)


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
