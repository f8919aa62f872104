"""Finds the optimal mixture: adds queries where the equivalence theorem fails and recomputes the weights each time.

This is a fully corrective Frank–Wolfe method (vertex direction with re-optimised weights in Böhning 1986). For
symmetric members a query's mirror image is as good as the query, so each atom represents both in equal parts, and the
information between parameters of opposite parity is exactly 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dither_estimator.design.atom import Atom
from dither_estimator.design.candidates import Candidates
from dither_estimator.design.convex import Criterion, best_weights, mix
from dither_estimator.families import FloatArray

__all__ = ["Mixture", "solve"]

_MAX_ROUNDS = 60
_GAP_TOLERANCE = 1e-5
_SIMPLER_SHAPES_COST = 6e-4
"""The share of the criterion that may be given up for fewer levels or cells."""
_FEWER_QUERIES_COST = 1e-4
"""The share of the criterion that may be given up for fewer queries."""
_MERGE_RADII = (0.25, 0.1, 0.03, 0.01, 0.003, 0.001)
_ROUNDING_SHARE = 2.0**-12
"""Coordinates are multiples of this share of the spread, which costs about 1e-8 of the information."""


@dataclass(frozen=True, eq=False)
class Mixture:
    """Atoms with their best weights, the criterion `value`, and a lower `bound` on that of every mixture."""

    atoms: tuple[Atom, ...]
    weights: FloatArray
    information: FloatArray
    value: float
    bound: float = 0.0


def solve(candidates: Candidates, aim: FloatArray) -> Mixture:
    """The optimal mixture for the criterion `tr(aim M⁻¹)`, with few and simple atoms, and its certifying bound.

    `aim` has shape (d, d).

    For a symmetric member an atom represents itself and its mirror image, with half the weight each.
    """
    shapes = candidates.shapes
    criterion = Criterion.of(aim, candidates.informations(candidates.seeds(shapes[-1])))
    free = _Problem(candidates, criterion, shapes[-1]).optimum()
    enough = (1 + _SIMPLER_SHAPES_COST) * free.value
    plain, low, high = free, 0, shapes.index(max(atom.shape for atom in free.atoms))
    while low < high:
        middle = (low + high) // 2
        mixture = _Problem(candidates, criterion, shapes[middle]).optimum()
        if mixture.value <= enough:
            plain, high = mixture, middle
        else:
            low = middle + 1
    problem = _Problem(candidates, criterion, shapes[-1])
    tidy = problem.tidied(plain)
    return replace(tidy, bound=max(free.bound, problem.extended(tidy)[0]))


@dataclass(frozen=True, eq=False)
class _Problem:
    candidates: Candidates
    criterion: Criterion
    most: int
    """The largest shape that may be used."""

    def optimum(self) -> Mixture:
        """The optimum over all candidates, to a relative gap of `_GAP_TOLERANCE`."""
        mixture = self.mixture(self.candidates.seeds(self.most))
        for _ in range(_MAX_ROUNDS):
            bound, atoms = self.extended(mixture)
            mixture = replace(mixture, bound=bound)
            if mixture.value - bound < _GAP_TOLERANCE * mixture.value:
                break
            mixture = self.mixture(atoms)
        return mixture

    def tidied(self, mixture: Mixture) -> Mixture:
        """Merge near-duplicates, drop needless atoms and round coordinates to dyadic numbers."""
        enough = (1 + _FEWER_QUERIES_COST) * mixture.value
        merged = (self.mixture(self._merged(mixture, radius)) for radius in _MERGE_RADII)
        tidy = next((m for m in merged if m.value <= enough), mixture)
        for _, atom in sorted(zip(tidy.weights, tidy.atoms, strict=True)):
            rest = [a for a in tidy.atoms if a != atom]
            if rest and (without := self.mixture(rest)).value <= enough:
                tidy = without
        return tidy

    def mixture(self, atoms: Sequence[Atom]) -> Mixture:
        """The mixture of these atoms with the best weights."""
        informations = self._informations(atoms)
        weights = best_weights(self.criterion, informations)
        matrix = mix(weights, informations)
        return Mixture(tuple(atoms), weights, matrix, self.criterion.value(matrix))

    def extended(self, mixture: Mixture) -> tuple[float, list[Atom]]:
        """A lower bound on every mixture's criterion, and the atoms in use with those that improve them most."""
        found = self.candidates.best(self.criterion.slope(mixture.information), self.most)
        if not found:
            raise np.linalg.LinAlgError("no candidate has a finite information")
        kept = [atom for atom, weight in zip(mixture.atoms, mixture.weights, strict=True) if weight > 1e-5]
        bound = self.criterion.bound(mixture.information, found[0][0])
        return bound, list(dict.fromkeys([*kept, *(atom for _, atom in found)]))

    def _informations(self, atoms: Sequence[Atom]) -> FloatArray:
        """The atoms' informations (n, d, d); for a symmetric member, averaged with their mirror images'."""
        informations, mirror = self.candidates.informations(atoms), self.candidates.member.mirror
        return informations if mirror is None else mirror.symmetrised(informations)

    def _merged(self, mixture: Mixture, radius: float) -> list[Atom]:
        """Rounded means of atoms within `radius` spreads of each other; for a symmetric member of mirror images too."""
        member = self.candidates.member
        reach, atoms = radius * member.spread, list(mixture.atoms)
        if member.mirror is not None:
            atoms = [_symmetrised(atom, member.mirror.centre, reach) for atom in atoms]
        return list(
            dict.fromkeys(member.rounded(atom, _ROUNDING_SHARE) for atom in _merge(atoms, mixture.weights, reach))
        )


def _symmetrised(atom: Atom, centre: float, radius: float) -> Atom:
    """The mean of an atom and its mirror image if they are within `radius`, otherwise the smaller of the two."""
    mirrored = atom.mirrored(centre)
    if atom.distance(mirrored) > radius:
        return min(atom, mirrored)
    position = [(x + y) / 2 for x, y in zip(atom.position, mirrored.position, strict=True)]
    return Atom(atom.shape, tuple(position))


def _merge(atoms: Sequence[Atom], weights: FloatArray, radius: float) -> list[Atom]:
    """The weighted means of groups of atoms of one shape, each within `radius` of the heaviest in its group."""
    groups: list[list[int]] = []
    for i in np.argsort(-weights).tolist():
        near = [group for group in groups if atoms[group[0]].distance(atoms[i]) <= radius]
        if near:
            near[0].append(i)
        else:
            groups.append([i])
    return [_mean([atoms[i] for i in group], weights[group]) for group in groups]


def _mean(atoms: Sequence[Atom], weights: FloatArray) -> Atom:
    position = np.average([atom.position for atom in atoms], axis=0, weights=weights)
    return Atom(atoms[0].shape, tuple(position.tolist()))
