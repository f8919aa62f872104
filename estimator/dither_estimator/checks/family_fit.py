"""One family's best member for answers: its evidence, and the members that the answers leave possible.

A family is given its best member. What its parameters cost follows from no choice of a prior: from one that knows as
much as a single answer (Kass & Wasserman 1995, *A reference Bayesian test for nested hypotheses*), with which the log
evidence is the largest log-likelihood less `½ log(1 + n)` for each parameter and n answers, up to a bounded error.
Degrees of freedom beside a location and a scale have the prior of whoever names the family, as the shape of the base
has one without a family: an answer says next to nothing about them.
"""

import math
from dataclasses import dataclass, field, replace

import numpy as np

from dither_client import Transform
from dither_estimator.families import Family, FloatArray, find_family
from dither_estimator.likelihood.counts import Counts, total_answers
from dither_estimator.mechanisms.channels import Channel, group_queries
from dither_estimator.nonparametric.support import ANYWHERE, Support
from dither_estimator.priors.prior import parse_prior

__all__ = ["MOST", "Description", "FamilyFit", "fit_family"]

_STARTS, _PROMISING = 200, 10
"""How many members of the prior are tried, and of how many of them the likelihood is computed."""
MOST = np.array([0.1, 0.9])
"""The levels between which most values lie."""
_MOST_OUTSIDE = 0.05
"""The share of a family beyond the bounds that may stand for people at the bounds, as a bound that catches slips has.

More would be a normal with 60% below 0 for the 60% who have exactly 0.
"""
_NEARLY_ALL = 1 - 1e-9
_NARROWEST = 1e-9, 1e-98
"""The least distance between the ends of most values, relative to them and in all.

With less in all, priors of a scale would be narrower than a number can tell (`InvalidPrior`).
"""
_FARTHEST = 1e98
"""Larger values count as this, for the same reason."""
_MIN_POSITIVE = 1e-300
"""Smaller numbers are raised to this one before their logarithm is taken."""
_DIFFERENCE = 1e-4
"""The step of the gradient's differences, in standard deviations of the prior."""
_WIDER = 1.3
"""How much wider than the normal approximation proposals are, so that their weights are bounded."""


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
    def ends(self) -> tuple[float, float]:
        """Between which numbers the family has values, in their own units; infinite where there is no end."""
        if self.mirrored:
            return -math.inf, self.below or 0.0
        if self.above is not None and self.below is not None:
            return self.above, self.below
        low, high = (0.0, math.inf) if self.transform == "log" else find_family(self.family).support
        return low + (self.above or 0.0), high

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


@dataclass(frozen=True)
class FamilyFit:
    """What answers say about the members of a family, around the best of them."""

    description: Description
    log_evidence: float
    """In nats."""
    _climb: "_Climb" = field(repr=False)
    _best: FloatArray = field(repr=False)
    """The best member, (d,)."""

    @property
    def family(self) -> Family:
        """The family itself."""
        return find_family(self.description.family)

    def proposals(self, rng: np.random.Generator, size: int) -> tuple[FloatArray, FloatArray]:
        """Members (size, d), and the logarithm (size,) of the prior's density over the proposals', but for a constant.

        The prior is normal, as wide as that among which the best was looked for. Proposals are normal around the
        posterior's mode, and somewhat wider than it.
        """
        climb = replace(self._climb, known=np.ones(len(self._best)))
        mode, _ = climb.top(self._best)
        precisions, axes = np.linalg.eigh(climb.curvature(mode))
        scores = rng.standard_normal((size, len(mode)))
        steps = mode + _WIDER * (scores / np.sqrt(np.maximum(precisions, 1.0))) @ axes.T
        with np.errstate(over="ignore"):
            theta = self.family.constrain(climb.coordinates(steps))
        return theta, 0.5 * (scores**2 - steps**2).sum(axis=1)

    def below(self, theta: FloatArray, x: FloatArray) -> FloatArray:
        """The share of each member of `theta` (n, d) at or below each value of `x` (k,) in its own units, (n, k)."""
        with np.errstate(over="ignore"):  # values may be huge, and a member's scale tiny
            found = self.family.cdf(theta, self.description.scaled(x))
        return 1 - found if self.description.mirrored else found


def fit_family(
    description: Description, counts: Counts, low: float, high: float, support: Support = ANYWHERE
) -> FamilyFit:
    """The fit of a family to answers to questions in the values' own units.

    Most values lie between `low` and `high`, the quantiles at `MOST`, where its members are looked for. What a member
    has beyond the bounds of the support stands for people at the bounds; if that is more than 5% of it, none of all who
    answered may be there.
    Raises `ValueError` without answers.
    """
    family, answers = find_family(description.family), total_answers(counts)
    if not answers:
        raise ValueError("without answers every family describes them")
    low, high = sorted(description.scaled(np.array([low, high])).clip(-_FARTHEST, _FARTHEST).tolist())
    relative, least = _NARROWEST
    prior = parse_prior(family, family.range_prior(low, max(high, low + max(relative * max(-low, high), least))))
    tried = prior.sample(np.random.default_rng(0), _STARTS)
    shapes = [row for row in family.shapes if family.measured_in]
    known = np.isin(np.arange(tried.shape[1]), shapes).astype(float)
    climb = _Climb(_Likelihood(family, description, counts, support), tried.mean(axis=0), tried.std(axis=0), known)
    with np.errstate(all="ignore"):  # a scale may be tiny beside the distance to a cut
        apart = np.abs(family.cdf(family.constrain(tried), np.array([low, high])) - MOST).sum(axis=1)
        promising = tried[np.argsort(apart)[:_PROMISING]]
        start = promising[np.argmax(climb.likelihood(promising))]
    best, loss = climb.top((start - climb.middle) / climb.units)
    evidence = -loss - 0.5 * (len(known) - len(shapes)) * math.log1p(answers)
    if shapes:
        evidence -= 0.5 * math.log1p(_known_alone(climb.curvature(best), shapes[0]))
    outside = _outside(description, climb.coordinates(best)[np.newaxis], support)
    if outside > _MOST_OUTSIDE:
        evidence += answers * math.log1p(-min(outside, _NEARLY_ALL))
    return FamilyFit(description, evidence, climb, best)


def _known_alone(curvature: FloatArray, row: int) -> float:
    """The information about one coordinate while the others are unknown, less the 1 of its prior."""
    others = np.arange(len(curvature)) != row
    of_others = curvature[others, row]
    known = curvature[row, row] - of_others @ np.linalg.pinv(curvature[np.ix_(others, others)]) @ of_others
    return max(float(known) - 1.0, 0.0)


def _outside(description: Description, coordinates: FloatArray, support: Support) -> float:
    """The share of the member at these unconstrained `coordinates` (1, d) that lies beyond the support's bounds."""
    bounds = np.array([support.minimum, support.maximum], dtype=float)
    low, high = np.where(np.isnan(bounds), math.nan, support.ends).tolist()
    ends = description.scaled(np.array([low, high]))
    family = find_family(description.family)
    with np.errstate(all="ignore"):  # of people of whom nearly all have 0 a scale may be beyond all numbers
        below, up_to = family.cdf(family.constrain(coordinates), ends)[0].tolist()
    if description.mirrored:
        below, up_to = 1 - below, 1 - up_to
    return (0.0 if math.isnan(low) else below) + (0.0 if math.isnan(high) else 1 - up_to)


@dataclass(frozen=True)
class _Climb:
    """The likelihood under a normal prior of the coordinates, whose steps from its middle are in its sds."""

    likelihood: "_Likelihood"
    middle: FloatArray
    """Shape (d,)."""
    units: FloatArray
    """The standard deviations, shape (d,)."""
    known: FloatArray
    """Shape (d,): 1 for coordinates that have the prior, and 0 for those whose prior is flat."""

    def coordinates(self, steps: FloatArray) -> FloatArray:
        """The unconstrained coordinates after steps, shape (…, d)."""
        return self.middle + self.units * steps

    def top(self, start: FloatArray) -> tuple[FloatArray, float]:
        """The steps to the largest posterior density near `start`, and its negative logarithm but for a constant."""
        from scipy.optimize import minimize

        with np.errstate(all="ignore"):
            found = minimize(self._negative, start, jac=True, method="L-BFGS-B")
            if not math.isfinite(found.fun):  # one of its steps can lead to where no number has a density
                found = minimize(self._height, start, method="Nelder-Mead")
        return found.x, float(found.fun)

    def curvature(self, steps: FloatArray) -> FloatArray:
        """The second derivative of the negative log density, shape (d, d)."""
        apart = _DIFFERENCE * np.eye(len(steps))
        with np.errstate(all="ignore"):
            found = np.array([self._negative(steps + each)[1] - self._negative(steps - each)[1] for each in apart])
        return np.nan_to_num((found + found.T) / (4 * _DIFFERENCE))

    def _height(self, steps: FloatArray) -> float:
        return float(np.nan_to_num(self._negative(steps)[0], nan=np.inf))

    def _negative(self, steps: FloatArray) -> tuple[float, FloatArray]:
        height, gradient = self.likelihood.negative_with_gradient(self.coordinates(steps))
        return height + 0.5 * float(self.known @ steps**2), self.units * gradient + self.known * steps


class _Likelihood:
    """The log-likelihood of a family's unconstrained parameters."""

    def __init__(self, family: Family, description: Description, counts: Counts, support: Support) -> None:
        self._family, self._mirrored = family, description.mirrored
        asked = {query: row for query, row in counts.items() if row.any()}
        rows = list(asked.values())
        self._parts: list[tuple[Channel, FloatArray, FloatArray]] = [
            (
                group.channel,
                description.scaled(support.smooth(group.edges)),
                np.array([rows[i] for i in group.indices], dtype=float).T,
            )
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
