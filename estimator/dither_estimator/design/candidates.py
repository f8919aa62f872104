"""What the solver has to know of a mechanism: which queries there are, and which is the best for given weights."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

from dither_client import Query, Transform
from dither_estimator.design.atom import Atom
from dither_estimator.design.member import Member
from dither_estimator.families import FloatArray

__all__ = ["Candidates", "HasCandidates", "Questions"]


class Questions(Protocol):
    """What a design needs once it is found."""

    def query(self, atom: Atom, transform: Transform) -> Query:
        """The query that an atom stands for."""


class Candidates(Questions, Protocol):
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
        """The largest `tr(W F)` and its atom, then those of other shapes that come near it, in falling order.

        `slope`: `W`, shape (d, d), positive semi-definite. `most`: the largest shape allowed.
        """

    def informations(self, atoms: Sequence[Atom]) -> FloatArray:
        """The information of each atom, shape (n, d, d)."""


class HasCandidates(Protocol):
    """A mechanism whose designs are mixtures. Hashable."""

    def candidates(self, member: Member, epsilon: Fraction, levels: int | None, rho: Fraction | None) -> Candidates:
        """Every query, of `levels` levels and at `rho` if given."""
