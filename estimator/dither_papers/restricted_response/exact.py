"""AdOBEst-LDP with exact draws of the posterior, renewed whenever there are twice as many answers."""

import numpy as np

from dither_estimator.categorical.likelihood import SharesLikelihood
from dither_estimator.categorical.posterior import draw_shares
from dither_estimator.categorical.prior import prior_draws
from dither_estimator.families import FloatArray
from dither_papers.restricted_response.channel import channels_of_sizes
from dither_papers.restricted_response.utilities import variances

__all__ = ["restricted_response"]

_DRAWS = 1_000
_MIN_BATCH, _CHANNELS_A_BATCH = 64, 4


def restricted_response(rng: np.random.Generator, truth: FloatArray, epsilon: float, respondents: int) -> FloatArray:
    """The posterior mean of one simulation.

    Each draw of the posterior says which categories are likely, and the sum of all variances there how many of them to
    take, for four draws at a time.
    """
    categories, answers = len(truth), 0
    channels = channels_of_sizes(categories, epsilon)
    chances, times = np.empty((0, categories)), np.empty(0)
    draws = prior_draws(rng, categories, _CHANNELS_A_BATCH)
    while answers < respondents:
        people = min(max(_MIN_BATCH, answers), respondents - answers)
        for shares in rng.choice(draws, _CHANNELS_A_BATCH, replace=False):
            channel = _best(channels, np.maximum(shares, 1e-9))
            chances = np.concatenate([chances, channel])
            times = np.concatenate([times, rng.multinomial(people // _CHANNELS_A_BATCH, channel @ truth)])
        given = times > 0
        draws = draw_shares(rng, SharesLikelihood(chances[given], times[given]), _DRAWS)
        answers += people
    return draws.mean(axis=0)


def _best(channels: FloatArray, shares: FloatArray) -> FloatArray:
    """`P(answer | category)` with the least sum of variances at these shares."""
    order = np.argsort(-shares)
    best = variances(channels, shares[order][np.newaxis]).sum(axis=2).argmin()
    channel = np.empty_like(channels[0])
    channel[np.ix_(order, order)] = channels[best]
    return channel
