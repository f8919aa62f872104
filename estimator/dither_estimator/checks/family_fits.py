"""How well each family describes answers that were asked without one.

A family is given its best member. What its parameters cost follows from no choice of a prior: from one that knows as
much as a single answer (Kass & Wasserman 1995, *A reference Bayesian test for nested hypotheses*), with which the log
evidence is the largest log-likelihood less `½ log(1 + n)` for each parameter and n answers, up to a bounded error.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from dither_client import Transform
from dither_client.posterior.wire import NO_FAMILY
from dither_estimator.checks.competing_families import Comparison, compare
from dither_estimator.families import Family, FloatArray, families
from dither_estimator.likelihood.counts import Counts, total_answers
from dither_estimator.mechanisms.channels import Channel, group_queries
from dither_estimator.nonparametric.base import ShapedBase
from dither_estimator.nonparametric.distribution import Distribution
from dither_estimator.nonparametric.evidence import log_evidence
from dither_estimator.nonparametric.support import Support
from dither_estimator.particles.evidence import Evidence
from dither_estimator.priors.prior import parse_prior

__all__ = ["compare_with_families", "families_on", "family_log_evidence"]

_ANYWHERE: Sequence[tuple[str, Transform]] = tuple(
    (name, "identity") for name in ("normal", "laplace", "logistic", "student_t", "gumbel")
)
_POSITIVE: Sequence[tuple[str, Transform]] = (
    ("normal", "log"),
    *((name, "identity") for name in ("exponential", "gamma", "weibull")),
)
_BY_SUPPORT: Mapping[tuple[float | None, float | None], Sequence[tuple[str, Transform]]] = {
    (None, None): _ANYWHERE,
    (0.0, None): _POSITIVE,
    (0.0, 1.0): (("beta", "identity"),),
}
"""The families of continuous values with this minimum and maximum, each with the scale on which it holds."""
_STARTS = 200
_MIN_POSITIVE = 1e-300
"""Smaller numbers are raised to this one before their logarithm is taken."""


def compare_with_families(counts: Counts, distribution: Distribution) -> Comparison | None:
    """The evidence of no family, and of each whose values lie where the population's do, given the same answers.

    `distribution` is the posterior given `counts`. None where there are no such families, and while the answers only
    tell where the population lies.
    """
    names, base, support = families_on(distribution.support), distribution.base, distribution.support
    if not names or not isinstance(base, ShapedBase):
        return None
    low, high = distribution.mean.quantile(np.array([0.1, 0.9])).values[0].tolist()
    found = [family_log_evidence(*name, counts, low, high) for name in names]
    none = log_evidence(counts, base, support)
    return compare([(NO_FAMILY, "identity"), *names], [Evidence(each, 0.0) for each in (none, *found)])


def families_on(support: Support) -> Sequence[tuple[str, Transform]]:
    """The families whose values lie where those of the support do; none where no family's do."""
    return _BY_SUPPORT.get((support.minimum, support.maximum), ())


def family_log_evidence(name: str, transform: Transform, counts: Counts, low: float, high: float) -> float:
    """The log evidence of a family, in nats, for answers to questions in the values' own units.

    Most values lie between `low` and `high`, where its members are looked for. Raises `ValueError` without answers.
    """
    from scipy.optimize import minimize

    family, answers = families[name], total_answers(counts)
    if not answers:
        raise ValueError("without answers every family describes them")
    if transform == "log":
        low, high = (math.log(max(end, _MIN_POSITIVE)) for end in (low, high))
    prior = parse_prior(family, family.range_prior(low, high if high > low else math.nextafter(low, math.inf)))
    likelihood = _Likelihood(family, transform, counts)
    starts = prior.sample(np.random.default_rng(0), _STARTS)
    start = starts[np.argmax(likelihood(starts))]
    found = minimize(likelihood.negative_with_gradient, start, jac=True, method="L-BFGS-B")
    return -float(found.fun) - 0.5 * len(family.parameters) * math.log1p(answers)


class _Likelihood:
    """The log-likelihood of a family's unconstrained parameters."""

    def __init__(self, family: Family, transform: Transform, counts: Counts) -> None:
        self._family = family
        asked = {query: row for query, row in counts.items() if row.any()}
        rows = list(asked.values())
        self._parts: list[tuple[Channel, FloatArray, FloatArray]] = [
            (group.channel, _scaled(group.edges, transform), np.array([rows[i] for i in group.indices], dtype=float).T)
            for group in group_queries(asked)
        ]

    def __call__(self, coordinates: FloatArray) -> FloatArray:
        """At coordinates (n, d), shape (n,)."""
        theta, total = self._family.constrain(coordinates), np.zeros(len(coordinates))
        for channel, edges, answers in self._parts:
            cdf = self._family.cdf(theta, edges.ravel()).reshape(len(theta), *edges.shape)
            total += (np.log(channel.probabilities(cdf)) * answers).sum(axis=(1, 2))
        return total

    def negative_with_gradient(self, point: FloatArray) -> tuple[float, FloatArray]:
        coordinates = point[np.newaxis]
        theta = self._family.constrain(coordinates)
        by_coordinate = np.exp([p.log_jacobian(coordinates[:, j])[0] for j, p in enumerate(self._family.parameters)])
        total, gradient = 0.0, np.zeros(len(point))
        for channel, edges, answers in self._parts:
            cdf = self._family.cdf(theta, edges.ravel()).reshape(1, *edges.shape)
            slopes = self._family.cdf_gradient(theta, edges.ravel())[0].reshape(*edges.shape, -1) * by_coordinate
            p = channel.probabilities(cdf)[0]
            total += float((np.log(p) * answers).sum())
            gradient += np.einsum("eqd,ea,aq->d", slopes, channel.steps, answers / p)
        return -total, -gradient


def _scaled(cuts: FloatArray, transform: Transform) -> FloatArray:
    return np.log(np.maximum(cuts, _MIN_POSITIVE)) if transform == "log" else cuts
