"""Optimal designs: the mixture of queries that needs the fewest respondents.

A design minimises the weighted sum of the parameters' asymptotic variances per respondent, `Σ_j g_j (M⁻¹)_jj` with
`M = Σ_i w_i F_i`, over all queries of one mechanism at one ε. For a location-scale family it is found once, at the
standard member, and carried over: `F(m, c) = F(0, 1) / c²` for queries moved by the same map (Theorem 3 of Yıldırım
2024). In other families the variances that count are those of unconstrained coordinates (logarithms of positive
parameters, logits of probabilities), since there the parameters have no unit in common. What has been found is cached.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dither_client import Query, Transform
from dither_estimator.design.goal import Goal
from dither_estimator.design.limit import privacy_limit
from dither_estimator.design.member import Member
from dither_estimator.design.optimum import DesignError
from dither_estimator.design.registry import MECHANISMS, Mechanism
from dither_estimator.families import Family, FloatArray

__all__ = ["Design", "DesignError", "Mechanism", "optimal_design"]

_FINE = 2.0**-20
"""Coordinates at θ are multiples of this share of the spread: dyadic, and the design to all the digits that matter."""
_ALLOWED = {
    "real": (-1e100, 1e100, "a number of size 1e100 at most"),
    "positive": (1e-100, 1e100, "a number above 0, from 1e-100 to 1e100"),
    "unit": (1e-9, 1 - 1e-9, "between 0 and 1, at least 1e-9 from either"),
}
"""Beyond these, variances would not be numbers."""

_LARGEST_GAP = 0.5
"""A gap of a larger share of the criterion certifies nothing: it is of rounding."""
_BEYOND = "epsilon or theta is so extreme that floating point cannot find the design or its limit"


@dataclass(frozen=True, eq=False)
class Design:
    """The optimal mixture of queries at one member θ of a family. All variances are per respondent."""

    family: Family
    theta: tuple[float, ...]
    mechanism: Mechanism
    epsilon: Fraction
    goal: Goal
    levels: int | None
    """As asked for; None if the design was free to choose."""
    transform: Transform
    queries: tuple[Query, ...]
    weights: tuple[float, ...]
    """The probability of each query; they add up to 1."""
    information: FloatArray
    """`M`, shape (d, d): the expected information of one answer."""
    variances: tuple[float | None, ...]
    """The diagonal of `M⁻¹`; None for a parameter that the goal leaves out and the design does not identify."""
    criterion: float
    """The weighted sum of variances that the design minimises; `criterion_of` says of what."""
    gap: float
    """No mixture of queries of this mechanism has a criterion lower by more than this (the equivalence theorem).

    Where a design is one query, no mechanism at all has (the limit's certificate, on fine cells).
    """
    rho: Fraction | None = None
    """As asked for, of `gaussian` queries; None if they follow from ε."""

    def at(self, theta: npt.ArrayLike) -> "Design":
        """The optimal design for another member: moved in a location-scale family, found afresh in others."""
        return optimal_design(
            self.family,
            theta,
            self.mechanism,
            self.epsilon,
            self.goal,
            self.levels,
            transform=self.transform,
            rho=self.rho,
        )

    @cached_property
    def limit(self) -> float:
        """The best criterion that any ε-LDP mechanism could reach. Takes up to a second or two; cached.

        On fine cells; where this design is better than the best one on those, they are cut where its queries are too,
        and what is left of the difference is the programme's tolerance. Raises `DesignError` where floating point
        cannot find it.
        """
        member = Member(self.family, self.theta)
        try:
            limit = privacy_limit(member, self.epsilon, self.goal).criterion
            if limit > self.criterion:
                cuts = tuple(sorted({edge for query in self.queries for edge in query.edges}))
                limit = min(self.criterion, privacy_limit(member, self.epsilon, self.goal, cuts).criterion)
            return limit
        except np.linalg.LinAlgError:
            raise DesignError(_BEYOND) from None

    @property
    def efficiency(self) -> float:
        """The share of this design's respondents that the best ε-LDP mechanism would need."""
        return self.limit / self.criterion

    @property
    def criterion_of(self) -> dict[str, float]:
        """What the criterion weighs the variances of, with the weights.

        The parameters themselves in location-scale families, in the others their unconstrained coordinates, such as
        `log shape`, while `variances` are always of the parameters themselves.
        """
        names = {p.name: p.name if self.family.location_scale else p.coordinate for p in self.family.parameters}
        return {names[name]: weight for name, weight in self.goal.weights}

    def to_json(self) -> dict[str, Any]:
        """The queries with their weights, and what they are worth, as JSON."""
        return {
            "queries": [{**q.to_json(), "weight": w} for q, w in zip(self.queries, self.weights, strict=True)],
            "information": self.information.tolist(),
            "variance": dict(zip(self.family.names, self.variances, strict=True)),
            "criterion": self.criterion,
            "criterion_of": self.criterion_of,
            "gap": self.gap,
            "limit": self.limit,
            "efficiency": self.efficiency,
        }


def optimal_design(
    family: Family,
    theta: npt.ArrayLike,
    mechanism: Mechanism,
    epsilon: Fraction,
    goal: Goal,
    levels: int | None = None,
    *,
    transform: Transform = "identity",
    rho: Fraction | None = None,
) -> Design:
    """The design for the member `theta` (d,), of queries with `levels` levels (`randomized_response`: cuts) if given.

    With `rho`, `gaussian` queries have that ρ, and each the ε that follows from it; `epsilon` is then not used, and
    the design's is the largest of its queries. Raises `DesignError` if `theta` is no member or `levels` too many,
    `InvalidQuery` if floating point cannot hold the queries there.
    """
    member = Member(family, _checked(family, theta))
    if not 0 < member.spread < math.inf:
        raise DesignError("theta lies where floating point cannot tell its values apart")
    kind = MECHANISMS[mechanism]
    if levels is not None and kind.most_levels is None:
        raise DesignError(f"a design of {mechanism} queries chooses its cells and answers itself: leave levels out")
    if levels is not None and kind.most_levels is not None and not 1 <= levels <= kind.most_levels:
        raise DesignError(f"a design of {mechanism} queries can have 1 to {kind.most_levels:,} levels")
    base, location, scale = member.standardised
    if not (np.diag(base.information) > 0).all():
        raise DesignError(_BEYOND)
    try:
        found = kind.solved(base, epsilon, goal, levels, rho)
    except np.linalg.LinAlgError:
        raise DesignError(_BEYOND) from None
    if not found.gap <= _LARGEST_GAP * found.criterion:
        raise DesignError(_BEYOND)
    atoms = [member.rounded(atom.moved(location, scale), _FINE) for atom in found.atoms]
    queries = tuple(found.candidates.query(atom, transform) for atom in atoms)
    return Design(
        family=family,
        theta=member.theta,
        mechanism=mechanism,
        epsilon=epsilon if rho is None else max(query.epsilon for query in queries),
        goal=goal,
        levels=levels,
        transform=transform,
        queries=queries,
        weights=found.weights,
        information=found.information / scale**2,
        variances=tuple(None if v is None else v * scale**2 for v in found.variances),
        criterion=found.criterion * scale**2,
        gap=found.gap * scale**2,
        rho=rho,
    )


def _checked(family: Family, theta: npt.ArrayLike) -> tuple[float, ...]:
    values = np.asarray(theta, dtype=float)
    if values.shape != (len(family.parameters),):
        raise DesignError(f"theta must give {', '.join(family.names)}")
    for parameter, value in zip(family.parameters, values, strict=True):
        low, high, allowed = _ALLOWED[parameter.support]
        if not low <= value <= high:
            raise DesignError(f"{parameter.name} must be {allowed}")
    return tuple(values.tolist())
