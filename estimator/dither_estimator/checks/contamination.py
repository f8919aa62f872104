"""How far contamination can move the estimate: the largest influence of a given share of adversarial answers.

An adversary is asked like anyone else and gives the answer that moves a parameter most. Let `p_s` be the distribution
of the answers to a question at θ, `w` the question's share of all answers, `u_s = ∂ log p_s` the score, and `M = Σ w F`
the mean information of the questions that were asked. A small share f moves the estimate of parameter j by at most
`f Σ w max_s e_jᵀ M⁻¹ u_s`: the influence function of a maximum-likelihood estimate (Hampel et al. 1986, *Robust
Statistics*, section 4.2) under the worst contamination. Where ε is small the shift is large, so the shifted estimate
itself is computed: the maximum of the expected log-likelihood under the contaminated distribution.

While the posterior is wide and the prior still matters, the shift follows from the particles: `Survey.influence`.

The bound is conditional on the questions that were asked: adversarial answers also affect which are asked next.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dither_client.posterior.wire import PoisonBound
from dither_estimator.families import Family, FloatArray
from dither_estimator.likelihood.counts import Counts
from dither_estimator.mechanisms.channels import QueryGroup, group_queries
from dither_estimator.weighted.moments import Moments, weighted_mean

__all__ = ["CONTAMINATED_SHARE", "Survey", "poison_bound"]

CONTAMINATED_SHARE = 0.01
"""The share of the answers that is assumed to be adversarial."""

_MAX_ROUNDS = 3
"""How often the adversary chooses its answers: first for the honest estimate, then for the estimate it has shifted. The
choices may alternate; the worst shift counts."""
_MIN_INFORMATION_SHARE = 1e-4
"""If the information at a shifted estimate falls to this share of what it was, nothing bounds the shift."""
_MAX_STEPS = 40
_SHIFT_TOLERANCE = 1e-3
"""Relative precision of a shift."""
_RIDGE = 1e-9
_SUBSAMPLE = 256
"""The approximate number of particles that represent a wide posterior."""


def poison_bound(
    family: Family, counts: Counts, coordinates: FloatArray, weights: FloatArray, share: float = CONTAMINATED_SHARE
) -> PoisonBound:
    """The bound for a posterior of unconstrained `coordinates` (n, d) with normalised `weights` (n,)."""
    largest = np.full(len(family.parameters), np.inf)
    if counts:
        with np.errstate(all="ignore"):
            survey = Survey.of_posterior(family, counts, coordinates, weights)
            largest = np.abs(survey.shifts(share)).max(axis=(0, 1))
            if survey.prior_precision.any():
                wide = survey.influence(coordinates, weights, share)
                largest = np.maximum(largest, wide)
    shift = {name: float(x) if np.isfinite(x) else None for name, x in zip(family.names, largest.tolist(), strict=True)}
    return PoisonBound(share, shift)


@dataclass(frozen=True)
class Survey:
    """An estimate and the questions on which it is based.

    Estimates are written as `z`, with coordinates `centre + factor z`; the current estimate is `z = 0`.
    """

    family: Family
    groups: Sequence[QueryGroup]
    weights: Sequence[FloatArray]
    """The number of answers to each question, one array (q,) per group."""
    origin: FloatArray
    """Subtracted from the questions' edges and from the coordinates, shape (d,)."""
    centre: FloatArray
    """The current estimate in unconstrained coordinates, shape (d,)."""
    factor: FloatArray
    """Maps `z` to coordinates, shape (d, d)."""
    prior_precision: FloatArray
    """The prior's precision matrix of `z`, shape (d, d)."""

    @classmethod
    def of_posterior(cls, family: Family, counts: Counts, coordinates: FloatArray, weights: FloatArray) -> "Survey":
        """The survey of a posterior mean: z has unit covariance, and the prior contributes what the answers do not."""
        moments = Moments.of(coordinates, weights)
        scale, correlation = moments.standardised()
        factor = scale[:, None] * np.linalg.cholesky(correlation).astype(float)
        survey = cls._of(family, counts, moments.mean, factor)
        d = len(scale)
        # The prior's part counts only as far as it exceeds the Monte Carlo error of the covariance.
        trusted = max(0.0, 1 - 3 * float(np.sqrt(2 * weights @ weights)))
        information = survey._look(np.zeros((1, d))).information[0]
        if not np.isfinite(information).all():
            return survey
        values, vectors = np.linalg.eigh(trusted * np.eye(d) - information)
        return replace(survey, prior_precision=(vectors * np.maximum(values, 0.0)) @ vectors.T)

    @classmethod
    def _of(cls, family: Family, counts: Counts, centre: FloatArray, factor: FloatArray) -> "Survey":
        totals = np.array([row.sum() for row in counts.values()], dtype=float)
        origin = np.zeros_like(centre)
        groups = group_queries(counts)
        if family.location_scale:
            # Shifts do not depend on the location, and far from 0 rounding would hide them.
            origin[0] = centre[0]
            groups = [replace(group, edges=group.edges - origin[0]) for group in groups]
        weights = [totals[list(group.indices)] for group in groups]
        return cls(family, groups, weights, origin, centre - origin, factor, np.zeros_like(factor))

    def shifts(self, share: float) -> FloatArray:
        """The lowest and the highest shift of each parameter, shape (2, 2, d); infinite where nothing bounds it.

        First for a share of adversarial answers that is added to an honest sample like this one, then for a sample of
        which that share is adversarial and is removed.
        """
        d = len(self.centre)
        moved = self._moved(np.concatenate([-self.factor, self.factor] * 2), share)
        gaps = (self._members(moved) - self._members(np.zeros((1, d)))).reshape(2, 2, d, d)
        shifts = np.diagonal(gaps, axis1=2, axis2=3)
        return np.where(np.isfinite(shifts), shifts, [[-np.inf], [np.inf]])

    def influence(self, coordinates: FloatArray, weights: FloatArray, share: float) -> FloatArray:
        """The largest shift of each posterior mean to first order in the share, (d,), for `coordinates` (n, d).

        An answer adds `log p_s(θ)` to the log-posterior, so it moves the mean of θ by their covariance. This holds for
        a posterior of any shape as long as the shift is small compared with its width.
        """
        every = slice(None, None, -(-len(coordinates) // _SUBSAMPLE))
        theta = self.family.constrain(coordinates[every] - self.origin)
        weights = weights[every] / weights[every].sum()
        centred = (theta - weighted_mean(theta, weights)) * weights[:, None]
        raised = np.zeros((2, theta.shape[1]))
        for group, answers in zip(self.groups, self.weights, strict=True):
            p = group.probabilities(self.family, theta)
            covariance = np.tensordot(centred, np.log(p), axes=(0, 0))
            gain = covariance - (covariance * np.tensordot(weights, p, axes=1)).sum(axis=1, keepdims=True)
            raised += [gain.max(axis=1) @ answers, (-gain).max(axis=1) @ answers]
        return share * raised.max(axis=0)

    def _members(self, z: FloatArray) -> FloatArray:
        return self.family.constrain(self.centre + z @ self.factor.T)

    def _look(self, z: FloatArray) -> "_Look":
        return _Look.at(self, z)

    def _moved(self, aims: FloatArray, share: float) -> FloatArray:
        """Estimates z (m, d), each moved as far along its aim (m, d) as contamination can; NaN where there is none.

        In the first half adversarial answers are added, in the second half they are removed.
        """
        z = best = np.zeros_like(aims)
        half = len(aims) // 2
        now = honest = self._look(z)
        distributions: list[FloatArray] = []
        for _ in range(_MAX_ROUNDS):
            influence = _solve(now.information + self.prior_precision, aims)
            before, distributions = distributions, []
            for p, scores in zip(honest.probabilities, now.scores, strict=True):
                value = (scores @ influence[:, None, :, None])[..., 0]
                added = _with_highest(p[:half], value[:half], share)
                distributions.append(np.concatenate([added, _without_lowest(p[half:], value[half:], share)]))
            if before and all(map(np.array_equal, before, distributions)):
                break
            z, now = self._estimate(np.nan_to_num(z), distributions)
            lost = self._held(now) < _MIN_INFORMATION_SHARE * self._held(honest)
            z = np.where(lost[:, None], np.nan, z)
            # NaN means that nothing bounds the shift, which is the worst case.
            worse = ~(((z - best) * aims).sum(axis=1) <= 0)
            best = np.where(worse[:, None], z, best)
        return best

    def _held(self, look: "_Look") -> FloatArray:
        """The precision in the least certain direction, shape (m,)."""
        return np.linalg.eigvalsh(np.nan_to_num(look.information + self.prior_precision))[:, 0]

    def _estimate(self, z: FloatArray, distributions: Sequence[FloatArray]) -> tuple[FloatArray, "_Look"]:
        """Maxima of the expected log-posterior under `distributions` (m, s, q), by Fisher scoring from `z` (m, d).

        NaN where it does not converge.
        """
        now = self._look(z)
        height = self._height(z, now, distributions)
        length = np.ones(len(z))
        done = np.zeros(len(z), dtype=bool)
        for _ in range(_MAX_STEPS):
            slope = now.gradient(distributions, self.weights) - z @ self.prior_precision
            step = _solve(now.information + self.prior_precision, slope)
            done |= np.linalg.norm(step, axis=1) <= _SHIFT_TOLERANCE * np.linalg.norm(z, axis=1) + 1e-9
            if done.all():
                break
            proposed = np.where(done[:, None], z, z + length[:, None] * step)
            then = self._look(proposed)
            reached = self._height(proposed, then, distributions)
            better = reached >= height
            length = np.where(better, np.minimum(1.0, 2 * length), length / 4)
            if better.all():
                z, now, height = proposed, then, reached
            else:
                z = np.where(better[:, None], proposed, z)
                now, height = self._look(z), np.where(better, reached, height)
        return np.where(done[:, None], z, np.nan), now

    def _height(self, z: FloatArray, look: "_Look", distributions: Sequence[FloatArray]) -> FloatArray:
        """The expected log-posterior, shape (m,)."""
        total: FloatArray = -0.5 * ((z @ self.prior_precision) * z).sum(axis=1)
        for distribution, p, weights in zip(distributions, look.probabilities, self.weights, strict=True):
            total += (distribution * np.log(p) * weights).sum(axis=(1, 2))
        return total


@dataclass(frozen=True)
class _Look:
    """Answer distributions at given estimates: per group, probabilities (m, s, q) and scores (m, s, q, d) in z."""

    probabilities: list[FloatArray]
    scores: list[FloatArray]
    information: FloatArray
    """The information of all answers, shape (m, d, d)."""

    @classmethod
    def at(cls, survey: Survey, z: FloatArray) -> "_Look":
        family = survey.family
        coordinates = survey.centre + z @ survey.factor.T
        theta = family.constrain(coordinates)
        slopes = [np.exp(p.log_jacobian(coordinates[:, j])) for j, p in enumerate(family.parameters)]
        chain = np.stack(slopes, axis=1)[:, :, None] * survey.factor
        probabilities, scores = [], []
        information = np.zeros((*z.shape, z.shape[1]))
        for group, weights in zip(survey.groups, survey.weights, strict=True):
            p = group.probabilities(family, theta)
            gradient = family.cdf_gradient(theta, group.edges.ravel()) @ chain
            m, k = len(z), len(group.edges)
            u = (group.channel.steps.T @ gradient.reshape(m, k, -1)).reshape(*p.shape, -1) / p[..., None]
            rows = (u * np.sqrt(p * weights)[..., None]).reshape(m, -1, u.shape[-1])
            information += np.swapaxes(rows, 1, 2) @ rows
            probabilities.append(p)
            scores.append(u)
        return cls(probabilities, scores, information)

    def gradient(self, distributions: Sequence[FloatArray], weights: Sequence[FloatArray]) -> FloatArray:
        """The gradient of the expected log-likelihood under `distributions`, shape (m, d)."""
        parts = zip(distributions, self.scores, weights, strict=True)
        return np.sum([((distribution * w)[..., None] * u).sum(axis=(1, 2)) for distribution, u, w in parts], axis=0)


def _with_highest(p: FloatArray, value: FloatArray, share: float) -> FloatArray:
    """Answer distributions (m, s, q) in which `share` of each question's answers is the one of highest value."""
    distribution = (1 - share) * p
    best = np.argmax(value, axis=1, keepdims=True)
    np.put_along_axis(distribution, best, np.take_along_axis(distribution, best, axis=1) + share, axis=1)
    return distribution


def _without_lowest(p: FloatArray, value: FloatArray, share: float) -> FloatArray:
    """Answer distributions after `share` of each question's answers is removed, those of lowest value first."""
    order = np.argsort(value, axis=1)
    held = np.take_along_axis(p, order, axis=1)
    before = np.cumsum(held, axis=1) - held
    distribution = np.empty_like(p)
    np.put_along_axis(distribution, order, held - np.clip(share - before, 0.0, held), axis=1)
    return distribution / (1 - share)


def _solve(matrices: FloatArray, vectors: FloatArray) -> FloatArray:
    """`matrices⁻¹ vectors`, (m, d), for positive semi-definite (m, d, d); a singular matrix gives a huge result."""
    usable = np.isfinite(matrices).all(axis=(1, 2), keepdims=True)
    ridge = _RIDGE * np.eye(matrices.shape[-1])
    solved = np.linalg.solve(np.where(usable, matrices, 0.0) + ridge, vectors[..., None])
    return solved[..., 0].astype(float)
