"""The initial distribution for tempering if the prior is far wider than the region of the questions.

None of the particles of such a prior may lie near the answers, and then none would ever get there. The first table is
therefore tempered from a mixture of the prior and a prior around the questions (the defensive mixture of Hesterberg
1995). The weights account for the mixture's density, so the result is the posterior under the original prior, and its
evidence.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dither_estimator.families import FloatArray
from dither_estimator.likelihood.counts import Counts
from dither_estimator.likelihood.institutions import Members
from dither_estimator.priors.prior import InvalidPrior, Prior, parse_prior

__all__ = ["InitialMixture", "questions_place"]

_RANGE_QUANTILES = (0.1, 0.9)
"""Quantiles of the cuts, weighted by answers, that are taken to enclose most values."""


@dataclass(frozen=True)
class InitialMixture:
    """Two priors in equal parts, over unconstrained coordinates."""

    priors: Sequence[Prior]

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """`size` draws, equally many from each prior up to rounding, shape (size, d)."""
        draws = [prior.sample(rng, -(-size // len(self.priors))) for prior in self.priors]
        return np.stack(draws, axis=1).reshape(-1, draws[0].shape[1])[:size]

    def log_density(self, coordinates: FloatArray) -> FloatArray:
        """The log density, shape (n,), at `coordinates` (n, d)."""
        logs = [prior.log_density(coordinates) for prior in self.priors]
        return np.logaddexp.reduce(logs, axis=0) - np.log(len(logs))


def questions_place(prior: Prior, counts: Counts, members: Members) -> Prior | None:
    """The family's prior for a `range` that the cuts suggest; None if floating point cannot represent it."""
    asked = [(edge, int(row.sum())) for query, row in counts.items() for edge in query.edges]
    asked += [(member.cut, member.size * times) for member, times in members.items()]
    cuts, answers = np.array(asked, dtype=float).T
    low, high = np.quantile(cuts, _RANGE_QUANTILES, weights=answers, method="inverted_cdf").tolist()
    if low == high:
        width = abs(low) or 1.0
        low, high = low - width / 2, high + width / 2
    try:
        return parse_prior(prior.family, prior.family.range_prior(low, high))
    except InvalidPrior:
        return None
