"""The prior of how a population deviates from its base: a logistic Gaussian process (Lenk 1988) in the base's scale.

The mass of 96 bins that are equally likely under the base is `softmax(Ψ β + Φ c)`. Ψ has the base's scores, so that β
moves the base's own parameters, if need be with products of β for the second order; Φ has cosines. The base was fitted
to answers, but its shape has the prior that it had before: what the answers say of it is not said twice.

The sd of the coefficient of cosine j is `σ r_j` with `r_j² ∝ (1 + (j / j₀)²)^-2.5` and `Σ r_j² = 1`: σ says how much
the population deviates, j₀ how smoothly. Both are unknown and have log-normal priors, here on a grid of nodes.

The logarithms of the atoms' masses relative to that of all bins are normal together.
"""

import numpy as np
import numpy.typing as npt

from dither_estimator.families import FloatArray
from dither_estimator.nonparametric.base import FittedBase
from dither_estimator.nonparametric.support import ANYWHERE, Support

__all__ = [
    "BINS",
    "COSINES",
    "LOG_PRIOR",
    "SCALES",
    "Deviations",
    "Nodes",
    "neighbours",
    "softmax",
    "with_logits",
]

Nodes = npt.NDArray[np.int64]
"""Numbers of nodes, shape (n,)."""

BINS = 96
COSINES = 32
_LEAST = 1e-300
"""The bins may have no mass that a number can hold, beside the atoms'."""

_SIGMA_LEVELS = np.linspace(-2.0, 2.0, 9)
_J0_LEVELS = np.linspace(-1.5, 1.5, 4)
_STANDARD = np.array([(sigma, j0) for sigma in _SIGMA_LEVELS for j0 in _J0_LEVELS])
"""(log σ, log j₀) of each node, standardised by the prior; shape (nodes, 2)."""
_SIGMA, _J0 = np.exp(np.log([0.3, 3.0]) + _STANDARD * [1.4, 0.7]).T


def _log_prior() -> FloatArray:
    heights = -0.5 * (_STANDARD**2).sum(axis=1)
    return heights - np.log(np.exp(heights).sum())


def _scales() -> FloatArray:
    shape = (1 + (np.arange(1, COSINES + 1) / _J0[:, np.newaxis]) ** 2) ** -1.25
    return _SIGMA[:, np.newaxis] * shape / np.sqrt((shape**2).sum(axis=1, keepdims=True))


LOG_PRIOR = _log_prior()
"""The log prior probability of each node."""
SCALES = _scales()
"""The sd of the cosines' coefficients at each node, shape (nodes, `COSINES`)."""
_COSINES = np.sqrt(2) * np.cos(np.pi * np.outer((np.arange(BINS) + 0.5) / BINS, np.arange(1, COSINES + 1)))

_LEAST_MASS = 1e-12
_STEEPEST = 100.0
"""A coefficient of the base that moves a log mass by more in one sd, which is ten at most in a bell, has a prior around
the fit that moves it so far. Where many people have nearly the same number, the base's density has a peak, of which
answers tell far more than its prior."""


class Deviations:
    """The prior around a base, and of atoms, of coefficients in their own units.

    The first are those of the atoms, then come those of the base's parameters, the last `COSINES` are the cosines'.
    A priori all are normal with mean 0, at a node with sd `scales[node]`.
    """

    def __init__(self, base: FittedBase, support: Support = ANYWHERE, order: int = 1) -> None:
        self._of_base = len(base.sds)
        self._pairs = np.triu_indices(self._of_base)
        self._times = np.where(self._pairs[0] == self._pairs[1], 0.5, 1.0)
        """A product of two coefficients counts twice in a second-order expansion, with half its second derivative."""
        scores = _scores(base)
        reach = _STEEPEST / np.abs(scores).max(axis=0).clip(_STEEPEST)
        self._linear = np.concatenate([scores, _COSINES], axis=1)
        self._bends = _bends(base, reach) if order == 2 else None
        products = np.empty((BINS, 0)) if self._bends is None else self._bends[:, *self._pairs]
        self._design = np.concatenate([self._linear, products], axis=1)
        """The effect of the bins' coefficients, and of products of those of the base, on the bins' log masses."""
        self.atoms = atoms = len(support.points)
        self._log_odds, self._root = support.log_odds, support.log_odds_root
        of_base = np.tile(np.append(np.ones(atoms), reach), (len(SCALES), 1))
        self.scales = np.concatenate([of_base, SCALES], axis=1)
        """Shape (nodes, `size`)."""
        self.fitted = np.zeros(self.size)
        """The coefficients with which bins are equally likely: those of the base; shape (`size`,)."""
        self.fitted[atoms : atoms + self._of_base] = np.where(reach < 1.0, 0.0, base.whitened)

    @property
    def size(self) -> int:
        """The number of coefficients."""
        return self.scales.shape[1]

    def masses(self, coefficients: FloatArray) -> FloatArray:
        """The masses of bins and atoms, shape (n, `BINS` + atoms), for coefficients (n, `size`)."""
        apart = (coefficients - self.fitted)[..., self.atoms :]
        if self._bends is not None:
            products = apart[..., self._pairs[0]] * apart[..., self._pairs[1]] * self._times
            apart = np.concatenate([apart, products], axis=-1)
        bins = softmax(apart @ self._design.T)
        if not self.atoms:
            return bins
        logits = self._log_odds + coefficients[..., : self.atoms] @ self._root.T
        shares = with_logits(logits)
        return np.concatenate([bins * shares[..., -1:], shares[..., :-1]], axis=-1)

    def gradient(self, coefficients: FloatArray, masses: FloatArray, by_mass: FloatArray) -> FloatArray:
        """The gradient by the coefficients (n, `size`) of a function with this gradient by their masses."""
        bins = masses[..., :BINS]
        weighted = bins * by_mass[..., :BINS]
        inside = weighted.sum(axis=-1, keepdims=True) / np.maximum(bins.sum(axis=-1, keepdims=True), _LEAST)
        by_feature = (weighted - bins * inside) @ self._design
        linear = len(self._linear.T)
        by_coefficient = by_feature[..., :linear]
        if self._bends is not None:
            of_base = (coefficients - self.fitted)[..., self.atoms : self.atoms + self._of_base]
            by_product, identity = by_feature[..., linear:] * self._times, np.eye(self._of_base)
            for one, other in (self._pairs, self._pairs[::-1]):
                by_coefficient[..., : self._of_base] += (by_product * of_base[..., one]) @ identity[other]
        if not self.atoms:
            return by_coefficient
        over_all = (masses * by_mass).sum(axis=-1, keepdims=True)
        by_logit = masses[..., BINS:] * (by_mass[..., BINS:] - over_all)
        return np.concatenate([by_logit @ self._root, by_coefficient], axis=-1)

    def jacobian(self, coefficients: FloatArray) -> FloatArray:
        """The derivatives of the masses by the coefficients (`size`,), shape (bins + atoms, `size`)."""
        masses = self.masses(coefficients)
        bins, at_atoms = masses[:BINS], masses[BINS:]
        design = self._linear.copy()
        of_base = slice(self.atoms, self.atoms + self._of_base)
        if self._bends is not None:
            design[:, : self._of_base] += self._bends @ (coefficients - self.fitted)[of_base]
        found = np.zeros((len(masses), self.size))
        inside = bins @ design / max(bins.sum(), _LEAST)
        found[:BINS, self.atoms :] = bins[:, np.newaxis] * (design - inside)
        by_logit = -np.outer(masses, at_atoms)
        by_logit[BINS:] += np.diag(at_atoms)
        found[:, : self.atoms] = by_logit @ self._root
        return found


def _scores(base: FittedBase) -> FloatArray:
    """The derivatives of the bins' log masses by the base's coefficients, shape (`BINS`, p)."""
    slopes = base.slopes(base.quantile(np.arange(1, BINS) / BINS))
    return base.sds * BINS * np.diff(slopes, prepend=0.0, append=0.0).T


def _bends(base: FittedBase, reach: FloatArray) -> FloatArray:
    """The second derivatives of masses, shape (`BINS`, p, p): differences over steps as wide as a posterior is.

    `reach` (p,) are the prior sds of the coefficients.
    """
    edges = base.quantile(np.arange(1, BINS) / BINS)

    def log_masses(steps: FloatArray) -> FloatArray:
        below = base.moved(steps).cdf(edges)
        return np.log(np.maximum(np.diff(below, prepend=0.0, append=1.0), _LEAST_MASS))

    size, widths = len(base.steps), base.steps * reach
    steps, found = np.diag(widths), np.empty((BINS, size, size))
    for i, j in zip(*np.triu_indices(size), strict=True):
        both = log_masses(steps[i] + steps[j]) + log_masses(-steps[i] - steps[j])
        one = log_masses(steps[i] - steps[j]) + log_masses(steps[j] - steps[i])
        found[:, i, j] = found[:, j, i] = (both - one) / (4 * widths[i] * widths[j])
    return found


def neighbours(nodes: Nodes, direction: Nodes) -> Nodes:
    """The adjacent node of each of `nodes` in a direction from 0 to 3; the node itself at the border of the grid."""
    sigma, j0 = np.divmod(nodes, len(_J0_LEVELS))
    sigma = np.clip(sigma + (direction == 0) - (direction == 1), 0, len(_SIGMA_LEVELS) - 1)
    j0 = np.clip(j0 + (direction == 2) - (direction == 3), 0, len(_J0_LEVELS) - 1)
    return sigma * len(_J0_LEVELS) + j0


def softmax(logits: FloatArray) -> FloatArray:
    """Shares with these logarithms, up to a constant, along the last axis."""
    raised = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return raised / raised.sum(axis=-1, keepdims=True)


def with_logits(logits: FloatArray) -> FloatArray:
    """The shares whose logarithms relative to the last are these, along the last axis."""
    return softmax(np.concatenate([logits, np.zeros((*logits.shape[:-1], 1))], axis=-1))
