"""Draws from the posterior of whitened coefficients and nodes.

The normal approximations give a first sample, which is resampled by its importance weights as far as these allow. Then
Markov chains, one for each draw, leave the posterior invariant:

- coefficients given the node: Hamiltonian Monte Carlo in which the approximation's normal part is solved exactly, and
  only the rest is stepped through (Shahbaba et al. 2014);
- the node given the coefficients in their own units: an exact draw, since the likelihood does not depend on it;
- a neighbouring node with whitened coefficients: Metropolis. The two parametrisations mix where the other does not
  (Yu & Meng 2011).
"""

import math
from collections.abc import Iterator

import numpy as np

from dither_estimator.families import FloatArray
from dither_estimator.nonparametric.approximation import Approximation
from dither_estimator.nonparametric.deviations import COSINES, LOG_PRIOR, SCALES, Deviations, Nodes, neighbours
from dither_estimator.nonparametric.likelihood import Expansion
from dither_estimator.weighted.sample import effective_sample_size, systematic_sample

__all__ = ["Chains", "effective_share", "importance_sample", "resampled", "sample"]

_CANDIDATES = 3
"""Draws from the approximation for each draw that is kept."""
_MIN_EFFECTIVE_SHARE = 0.15
"""Importance weights are tempered until this share of the candidates is effective."""
_TEMPERING = 0.85
_MAX_CORRECTIONS = 8
_NEAR = 1.0
"""Candidates are no longer moved when a quarter of them is as near to the ridge, in squared posterior sds."""
_SWEEPS = 3
_LEAPFROG_STEPS = 10
_ANGLE = 0.25
"""The angle by which the normal part turns in one step; of 20,000 answers at ε = 2 most with twice that are refused."""


def sample(
    rng: np.random.Generator, deviations: Deviations, approximation: Approximation, expansion: Expansion, size: int
) -> FloatArray:
    """Masses of `size` draws from the posterior with this log-likelihood, shape (size, masses)."""
    chains = Chains(rng, deviations, approximation, expansion)
    chains.begin(size)
    for _ in range(_SWEEPS):
        chains.move_coefficients()
        chains.draw_nodes()
        chains.move_nodes()
    return chains.masses()


def importance_sample(
    rng: np.random.Generator, deviations: Deviations, approximation: Approximation, expansion: Expansion, size: int
) -> FloatArray:
    """Where `sample` begins: nearly draws from the posterior, in a fraction of the time; shape (size, masses)."""
    chains = Chains(rng, deviations, approximation, expansion)
    chains.begin(size)
    return chains.masses()


def effective_share(log_weights: FloatArray) -> float:
    """The effective sample size of importance weights, over their number."""
    return effective_sample_size(log_weights) / len(log_weights)


def resampled(rng: np.random.Generator, log_weights: FloatArray, size: int) -> Nodes:
    """A systematic sample of `size` places by weights, which are tempered until a share of them is effective.

    Raises `ValueError` unless some weight is above 0, and all are numbers.
    """
    largest = log_weights.max(initial=-np.inf)
    if not np.isfinite(largest):  # NaN if any of them is
        raise ValueError("weights must be numbers, of which some are above 0")
    log_weights = log_weights - largest
    possible = np.isfinite(log_weights).mean()
    least = _MIN_EFFECTIVE_SHARE if possible > _MIN_EFFECTIVE_SHARE else possible / 2
    while effective_share(log_weights) < least:
        log_weights *= _TEMPERING  # of logarithms, since weights that are 0 stay so
    return systematic_sample(np.exp(log_weights), size, rng.random())


class Chains:
    """Whitened coefficients and nodes of many chains, with the log-likelihood and its gradient where they are."""

    def __init__(
        self, rng: np.random.Generator, deviations: Deviations, approximation: Approximation, expansion: Expansion
    ) -> None:
        self._rng = rng
        self._deviations = deviations
        self._approximation = approximation
        self._expansion = expansion

    def begin(self, size: int) -> None:
        """Draws from the approximation, moved onto the ridge and importance-resampled with tempered weights."""
        found, rng, many = self._approximation, self._rng, _CANDIDATES * size
        nodes = np.sort(rng.choice(len(LOG_PRIOR), many, p=np.exp(found.log_weights)))
        xi = rng.standard_normal((many, self._deviations.size))
        for x, masses in self._onto_ridge(nodes, found.means[nodes] + _by_node(nodes, xi, found.inverses)):
            heights = self._expansion(masses) + LOG_PRIOR[nodes] - 0.5 * np.square(x).sum(axis=1)
            log_weights = heights - found.proposal(nodes, xi)
            if effective_share(log_weights) >= _MIN_EFFECTIVE_SHARE:
                break
        kept = resampled(rng, log_weights, size)
        self._nodes, self._x = nodes[kept], x[kept]
        self._height, self._slope = self._evaluated(self._own)

    def _onto_ridge(self, nodes: Nodes, x: FloatArray) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Coefficients nearer and nearer to the ridge on which the posterior lies, if it is bent, and their masses.

        On the ridge, masses are what those of `x` would be if they were linear in the coefficients, and the
        coefficients are those of `x`. Both hold as nearly as they can together, in units of the posterior's sd
        (randomise, then optimise: Bardsley et al. 2014).
        """
        found, scales = self._approximation, self._scales(nodes)
        aimed, wanted = x, found.linear_masses(x * scales)
        roots = np.swapaxes(found.inverses, 1, 2)

        def at(x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
            masses = self._deviations.masses(x * scales)
            excess = (masses - wanted) @ found.sensitivity * scales + x - aimed
            off = _by_node(nodes, excess, roots)
            return masses, off, np.square(off).sum(axis=1)

        masses, off, far = at(x)
        for _ in range(_MAX_CORRECTIONS):
            yield x, masses
            if np.quantile(far, 0.25) < _NEAR:
                return
            moved = x - _by_node(nodes, off, found.inverses)
            new_masses, new_off, new_far = at(moved)
            nearer = (new_far < far)[:, np.newaxis]
            x, masses = np.where(nearer, moved, x), np.where(nearer, new_masses, masses)
            off, far = np.where(nearer, new_off, off), np.minimum(new_far, far)
        yield x, masses

    def move_coefficients(self) -> None:
        """One trajectory of split Hamiltonian Monte Carlo for each chain."""
        cosine, sine = math.cos(_ANGLE), math.sin(_ANGLE)
        self._sort()
        nodes, scales = self._nodes, self._scales(self._nodes)
        means, factors = self._approximation.means[nodes], np.swapaxes(self._approximation.inverses, 1, 2)
        xi = _by_node(nodes, self._x - means, self._approximation.roots)
        momentum = self._rng.standard_normal(xi.shape)
        x, height, slope = self._x, self._height, self._slope

        def energy() -> FloatArray:
            return 0.5 * (np.square(x).sum(axis=1) + np.square(momentum).sum(axis=1)) - height

        def push() -> FloatArray:
            return _ANGLE / 2 * (xi - _by_node(nodes, x - slope * scales, factors))

        before, pushed = energy(), push()
        for _ in range(_LEAPFROG_STEPS):
            momentum = momentum + pushed
            xi, momentum = cosine * xi + sine * momentum, cosine * momentum - sine * xi
            x = means + _by_node(nodes, xi, self._approximation.inverses)
            height, slope = self._evaluated(x * scales)
            pushed = push()
            momentum = momentum + pushed
        self._accept(before - energy(), nodes, x, height, slope)

    def draw_nodes(self) -> None:
        """Each chain's node given the coefficients in their own units."""
        own = self._own
        cosines = own[:, -COSINES:]
        heights = LOG_PRIOR - 0.5 * cosines**2 @ (SCALES**-2).T - np.log(SCALES).sum(axis=1)
        heights -= np.log(-np.log(self._rng.random(heights.shape)))  # the largest is then a draw (Gumbel)
        self._nodes = heights.argmax(axis=1)
        self._x = own / self._scales(self._nodes)

    def move_nodes(self) -> None:
        """A Metropolis move to a neighbouring node, with the whitened coefficients as they are."""
        nodes = neighbours(self._nodes, self._rng.integers(0, 4, len(self._nodes)))
        height, slope = self._evaluated(self._x * self._scales(nodes))
        gain = height + LOG_PRIOR[nodes] - self._height - LOG_PRIOR[self._nodes]
        self._accept(gain, nodes, self._x, height, slope)

    def masses(self) -> FloatArray:
        """Each chain's masses of bins and atoms, shape (chains, masses)."""
        return self._deviations.masses(self._own)

    @property
    def _own(self) -> FloatArray:
        return self._x * self._scales(self._nodes)

    def _scales(self, nodes: Nodes) -> FloatArray:
        return self._deviations.scales[nodes]

    def _evaluated(self, own: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The log-likelihood of coefficients in their own units, and its gradient by them."""
        masses = self._deviations.masses(own)
        height, by_mass = self._expansion.with_gradient(masses)
        return height, self._deviations.gradient(own, masses, by_mass)

    def _accept(self, gain: FloatArray, nodes: Nodes, x: FloatArray, height: FloatArray, slope: FloatArray) -> None:
        """Moves of the chains with probability `exp(gain)`."""
        taken = np.log(self._rng.random(len(gain))) < gain
        self._nodes, self._height = np.where(taken, nodes, self._nodes), np.where(taken, height, self._height)
        moved = taken[:, np.newaxis]
        self._x, self._slope = np.where(moved, x, self._x), np.where(moved, slope, self._slope)

    def _sort(self) -> None:
        """The chains in the order of their nodes."""
        order = np.argsort(self._nodes)
        self._nodes, self._x = self._nodes[order], self._x[order]
        self._height, self._slope = self._height[order], self._slope[order]


def _by_node(nodes: Nodes, rows: FloatArray, matrices: FloatArray) -> FloatArray:
    """Each row times its node's matrix; the `nodes` (n,) must increase."""
    found = np.empty_like(rows)
    present, starts = np.unique(nodes, return_index=True)
    for node, start, end in zip(present, starts, [*starts[1:], len(nodes)], strict=True):
        np.matmul(rows[start:end], matrices[node], out=found[start:end])
    return found
