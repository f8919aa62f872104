"""UBaPP for a count in closed form: the geometric mechanism and the posterior mean of θ given its answer.

Ghosh, Roughgarden & Sundararajan (*Universally utility-maximizing privacy mechanisms*, 2009): for a count, two-sided
geometric noise is optimal for every prior and every loss that increases with the distance, if its answers are used
optimally. The linear programme (11) of Lakshminarayanan & Rojas thus needs no solver: K + 1 actions, the posterior
means, suffice, which `certificate` proves for a given problem. The mechanism is Dither's `laplace` with K levels on the
count, and the estimate is Dither's posterior mean.
"""

import numpy as np

from dither_estimator.families import FloatArray
from dither_papers.bayes_point.problem import Moments

__all__ = ["geometric_channel", "geometric_estimator"]


def geometric_channel(trials: int, epsilon: float) -> FloatArray:
    """`P(answer s | count y)`, shape (trials + 1, trials + 1): noise `∝ e^(-ε|z|)`, clipped to `0..trials`."""
    count = np.arange(trials + 1)
    ratio = np.exp(-epsilon)
    channel = -np.expm1(-epsilon) / (1.0 + ratio) * ratio ** np.abs(count[:, np.newaxis] - count)
    if trials > 0:
        channel[:, 0] = ratio**count / (1.0 + ratio)
        channel[:, -1] = channel[::-1, 0]
    return channel if trials else np.ones((1, 1))


def geometric_estimator(moments: Moments, epsilon: float) -> tuple[FloatArray, float]:
    """`E[θ | answer]` under the geometric mechanism, shape (K + 1,), and its mean squared error."""
    channel = geometric_channel(len(moments.zeroth) - 1, epsilon)
    shares, firsts = moments.zeroth @ channel, moments.first @ channel
    means = firsts / shares
    # Computed as deviations from E[θ | y] to avoid cancellation.
    wrong = (moments.means[:, np.newaxis] - means) ** 2
    return means, moments.bayes_risk + float((moments.zeroth[:, np.newaxis] * channel * wrong).sum())
