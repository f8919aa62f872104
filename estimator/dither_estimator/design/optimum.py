"""The optimal mixture for one member of a family, cached; designs and limits are based on it."""

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

_MIN_IDENTIFIED_SHARE = 1e-5
"""A direction with less than this share of the best-known direction's information counts as not identified."""
_MIN_SIGNIFICANT_SHARE = 1e-11
"""With less than this share, the information may be nothing but rounding error."""


class DesignError(ValueError):
    """There is no design of the requested kind; the message says why in one sentence."""


@dataclass(frozen=True, eq=False)
class Solution:
    """A design in the coordinates of the member for which it was found."""

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

    With `rho`, queries have that ρ instead of the largest that ε allows.
    """
    candidates = mechanism.candidates(member, epsilon, levels, rho)
    if not candidates.seeds(candidates.shapes[-1]):
        raise DesignError(f"a member of the family {member.family.name} has too few values for {levels} cuts")
    aim = member.aim(goal)
    mixture = solve(candidates, aim)
    found, criterion = variances(mixture.information, member.information, aim, goal)
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
    """The atoms with their weights; for a symmetric member the weight is shared with the mirror image."""
    weighted = dict(zip(mixture.atoms, mixture.weights.tolist(), strict=True))
    if member.mirror is None:
        return weighted
    atoms: dict[Atom, float] = {}
    for atom, weight in weighted.items():
        for side in (atom, atom.mirrored(member.mirror.centre)):
            atoms[side] = atoms.get(side, 0.0) + weight / 2
    return atoms


def variances(
    matrix: FloatArray, reference: FloatArray, aim: FloatArray, goal: Goal
) -> tuple[tuple[float | None, ...], float]:
    """The diagonal of the inverse of the information `matrix` (d, d), and the criterion `tr(aim matrix⁻¹)`.

    None for parameters that it does not identify. `reference` (d, d) is an information that determines the parameters'
    units. A direction with next to no information counts as not identified only for parameters that the goal leaves
    out.
    """
    scale = 1.0 / np.sqrt(np.diag(reference))
    values, vectors = np.linalg.eigh(matrix * np.outer(scale, scale))
    squares = vectors**2
    found: list[float | None] = []
    for j in range(len(matrix)):
        named = goal.of_parameters and aim[j, j] > 0
        known = values > (_MIN_SIGNIFICANT_SHARE if named else _MIN_IDENTIFIED_SHARE) * values[-1]
        lost = not named and squares[j, ~known].sum() > _MIN_IDENTIFIED_SHARE
        found.append(None if lost else float((squares[j, known] / values[known]).sum() * scale[j] ** 2))
    known = values > _MIN_SIGNIFICANT_SHARE * values[-1]
    root = scale[:, np.newaxis] * vectors[:, known]
    return tuple(found), float((np.sum(root * (aim @ root), axis=0) / values[known]).sum())
