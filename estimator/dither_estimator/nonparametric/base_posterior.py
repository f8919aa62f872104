"""The posterior density of a base's parameters and the atoms' shares, given counts."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from dither_estimator.families import FloatArray
from dither_estimator.nonparametric.base import FittedBase
from dither_estimator.nonparametric.deviations import with_logits
from dither_estimator.nonparametric.observations import Observations
from dither_estimator.nonparametric.support import Support
from dither_estimator.nonparametric.two_part_base import base_of

__all__ = ["BasePosterior"]

_ROUNDING = 1e-9
"""The least scale to begin with, as a share of the location."""
_KNOWN = 1e-6
"""How precisely a location and a log scale are known where values are so few that answers need not tell both apart."""


class BasePosterior:
    """The negative log posterior density of points: the parameters of a base, and the atoms' standardised logits.

    The prior of location and log scale is flat. Raises `ValueError` if there are no counts.
    """

    def __init__(self, observations: Sequence[Observations], support: Support) -> None:
        if not observations:
            raise ValueError("a base is fitted to at least one answer")
        self._observations = observations
        self._support = support
        self._log_odds, self._root = support.log_odds, support.log_odds_root
        self._atoms = len(support.points)
        self._least = 0.0 if support.decimals is None else _KNOWN

    def base(self, point: FloatArray) -> FittedBase:
        """The base of one part or two."""
        return base_of(point[: len(point) - self._atoms])

    def shares(self, point: FloatArray) -> FloatArray:
        """The shares of the atoms and of all else, shape (atoms + 1,)."""
        return with_logits(self._log_odds + self._root @ point[len(point) - self._atoms :])

    def height(self, point: FloatArray) -> float:
        """The negative log posterior density, up to a constant."""
        base, shares = self.base(point), self.shares(point)
        penalty = 0.5 * float(np.square(base.whitened).sum() + np.square(point[len(base.sds) :]).sum()) - base.log_prior
        below = (part.points_below @ shares[:-1] + shares[-1] * base.cdf(part.edges) for part in self._observations)
        return penalty - sum(map(Observations.log_likelihood, self._observations, below))

    def derivatives(self, point: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The gradient (d,), and the expected second derivative (d, d), in the `units` of the base."""
        pulled, precision = self.prior(point)
        gradient, information = self.learnt(point)
        return pulled - gradient, precision + information

    def prior(self, point: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What the prior adds to the gradient (d,), and to the second derivative (d, d)."""
        base = self.base(point)
        apart, slopes = base.places()
        gradient = np.concatenate([base.whitened / base.sds + apart @ slopes, point[len(base.sds) :]])
        wide = np.isin(np.arange(len(base.sds)), base.wide)
        precision = np.diag(np.concatenate([np.where(wide, self._least, base.sds**-2.0), np.ones(self._atoms)]))
        precision[: len(base.sds), : len(base.sds)] += slopes.T @ slopes
        return gradient, precision

    def learnt(
        self, point: FloatArray, more: Callable[[FloatArray], FloatArray] | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """The gradient (d,) of the log-likelihood, and the information (d, d).

        `more` has the derivatives of the distribution function at edges (edges, q) by further numbers, (edges, q, k).
        """
        base, shares = self.base(point), self.shares(point)
        found = []
        for part in self._observations:
            below = base.cdf(part.edges)
            by_share = np.concatenate([part.points_below, below[..., np.newaxis]], axis=2)
            by_logit = shares[:-1] * (by_share[..., :-1] - (by_share @ shares)[..., np.newaxis])
            slopes = [shares[-1] * np.moveaxis(base.slopes(part.edges), 0, -1), by_logit @ self._root]
            if more is not None:
                slopes.append(more(part.edges))
            found.append(part.derivatives(by_share @ shares, np.concatenate(slopes, axis=2)))
        gradients, informations = zip(*found, strict=True)
        return np.sum(gradients, axis=0), np.sum(informations, axis=0)

    def log_evidence(self, point: FloatArray) -> float:
        """That of bases with so many parts, by Laplace's method at the lowest point, up to a constant."""
        base = self.base(point)
        sds = np.concatenate([[1.0, 1.0], base.sds[2:], np.ones(self._atoms)])
        information = sds[:, np.newaxis] * self.derivatives(point)[1] * sds
        return float(point[1]) - 0.5 * float(np.linalg.slogdet(information)[1]) - self.height(point)

    def moved(self, point: FloatArray, step: FloatArray) -> FloatArray:
        """The point after a step in the `units` of the base, as far as the support allows."""
        return self._within(point + np.append(self.base(point).units, np.ones(self._atoms)) * step)

    def at(self, parameters: FloatArray) -> FloatArray:
        """The point with the base that has these parameters, and the expected shares."""
        return self._within(np.concatenate([parameters, np.zeros(self._atoms)]))

    def places(self) -> list[FloatArray]:
        """Locations and log scales (2,) where the questions suggest: they were asked where people were expected."""
        edges = np.concatenate([part.edges.ravel() for part in self._observations])
        weights = np.concatenate(
            [np.broadcast_to(part.answers.sum(axis=0), part.edges.shape).ravel() for part in self._observations]
        )
        edges, weights = edges[np.isfinite(edges)], weights[np.isfinite(edges)]
        if not len(edges):
            return [np.zeros(2)]
        order = np.argsort(edges)
        levels = np.cumsum(weights[order]) / weights.sum()
        found = []
        for half in (0.05, 0.2, 0.4):  # the first questions were asked far away
            places = np.interp([0.5 - half, 0.5, 0.5 + half], levels, edges[order])
            least = _ROUNDING * float(np.abs(places).max()) or _ROUNDING
            log_scales = np.log(max(float(places[2] - places[0]), least) * np.array([0.1, 0.4, 1.6]))
            found += [np.array([place, log_scale]) for place in places for log_scale in log_scales]
        return found

    def _within(self, point: FloatArray) -> FloatArray:
        """The point whose locations and scales are the nearest that the support allows."""
        farthest, decimals = self._support.farthest, self._support.decimals
        if math.isinf(farthest) and decimals is None:
            return point
        widest, found = math.log(farthest / 3), point.copy()
        for i in self.base(point).wide[::2]:
            found[i] = point[i].clip(-farthest, farthest)
            found[i + 1] = min(max(point[i + 1], self._support.least_log_scale(found[i])), widest)
        return found
