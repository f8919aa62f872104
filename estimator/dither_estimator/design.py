"""Optimal designs: the mixture of queries that needs the fewest respondents (design section 4).

A design minimises the weighted sum of the parameters' asymptotic variances per respondent, `Σ_j g_j (M⁻¹)_jj` with
`M = Σ_i w_i F_i`, over all queries of one mechanism at one ε. For a location-scale family it is found once, at the
standard member, and carried over: `F(m, c) = F(0, 1) / c²` for queries moved by the same map (Theorem 3 of Yıldırım
2024). What has been found is cached.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from dither_client import Query, Transform
from dither_estimator.design_candidates import Atom, Candidates
from dither_estimator.design_laplace import LaplaceCandidates, useful_levels
from dither_estimator.design_member import Member
from dither_estimator.design_randomized_response import USEFUL_CUTS, RandomizedResponseCandidates
from dither_estimator.design_solver import Mixture, solve
from dither_estimator.families import Family, FloatArray
from dither_estimator.goals import Goal

__all__ = ["Design", "DesignError", "Mechanism", "optimal_design"]

Mechanism = Literal["laplace", "randomized_response"]

MAX_LEVELS = {"laplace": 1_023, "randomized_response": 63}
"""The most levels (of `randomized_response`: cuts) that a design can be asked for."""

_SINGULAR = 1e-5
"""A direction with less than this share of the best known one's information counts as not identified."""


_FINE = 2.0**-20
"""Coordinates at θ are multiples of this share of the spread: dyadic, and the design to all the digits that matter."""


class DesignError(ValueError):
    """There is no design of the kind that was asked for; the text says why in one sentence."""


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
    """The goal's weighted sum of the variances."""
    gap: float
    """No mixture of queries of this mechanism has a criterion lower by more than this (the equivalence theorem)."""

    def at(self, theta: npt.ArrayLike) -> "Design":
        """The optimal design for another member: moved in a location-scale family, found afresh in others."""
        return optimal_design(
            self.family, theta, self.mechanism, self.epsilon, self.goal, self.levels, transform=self.transform
        )

    def to_json(self) -> dict[str, Any]:
        """The queries with their weights, and what they are worth, as JSON."""
        return {
            "queries": [{**q.to_json(), "weight": w} for q, w in zip(self.queries, self.weights, strict=True)],
            "information": self.information.tolist(),
            "variance": dict(zip(self.family.names, self.variances, strict=True)),
            "criterion": self.criterion,
            "gap": self.gap,
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
) -> Design:
    """The design for the member `theta` (d,), of queries with `levels` levels (`randomized_response`: cuts) if given.

    Raises `DesignError` if `theta` is no member or `levels` too many, `InvalidQuery` if floating point cannot hold the
    queries there.
    """
    member = Member(family, _checked(family, theta))
    if levels is not None and not 1 <= levels <= MAX_LEVELS[mechanism]:
        raise DesignError(f"a design of {mechanism} queries can have 1 to {MAX_LEVELS[mechanism]:,} levels")
    base, location, scale = member.standardised
    solution = _solve(base, mechanism, epsilon, goal, levels)
    unit = _FINE * 2.0 ** math.floor(math.log2(scale * base.spread))
    atoms = [atom.moved(location, scale).rounded(unit) for atom in solution.atoms]
    return Design(
        family=family,
        theta=member.theta,
        mechanism=mechanism,
        epsilon=epsilon,
        goal=goal,
        levels=levels,
        transform=transform,
        queries=tuple(solution.candidates.query(atom, transform) for atom in atoms),
        weights=solution.weights,
        information=solution.information / scale**2,
        variances=tuple(None if v is None else v * scale**2 for v in solution.variances),
        criterion=solution.criterion * scale**2,
        gap=solution.gap * scale**2,
    )


@dataclass(frozen=True, eq=False)
class _Solution:
    """A design in the coordinates of the member it was found for."""

    candidates: Candidates
    atoms: tuple[Atom, ...]
    weights: tuple[float, ...]
    information: FloatArray
    variances: tuple[float | None, ...]
    criterion: float
    gap: float


@lru_cache(maxsize=1024)
def _solve(member: Member, mechanism: Mechanism, epsilon: Fraction, goal: Goal, levels: int | None) -> _Solution:
    candidates = _candidates(member, mechanism, epsilon, levels)
    weights = member.weights(goal)
    mixture = solve(candidates, weights)
    found = variances(mixture.information, member.information)
    criterion = sum(w * v for w, v in zip(weights.tolist(), found, strict=True) if w > 0 and v is not None)
    atoms = _with_mirror_images(mixture) if member.symmetric else dict(zip(mixture.atoms, mixture.weights, strict=True))
    ordered = sorted(atoms.items())
    return _Solution(
        candidates=candidates,
        atoms=tuple(atom for atom, _ in ordered),
        weights=tuple(float(weight) for _, weight in ordered),
        information=mixture.information,
        variances=found,
        criterion=criterion,
        gap=max(0.0, criterion - mixture.bound),
    )


def _candidates(member: Member, mechanism: Mechanism, epsilon: Fraction, levels: int | None) -> Candidates:
    if mechanism == "laplace":
        return LaplaceCandidates(member, epsilon, useful_levels(epsilon) if levels is None else (levels,))
    return RandomizedResponseCandidates(member, epsilon, USEFUL_CUTS if levels is None else (levels,))


def _with_mirror_images(mixture: Mixture) -> dict[Atom, float]:
    """Each atom and its mirror image, with half of its weight each."""
    atoms: dict[Atom, float] = {}
    for atom, weight in zip(mixture.atoms, mixture.weights.tolist(), strict=True):
        for side in (atom, atom.mirrored()):
            atoms[side] = atoms.get(side, 0.0) + weight / 2
    return atoms


def variances(matrix: FloatArray, reference: FloatArray) -> tuple[float | None, ...]:
    """The diagonal of the inverse of the information `matrix` (d, d); None where it does not identify the parameter.

    `reference` (d, d): an information that gives the parameters their units. A direction counts as not identified if
    `matrix` has less than `_SINGULAR` of what it has in its best direction.
    """
    scale = 1.0 / np.sqrt(np.diag(reference))
    values, vectors = np.linalg.eigh(matrix * np.outer(scale, scale))
    known = values > _SINGULAR * values[-1]
    inverse = (vectors[:, known] ** 2 / values[known]).sum(axis=1) * scale**2
    lost = (vectors[:, ~known] ** 2).sum(axis=1) > _SINGULAR
    return tuple(None if gone else float(v) for gone, v in zip(lost, inverse, strict=True))


def _checked(family: Family, theta: npt.ArrayLike) -> tuple[float, ...]:
    values = np.asarray(theta, dtype=float)
    if values.shape != (len(family.parameters),) or not np.isfinite(values).all():
        raise DesignError(f"theta must be finite numbers for {', '.join(family.names)}")
    for parameter, value in zip(family.parameters, values, strict=True):
        if parameter.support == "positive" and value <= 0:
            raise DesignError(f"{parameter.name} must be above 0")
    return tuple(values.tolist())
