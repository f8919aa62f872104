"""The optimal mixture for one member of a family, cached: what designs and limits are made from."""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dither_estimator.design.atom import Atom
from dither_estimator.design.candidates import HasCandidates, Questions
from dither_estimator.design.goal import Goal
from dither_estimator.design.member import Member
from dither_estimator.design.solver import Mixture, solve
from dither_estimator.families import FloatArray

__all__ = ["DesignError", "Solution", "solution", "variances"]

_SINGULAR = 1e-5
"""A direction with less than this share of the best known one's information counts as not identified."""
_ROUNDED = 1e-11
"""With less than this share it may owe all of it to rounding."""


class DesignError(ValueError):
    """There is no design of the kind that was asked for; the text says why in one sentence."""


@dataclass(frozen=True, eq=False)
class Solution:
    """A design in the coordinates of the member it was found for."""

    candidates: Questions
    atoms: tuple[Atom, ...]
    weights: tuple[float, ...]
    information: FloatArray
    variances: tuple[float | None, ...]
    criterion: float
    gap: float


@lru_cache(maxsize=1024)
def solution(
    member: Member,
    mechanism: HasCandidates,
    epsilon: Fraction,
    goal: Goal,
    levels: int | None,
    rho: Fraction | None = None,
) -> Solution:
    """The optimal mixture for a member, of queries with `levels` levels or cuts if given. Raises `DesignError`.

    With `rho`, queries have that ρ in place of the largest that ε allows.
    """
    candidates = mechanism.candidates(member, epsilon, levels, rho)
    if not candidates.seeds(candidates.shapes[-1]):
        raise DesignError(f"a member of the family {member.family.name} has too few values for {levels} cuts")
    weights = member.weights(goal)
    mixture = solve(candidates, weights)
    found = variances(mixture.information, member.information, weights)
    criterion = sum(w * v for w, v in zip(weights.tolist(), found, strict=True) if v is not None)
    ordered = sorted(_atoms(mixture, member).items())
    return Solution(
        candidates=candidates,
        atoms=tuple(atom for atom, _ in ordered),
        weights=tuple(weight for _, weight in ordered),
        information=mixture.information,
        variances=found,
        criterion=criterion,
        gap=max(0.0, criterion - mixture.bound),
    )


def _atoms(mixture: Mixture, member: Member) -> dict[Atom, float]:
    """The atoms with their weights; of a symmetric member, each and its mirror image with half of its weight."""
    weighted = dict(zip(mixture.atoms, mixture.weights.tolist(), strict=True))
    if member.mirror is None:
        return weighted
    atoms: dict[Atom, float] = {}
    for atom, weight in weighted.items():
        for side in (atom, atom.mirrored(member.mirror.centre)):
            atoms[side] = atoms.get(side, 0.0) + weight / 2
    return atoms


def variances(matrix: FloatArray, reference: FloatArray, weights: FloatArray) -> tuple[float | None, ...]:
    """The diagonal of the inverse of the information `matrix` (d, d); None where it does not identify a parameter.

    `reference` (d, d): an information that gives the parameters their units. `weights` (d,): a direction with next to
    no information counts as not identified for parameters of weight 0 alone.
    """
    scale = 1.0 / np.sqrt(np.diag(reference))
    values, vectors = np.linalg.eigh(matrix * np.outer(scale, scale))
    squares = vectors**2
    found: list[float | None] = []
    for j, weight in enumerate(weights):
        known = values > (_ROUNDED if weight > 0 else _SINGULAR) * values[-1]
        lost = weight == 0 and squares[j, ~known].sum() > _SINGULAR
        found.append(None if lost else float((squares[j, known] / values[known]).sum() * scale[j] ** 2))
    return tuple(found)
