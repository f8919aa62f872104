"""What `laplace` asks while a normal population is still to be found, beside the best that could be asked.

All by the policy's own criterion, the expected reduction of the goal's variances, exact for the particles of the
posterior, over a grid of centres and widths.
"""

import numpy as np

from dither_client import IntervalQuery
from dither_estimator.design.registry import MECHANISMS
from dither_estimator.families import FloatArray
from dither_estimator.learning.learner import Learner
from dither_estimator.mechanisms.channels import Cells, channel_of
from dither_estimator.policies.variance_reduction import Predictions, with_normal_scores
from dither_estimator.specification.specification import Specification
from dither_estimator.weighted.sample import systematic_sample

__all__ = ["worth_in_search"]

_PARTICLES = 500
_CENTRES = np.linspace(0.05, 0.95, 25)
"""Quantiles of the location."""
_WIDTHS = np.geomspace(0.1, 10.0, 7)
"""In medians of the scale."""


def worth_in_search(learner: Learner) -> tuple[float, float]:
    """What the learner's next question is worth, to the best of as many levels; and what that is to the best cut."""
    spec = learner.specification
    asked = Learner.restore(spec, learner.snapshot()).pool()[0]
    assert isinstance(asked, IntervalQuery)
    theta, weights = learner.particles()
    theta = theta[systematic_sample(weights, _PARTICLES, np.random.default_rng(0).random())]
    centres = np.quantile(theta[:, 0], _CENTRES)
    widths = np.median(theta[:, 1]) * _WIDTHS
    places = np.stack(np.meshgrid(centres, widths), axis=-1).reshape(-1, 2)
    own = _reductions(spec, theta, asked.levels, np.array([[(asked.low + asked.high) / 2, asked.high - asked.low]]))
    best = _reductions(spec, theta, asked.levels, places).max()
    cut = _reductions(spec, theta, 1, places).max()
    return float(own[0] / best), float(best / cut)


def _reductions(spec: Specification, theta: FloatArray, levels: int, places: FloatArray) -> FloatArray:
    """The variance reductions by questions with `levels` levels at these centres and widths (n, 2): shape (n,)."""
    question = MECHANISMS[spec.mechanism].question(levels, spec.epsilon, spec.rho)
    assert question is not None
    offsets = (np.arange(levels) - (levels - 1) / 2) / levels
    cells = Cells(channel_of(question), places[:, 0] + offsets[:, np.newaxis] * places[:, 1])
    values, weights = with_normal_scores(theta, spec.goal.vector(spec.family))
    predictions = Predictions.of(spec.family, theta, values, [cells])
    reductions: FloatArray = np.add.reduceat(weights @ predictions.covariances**2, predictions.ends[:-1])
    return reductions
