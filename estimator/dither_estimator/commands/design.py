"""Find the questions that need the fewest respondents, and how far they are from the best possible."""

from typing import Annotated

import typer
from threadpoolctl import threadpool_limits

from dither_client import Laplace, Query, Staircase
from dither_client.commands._shared import Json, print_json, print_table
from dither_client.queries import check_epsilon
from dither_estimator.design import Design, DesignError, Mechanism, optimal_design
from dither_estimator.design_advice import advice
from dither_estimator.families import Family, find_family
from dither_estimator.goals import parse_goal

__all__ = ["app"]

app = typer.Typer(add_completion=False)


@app.command()
def design(
    epsilon: Annotated[str, typer.Option(help="The privacy of each answer, at most six decimals.")],
    family: Annotated[str, typer.Option(help="The family of distributions.")] = "normal",
    goal: Annotated[str, typer.Option(help="all, a parameter's name, or weights such as mu=1,sigma=2.")] = "all",
    mechanism: Annotated[Mechanism, typer.Option(help="How answers are made private.")] = "laplace",
    levels: Annotated[
        int | None, typer.Option(help="Levels of laplace, cuts of randomized_response; chosen unless given.")
    ] = None,
    theta: Annotated[
        str | None, typer.Option(help="The member to design for, such as mu=50,sigma=3; the standard one unless given.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Find the mixture of questions that needs the fewest respondents, with its certificate.

    For example: dither design --epsilon 1 --goal all --mechanism randomized_response
    """
    kind = find_family(family)
    member = kind.standard if theta is None else _parse_theta(theta, kind)
    with threadpool_limits(1, user_api="blas"):
        found = optimal_design(kind, member, mechanism, check_epsilon(epsilon), parse_goal(goal, kind), levels)
        if as_json:
            print_json(found.to_json())
        else:
            _print(found)


def _parse_theta(text: str, family: Family) -> list[float]:
    pairs = [part.partition("=") for part in text.split(",")]
    given = {name.strip(): number for name, _, number in pairs}
    form = ",".join(f"{name}=NUMBER" for name in family.names)
    if len(given) != len(pairs) or set(given) != set(family.names):
        raise DesignError(f"theta of the family {family.name} must be {form}")
    try:
        return [float(given[name]) for name in family.names]
    except ValueError:
        raise DesignError(f"theta must be {form}, with a number for each") from None


def _print(found: Design) -> None:
    rows = [(f"{weight:.1%}", *_described(query)) for query, weight in zip(found.queries, found.weights, strict=True)]
    print_table(["weight", "answers", "cut at"], rows)
    for query in found.queries:
        if isinstance(query, Staircase):
            typer.echo("")
            print_table(["answer", "weight", "its cells, numbered from 0"], _answers(query))
    typer.echo("")
    variances = zip(found.family.names, found.variances, strict=True)
    print_table(
        ["parameter", "variance per respondent"],
        [(name, "not identified" if v is None else f"{v:.6g}") for name, v in variances],
    )
    typer.echo(
        f"\ncriterion {found.criterion:.6g}; no mixture of {found.mechanism} queries is better by more than "
        f"{found.gap / found.criterion:.2%}\n"
        f"limit {found.limit:.6g} for any mechanism with this epsilon: efficiency {found.efficiency:.1%}\n"
        f"{advice(found)}"
    )


def _answers(query: Staircase) -> list[tuple[int, int, str]]:
    pairs = zip(query.sets, query.weights, strict=True)
    return [(answer, weight, " ".join(map(str, some))) for answer, (some, weight) in enumerate(pairs)]


def _described(query: Query) -> tuple[str, str]:
    edges = " ".join(f"{edge:.5g}" for edge in query.edges)
    if isinstance(query, Laplace) and query.levels > 1:
        edges += f" (interval {query.low:.5g} to {query.high:.5g})"
    return str(query.n_answers), edges
