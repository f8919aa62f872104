"""Whether the answers of the latest period go with what those of the periods before foretell.

After a sudden change the posterior follows only once the latest answers outweigh all others; until then its interval is
narrow and wrong. The score of the latest answers at the place where the others expect them says so earlier: with the
expected information J and parameters that are `v` away it is about `N(J v, J)`. Parameters are those of the period
before, one step later: draws of the posterior without the latest period, whose τ no jump of it has made larger.
"""

from collections.abc import Sequence

import numpy as np
from scipy.special import ndtr

from dither_estimator.drift.tracking import PeriodLikelihood, track
from dither_estimator.hierarchy.pooled_fit import Units
from dither_estimator.likelihood.counts import Counts
from dither_estimator.priors.prior import Prior

__all__ = ["RARE", "surprise"]

RARE = 0.005
"""What `surprise` ever is less than in about 1% of periods, at a few looks in each, while steps are usual ones."""
_DRAWS, _SWEEPS = 200, 1


def surprise(rng: np.random.Generator, prior: Prior, tables: Sequence[Counts]) -> float | None:
    """How likely scores as far out as those of the last of consecutive periods are, given the answers before.

    It is d times the least of the probabilities of d coordinates, and at most 1. None without answers on either side.
    """
    if not tables or not tables[-1] or not any(tables[:-1]):
        return None
    before = track(rng, prior, tables[:-1], _DRAWS, sweeps=_SWEEPS)
    last = before.coordinates[:, -1]
    units = Units(last.mean(axis=0), np.ones(last.shape[1]))
    away = last - units.centre + before.scales * rng.standard_normal(last.shape)
    likelihood = PeriodLikelihood.of(prior, tables[-1:], units)
    score, information = (each[0] for each in likelihood.score_and_information(np.zeros((last.shape[1], 1))))
    sd = np.sqrt(np.diag(information).clip(min=np.finfo(float).tiny))
    expected, far = away @ information / sd, np.abs(score) / sd
    chances = (ndtr(-far - expected) + ndtr(expected - far)).mean(axis=0)
    return float(min(1.0, len(chances) * chances.min()))
