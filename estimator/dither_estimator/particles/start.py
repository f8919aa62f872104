"""The initial distribution for tempering if the prior is far wider than the region of the questions.

None of the particles of such a prior may lie near the answers, and then none would ever get there. The first table is
therefore tempered from a mixture of the prior and priors around the questions (the defensive mixture of Hesterberg
1995). The weights account for the mixture's density, so the result is the posterior under the original prior, and its
evidence.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from dither_estimator.families import FloatArray
from dither_estimator.likelihood.counts import Counts
from dither_estimator.likelihood.institutions import Members
from dither_estimator.priors.prior import InvalidPrior, Prior, parse_prior

__all__ = ["InitialMixture", "questions_places"]

_RANGE_QUANTILES = (0.1, 0.9)
"""Quantiles of the cuts, weighted by answers, that are taken to enclose most values."""
_FEWEST_ANSWERS = 16
"""The answers that the cuts in the narrowest range have at least."""


@dataclass(frozen=True)
class InitialMixture:
    """Priors in equal parts, over unconstrained coordinates."""

    priors: Sequence[Prior]

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """`size` draws, equally many from each prior up to rounding, shape (size, d)."""
        draws = [prior.sample(rng, -(-size // len(self.priors))) for prior in self.priors]
        return np.stack(draws, axis=1).reshape(-1, draws[0].shape[1])[:size]

    def log_density(self, coordinates: FloatArray) -> FloatArray:
        """The log density, shape (n,), at `coordinates` (n, d)."""
        logs = [prior.log_density(coordinates) for prior in self.priors]
        return np.logaddexp.reduce(logs, axis=0) - np.log(len(logs))


def questions_places(prior: Prior, counts: Counts, members: Members) -> tuple[Prior, ...]:
    """The family's priors for the ranges that the cuts suggest, from the widest to the narrowest.

    The first range holds most cuts. Each of the others is the shortest that holds half of the answers of the range
    before: questions that were adapted lie the closer together, the nearer they came to the population. Ranges that
    floating point cannot represent are left out.
    """
    asked = [(edge, int(row.sum())) for query, row in counts.items() for edge in query.edges]
    asked += [(member.cut, member.size * times) for member, times in members.items()]
    cuts, answers = np.array(sorted(asked), dtype=float).T
    low, high = np.quantile(cuts, _RANGE_QUANTILES, weights=answers, method="inverted_cdf").tolist()
    if low == high:
        width = abs(low) or 1.0
        low, high = low - width / 2, high + width / 2
    places = []
    for ends in ((low, high), *_shortest_halves(cuts, answers)):
        with suppress(InvalidPrior):
            places.append(parse_prior(prior.family, prior.family.range_prior(*ends)))
    return tuple(places)


def _shortest_halves(cuts: FloatArray, answers: FloatArray) -> Iterator[tuple[float, float]]:
    """The shortest interval with half of the answers, the shortest within it with a quarter, and so on.

    `cuts` increase. The last one has at least `_FEWEST_ANSWERS`, and none has no length.
    """
    while answers.sum() >= 2 * _FEWEST_ANSWERS:
        up_to = np.cumsum(answers)
        ends = np.searchsorted(up_to, up_to - answers + up_to[-1] / 2)  # of the intervals that begin at each cut
        begins = np.flatnonzero(ends < len(cuts))
        begin = int(begins[np.argmin(cuts[ends[begins]] - cuts[begins])])
        cuts, answers = cuts[begin : ends[begin] + 1], answers[begin : ends[begin] + 1]
        if cuts[0] == cuts[-1]:
            return
        yield float(cuts[0]), float(cuts[-1])
