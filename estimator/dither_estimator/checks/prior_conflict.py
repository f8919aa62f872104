"""Whether answers lead far from what the prior expects: then it was wrong, and intervals may be too narrow.

A range that is off by several times its width is such a prior, and so is one in another unit than the values. If the
prior has short tails, half of its pull remains after hundreds of answers, though they have long left it; nothing in the
width of the posterior shows that.
"""

from collections.abc import Mapping

import numpy as np

from dither_estimator.priors.prior import Prior

__all__ = ["RARE", "prior_conflicts"]

RARE = 0.005
"""How rarely, if populations are as the prior expects, a parameter lies as far out as is told."""


def prior_conflicts(prior: Prior, medians: Mapping[str, float]) -> list[str]:
    """The parameters whose posterior median lies beyond all but `RARE` of the prior, a half of it at either end."""
    found = []
    for part in prior.parts:
        low, high = part.quantiles(np.array([RARE / 2, 1 - RARE / 2])).tolist()
        if not low <= medians[part.parameter.name] <= high:
            found.append(part.parameter.name)
    return found
