"""Optimal designs: the mixture of queries that needs the fewest respondents.

A design minimises the weighted sum of the parameters' asymptotic variances per respondent, `Σ_j g_j (M⁻¹)_jj` with
`M = Σ_i w_i F_i`, over all queries of one mechanism at one ε; or, for a goal about the distribution, the
variances of its functions (`functionals`). For a location-scale family it is found once, at the
standard member, and carried over: `F(m, c) = F(0, 1) / c²` for queries moved by the same map (Theorem 3 of Yıldırım
2024); for Student's t it is found once for each number of degrees of freedom. In other families the variances are those
of unconstrained coordinates (logarithms of positive parameters, logits of probabilities, locations in units of the
scale), because the parameters have no common unit. Solutions are cached.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dither_client import Query, Transform
from dither_estimator.design.functionals import functionals
from dither_estimator.design.goal import Goal
from dither_estimator.design.limit import privacy_limit
from dither_estimator.design.member import Member, Standardised
from dither_estimator.design.optimum import DesignError
from dither_estimator.design.registry import MECHANISMS, Mechanism
from dither_estimator.families import Family, FloatArray

__all__ = ["Design", "DesignError", "Mechanism", "NothingThere", "optimal_design"]

_ROUNDING_SHARE = 2.0**-20
"""Coordinates are multiples of this share of the spread: dyadic, and exact in every digit that matters."""
_ALLOWED = {
    "real": (-1e100, 1e100, "a number of size 1e100 at most"),
    "positive": (1e-100, 1e100, "a number above 0, from 1e-100 to 1e100"),
    "unit": (1e-9, 1 - 1e-9, "between 0 and 1, at least 1e-9 from either"),
}
"""Outside these ranges variances would overflow or underflow."""

_MAX_RELATIVE_GAP = 0.5
"""A gap of more than this share of the criterion comes from rounding and certifies nothing."""
_BEYOND_FLOATING_POINT = "epsilon or theta is so extreme that floating point cannot find the design or its limit"


class NothingThere(DesignError):
    """Nobody in the population lies above a value of the goal, or everybody does: no answers would tell how many."""

    def __init__(self, remedy: str = "give a theta nearer to the value") -> None:
        super().__init__(f"nobody lies above the goal's value in this population, or everybody: {remedy}")


@dataclass(frozen=True, eq=False)
class Design:
    """The optimal mixture of queries at one member θ of a family. All variances are per respondent."""

    family: Family
    theta: tuple[float, ...]
    mechanism: Mechanism
    epsilon: Fraction
    goal: Goal
    levels: int | None
    """The requested number of levels; None if the design was free to choose."""
    transform: Transform
    queries: tuple[Query, ...]
    weights: tuple[float, ...]
    """The probability of each query; they sum to 1."""
    information: FloatArray
    """`M`, shape (d, d): the expected information of one answer."""
    variances: tuple[float | None, ...]
    """The diagonal of `M⁻¹`; None for a parameter that the goal leaves out and the design does not identify."""
    criterion: float
    """The weighted sum of variances that the design minimises; `criterion_of` says which variances."""
    gap: float
    """No mixture of this mechanism's queries has a criterion lower by more than this (the equivalence theorem).

    If a design is a single query, that holds for any mechanism (the limit's certificate, on fine cells).
    """
    rho: Fraction | None = None
    """The requested ρ of `gaussian` queries; None if it follows from ε."""

    def at(self, theta: npt.ArrayLike) -> "Design":
        """The optimal design for another member: moved where only location and scale differ."""
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
        """The best criterion that any ε-LDP mechanism can reach. Takes up to a second or two; cached.

        It is computed on fine cells. If this design is better than the best one on those, they are also cut where its
        queries are; the remaining difference is within the programme's tolerance. Raises `DesignError` if floating
        point cannot find it.
        """
        member = Member(self.family, self.theta)
        try:
            limit = privacy_limit(member, self.epsilon, self.goal).criterion
            if limit > self.criterion:
                cuts = tuple(sorted({edge for query in self.queries for edge in query.edges}))
                limit = min(self.criterion, privacy_limit(member, self.epsilon, self.goal, cuts).criterion)
            return limit
        except np.linalg.LinAlgError:
            raise DesignError(_BEYOND_FLOATING_POINT) from None

    @property
    def efficiency(self) -> float:
        """The share of this design's respondents that the best ε-LDP mechanism would need."""
        return self.limit / self.criterion

    @property
    def criterion_of(self) -> dict[str, float]:
        """Which variances the criterion weights, with their weights.

        They are those of the parameters themselves in location-scale families and of their unconstrained coordinates,
        such as `log shape` or `mu / sigma`, in others; `variances` are always those of the parameters themselves. Of a
        goal about the distribution they are those of `quantile_0.5`, on the scale on which the family holds, of the
        share `above_1000`, and the mean variance `distribution` of the distribution function.
        """
        if not self.goal.of_parameters:
            return {each.name: each.weight for each in functionals(self.goal, self.family, self.theta)}
        names = {p.name: p.name if self.family.location_scale else p.coordinate for p in self.family.parameters}
        names |= {name: f"{name} / {unit}" for name, unit in self.family.measured_in.items()}
        return {names[name]: weight for name, weight in self.goal.weights}

    def to_json(self) -> dict[str, Any]:
        """The queries with their weights, and the quality of the design, as JSON."""
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
    """The optimal design for the member `theta` (d,); with `levels`, of queries with that many levels or cuts.

    With `rho`, `gaussian` queries have that ρ and the ε that follows from it; `epsilon` is ignored, and the design's is
    the largest of its queries. Raises `DesignError` if `theta` is not a member or there are too many `levels`, and
    `InvalidQuery` if floating point cannot represent the queries.
    """
    if not family.parameters:
        raise DesignError("a distribution without a family has no such design: name a family")
    member = Member(family, _checked(family, theta))
    if not 0 < member.spread < math.inf:
        raise DesignError("theta lies where floating point cannot distinguish the family's values")
    kind = MECHANISMS[mechanism]
    if levels is not None and kind.most_levels is None:
        raise DesignError(f"a design of {mechanism} queries chooses its own cells and answers: leave levels out")
    if levels is not None and kind.most_levels is not None and not 1 <= levels <= kind.most_levels:
        raise DesignError(f"a design of {mechanism} queries can have 1 to {kind.most_levels:,} levels")
    base = _standardised(member, goal)
    try:
        if not (np.diag(base.member.information) > 0).all():
            raise DesignError(_BEYOND_FLOATING_POINT)
        found = kind.solved(base.member, epsilon, base.goal, levels, rho)
    except np.linalg.LinAlgError:
        raise DesignError(_BEYOND_FLOATING_POINT) from None
    if not found.gap <= _MAX_RELATIVE_GAP * found.criterion:
        raise DesignError(_BEYOND_FLOATING_POINT)
    atoms = [member.rounded(atom.moved(base.location, base.scale), _ROUNDING_SHARE) for atom in found.atoms]
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
        information=found.information / np.outer(base.units, base.units),
        variances=tuple(
            None if v is None else v * unit**2 for v, unit in zip(found.variances, base.units.tolist(), strict=True)
        ),
        criterion=found.criterion * base.factor,
        gap=found.gap * base.factor,
        rho=rho,
    )


def _standardised(member: Member, goal: Goal) -> Standardised:
    try:
        base = member.standardised(goal)
        base.member.aim(base.goal)
    except np.linalg.LinAlgError:
        raise NothingThere from None
    return base


def _checked(family: Family, theta: npt.ArrayLike) -> tuple[float, ...]:
    values = np.asarray(theta, dtype=float)
    if values.shape != (len(family.parameters),):
        raise DesignError(f"theta must give {', '.join(family.names)}")
    for parameter, value in zip(family.parameters, values, strict=True):
        low, high, allowed = _ALLOWED[parameter.support]
        if not low <= value <= high:
            raise DesignError(f"{parameter.name} must be {allowed}")
    return tuple(values.tolist())
