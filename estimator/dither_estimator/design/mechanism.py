"""What designs, policies and specifications need to know about a mechanism; all are in `registry.MECHANISMS`."""

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
    """Conversions between ε and ρ of a mechanism's questions, for given levels or all. Both raise `InvalidQuery`."""

    largest_epsilon: Callable[[Fraction, int | None], Fraction]
    """The largest ε of a question with this ρ."""
    largest_rho: Callable[[Fraction, int | None], Fraction]
    """The largest ρ of a question with this ε."""


@dataclass(frozen=True)
class MechanismDesign(ABC):
    """A mechanism from the point of view of choosing questions. `levels` is a number of levels or of cuts."""

    name: ClassVar[str]
    label: ClassVar[str] = ""
    """What a device answers, for lists of mechanisms to choose from."""
    most_levels: ClassVar[int | None] = None
    """The most levels that can be requested of a design; None if the design always chooses."""
    on_intervals: ClassVar[bool] = False
    """Whether the edges of a question are evenly spaced."""
    many_cells: ClassVar[bool] = False
    """Whether designs have many cells, in which case the first questions need only one cut."""
    one_query: ClassVar[bool] = False
    """Whether a design is a single query, `refitted` when it is carried over, and symmetric for a symmetric member."""
    rho_bounds: ClassVar[RhoBounds | None] = None
    """None if questions state no ρ."""

    @abstractmethod
    def solved(
        self, member: Member, epsilon: Fraction, goal: Goal, levels: int | None, rho: Fraction | None
    ) -> Solution:
        """The optimal design for a member, with `levels` levels and ρ if given. Cached.

        Raises `DesignError`.
        """

    @abstractmethod
    def question(self, n_edges: int, epsilon: Fraction, rho: Fraction | None) -> Query:
        """A template for questions with this many edges, used `with_edges`; its ε follows from `rho` if given."""

    def check_question(self, epsilon: Fraction, rho: Fraction | None) -> Query:
        """A template with one edge for questions of the goodness-of-fit check, used `with_edges`."""
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
        """The question about an interval that the policy `fixed` asks; None if there is none. Raises `InvalidQuery`."""
        return None

    def sizes(self, epsilon: Fraction) -> tuple[int, ...]:
        """The numbers of edges of questions that tell families apart: at low ε there is too much noise for many."""
        return (1, 2) if epsilon < 3 else (1, 2, 4, 8)

    def refitted(self, member: Member, query: Query, cuts: FloatArray, criterion: Criterion) -> Query:
        """The query with these increasing cuts (as many as it has), otherwise optimised for the member.

        Raises `InvalidQuery`, or `LinAlgError` if it would carry no information.
        """
        return query

    def answer_table(self, query: Query) -> list[tuple[int, int, str]]:
        """For display: each answer's number, weight and cells; empty if answers are cells."""
        return []


class MixtureDesign(MechanismDesign):
    """A mechanism whose designs are mixtures of candidates."""

    @abstractmethod
    def candidates(self, member: Member, epsilon: Fraction, levels: int | None, rho: Fraction | None) -> Candidates:
        """Every query with `levels` levels, if given, and ρ, if given."""

    def solved(
        self, member: Member, epsilon: Fraction, goal: Goal, levels: int | None, rho: Fraction | None
    ) -> Solution:
        return solution(member, self, epsilon, goal, levels, rho)
