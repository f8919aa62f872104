"""What all answers say of T and β together: the place of every group is integrated out, with its true likelihood.

That is done on a grid for each group, along the axes of its Gaussian posterior at some T and β. Where integrands are
smooth, a sum over equal steps is next to exact. Steps grow like a hyperbolic cosine away from the middle, so that the
grid holds for much smaller and much larger T as well, with the tails of a Student t. Where T is too narrow for the
steps, a little is added to it: the likelihood hardly changes over so short a distance.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product as pairs

import numpy as np
import numpy.typing as npt

from dither_estimator.families import FloatArray
from dither_estimator.hierarchy.collapsed import LARGEST, Rates, Sites, collapse
from dither_estimator.hierarchy.given_groups import DEGREES, LogPriorRatio, possible
from dither_estimator.hierarchy.scales import log_prior, root
from dither_estimator.hierarchy.sites import LogLikelihood
from dither_estimator.hierarchy.small_matrices import apply, cholesky, lower_inverse, product, transposed_product

__all__ = ["Marginal"]

_GRIDS, _COARSEST = {1: (25, 0.3), 2: (13, 0.55), 3: (13, 0.6)}, (5, 1.2)
"""Nodes along each axis, and their distance in the middle in posterior sds, by the number of dimensions, and beyond."""
_STRETCH = 1.1
"""At a distance of x from the middle steps are `sqrt(1 + (stretch x)²)` times as long."""
_ADDED = 0.9
"""The sd that is added to the narrowest T, in steps."""
_DIFFERENCE = 1e-4
_BLOCK_SIZE = 1 << 17
"""Values of T times groups times nodes that are weighed together, so that all their numbers stay in the cache."""


@dataclass(frozen=True)
class _Laid:
    """Groups' distributions for k values of T and β, on the grids."""

    inverse: FloatArray
    """The inverse of a root of T, with what is added to it, shape (d, d, k, groups)."""
    apart: FloatArray
    """The middles of the grids less the groups' means, shape (d, k, groups)."""
    terms: FloatArray
    """`1 + δ / ν` as a quadratic function of a node, δ being its squared distance; shape (k, groups, terms)."""


@dataclass(frozen=True)
class Marginal:
    """The density of T's free coordinates and β, together (k, f + p d), given all answers."""

    rates: Rates
    log_prior_ratio: LogPriorRatio
    means: FloatArray
    """The groups' means for which the grids are made, shape (d, groups)."""
    centre: FloatArray
    """The middle of each group's grid, shape (d, groups)."""
    factor: FloatArray
    """The axes of each group's grid, shape (d, d, groups)."""
    inverse: FloatArray
    """The inverse of `factor`."""
    nodes: FloatArray
    """On these axes, shape (nodes, d)."""
    shares: FloatArray
    """The likelihood at each node times the node's size, up to a factor, shape (groups, nodes)."""

    @classmethod
    def of(
        cls,
        log_likelihood: LogLikelihood,
        sites: Sites,
        rates: Rates,
        log_prior_ratio: LogPriorRatio,
        at: FloatArray,
        weights: FloatArray,
    ) -> "Marginal":
        """With grids that suit free coordinates of T and β (f + p d,), where groups have these weights (groups,)."""
        d = len(sites.linear)
        free, beta = np.split(at[None], [len(at) - len(rates.mean)], axis=1)
        part, means = collapse(free, weights[None], sites, rates), rates.means(beta, d)
        centre, factor = part.centre(means)[:, 0], part.factor[:, :, 0]
        number, step = _GRIDS.get(d, _COARSEST)
        x = _STRETCH * step * (np.arange(number) - (number - 1) / 2)
        nodes = np.array(list(pairs(np.sinh(x) / _STRETCH, repeat=d)))
        sizes = np.array(list(pairs(np.cosh(x), repeat=d))).prod(axis=1)
        told = log_likelihood(centre[:, None] + np.einsum("ijg,kj->ikg", factor, nodes)).T
        shares = np.exp(told - told.max(axis=1, keepdims=True)) * sizes
        return cls(rates, log_prior_ratio, means[:, 0], centre, factor, part.inverse_factor[:, :, 0], nodes, shares)

    def log_density(self, at: FloatArray) -> FloatArray:
        """The log density up to a constant, shape (k,)."""
        laid = self._laid(at)
        mass = [np.einsum("kgn,gn->kg", densities, self.shares) for _, densities in self._blocks(laid)]
        return self._height(at, laid, np.concatenate(mass))

    def told(self, at: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The log density (k,) and its slope (k, f + p d), which is the mean over each group's place (Fisher)."""
        laid, features = self._laid(at), self._features
        masses, moments = [], []
        for base, densities in self._blocks(laid):
            densities *= self.shares
            masses.append(densities.sum(axis=2))
            densities *= (DEGREES + len(self.centre)) / DEGREES / masses[-1][:, :, None]
            moments.append(np.divide(densities, base, out=densities) @ features)
        found = np.moveaxis(np.concatenate(moments), -1, 0)
        return self._height(at, laid, np.concatenate(masses)), self._slope(at, laid, found)

    def places(self, rng: np.random.Generator, at: FloatArray) -> FloatArray:
        """A node of each group, drawn from its posterior given T and β; shape (d, k, groups)."""
        number, found = _GRIDS.get(len(self.centre), _COARSEST)[0], []
        for _, densities in self._blocks(self._laid(at)):
            densities *= self.shares
            masses = densities.reshape(*densities.shape[:2], number, -1)
            row = _drawn(rng, masses.sum(axis=3))
            column = _drawn(rng, np.take_along_axis(masses, row[:, :, None, None], axis=2)[:, :, 0])
            found.append(self.nodes[row * masses.shape[3] + column])
        return self.centre[:, None] + np.einsum("ijg,kgj->ikg", self.factor, np.concatenate(found))

    def _laid(self, at: FloatArray) -> _Laid:
        free, beta = self._split(at)
        d = len(self.centre)
        lower, means = root(np.clip(free, -LARGEST, LARGEST), d)[:, :, :, None], self.rates.means(beta, d)
        spread = product(lower, np.swapaxes(lower, 0, 1)) + self._added(lower, self.means[:, None] - means)
        inverse, apart = lower_inverse(cholesky(spread)), self.centre[:, None] - means
        offset, axes = apply(inverse, apart), product(inverse, self.factor[:, :, None])
        squares, rows, columns = transposed_product(axes, axes), *np.tril_indices(d)
        terms = [
            *(squares[rows, columns] * np.where(rows == columns, 1, 2)[:, None, None]),
            *(2 * apply(np.swapaxes(axes, 0, 1), offset)),
            DEGREES + (offset**2).sum(axis=0),
        ]
        return _Laid(inverse, apart, np.stack(terms, axis=-1) / DEGREES)

    def _added(self, lower: FloatArray, moved: FloatArray) -> FloatArray:
        """What is added to T where it is narrow for the grid's steps, for means that moved (d, k, groups)."""
        step = (_ADDED * self._step) ** 2 * (1 + (_STRETCH * apply(self.inverse[:, :, None], moved)) ** 2)
        width = product(self.inverse[:, :, None], lower)
        both = product(width, np.swapaxes(width, 0, 1))
        for i, each in enumerate(step):
            both[i, i] += each
        axes = product(lower_inverse(cholesky(both)) * step, np.swapaxes(self.factor, 0, 1)[:, :, None])
        return transposed_product(axes, axes)

    def _blocks(self, laid: _Laid) -> Iterator[tuple[FloatArray, FloatArray]]:
        """`1 + δ / ν` at each node, and the density of a group's distribution there, block by block (k, groups, n)."""
        d, features = len(self.centre), np.ascontiguousarray(self._features.T)
        k = len(laid.terms)
        for terms in np.array_split(laid.terms, min(k, -(-k * self.shares.size // _BLOCK_SIZE))):
            base = terms @ features
            powers = base * base
            for _ in range((int(DEGREES) + d) // 2 - 2):
                powers *= base
            if d % 2:
                powers *= np.sqrt(base)
            yield base, np.divide(1, powers, out=powers)

    def _height(self, at: FloatArray, laid: _Laid, mass: FloatArray) -> FloatArray:
        free, beta = self._split(at)
        d = len(self.centre)
        logs = np.log(mass) + np.log(np.stack([laid.inverse[i, i] for i in range(d)])).sum(axis=0)
        normal = 0.5 * (self.rates.precision * (beta - self.rates.mean) ** 2).sum(axis=1)
        return logs.sum(axis=1) + possible(free, log_prior(free, d)) - normal + self.log_prior_ratio(beta[:, :d])

    def _slope(self, at: FloatArray, laid: _Laid, moments: FloatArray) -> FloatArray:
        """The slope (k, f + p d), given the moments of each group's place, weighed by λ, as `_features` has them."""
        free, beta = self._split(at)
        d, f = len(self.centre), free.shape[1]
        squares, factor = np.empty((d, d, *moments.shape[1:])), self.factor[:, :, None]
        rows, columns = np.tril_indices(d)
        squares[rows, columns] = squares[columns, rows] = moments[: len(rows)]
        total, apart, middle = moments[-1], laid.apart, apply(factor, moments[len(rows) : -1])
        cross = middle[:, None] * apart
        scatter = product(product(factor, squares), np.swapaxes(factor, 0, 1))
        scatter += cross + np.swapaxes(cross, 0, 1) + total * apart[:, None] * apart
        precision = transposed_product(laid.inverse, laid.inverse)
        pulled = 0.5 * (product(product(precision, scatter), precision) - precision).sum(axis=3)
        forces = apply(precision, middle + total * apart)
        slope = np.empty(at.shape)
        slope[:, f:] = np.concatenate([forces.sum(axis=2), *(forces @ row for row in self.rates.z)]).T
        slope[:, f:] -= self.rates.precision * (beta - self.rates.mean)
        moved = _beside(free)
        lower = root(moved, d)
        spreads = product(lower, np.swapaxes(lower, 0, 1)).reshape(d, d, 2, f, -1)
        priors = log_prior(moved, d).reshape(2, f, -1)
        change = (pulled[:, :, np.newaxis] * (spreads[:, :, 0] - spreads[:, :, 1])).sum(axis=(0, 1))
        slope[:, :f] = ((change + (priors[0] - priors[1])) / (2 * _DIFFERENCE)).T
        up, down = self.log_prior_ratio(_beside(beta[:, :d])).reshape(2, d, -1)
        slope[:, f : f + d] += ((up - down) / (2 * _DIFFERENCE)).T
        return slope

    def _split(self, at: FloatArray) -> tuple[FloatArray, FloatArray]:
        slopes = len(self.rates.mean)
        return at[:, :-slopes], at[:, -slopes:]

    @cached_property
    def _features(self) -> FloatArray:
        """What a quadratic function of a node is a sum of, shape (nodes, terms)."""
        rows, columns = np.tril_indices(self.nodes.shape[1])
        return np.column_stack([self.nodes[:, rows] * self.nodes[:, columns], self.nodes, np.ones(len(self.nodes))])

    @property
    def _step(self) -> float:
        return _GRIDS.get(len(self.centre), _COARSEST)[1]


def _beside(at: FloatArray) -> FloatArray:
    """Each point (k, n) moved up along each axis in turn, then down; shape (2 n k, n)."""
    steps = _DIFFERENCE * np.eye(at.shape[1])
    return (at + np.concatenate([steps, -steps])[:, np.newaxis]).reshape(-1, at.shape[1])


def _drawn(rng: np.random.Generator, masses: FloatArray) -> npt.NDArray[np.intp]:
    """A place along the last axis, each with a probability in proportion to its mass."""
    cumulative = np.cumsum(masses, axis=-1)
    below = cumulative[..., :-1] < rng.random(masses.shape[:-1])[..., None] * cumulative[..., -1:]
    return np.asarray(below.sum(axis=-1))
