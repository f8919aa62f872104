"""Where a population lies, from few answers: the posterior of location and scale of a Student t with 2 degrees of
freedom, under a prior that reaches over all orders of magnitude.

It is computed on tiles, from the counts alone. The first tiles lie between the cuts that were asked about, as there the
likelihood of a narrow population is flat; tiles with much of the posterior are then halved.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from dither_client import Query
from dither_estimator.families import FloatArray
from dither_estimator.likelihood.counts import Counts
from dither_estimator.nonparametric.base import Base, Z
from dither_estimator.nonparametric.chains import evolved
from dither_estimator.nonparametric.observations import Observations
from dither_estimator.nonparametric.point_answers import PointAnswers, by_log_ratio, with_logits
from dither_estimator.nonparametric.sampler import resampled
from dither_estimator.nonparametric.support import LARGEST, Support

__all__ = ["Place", "find_place", "known_by"]

_MAX_EDGES = 80
_MAX_ROUNDS = 10
_ROUGH_ROUNDS = 1
"""How many rounds of halving are enough to see the atoms' shares."""
_HEAVY = 1 / 300
"""Tiles with a larger share of the posterior are halved."""
_LIGHT = 1e-7
"""Tiles with a smaller share of the heaviest one's are left out."""
_FINE = 0.25
"""Tiles are not halved below this width, in units of the scale, or in its logarithm."""
_BLOCK = 1 << 15
"""How many numbers are computed at once: so many stay in the processor's cache."""
_FAR = 1e100
_LEAST = 1e-300
"""Two cuts may be so close that a tile between them has no width."""
_EXPECTED = 2.5
"""First tiles are small as far as this from the middle of the prior, in its spreads."""
_OUTER = np.array([3.0, 5.0, 10.0, 25.0, 60.0, 150.0, 690.0])
_HARDLY_EXPECTED = 5.0
"""From so many spreads on there is one high first tile."""
_NEAR = 0.1
"""The share of places asked about that show numbers to be tiny."""
_ROW, _MAX_ROWS = 3.0, 16
"""The height in log scale of further rows of small tiles, and how many there are at most."""
_TELL_OF_BOUNDS = 60.0
"""Answers that know less than this do not tell of bounds that are no atoms: there hardly anybody is expected."""
_CHAINS, _CANDIDATES, _SWEEPS, _KEPT = 200, 4, 15, 5
"""Chains of what is drawn together, candidates for the first of each, sweeps, and after how many draws are kept."""
_WIDER = 1.7
"""Shares that are not known apart from the place are less known than if it were."""
_LARGEST_LOG = 690.0
_CERTAIN = 1.1
"""The place is found when 90% intervals of location, in units of the scale, and of its logarithm are narrower."""


@dataclass(frozen=True)
class _Prior:
    """Student t with 2 degrees of freedom, of `asinh((location - centre) / unit)` and of log scale."""

    centre: float
    unit: float
    spread: float
    log_scale: float
    log_scale_spread: float
    farthest: float = math.inf
    """No location is farther from 0, and no scale more than a third of this."""

    @classmethod
    def of(cls, support: Support, around: tuple[float, float] | None) -> "_Prior":
        """Where most values lie, if that is not known: within ±1e5 without bounds, 1e-4 to 1e7 beyond one."""
        if around is not None:
            low, high = around
            margin = 0.01 * (high - low)  # a bound itself has no coordinate
            ends = support.coordinate(np.array([low + margin, high - margin]))
            half = float(ends[1] - ends[0]) / 2
            return cls(float(ends[0]) + half, half / 2, 1.0, float(np.log(half / 2)), 1.0, support.farthest)
        if support.minimum is None and support.maximum is None:
            return cls(0.0, 1.0, 5.0, 1.0, 4.0)
        if support.maximum is None:
            return cls(3.0, 1.0, 1.5, -0.5, 1.2)
        if support.minimum is None:
            return cls(-3.0, 1.0, 1.5, -0.5, 1.2)
        return cls(0.0, 1.0, 1.0, -0.3, 1.2, support.farthest)

    def locations(self, places: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            return (self.centre + self.unit * np.sinh(places.clip(-700.0, 700.0))).clip(-LARGEST, LARGEST)

    def places(self, locations: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            return np.arcsinh(((locations - self.centre) / self.unit).clip(-LARGEST, LARGEST))

    def log_density(self, tiles: FloatArray) -> FloatArray:
        place, log_scale = tiles[:, :2].T
        standard = np.array([place / self.spread, (log_scale - self.log_scale) / self.log_scale_spread])
        return -1.5 * np.log1p(standard**2 / 2).sum(axis=0)


@dataclass(frozen=True)
class Place:
    """Weighted tiles of places and log scales."""

    prior: _Prior
    tiles: FloatArray
    """Centre of the place and of the log scale, and half widths of both; shape (tiles, 4)."""
    weights: FloatArray
    """Shape (tiles,)."""
    shares: FloatArray
    """The shares of the support's points and of all else, shape (points + 1,)."""
    precision: FloatArray
    """The precision of the logarithms of the points' shares relative to that of all else, given these tiles."""
    support: Support
    observations: Sequence[Observations] = field(repr=False)

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
        return np.array([_quantiles(values, self.weights, [0.5])[0] for values in (locations, self.tiles[:, 1])])

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
        together = self.support.atoms and self.observations
        drawn = self._together(rng, size) if together else self._given(rng, size)[0]
        below = _t_cdf(base.quantile(np.arange(1, bins) / bins), self.prior.locations(drawn[:, 0]), np.exp(drawn[:, 1]))
        masses = np.diff(below, prepend=0.0, append=1.0, axis=1)
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
        density = np.log(self.weights[which] / np.maximum(tiles[:, 2:], _LEAST).prod(axis=1))
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
        for part in self.observations:
            found += _log_likelihood(part, shares, locations, scales)
        return found


def find_place(counts: Counts, support: Support, around: tuple[float, float] | None = None) -> Place:
    """The posterior given `counts`, which may be empty. `around` has most values, as far as one knows."""
    observations, prior = Observations.of(counts, support), _Prior.of(support, around)
    expected = with_logits(support.log_odds)
    known = sum(known_by(counts).values())
    shares, precision = expected, known * by_log_ratio(expected)[:-1]
    if known > 0 and len(expected) > 1 and (support.atoms or known >= _TELL_OF_BOUNDS):
        starts = [expected]
        if len(support.points) > len(support.atoms):  # hardly anybody is expected at a bound, and many may be
            anywhere = _point_answers(prior, observations, *_tiles(prior, (), expected, 0))
            starts.append(anywhere.shares(expected, expected))
        found = [_shares_and_place(prior, observations, start, support) for start in starts]
        _, shares, precision = max(found, key=lambda each: each[0])
    tiles, weights = _tiles(prior, observations, shares, _MAX_ROUNDS)
    inverse = np.linalg.inv(support.log_odds_root)
    return Place(prior, tiles, weights, shares, precision + inverse.T @ inverse, support, observations)


def _shares_and_place(
    prior: _Prior, observations: Sequence[Observations], shares: FloatArray, support: Support
) -> tuple[float, FloatArray, FloatArray]:
    """The points' shares that fit best beside the place, found by turns from `shares` on, and their information.

    First comes their log posterior density: where many people are at a point, or all are close to it, there are two
    such fits.
    """
    for _ in range(2):
        tiles, weights = _tiles(prior, observations, shares, _ROUGH_ROUNDS)
        answers = _point_answers(prior, observations, tiles, weights)
        shares = answers.shares(shares, with_logits(support.log_odds))
    heights = _log_posterior(prior, observations, shares, tiles)
    apart = _log_prior_of_shares(support, np.log(shares[:-1] / shares[-1])[np.newaxis])
    return float(np.logaddexp.reduce(heights) + apart[0]), shares, answers.information(shares)


def _log_prior_of_shares(support: Support, logits: FloatArray) -> FloatArray:
    """The log prior density of the points' logits (n, points), shape (n,), up to a constant."""
    apart = np.linalg.solve(support.log_odds_root, (logits - support.log_odds).T)
    return np.asarray(-0.5 * np.square(apart).sum(axis=0))


def known_by(counts: Counts) -> dict[Query, float]:
    """How many answers without noise teach as much as those to each query, roughly."""
    return {query: int(row.sum()) * math.tanh(float(query.epsilon) / 2) ** 2 for query, row in counts.items()}


def _tiles(
    prior: _Prior, observations: Sequence[Observations], shares: FloatArray, rounds: int
) -> tuple[FloatArray, FloatArray]:
    """Tiles and their shares of the posterior, after so many rounds of halving."""
    tiles = _first_tiles(prior, observations)
    heights = _log_posterior(prior, observations, shares, tiles)
    for _ in range(rounds):
        kept = heights > heights.max() + np.log(_LIGHT)
        tiles, heights = tiles[kept], heights[kept]
        weights = np.exp(heights - heights.max())
        weights /= weights.sum()
        width = _widths(prior, tiles)
        heavy = (weights > _HEAVY) & (width.max(axis=0) > _FINE)
        if not heavy.any():
            break
        halves = _halved(tiles[heavy], width[0, heavy] > width[1, heavy])
        tiles = np.concatenate([tiles[~heavy], halves])
        heights = np.concatenate([heights[~heavy], _log_posterior(prior, observations, shares, halves)])
    weights = np.exp(heights - heights.max())
    return tiles, weights / weights.sum()


def _first_tiles(prior: _Prior, observations: Sequence[Observations]) -> FloatArray:
    steps = np.concatenate([np.linspace(0.0, _EXPECTED, 16)[1:], _OUTER])
    steps = np.concatenate([-steps[::-1], [0.0], steps])
    cuts = np.concatenate([np.empty(0), *(part.edges.ravel() for part in observations)])
    asked = np.unique(prior.places(cuts[np.isfinite(cuts)]))
    asked = asked[:: -(-len(asked) // _MAX_EDGES) or 1]
    places = np.unique(np.concatenate([asked, (prior.spread * steps).clip(-700, 700)]))
    log_scales = (prior.log_scale + prior.log_scale_spread * steps[::3]).clip(-690, 690)
    log_scales = np.unique(np.concatenate([log_scales, _tiny_scales(prior, asked), _huge_scales(prior, asked)]))
    nearest, farthest = prior.places(np.array([-prior.farthest, prior.farthest]))
    places = np.unique(places.clip(nearest, farthest))
    log_scales = np.unique(log_scales.clip(max=math.log(prior.farthest / 3)))
    centre = np.array([(places[1:] + places[:-1]) / 2, np.diff(places) / 2])
    other = np.array([(log_scales[1:] + log_scales[:-1]) / 2, np.diff(log_scales) / 2])
    grid = [np.broadcast_to(axis, (len(other[0]), len(centre[0]))) for axis in centre]
    across = [np.broadcast_to(axis[:, np.newaxis], (len(other[0]), len(centre[0]))) for axis in other]
    return np.stack([grid[0].ravel(), across[0].ravel(), grid[1].ravel(), across[1].ravel()], axis=1)


def _tiny_scales(prior: _Prior, asked: FloatArray) -> FloatArray:
    """Log scales far below those that are expected, down to where many places were asked about; most often none.

    Every first tile there would be far narrower than the gaps between cuts, and all that are wider overlooked.
    """
    expected = prior.log_scale - _EXPECTED * prior.log_scale_spread
    distances = prior.unit * np.abs(asked)  # of places so close to the centre, as locations
    near = math.log(max(float(np.quantile(distances, _NEAR)), _LEAST)) if len(asked) else math.inf
    if near > expected - _ROW:
        return np.empty(0)
    return np.linspace(near - _ROW, expected, min(math.ceil((expected - near) / _ROW), _MAX_ROWS), endpoint=False)


def _huge_scales(prior: _Prior, asked: FloatArray) -> FloatArray:
    """Log scales far above those that are expected, up to the farthest place asked about; most often none.

    The middle of the highest first tile is so far above that all would be left out with it.
    """
    expected = prior.log_scale + _HARDLY_EXPECTED * prior.log_scale_spread
    farthest = math.log(prior.unit) + float(np.abs(asked).max(initial=0.0))
    rows = min(math.floor((farthest - expected) / _ROW), _MAX_ROWS)
    return expected + _ROW * np.arange(1.0, rows + 1.0)


def _widths(prior: _Prior, tiles: FloatArray) -> FloatArray:
    """The widths of tiles in units of the scale, and in log scale, shape (2, tiles)."""
    place, log_scale, half, other_half = tiles.T
    with np.errstate(over="ignore"):
        across = (prior.locations(place + half) - prior.locations(place - half)) / np.exp(log_scale)
    return np.array([across, 2 * other_half])


def _halved(tiles: FloatArray, across: npt.NDArray[np.bool_]) -> FloatArray:
    """Both halves of each tile, in its place or else in its log scale."""
    shift = np.zeros(tiles.shape)
    shift[across, 0], shift[~across, 1] = tiles[across, 2] / 2, tiles[~across, 3] / 2
    smaller = tiles.copy()
    smaller[across, 2] /= 2
    smaller[~across, 3] /= 2
    return np.concatenate([smaller + shift, smaller - shift])


def _log_posterior(
    prior: _Prior, observations: Sequence[Observations], shares: FloatArray, tiles: FloatArray
) -> FloatArray:
    found = prior.log_density(tiles) + np.log(np.maximum(tiles[:, 2:], _LEAST)).sum(axis=1)
    locations, scales = prior.locations(tiles[:, 0]), np.exp(tiles[:, 1])
    for part in observations:
        found += _log_likelihood(part, shares[np.newaxis], locations, scales)
    return found


def _log_likelihood(part: Observations, shares: FloatArray, locations: FloatArray, scales: FloatArray) -> FloatArray:
    """The log-likelihood of tiles (n,), of which all have the same `shares` (1, points + 1) or each its own, (n,)."""
    found = np.empty(len(locations))
    block = max(1, _BLOCK // max(part.edges.size, part.answers.size))
    for first in range(0, len(locations), block):
        some = slice(first, first + block)
        own = shares if len(shares) == 1 else shares[some]
        at_points = np.moveaxis(part.points_below @ own[:, :-1].T, -1, 0)
        cdf = _t_cdf(part.edges.ravel(), locations[some], scales[some]).reshape(-1, *part.edges.shape)
        p = part.channel.probabilities(at_points + own[:, -1, np.newaxis, np.newaxis] * cdf)
        found[some] = np.tensordot(np.log(p), part.answers, axes=2)
    return found


def _point_answers(
    prior: _Prior, observations: Sequence[Observations], tiles: FloatArray, weights: FloatArray
) -> PointAnswers:
    """What the observations tell of shares if all else is the mean of some tiles."""
    locations, scales = prior.locations(tiles[:, 0]), np.exp(tiles[:, 1])
    return PointAnswers.of(observations, lambda edges: weights @ _t_cdf(edges, locations, scales))


def _t_cdf(y: FloatArray, locations: FloatArray, scales: FloatArray) -> FloatArray:
    """The distribution function of Student's t with 2 degrees of freedom at `y` (k,), shape (n, k)."""
    with np.errstate(over="ignore"):
        z = ((y - locations[:, np.newaxis]) / scales[:, np.newaxis]).clip(-_FAR, _FAR)
    return 0.5 + 0.5 * z / np.sqrt(2 + z * z)


def _t_quantiles(z: FloatArray) -> FloatArray:
    """The quantiles of the Student t distribution at normal quantiles."""
    outer = ndtr(-np.abs(z))
    return np.sign(z) * (1 - 2 * outer) / np.sqrt(2 * outer * (1 - outer))


def _interval_width(values: FloatArray, weights: FloatArray) -> float:
    low, high = _quantiles(values, weights, [0.05, 0.95])
    return float(high - low)


def _quantiles(values: FloatArray, weights: FloatArray, levels: list[float]) -> FloatArray:
    order = np.argsort(values)
    return np.interp(levels, np.cumsum(weights[order]) - weights[order] / 2, values[order])
