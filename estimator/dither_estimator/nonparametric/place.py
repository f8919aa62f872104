"""Where a population lies, from few answers: the posterior of location and scale of a Student t with 2 degrees of
freedom, under a prior that reaches over all orders of magnitude.

It is computed on `tiles`, from the counts alone.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import ndtr, ndtri

from dither_client import Query
from dither_estimator.families import FloatArray
from dither_estimator.likelihood.counts import Counts
from dither_estimator.nonparametric.answer_kinds import AnswerKinds
from dither_estimator.nonparametric.base import Base, Z
from dither_estimator.nonparametric.chains import evolved
from dither_estimator.nonparametric.deviations import with_logits
from dither_estimator.nonparametric.observations import Observations
from dither_estimator.nonparametric.place_prior import PlacePrior
from dither_estimator.nonparametric.point_answers import PointAnswers
from dither_estimator.nonparametric.sampler import resampled
from dither_estimator.nonparametric.support import LARGEST, Support
from dither_estimator.nonparametric.tiles import first_tiles, log_areas, refined
from dither_estimator.weighted.sample import weighted_quantiles

__all__ = ["Place", "find_place", "known_by"]

_MAX_ROUNDS = 30
_ROUGH_ROUNDS = 1
"""How many rounds of halving are enough to see the atoms' shares."""
_BLOCK, _FEWEST = 1 << 17, 16
"""How many numbers are computed at once, which stay in the processor's cache, and for how many tiles at least."""
_FAR = 1e100
_TELL_OF_BOUNDS = 60.0
"""Answers that know less than this do not tell of bounds that are no atoms: there hardly anybody is expected."""
_CHAINS, _CANDIDATES, _SWEEPS, _KEPT = 200, 4, 15, 5
"""Chains of what is drawn together, candidates for the first of each, sweeps, and after how many draws are kept."""
_WIDER = 1.7
"""So much wider proposals of the shares' logits are than the normal approximation for one place: the place varies."""
_LARGEST_LOG = 690.0
_CERTAIN = 1.1
"""The place is found when 90% intervals of location, in units of the scale, and of its logarithm are narrower."""


@dataclass(frozen=True)
class Place:
    """Weighted tiles of places and log scales."""

    prior: PlacePrior
    tiles: FloatArray
    """Centre of the place and of the log scale, and half widths of both; shape (tiles, 4)."""
    weights: FloatArray
    """Shape (tiles,)."""
    shares: FloatArray
    """The shares of the support's points and of all else, shape (points + 1,)."""
    precision: FloatArray
    """The precision of the logarithms of the points' shares relative to that of all else, given these tiles."""
    support: Support
    kinds: AnswerKinds = field(repr=False)

    @property
    def found(self) -> bool:
        """Whether location and scale are so well known that a base can be fitted."""
        locations, log_scales = self.prior.locations(self.tiles[:, 0]), self.tiles[:, 1]
        width = _interval_width(locations, self.weights) / float(np.exp(self.weights @ log_scales))
        return width < _CERTAIN and _interval_width(log_scales, self.weights) < _CERTAIN

    @property
    def middle(self) -> FloatArray:
        """The median location and log scale, shape (2,): a mean would be that of a few tiles far away."""
        locations = self.prior.locations(self.tiles[:, 0])
        return np.array(
            [weighted_quantiles(values, self.weights, [0.5])[0] for values in (locations, self.tiles[:, 1])]
        )

    def base(self) -> Base:
        """The predictive distribution of the values that are no atoms."""
        kept = np.argsort(self.weights)[-600:]
        knots = Z[::6]
        heights = np.diff(ndtr((knots[1:] + knots[:-1]) / 2), prepend=0.0, append=1.0)
        locations, scales = self.prior.locations(self.tiles[kept, 0]), np.exp(self.tiles[kept, 1])
        with np.errstate(over="ignore"):
            values = (locations + np.outer(_t_quantiles(knots), scales)).clip(-LARGEST, LARGEST).ravel()
        weights = np.outer(heights, self.weights[kept]).ravel()
        order = np.argsort(values)
        levels = np.cumsum(weights[order]) - weights[order] / 2
        levels = (levels / weights.sum()).clip(1e-300, 1 - 1e-16)
        return Base(np.interp(Z, ndtri(levels), values[order]))

    def masses(self, rng: np.random.Generator, base: Base, bins: int, size: int) -> FloatArray:
        """Draws of the masses of bins that are equally likely under a base, and of the atoms, shape (size, …)."""
        together = self.support.points and len(self.kinds.counts)
        drawn = self._together(rng, size) if together else self._given(rng, size)[0]
        inner = base.quantile(np.arange(1, bins) / bins)
        below = _t_cdf(inner, self.prior.locations(drawn[:, 0]), np.exp(drawn[:, 1].clip(-_LARGEST_LOG, _LARGEST_LOG)))
        masses = np.diff(below, prepend=0.0, append=1.0, axis=0).T
        shares = with_logits(drawn[:, 2:])
        return np.concatenate([masses * shares[:, -1:], shares[:, :-1]], axis=1)

    def _given(self, rng: np.random.Generator, size: int, spread: float = 1.0) -> tuple[FloatArray, FloatArray]:
        """Draws of place, log scale and the points' logits, as if these were known apart, and their log densities.

        The logits' sds are `spread` times what they are.
        """
        which = rng.choice(len(self.weights), size, p=self.weights)
        tiles = self.tiles[which]
        xi = rng.standard_normal((size, len(self.precision)))
        root = np.linalg.inv(np.linalg.cholesky(self.precision))
        logits = np.log(self.shares[:-1] / self.shares[-1]) + spread * xi @ root
        density = np.log(self.weights[which]) - log_areas(tiles)
        drawn = np.concatenate([tiles[:, :2] + tiles[:, 2:] * rng.uniform(-1, 1, (size, 2)), logits], axis=1)
        return drawn, density - 0.5 * np.square(xi).sum(axis=1)

    def _together(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draws of place, log scale and the points' logits, shape (size, 2 + points).

        Few answers do not tell whether many people are at an atom or all others close to it. So these are not known
        apart, and draws as if they were are where Markov chains begin.
        """
        chains = max(_CHAINS, -(-size // _KEPT))
        drawn, density = self._given(rng, _CANDIDATES * chains, _WIDER)
        start = drawn[resampled(rng, self._log_posterior(drawn) - density, chains)]
        found = evolved(rng, start, self._log_posterior, _SWEEPS, _KEPT)
        return found[rng.permutation(len(found))[:size]]

    def _log_posterior(self, drawn: FloatArray) -> FloatArray:
        """The log posterior density of place, log scale and the points' logits, shape (n,)."""
        shares = with_logits(drawn[:, 2:])
        found = self.prior.log_density(drawn)
        found = found + _log_prior_of_shares(self.support, drawn[:, 2:])
        locations, scales = self.prior.locations(drawn[:, 0]), np.exp(drawn[:, 1].clip(-_LARGEST_LOG, _LARGEST_LOG))
        return found + _log_likelihood(self.kinds, shares, locations, scales)


def find_place(counts: Counts, support: Support, around: tuple[float, float] | None = None) -> Place:
    """The posterior given `counts`, which may be empty. `around` has most values, as far as one knows."""
    search = _Search.of(Observations.of(counts, support), support, around)
    expected = with_logits(support.log_odds)
    known = sum(known_by(counts).values())
    shares, precision = expected, np.zeros((len(expected) - 1, len(expected) - 1))
    if known > 0 and len(expected) > 1 and (support.atoms or known >= _TELL_OF_BOUNDS):
        starts = [expected]
        if len(support.points) > len(support.atoms):  # hardly anybody is expected at a bound, and many may be
            before = _Search.of([], support, around).tiles(expected, 0)
            starts.append(search.point_answers(*before).shares(expected, expected))
        _, shares, precision = max(map(search.shares_and_place, starts), key=lambda each: each[0])
    tiles, weights = search.tiles(shares, _MAX_ROUNDS)
    inverse = np.linalg.inv(support.log_odds_root)
    return Place(search.prior, tiles, weights, shares, precision + inverse.T @ inverse, support, search.kinds)


@dataclass(frozen=True)
class _Search:
    """The posterior of the place, if the points' shares are known."""

    support: Support
    prior: PlacePrior
    kinds: AnswerKinds
    first: FloatArray
    """Tiles that cover all of it."""

    @classmethod
    def of(
        cls, observations: Sequence[Observations], support: Support, around: tuple[float, float] | None
    ) -> "_Search":
        prior = PlacePrior.of(support, around)
        cuts = np.concatenate([np.empty(0), *(part.edges.ravel() for part in observations)])
        return cls(support, prior, AnswerKinds.of(observations, len(support.points)), first_tiles(prior, cuts))

    def tiles(self, shares: FloatArray, rounds: int) -> tuple[FloatArray, FloatArray]:
        """Tiles and their shares of the posterior, after so many rounds of halving."""
        return refined(self.prior, self.first, lambda tiles: self._log_posterior(shares, tiles), rounds)

    def shares_and_place(self, shares: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """The points' shares that fit best beside the place, found by turns from `shares` on, and their information.

        First comes their log posterior density: where many people are at a point, or all are close to it, there are
        two such fits.
        """
        expected = with_logits(self.support.log_odds) * max(1, len(self.support.atoms))
        for _ in range(2):
            tiles, weights = self.tiles(shares, _ROUGH_ROUNDS)
            answers = self.point_answers(tiles, weights)
            shares = answers.shares(shares, expected)
        height = np.logaddexp.reduce(self._log_posterior(shares, tiles))
        apart = _log_prior_of_shares(self.support, np.log(shares[:-1] / shares[-1])[np.newaxis])
        return float(height + apart[0]), shares, answers.information(shares)

    def point_answers(self, tiles: FloatArray, weights: FloatArray) -> PointAnswers:
        """What answers tell of shares if all else is the mean of some tiles."""
        locations, scales, edges = self.prior.locations(tiles[:, 0]), np.exp(tiles[:, 1]), self.kinds.edges
        below = np.zeros(len(edges))
        for some in _blocks(self.kinds, len(tiles)):
            below += _t_cdf(edges, locations[some], scales[some]) @ weights[some]
        return PointAnswers.of(self.kinds, below)

    def _log_posterior(self, shares: FloatArray, tiles: FloatArray) -> FloatArray:
        found = self.prior.log_density(tiles) + log_areas(tiles)
        locations, scales = self.prior.locations(tiles[:, 0]), np.exp(tiles[:, 1])
        return found + _log_likelihood(self.kinds, shares[np.newaxis], locations, scales)


def _log_prior_of_shares(support: Support, logits: FloatArray) -> FloatArray:
    """The log prior density of the points' logits (n, points), shape (n,), up to a constant."""
    apart = np.linalg.solve(support.log_odds_root, (logits - support.log_odds).T)
    return np.asarray(-0.5 * np.square(apart).sum(axis=0))


def known_by(counts: Counts) -> dict[Query, float]:
    """How many answers without noise teach as much as those to each query, roughly."""
    return {query: int(row.sum()) * math.tanh(float(query.epsilon) / 2) ** 2 for query, row in counts.items()}


def _log_likelihood(kinds: AnswerKinds, shares: FloatArray, locations: FloatArray, scales: FloatArray) -> FloatArray:
    """The log-likelihood of tiles (n,), of which all have the same `shares` (1, points + 1) or each its own, (n,)."""
    found = np.empty(len(locations))
    for some in _blocks(kinds, len(locations)):
        own = shares if len(shares) == 1 else shares[some]
        found[some] = kinds.log_likelihood(own, _t_cdf(kinds.edges, locations[some], scales[some]))
    return found


def _blocks(kinds: AnswerKinds, tiles: int) -> Iterator[slice]:
    """Parts of so many tiles, each of which is computed at once."""
    size = max(_FEWEST, _BLOCK // max(len(kinds.edges), len(kinds.counts), 1))
    return (slice(first, first + size) for first in range(0, tiles, size))


def _t_cdf(y: FloatArray, locations: FloatArray, scales: FloatArray) -> FloatArray:
    """The distribution function of Student's t with 2 degrees of freedom at `y` (k,), shape (k, n)."""
    with np.errstate(over="ignore"):
        z = y[:, np.newaxis] - locations
        z /= scales
    np.clip(z, -_FAR, _FAR, out=z)
    length = z * z
    length += 2.0
    np.sqrt(length, out=length)
    z *= 0.5
    z /= length
    z += 0.5
    return z


def _t_quantiles(z: FloatArray) -> FloatArray:
    """The quantiles of the Student t distribution at normal quantiles."""
    outer = ndtr(-np.abs(z))
    return np.sign(z) * (1 - 2 * outer) / np.sqrt(2 * outer * (1 - outer))


def _interval_width(values: FloatArray, weights: FloatArray) -> float:
    low, high = weighted_quantiles(values, weights, [0.05, 0.95])
    return float(high - low)
