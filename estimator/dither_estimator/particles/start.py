"""Where tempering begins when the prior is far wider than the place that the questions are about.

Of the particles of such a prior none may lie near the answers, and none would ever come there. So the first table is
tempered from a mixture of the prior and a prior about the questions' place (the defensive mixture of Hesterberg 1995).
Its density is in the weights, so what comes out is the posterior of the prior alone, and its evidence.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dither_estimator.families import FloatArray
from dither_estimator.likelihood.counts import Counts
from dither_estimator.likelihood.institutions import Members
from dither_estimator.priors.prior import InvalidPrior, Prior, parse_prior

__all__ = ["Beginning", "questions_place"]

_ENDS = (0.1, 0.9)
"""Quantiles of the cuts asked, by answers, between which most values are taken to lie."""


@dataclass(frozen=True)
class Beginning:
    """An equal mixture of two priors, over unconstrained coordinates."""

    priors: Sequence[Prior]

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """As many draws of each, but for rounding, shape (size, d)."""
        draws = [prior.sample(rng, -(-size // len(self.priors))) for prior in self.priors]
        return np.stack(draws, axis=1).reshape(-1, draws[0].shape[1])[:size]

    def log_density(self, coordinates: FloatArray) -> FloatArray:
        """Shape (n,), for `coordinates` (n, d)."""
        logs = [prior.log_density(coordinates) for prior in self.priors]
        mixed: FloatArray = np.logaddexp.reduce(logs, axis=0) - np.log(len(logs))
        return mixed


def questions_place(prior: Prior, counts: Counts, members: Members) -> Prior | None:
    """What the family's prior would be if the cuts asked were a `range`; None where floating point has none."""
    asked = [(edge, int(row.sum())) for query, row in counts.items() for edge in query.edges]
    asked += [(member.cut, member.size * times) for member, times in members.items()]
    cuts, answers = np.array(asked, dtype=float).T
    low, high = np.quantile(cuts, _ENDS, weights=answers, method="inverted_cdf").tolist()
    if low == high:
        width = abs(low) or 1.0
        low, high = low - width / 2, high + width / 2
    try:
        return parse_prior(prior.family, prior.family.range_prior(low, high))
    except InvalidPrior:
        return None
