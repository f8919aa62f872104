"""Tiles of places and log scales, small where much of a posterior lies."""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from dither_estimator.families import FloatArray
from dither_estimator.nonparametric.place_prior import PlacePrior

__all__ = ["first_tiles", "log_areas", "refined"]

_MAX_EDGES = 80
_HEAVY = 1 / 300
"""Tiles with a larger share of the posterior are halved."""
_LIGHT = 1e-7
"""Tiles with a smaller share of the heaviest one's are left out."""
_FINE = 0.25
"""Tiles are not halved below this width, in units of the scale, or in its logarithm."""
_LEAST = 1e-300
_EXPECTED = 2.5
"""First tiles are small as far as this from the middle of the prior, in its spreads."""
_OUTER = np.array([3.0, 5.0, 10.0, 25.0, 60.0, 150.0, 690.0])
_HARDLY_EXPECTED = 5.0
"""From so many spreads on there is one high first tile."""
_NEAR = 0.1
"""The share of places asked about that show numbers to be tiny."""
_ROW, _MAX_ROWS = 3.0, 16
"""The height in log scale of further rows of small tiles, and how many there are at most."""


def first_tiles(prior: PlacePrior, cuts: FloatArray) -> FloatArray:
    """Tiles that cover the prior: centre of the place and of the log scale, and half widths of both, (tiles, 4).

    They lie between the coordinates that were asked about, as far as these are finite, as there the likelihood of a
    narrow population is flat.
    """
    steps = np.concatenate([np.linspace(0.0, _EXPECTED, 16)[1:], _OUTER])
    steps = np.concatenate([-steps[::-1], [0.0], steps])
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


def refined(
    prior: PlacePrior, tiles: FloatArray, log_posterior: Callable[[FloatArray], FloatArray], rounds: int
) -> tuple[FloatArray, FloatArray]:
    """Tiles and their shares of a posterior, after so many rounds in which those with much of it are halved."""
    heights = log_posterior(tiles)
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
        heights = np.concatenate([heights[~heavy], log_posterior(halves)])
    weights = np.exp(heights - heights.max())
    return tiles, weights / weights.sum()


def log_areas(tiles: FloatArray) -> FloatArray:
    """The logarithm of each tile's area, up to a constant; two cuts may be so close that it would be 0."""
    return np.asarray(np.log(np.maximum(tiles[:, 2:], _LEAST)).sum(axis=1))


def _tiny_scales(prior: PlacePrior, asked: FloatArray) -> FloatArray:
    """Log scales far below those that are expected, down to where many places were asked about; most often none.

    Every first tile there would be far narrower than the gaps between cuts, and all that are wider overlooked.
    """
    expected = prior.log_scale - _EXPECTED * prior.log_scale_spread
    distances = prior.unit * np.abs(asked)  # of places so close to the centre, as locations
    near = math.log(max(float(np.quantile(distances, _NEAR)), _LEAST)) if len(asked) else math.inf
    if near > expected - _ROW:
        return np.empty(0)
    return np.linspace(near - _ROW, expected, min(math.ceil((expected - near) / _ROW), _MAX_ROWS), endpoint=False)


def _huge_scales(prior: PlacePrior, asked: FloatArray) -> FloatArray:
    """Log scales far above those that are expected, up to the farthest place asked about; most often none.

    The middle of the highest first tile is so far above that all would be left out with it.
    """
    expected = prior.log_scale + _HARDLY_EXPECTED * prior.log_scale_spread
    farthest = math.log(prior.unit) + float(np.abs(asked).max(initial=0.0))
    rows = min(math.floor((farthest - expected) / _ROW), _MAX_ROWS)
    return expected + _ROW * np.arange(1.0, rows + 1.0)


def _widths(prior: PlacePrior, tiles: FloatArray) -> FloatArray:
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
