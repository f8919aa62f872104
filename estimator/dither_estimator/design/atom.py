"""Atoms, of which designs consist: queries in the coordinates of one member, without their ε."""

import math
from dataclasses import dataclass

__all__ = ["Atom"]


@dataclass(frozen=True, order=True)
class Atom:
    """A query without its ε: `shape` is its number of levels or of cuts, `position` its increasing coordinates."""

    shape: int
    position: tuple[float, ...]

    def mirrored(self, centre: float) -> "Atom":
        """The reflection about `centre`."""
        return Atom(self.shape, tuple(2 * centre - x for x in reversed(self.position)))

    def moved(self, location: float, scale: float) -> "Atom":
        """The atom after a change of location and scale."""
        return Atom(self.shape, tuple(location + scale * x for x in self.position))

    def distance(self, other: "Atom") -> float:
        """The largest difference between coordinates; infinite if the shapes differ."""
        if self.shape != other.shape:
            return math.inf
        return max(abs(x - y) for x, y in zip(self.position, other.position, strict=True))
