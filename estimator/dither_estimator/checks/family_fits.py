"""How well each family describes answers that were asked without one.

A family is given its best member. What its parameters cost follows from no choice of a prior: from one that knows as
much as a single answer (Kass & Wasserman 1995, *A reference Bayesian test for nested hypotheses*), with which the log
evidence is the largest log-likelihood less `½ log(1 + n)` for each parameter and n answers, up to a bounded error.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dither_client import Transform
from dither_client.posterior.sentences import CANNOT_TELL, REFUSED_LOG_ODDS
from dither_client.posterior.wire import NO_FAMILY
from dither_estimator.checks.competing_families import Comparison, compare
from dither_estimator.families import Family, FloatArray, Normal, families, find_family
from dither_estimator.likelihood.counts import Counts, total_answers
from dither_estimator.mechanisms.channels import Channel, group_queries
from dither_estimator.nonparametric.base import ShapedBase
from dither_estimator.nonparametric.distribution import Distribution
from dither_estimator.nonparametric.evidence import log_evidence
from dither_estimator.nonparametric.fitting import fit_base
from dither_estimator.nonparametric.support import ANYWHERE, Support
from dither_estimator.particles.evidence import Evidence
from dither_estimator.priors.prior import parse_prior

__all__ = ["Description", "compare_with_families", "families_on", "family_log_evidence", "refusal"]

_MOST = np.array([0.1, 0.9])
"""The levels between which most values lie."""
_STARTS = 200
_MOST_OUTSIDE = 0.05
"""The share of a family beyond the bounds that may stand for people at the bounds, as a bound that catches slips has.

More would be a normal with 60% below 0 for the 60% who have exactly 0.
"""
_NEARLY_ALL = 1 - 1e-9
_MIN_ANSWERS = 500
"""Fewer answers than this are not held against the one family that is named."""
_NARROWEST = 1e-9, 1e-98
"""The least distance between the ends of most values, relative to them and in all.

With less in all, priors of a scale would be narrower than a number can tell (`InvalidPrior`).
"""
_FARTHEST = 1e98
"""Larger values count as this, for the same reason."""
_MIN_POSITIVE = 1e-300
"""Smaller numbers are raised to this one before their logarithm is taken."""


@dataclass(frozen=True)
class Description:
    """A family, and what of the values it describes: themselves, or where they lie beside a bound or between two.

    With `above` alone that is the distance above it, with `below` alone the distance below it, and with both the share
    of the way from the one to the other. On that scale the family holds with `transform`.
    """

    family: str
    transform: Transform = "identity"
    above: float | None = None
    below: float | None = None

    @property
    def of(self) -> str | None:
        """The share that the fit describes, in words; None where it describes the values themselves."""
        if self.above is not None and self.below is not None:
            return (
                None if (self.above, self.below) == (0, 1) else f"the way from {self.above:,.12g} to {self.below:,.12g}"
            )
        if self.below is not None:
            return f"the distance below {self.below:,.12g}"
        return f"the distance above {self.above:,.12g}" if self.above else None

    @property
    def mirrored(self) -> bool:
        """Whether what it describes falls as the value grows."""
        return self.above is None and self.below is not None

    def scaled(self, values: FloatArray) -> FloatArray:
        """Values in their own units on the scale on which the family holds."""
        if self.mirrored:
            values = (self.below or 0.0) - values
        elif self.above is not None:
            values = values - self.above
            if self.below is not None:
                values = values / (self.below - self.above)
        return np.log(np.maximum(values, _MIN_POSITIVE)) if self.transform == "log" else values


def compare_with_families(counts: Counts, distribution: Distribution) -> Comparison:
    """The evidence of no family, and of each whose values lie where the population's do, given the same answers.

    `distribution` is the posterior given `counts`. There are none, and nothing can be told, while the answers only tell
    where the population lies, and where values are so alike that some evidence is no log probability.
    """
    base, support = distribution.base, distribution.support
    if not isinstance(base, ShapedBase):
        return Comparison((), CANNOT_TELL)
    low, high = distribution.mean.quantile(_MOST).values[0].tolist()
    if not low < high:  # most people have one of the atoms
        low, high = support.value(base.quantile(_MOST)).tolist()
    described = families_on(support)
    found = [family_log_evidence(each, counts, low, high, support) for each in described]
    none = log_evidence(counts, base, support)
    if not all(-math.inf < each <= 0 for each in (none, *found)):
        return Comparison((), CANNOT_TELL)  # values so alike that floating point has no likelihood of them
    return compare(
        [(NO_FAMILY, "identity"), *((each.family, each.transform) for each in described)],
        [Evidence(each, 0.0) for each in (none, *found)],
        [None, *(each.of for each in described)],
    )


def refusal(family: Family, transform: Transform, counts: Counts) -> Comparison | None:
    """The comparison of the one family that is named with none, if the answers refuse it: at odds of 100 or more.

    None otherwise: answers to a family's own questions lie so near to each other that they seldom tell. Nor does it
    tell of integers, or of fewer than some hundreds of answers. The answers may have been asked for on either scale.
    """
    if family.discrete or total_answers(counts) < _MIN_ANSWERS:
        return None
    asked = {query.with_edges(query.edges, "identity"): row for query, row in counts.items() if row.any()}
    if len({edge for query in asked for edge in query.edges}) <= len(family.parameters):
        return None  # any shares below so few cuts are those of some member
    low, high = (None if math.isinf(end) else end for end in find_family(family.name).support)
    support = Support(minimum=low, maximum=high)
    try:
        base = fit_base(asked, support)
        none = log_evidence(asked, base, support)
        least, most = support.value(base.quantile(_MOST)).tolist()
        named = family_log_evidence(Description(family.name), asked, least, most)
    except np.linalg.LinAlgError:  # so few different questions that they do not tell location from scale
        return None
    if not none - named >= REFUSED_LOG_ODDS:
        return None
    return compare([(NO_FAMILY, "identity"), (family.name, transform)], [Evidence(none, 0.0), Evidence(named, 0.0)])


def families_on(support: Support) -> Sequence[Description]:
    """The families of continuous values that lie where those of the support do, the likeliest to hold first.

    Beside a bound those of positive values describe the distance from it, and between two the beta describes the share
    of the way; a maximum beside a minimum may also just catch slips. The normal describes the values themselves, and so
    does the lognormal where they are positive: a bound may lie far from all of them.
    """
    low, high = support.minimum, support.maximum
    if low is None and high is None:
        return tuple(map(Description, _measured(-math.inf, math.inf)))
    normal = Description(Normal.name)
    positive: Sequence[tuple[str, Transform]] = [
        (Normal.name, "log"),
        *((name, "identity") for name in _measured(0.0, math.inf)),
    ]
    if low is None:
        return (*(Description(*each, below=high) for each in positive), normal)
    found = [Description(*each, above=low or None) for each in positive]
    if low > 0:
        found.append(Description(Normal.name, "log"))
    if high is not None:
        found = [*(Description(name, above=low, below=high) for name in _measured(0.0, 1.0)), *found]
    return (*found, normal)


def _measured(low: float, high: float) -> list[str]:
    """The families of continuous values between `low` and `high`, in the order of the table of families."""
    return [name for name, family in families.items() if not family.discrete and family.support == (low, high)]


def family_log_evidence(
    description: Description, counts: Counts, low: float, high: float, support: Support = ANYWHERE
) -> float:
    """The log evidence of a family, in nats, for answers to questions in the values' own units.

    Most values lie between `low` and `high`, where its members are looked for. What a member has beyond the bounds of
    the support stands for people at the bounds; if that is more than 5% of it, none of all who answered may be there.
    Raises `ValueError` without answers.
    """
    from scipy.optimize import minimize

    family, answers = find_family(description.family), total_answers(counts)
    if not answers:
        raise ValueError("without answers every family describes them")
    low, high = sorted(description.scaled(np.array([low, high])).clip(-_FARTHEST, _FARTHEST).tolist())
    relative, least = _NARROWEST
    prior = parse_prior(family, family.range_prior(low, max(high, low + max(relative * max(-low, high), least))))
    likelihood = _Likelihood(family, description, counts)
    starts = prior.sample(np.random.default_rng(0), _STARTS)
    with np.errstate(all="ignore"):  # a scale may be tiny beside the distance to a cut
        start, units = starts[np.argmax(likelihood(starts))], starts.std(axis=0)

        def negative(steps: FloatArray) -> tuple[float, FloatArray]:
            height, gradient = likelihood.negative_with_gradient(start + units * steps)
            return height, units * gradient

        found = minimize(negative, np.zeros(len(start)), jac=True, method="L-BFGS-B")
    evidence = -float(found.fun) - 0.5 * len(family.parameters) * math.log1p(answers)
    outside = _outside(description, family.constrain((start + units * found.x)[np.newaxis]), support)
    return evidence if outside <= _MOST_OUTSIDE else evidence + answers * math.log1p(-min(outside, _NEARLY_ALL))


def _outside(description: Description, theta: FloatArray, support: Support) -> float:
    """The share of the member `theta` (1, d) that lies beyond the bounds of the support."""
    low, high = ((bound if bound is not None else math.nan) for bound in (support.minimum, support.maximum))
    ends = description.scaled(np.array([low, high]))
    with np.errstate(all="ignore"):
        below, up_to = find_family(description.family).cdf(theta, ends)[0].tolist()
    if description.mirrored:
        below, up_to = 1 - below, 1 - up_to
    return (0.0 if math.isnan(low) else below) + (0.0 if math.isnan(high) else 1 - up_to)


class _Likelihood:
    """The log-likelihood of a family's unconstrained parameters."""

    def __init__(self, family: Family, description: Description, counts: Counts) -> None:
        self._family, self._mirrored = family, description.mirrored
        asked = {query: row for query, row in counts.items() if row.any()}
        rows = list(asked.values())
        self._parts: list[tuple[Channel, FloatArray, FloatArray]] = [
            (group.channel, description.scaled(group.edges), np.array([rows[i] for i in group.indices], dtype=float).T)
            for group in group_queries(asked)
        ]

    def __call__(self, coordinates: FloatArray) -> FloatArray:
        """The log-likelihood at coordinates (n, d), shape (n,)."""
        theta, total = self._family.constrain(coordinates), np.zeros(len(coordinates))
        for channel, edges, answers in self._parts:
            total += (np.log(channel.probabilities(self._cdf(theta, edges))) * answers).sum(axis=(1, 2))
        return total

    def negative_with_gradient(self, point: FloatArray) -> tuple[float, FloatArray]:
        coordinates = point[np.newaxis]
        theta = self._family.constrain(coordinates)
        by_coordinate = np.exp([p.log_jacobian(coordinates[:, j])[0] for j, p in enumerate(self._family.parameters)])
        total, gradient = 0.0, np.zeros(len(point))
        for channel, edges, answers in self._parts:
            slopes = self._family.cdf_gradient(theta, edges.ravel())[0].reshape(*edges.shape, -1) * by_coordinate
            slopes = -slopes if self._mirrored else slopes
            p = channel.probabilities(self._cdf(theta, edges))[0]
            total += float((np.log(p) * answers).sum())
            gradient += np.einsum("eqd,ea,aq->d", slopes, channel.steps, answers / p)
        return -total, -gradient

    def _cdf(self, theta: FloatArray, edges: FloatArray) -> FloatArray:
        """The share of the values at or below each edge, shape (n, *edges.shape)."""
        found = self._family.cdf(theta, edges.ravel()).reshape(len(theta), *edges.shape)
        return 1 - found if self._mirrored else found
