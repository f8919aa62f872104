"""The base that fits counts best: the mode of its parameters and the atoms' shares."""

from collections.abc import Sequence

import numpy as np

from dither_estimator.families import FloatArray
from dither_estimator.likelihood.counts import Counts
from dither_estimator.nonparametric.base import BASE_PARAMETERS, SHAPE_SD, ShapedBase, scale_of
from dither_estimator.nonparametric.deviations import ATOM_SD, softmax
from dither_estimator.nonparametric.observations import Observations
from dither_estimator.nonparametric.support import Support

__all__ = ["fit_base"]

_INITIAL_TAIL = -0.5
"""Nearly those of a normal distribution."""
_MAX_STEPS = 60
_MAX_STEP = 1.0
"""No parameter moves further in one step; the location in units of the scale."""
_MAX_DAMPING = 1e6
_ROUNDING = 1e-9
"""The least scale to begin with, as a share of the location."""
_TOLERANCE = 1e-3
"""A step that gains less in the log posterior is the last."""


def fit_base(counts: Counts, support: Support, near: FloatArray | None = None) -> ShapedBase:
    """The base of highest posterior density given `counts`, under a flat prior of location and log scale.

    `near` are a location and a log scale (2,) where it is looked for; without them, where the questions were.
    By Fisher's scoring, damped as by Levenberg and Marquardt. Raises `ValueError` if there are no counts.
    """
    posterior = _Posterior(Observations.of(counts, support), support)
    starts = posterior.starts() if near is None else [posterior.start(*near)]
    point = min(starts, key=posterior.height)
    height, damping = posterior.height(point), 1.0
    gradient, information = posterior.derivatives(point)
    for _ in range(_MAX_STEPS):
        step = -np.linalg.solve(information + damping * np.eye(len(point)), gradient)
        if -0.5 * float(gradient @ step) < _TOLERANCE / (1 + damping):
            break
        shorter = np.float64(max(1.0, np.abs(step).max() / _MAX_STEP))
        proposed = posterior.moved(point, step / shorter)
        gain = height - posterior.height(proposed)
        if gain > 0:
            point, height, damping = proposed, height - gain, damping / 10
            gradient, information = posterior.derivatives(point)
        elif damping > _MAX_DAMPING:
            break
        else:
            damping *= 10
        if 0 < gain < _TOLERANCE:
            break
    return ShapedBase(point[:BASE_PARAMETERS])


class _Posterior:
    """The negative log posterior density of the base's parameters and the atoms' standardised logits."""

    def __init__(self, observations: Sequence[Observations], support: Support) -> None:
        if not observations:
            raise ValueError("a base is fitted to at least one answer")
        self._observations = observations
        self._log_odds = support.log_odds
        self._atoms = len(support.points)

    def height(self, point: FloatArray) -> float:
        base, shares = self._unpacked(point)
        penalty = 0.5 * float(((point[2:BASE_PARAMETERS] / SHAPE_SD) ** 2).sum() + (point[BASE_PARAMETERS:] ** 2).sum())
        return penalty - sum(part.log_likelihood(self._cdf(base, shares, part)) for part in self._observations)

    def derivatives(self, point: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The gradient, and the expected second derivative; those by the location are in units of the scale."""
        base, shares = self._unpacked(point)
        precision = np.concatenate([[0.0, 0.0], SHAPE_SD**-2, np.ones(self._atoms)])
        gradient, information = precision * np.append([0.0, 0.0], point[2:]), np.diag(precision)
        for part in self._observations:
            below = base.cdf(part.edges)
            by_share = np.concatenate([part.points_below, below[..., np.newaxis]], axis=2)
            by_logit = ATOM_SD * shares[:-1] * (by_share[..., :-1] - (by_share @ shares)[..., np.newaxis])
            slopes = np.concatenate([shares[-1] * np.moveaxis(base.slopes(part.edges), 0, -1), by_logit], axis=2)
            more, known = part.derivatives(by_share @ shares, slopes)
            gradient, information = gradient - more, information + known
        return gradient, information

    def moved(self, point: FloatArray, step: FloatArray) -> FloatArray:
        """The point after a step, whose first part is in units of the scale."""
        return point + np.concatenate([[step[0] * scale_of(point[1])], step[1:]])

    def start(self, place: float, log_scale: float) -> FloatArray:
        """Nearly normal."""
        return np.concatenate([[place, log_scale, 0.0, 0.0, _INITIAL_TAIL], np.zeros(self._atoms)])

    def starts(self) -> list[FloatArray]:
        """Normal bases where the questions suggest: they were asked where people were expected."""
        edges = np.concatenate([part.edges.ravel() for part in self._observations])
        weights = np.concatenate(
            [np.broadcast_to(part.answers.sum(axis=0), part.edges.shape).ravel() for part in self._observations]
        )
        edges, weights = edges[np.isfinite(edges)], weights[np.isfinite(edges)]
        if not len(edges):
            return [self.start(0.0, 0.0)]
        order = np.argsort(edges)
        levels = np.cumsum(weights[order]) / weights.sum()
        starts = []
        for half in (0.05, 0.2, 0.4):  # the first questions were asked far away
            places = np.interp([0.5 - half, 0.5, 0.5 + half], levels, edges[order])
            least = _ROUNDING * float(np.abs(places).max()) or _ROUNDING
            log_scales = np.log(max(float(places[2] - places[0]), least) * np.array([0.1, 0.4, 1.6]))
            starts += [self.start(place, scale) for place in places.tolist() for scale in log_scales.tolist()]
        return starts

    def _unpacked(self, point: FloatArray) -> tuple[ShapedBase, FloatArray]:
        logits = self._log_odds + ATOM_SD * point[BASE_PARAMETERS:]
        return ShapedBase(point[:BASE_PARAMETERS]), softmax(np.append(logits, 0.0))

    @staticmethod
    def _cdf(base: ShapedBase, shares: FloatArray, part: Observations) -> FloatArray:
        return shares[-1] * base.cdf(part.edges) + part.points_below @ shares[:-1]
