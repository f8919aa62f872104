"""How near each mechanism's design comes to the limit of any ε-LDP mechanism, and what a staircase query looks like.

`python -m benchmarks.privacy_limit normal,laplace 0.5,1` for some families and ε.
"""

import sys
from collections.abc import Iterator, Sequence
from fractions import Fraction
from time import process_time

from threadpoolctl import threadpool_limits

from dither_client import Staircase
from dither_estimator.design.design import Mechanism, optimal_design
from dither_estimator.design.goal import Goal, parse_goal
from dither_estimator.design.limit import privacy_limit
from dither_estimator.design.member import Member
from dither_estimator.families import Family, families, find_family
from testing.tables import print_table

__all__ = ["main"]

_EPSILONS = ("0.1", "0.5", "1", "2", "5")
_MECHANISMS: tuple[Mechanism, ...] = ("laplace", "gaussian", "randomized_response", "staircase")


def main(arguments: Sequence[str]) -> None:
    """Prints the table, for the families and the ε that are given, separated by commas."""
    names = arguments[0].split(",") if arguments else list(families)
    epsilons = arguments[1].split(",") if len(arguments) > 1 else _EPSILONS
    columns = ("family", "goal", "ε", *_MECHANISMS, "cells", "answers", "weights add up to", "s: limit", "s: staircase")
    with threadpool_limits(1):
        print_table("Share of its respondents that the limit needs", columns, _rows(names, epsilons))


def _rows(names: Sequence[str], epsilons: Sequence[str]) -> Iterator[tuple[object, ...]]:
    for family in map(find_family, names):
        for goal in ("all", *(family.names if len(family.names) > 1 else ())):
            for epsilon in epsilons:
                yield family.name, goal, epsilon, *_row(family, parse_goal(goal, family), Fraction(epsilon))


def _row(family: Family, goal: Goal, epsilon: Fraction) -> tuple[object, ...]:
    simple = [optimal_design(family, family.standard, mechanism, epsilon, goal) for mechanism in _MECHANISMS[:-1]]
    began = process_time()
    privacy_limit(Member(family, tuple(family.standard.tolist())), epsilon, goal)
    certified = process_time()
    best = optimal_design(family, family.standard, "staircase", epsilon, goal)
    done = process_time()
    [query] = best.queries
    assert isinstance(query, Staircase)
    shares = [f"{design.efficiency:.1%}" for design in (*simple, best)]
    sizes = (query.n_cells, query.n_answers, sum(query.weights))
    return *shares, *sizes, f"{certified - began:.2f}", f"{done - certified:.2f}"


if __name__ == "__main__":
    main(sys.argv[1:])
