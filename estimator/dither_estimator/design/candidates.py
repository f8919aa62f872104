"""What the solver needs to know about a mechanism: its queries, and the best of them for given weights."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

from dither_client import Query, Transform
from dither_estimator.design.atom import Atom
from dither_estimator.design.member import Member
from dither_estimator.families import FloatArray

__all__ = ["Candidates", "HasCandidates", "Questions"]


class Questions(Protocol):
    """What is needed of candidates once a design is found."""

    def query(self, atom: Atom, transform: Transform) -> Query:
        """The query that an atom represents."""


class Candidates(Questions, Protocol):
    """All queries of one mechanism with the allowed shapes, at one ε, for one member."""

    @property
    def member(self) -> Member:
        """The member for which the queries are."""

    @property
    def shapes(self) -> tuple[int, ...]:
        """The allowed shapes, increasing."""

    def seeds(self, most: int) -> list[Atom]:
        """A few atoms of shapes up to `most`, with a regular mixture, from which to start."""

    def best(self, slope: FloatArray, most: int) -> list[tuple[float, Atom]]:
        """The largest `tr(W F)` with its atom, then near-best atoms of other shapes, in decreasing order.

        `slope` is `W`, shape (d, d), positive semi-definite; `most` is the largest shape allowed.
        """

    def informations(self, atoms: Sequence[Atom]) -> FloatArray:
        """The information of each atom, shape (n, d, d)."""


class HasCandidates(Protocol):
    """A mechanism whose designs are mixtures. Hashable."""

    def candidates(self, member: Member, epsilon: Fraction, levels: int | None, rho: Fraction | None) -> Candidates:
        """Every query with `levels` levels, if given, and ρ, if given."""
