"""Normal approximations of the posterior of coefficients, one for each node of (σ, j₀)."""

from dataclasses import dataclass

import numpy as np

from dither_estimator.families import FloatArray
from dither_estimator.nonparametric.base import FittedBase
from dither_estimator.nonparametric.deviations import LOG_PRIOR, Deviations, Nodes
from dither_estimator.nonparametric.likelihood import Expansion, MassLikelihood
from dither_estimator.nonparametric.support import Support

__all__ = ["Approximation", "approximate", "approximate_around", "climb"]

_MAX_STEPS = 40
_MAX_ROUNDS = 3
_NEARLY_AS_PROBABLE = 1.0
"""The expansion stays if no node is more probable than its own by more than this, in nats."""
_KNOWN = 0.25
"""The base's place is known with smaller sds of its whitened coefficients."""
_TOLERANCE = 1e-3
"""A step of Newton's method that gains less in the log posterior is the last."""


@dataclass(frozen=True)
class Approximation:
    """Normal distributions `mean + ξ root⁻¹`, ξ standard normal, of whitened coefficients, and weights of the nodes.

    Whitened coefficients are those in their own units over `Deviations.scales`: a priori standard normal everywhere.
    """

    means: FloatArray
    """Shape (nodes, size)."""
    roots: FloatArray
    """Lower triangular, shape (nodes, size, size); `root rootᵀ` is the precision."""
    inverses: FloatArray
    """The inverses of the roots."""
    log_weights: FloatArray
    """The log posterior probability of each node, by Laplace's method; shape (nodes,)."""
    mode: FloatArray
    """The coefficients around which masses were taken to be linear, in their own units."""
    origin: FloatArray
    """The masses at these coefficients."""
    jacobian: FloatArray
    """The derivatives of the masses there, shape (masses, size)."""
    sensitivity: FloatArray
    """The curvature of the log-likelihood times the jacobian."""

    @property
    def sds(self) -> FloatArray:
        """The sds of the coefficients at the most probable node, shape (size,)."""
        return np.sqrt(np.square(self.inverses[int(np.argmax(self.log_weights))]).sum(axis=0))

    def linear_masses(self, coefficients: FloatArray) -> FloatArray:
        """The masses of coefficients (n, size) in their own units, were they linear."""
        return self.origin + (coefficients - self.mode) @ self.jacobian.T

    def proposal(self, nodes: Nodes, xi: FloatArray) -> FloatArray:
        """The log density of the nodes (n,) and coefficients that these `xi` (n, size) give, up to a constant."""
        heights = self.log_weights + _log_determinants(self.roots)
        return heights[nodes] - 0.5 * np.square(xi).sum(axis=1)


def approximate_around(
    likelihood: MassLikelihood, base: FittedBase, support: Support
) -> tuple[Deviations, Approximation, Expansion]:
    """The prior around a base, the approximations of the posterior, and the expansion that they rest on.

    Log masses are taken to second order in the base's coefficients if its place is known. Otherwise most of the
    deviations could as well be another base, and this would be a wrong one far away.
    """
    deviations = Deviations(base, support)
    normal, expansion = approximate(likelihood, deviations)
    place = slice(deviations.atoms, deviations.atoms + 2)
    if normal.sds[place].max() < _KNOWN:
        deviations = Deviations(base, support, order=2)
        normal, expansion = approximate(likelihood, deviations)
    return deviations, normal, expansion


def approximate(likelihood: MassLikelihood, deviations: Deviations) -> tuple[Approximation, Expansion]:
    """The approximations of the posterior, and the expansion of the log-likelihood that they rest on.

    The expansion is around the mode at the node that is most probable, which is looked for from the prior's middle one
    on: around the mode of a population much rougher or smoother it would be far from the likelihood.
    """
    node, mode = int(np.argmax(LOG_PRIOR)), deviations.fitted
    for _ in range(_MAX_ROUNDS):
        scales = deviations.scales[node]
        mode = scales * climb(deviations, likelihood, scales, mode / scales)
        expansion = likelihood.expand(deviations.masses(mode))
        found = _approximate(deviations, mode, expansion)
        best = int(np.argmax(found.log_weights))
        if found.log_weights[best] - found.log_weights[node] < _NEARLY_AS_PROBABLE:
            break
        node = best
    return found, expansion


def _approximate(deviations: Deviations, mode: FloatArray, expansion: Expansion) -> Approximation:
    """The approximations around a mode, as if masses were linear in the coefficients.

    Modes at each node were hardly better proposals.
    """
    jacobian = deviations.jacobian(mode)
    known = jacobian.T @ expansion.curvature @ jacobian
    scales = deviations.scales
    precisions = scales[:, :, np.newaxis] * known * scales[:, np.newaxis] + np.eye(deviations.size)
    roots = np.linalg.cholesky(precisions)
    inverses = np.linalg.inv(roots)
    pulled = (scales * (known @ mode + expansion.slope @ jacobian))[:, :, np.newaxis]
    means = (np.swapaxes(inverses, 1, 2) @ (inverses @ pulled))[:, :, 0]
    heights = expansion(deviations.masses(scales * means)) - 0.5 * np.square(means).sum(axis=1)
    evidence = heights + LOG_PRIOR - _log_determinants(roots)
    relative = evidence - evidence.max()  # of 10⁹ answers its digits before the point are nine
    log_weights = relative - np.logaddexp.reduce(relative)
    sensitivity = expansion.curvature @ jacobian
    return Approximation(means, roots, inverses, log_weights, mode, expansion.origin, jacobian, sensitivity)


def climb(deviations: Deviations, likelihood: MassLikelihood, scales: FloatArray, x: FloatArray) -> FloatArray:
    """The mode in units of the prior's `scales` (size,), by the Gauss-Newton method with halved steps from `x`."""

    def height(x: FloatArray) -> float:
        return float(likelihood(deviations.masses(scales * x))) - 0.5 * float(x @ x)

    best = height(x)
    for _ in range(_MAX_STEPS):
        masses = deviations.masses(scales * x)
        jacobian = deviations.jacobian(scales * x) * scales
        by_mass, moved = likelihood.gradient(masses), likelihood.standardised(masses) @ jacobian
        gradient = by_mass @ jacobian - x
        step = np.linalg.solve(moved.T @ moved + np.eye(len(x)), gradient)
        if 0.5 * float(gradient @ step) < _TOLERANCE:
            break
        gains = ((x + step * 0.5**halving, height(x + step * 0.5**halving) - best) for halving in range(10))
        following, gain = next(((y, gain) for y, gain in gains if gain > 0), (x, 0.0))
        x, best = following, best + gain
        if gain < _TOLERANCE:
            break
    return x


def _log_determinants(roots: FloatArray) -> FloatArray:
    return np.log(np.diagonal(roots, axis1=1, axis2=2)).sum(axis=1)
