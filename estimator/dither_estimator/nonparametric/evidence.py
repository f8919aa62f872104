"""The evidence of the answers for a distribution without a family: Laplace's method, summed over the nodes.

The posterior's coefficients of the base's location and scale are normal around the fit to the same answers. For the
evidence, location and scale know as much as a single answer does (Kass & Wasserman 1995), so that it can be compared
with that of families whose parameters know as much.
"""

import numpy as np

from dither_estimator.families import FloatArray
from dither_estimator.likelihood.counts import Counts
from dither_estimator.nonparametric.approximation import climb
from dither_estimator.nonparametric.base import FittedBase
from dither_estimator.nonparametric.deviations import BINS, LOG_PRIOR, Deviations
from dither_estimator.nonparametric.likelihood import MassLikelihood
from dither_estimator.nonparametric.support import Support

__all__ = ["log_evidence"]


def log_evidence(counts: Counts, base: FittedBase, support: Support) -> float:
    """The log evidence in nats, around a base that was fitted to these counts."""
    likelihood = MassLikelihood.of(counts, base, BINS, support)
    deviations = Deviations(base, support)
    place = slice(deviations.atoms, deviations.atoms + 2)
    x, precisions = _modes(likelihood, deviations)
    heights = likelihood(deviations.masses(x * deviations.scales)) - 0.5 * np.square(x).sum(axis=1)

    # The prior of location and scale around the fit is taken out, which is quadratic, and another put in. It counts
    # beside the answers, so that these may tell next to nothing of the scale without any gain in evidence.
    heights += 0.5 * np.square(x[:, place]).sum(axis=1)
    slopes = np.zeros(x.shape)
    slopes[:, place] = x[:, place]
    known = _known(likelihood, deviations, place)
    precisions[:, place, place] += known - np.eye(2)
    steps = np.linalg.solve(precisions, slopes[..., np.newaxis])[..., 0]
    volumes = 0.5 * float(np.linalg.slogdet(known)[1]) - 0.5 * np.linalg.slogdet(precisions)[1]
    of_nodes = heights + 0.5 * (slopes * steps).sum(axis=1) + volumes + LOG_PRIOR
    return base.log_prior + float(np.logaddexp.reduce(of_nodes))


def _modes(likelihood: MassLikelihood, deviations: Deviations) -> tuple[FloatArray, FloatArray]:
    """The posterior mode of whitened coefficients and the precision there, at each node."""
    modes, precisions = np.zeros(deviations.scales.shape), []
    for node, scales in enumerate(deviations.scales):
        modes[node] = climb(deviations, likelihood, scales, modes[node - 1] if node else deviations.fitted)
        masses = deviations.masses(scales * modes[node])
        moved = likelihood.standardised(masses) @ (deviations.jacobian(scales * modes[node]) * scales)
        precisions.append(moved.T @ moved + np.eye(deviations.size))
    return modes, np.array(precisions)


def _known(likelihood: MassLikelihood, deviations: Deviations, place: slice) -> FloatArray:
    """What one answer says about the whitened coefficients of location and scale, on average, shape (2, 2)."""
    at_base = deviations.masses(deviations.fitted)
    jacobian = deviations.jacobian(deviations.fitted)[:, place] * deviations.scales[0, place]
    return np.asarray(jacobian.T @ likelihood.expand(at_base).curvature @ jacobian / likelihood.counts.sum())
