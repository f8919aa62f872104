"""What a design is made of: atoms, the queries of one mechanism in the coordinates of one member."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from dither_client import Query, Transform
from dither_estimator.design_member import Member
from dither_estimator.families import FloatArray

__all__ = ["Atom", "Candidates"]


@dataclass(frozen=True, order=True)
class Atom:
    """A query without its ε: `shape` is its number of levels or of cuts, `position` its coordinates, increasing."""

    shape: int
    position: tuple[float, ...]

    def mirrored(self) -> "Atom":
        """The reflection about 0."""
        return Atom(self.shape, tuple(0.0 - x for x in reversed(self.position)))

    def moved(self, location: float, scale: float) -> "Atom":
        """The atom in other units."""
        return Atom(self.shape, tuple(location + scale * x for x in self.position))

    def rounded(self, unit: float) -> "Atom":
        """The nearest atom whose coordinates are multiples of `unit`."""
        return Atom(self.shape, tuple(round(x / unit) * unit for x in self.position))

    def distance(self, other: "Atom") -> float:
        """The largest difference of two coordinates; infinite between shapes."""
        if self.shape != other.shape:
            return math.inf
        return max(abs(x - y) for x, y in zip(self.position, other.position, strict=True))


class Candidates(Protocol):
    """All queries of one mechanism at one ε for one member, of the allowed shapes."""

    @property
    def member(self) -> Member:
        """The member that the queries are for."""

    @property
    def shapes(self) -> tuple[int, ...]:
        """The allowed shapes, increasing."""

    def seeds(self, most: int) -> list[Atom]:
        """A few atoms of shapes up to `most` whose mixture is regular, to start from."""

    def best(self, slope: FloatArray, most: int) -> list[tuple[float, Atom]]:
        """The largest `tr(W F)` of each shape up to `most` that comes near the largest of all, with its atom, largest first.

        `slope`: `W`, shape (d, d), positive semi-definite.
        """

    def informations(self, atoms: Sequence[Atom]) -> FloatArray:
        """The information of each atom, shape (n, d, d)."""

    def query(self, atom: Atom, transform: Transform) -> Query:
        """The query that an atom stands for."""
