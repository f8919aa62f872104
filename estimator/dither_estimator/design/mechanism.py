"""What designs, policies and specifications have to know of a mechanism, each of which is in `registry.MECHANISMS`."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, NamedTuple

from dither_client import Laplace, Query, Transform
from dither_estimator.design.candidates import Candidates
from dither_estimator.design.convex import Criterion
from dither_estimator.design.goal import Goal
from dither_estimator.design.member import Member
from dither_estimator.design.optimum import Solution, solution
from dither_estimator.families import FloatArray

__all__ = ["MechanismDesign", "MixtureDesign", "RhoBounds"]


class RhoBounds(NamedTuple):
    """Between ε and ρ of a mechanism's questions, of so many levels if they are given. Both raise `InvalidQuery`."""

    largest_epsilon: Callable[[Fraction, int | None], Fraction]
    """The ε that no question at ρ goes beyond."""
    largest_rho: Callable[[Fraction, int | None], Fraction]
    """The ρ that no question at ε goes beyond."""


@dataclass(frozen=True)
class MechanismDesign(ABC):
    """A mechanism, as far as questions are chosen. `levels` is a number of levels, or of cuts."""

    name: ClassVar[str]
    most_levels: ClassVar[int | None] = None
    """The most levels that a design can be asked for; None where it always chooses."""
    on_intervals: ClassVar[bool] = False
    """Whether the edges of a question are evenly spaced."""
    many_cells: ClassVar[bool] = False
    """Whether designs have many cells: the first questions need no more than one cut then."""
    one_query: ClassVar[bool] = False
    """Whether a design is one query, `refitted` where it is carried, and its own mirror image if the member is."""
    rho_bounds: ClassVar[RhoBounds | None] = None
    """None where questions state no ρ."""

    @abstractmethod
    def solved(
        self, member: Member, epsilon: Fraction, goal: Goal, levels: int | None, rho: Fraction | None
    ) -> Solution:
        """The optimal design for a member, of queries with `levels` levels and at `rho` if given. Cached.

        Raises `DesignError`.
        """

    @abstractmethod
    def question(self, n_edges: int, epsilon: Fraction, rho: Fraction | None) -> Query:
        """A question with so many edges, to be asked `with_edges`; its ε follows from `rho` if that is given."""

    def check_question(self, epsilon: Fraction, rho: Fraction | None) -> Query:
        """A question with one edge for the goodness-of-fit check, to be asked `with_edges`."""
        return Laplace(-1.0, 1.0, 1, epsilon)

    def fixed_question(
        self,
        low: float,
        high: float,
        levels: int | None,
        epsilon: Fraction,
        rho: Fraction | None,
        transform: Transform,
    ) -> Query | None:
        """The question about an interval that policy `fixed` asks; None if there is none. Raises `InvalidQuery`."""
        return None

    def sizes(self, epsilon: Fraction) -> tuple[int, ...]:
        """How many edges a question that tells families apart may have: low ε has too much noise for many."""
        return (1, 2) if epsilon < 3 else (1, 2, 4, 8)

    def refitted(self, member: Member, query: Query, cuts: FloatArray, criterion: Criterion) -> Query:
        """The query with these increasing cuts (as many as it has), and otherwise as is best for the member.

        Raises `InvalidQuery`, and `LinAlgError` where nothing is told.
        """
        return query

    def answer_table(self, query: Query) -> list[tuple[int, int, str]]:
        """For people: the number of each answer, its weight and its cells; empty where answers are cells."""
        return []


class MixtureDesign(MechanismDesign):
    """A mechanism whose designs are mixtures of candidates."""

    @abstractmethod
    def candidates(self, member: Member, epsilon: Fraction, levels: int | None, rho: Fraction | None) -> Candidates:
        """Every query, of `levels` levels and at `rho` if given."""

    def solved(
        self, member: Member, epsilon: Fraction, goal: Goal, levels: int | None, rho: Fraction | None
    ) -> Solution:
        return solution(member, self, epsilon, goal, levels, rho)
