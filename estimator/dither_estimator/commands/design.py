"""Find the questions that need the fewest respondents, and how far they are from the best possible."""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any, Protocol, TypeVar

import typer
from threadpoolctl import threadpool_limits

from dither_client import Query
from dither_client.commands._grouped import grouped_options
from dither_client.commands._shared import Json, print_json, print_table, working
from dither_client.mechanisms.epsilon import epsilon_text, wire_epsilon
from dither_client.mechanisms.query import check_epsilon
from dither_client.posterior.digits import rounded
from dither_estimator.commands import _options as options
from dither_estimator.commands import _without_family as without_family
from dither_estimator.commands._parameters import parse_theta
from dither_estimator.commands._several import design_several, print_joint
from dither_estimator.design.advice import advice
from dither_estimator.design.design import Design, DesignError, Mechanism, optimal_design
from dither_estimator.design.goal import parse_goal
from dither_estimator.design.registry import MECHANISMS, STATING_RHO, WITH_FAMILY
from dither_estimator.families import find_family
from dither_estimator.mechanisms.lattice import on_interval
from dither_estimator.specification.fields import NONPARAMETRIC

__all__ = ["app"]

EXTRA = "estimator"

app = typer.Typer(add_completion=False)

_EITHER = "give either --epsilon or --rho"


@app.command()
@grouped_options
def design(
    people: without_family.PeopleOptions,
    epsilon: options.Epsilon = None,
    family: options.Family = "normal",
    goal: options.Goal = "all",
    mechanism: options.Mechanism = None,
    rho: options.Rho = None,
    levels: options.Levels = None,
    theta: options.Theta = None,
    components: options.Components = None,
    correlation: options.Correlation = None,
    respondents: without_family.Respondents = None,
    as_json: Json = False,
) -> None:
    """Find the mixture of questions that needs the fewest respondents, with its certificate.

    The criterion weights the variances of the parameters themselves in location-scale families (normal, laplace,
    logistic, gumbel, student_t:DF), and in all others those of their logarithms, of the logit of a probability, or of
    mu in units of sigma; the field criterion_of says which. The variances shown are always those of the parameters
    themselves.

    A goal may also be about the population's distribution: its quantiles, the shares above some values, or all of it.

    For example: dither design --epsilon 1 --goal all --mechanism randomized_response

    Without a family, it shows how near the questions that a collection asks after so many answers of a given population
    come to the limit. The criterion is then the mean variance of the distribution function, times respondents.

    For example: dither design --family nonparametric --goal distribution --epsilon 1 --data wages.csv --column wage

    With --components it is the design for several normal numbers of each person, each two with the same --correlation:
    who is asked about one of them, who about two or three. A collection of several numbers asks so, but for a
    twentieth of the people or more.

    For example: dither design --components 2 --correlation 0.6 --epsilon 1
    """
    if components is not None:
        people.refuse()
        others = {"mechanism": mechanism, "rho": rho, "levels": levels, "theta": theta, "respondents": respondents}
        others |= {"family": _unless(family, "normal"), "goal": _unless(goal, "all")}
        _show(lambda: design_several(components, epsilon, correlation or 0.0, others), print_joint, as_json)
    elif correlation is not None:
        raise DesignError("--correlation is for --components only")
    elif family == NONPARAMETRIC.name:
        if (epsilon is None) == (rho is None):
            raise DesignError(_EITHER)
        asked = {"epsilon": epsilon, "goal": goal, "mechanism": mechanism, "rho": rho, "levels": levels}
        find = partial(without_family.certify, people, theta, asked, respondents)
        _show(find, without_family.print_certificate, as_json)
    else:
        people.refuse()
        if respondents is not None:
            raise DesignError(f"--respondents is for --family {NONPARAMETRIC.name} only")
        _show(
            lambda: _design_family(family, theta, goal, mechanism or WITH_FAMILY, epsilon, rho, levels), _print, as_json
        )


class _Result(Protocol):
    def to_json(self) -> dict[str, Any]: ...


_Found = TypeVar("_Found", bound=_Result)


def _show(find: Callable[[], _Found], show: Callable[[_Found], None], as_json: bool) -> None:
    with threadpool_limits(1, user_api="blas"):
        with working("Looking for the best questions"):
            found = find()
        if as_json:
            print_json(found.to_json())
        else:
            show(found)


def _design_family(
    name: str,
    theta: str | None,
    goal: str,
    mechanism: Mechanism,
    epsilon: str | None,
    rho: str | None,
    levels: int | None,
) -> Design:
    family = find_family(name)
    member = parse_theta(theta, family)
    privacy, zero_concentrated = _privacy(epsilon, rho, mechanism, levels)
    weights = parse_goal(goal, family)
    return optimal_design(family, member, mechanism, privacy, weights, levels, rho=zero_concentrated)


def _unless(given: str, default: str) -> str | None:
    return None if given == default else given


def _privacy(
    epsilon: str | None, rho: str | None, mechanism: Mechanism, levels: int | None
) -> tuple[Fraction, Fraction | None]:
    """Return ε, and ρ if it is given instead."""
    if (epsilon is None) == (rho is None):
        raise DesignError(_EITHER)
    if epsilon is not None:
        return check_epsilon(epsilon), None
    bounds = MECHANISMS[mechanism].rho_bounds
    if bounds is None:
        raise DesignError(f"--rho is for --mechanism {' or '.join(STATING_RHO)} only: give --epsilon")
    amount = wire_epsilon(rho or "", "rho")
    return check_epsilon(bounds.largest_epsilon(amount, levels)), amount


def _print(found: Design) -> None:
    _print_rho(found)
    rows = [(f"{weight:.1%}", *_described(query)) for query, weight in zip(found.queries, found.weights, strict=True)]
    print_table(["weight", "answers", "cut at"], rows)
    for query in found.queries:
        if answers := MECHANISMS[found.mechanism].answer_table(query):
            typer.echo("")
            print_table(["answer", "weight", "its cells, numbered from 0"], answers)
    typer.echo("")
    variances = zip(found.family.names, found.variances, strict=True)
    print_table(
        ["parameter", "variance per respondent"],
        [(name, "not identified" if v is None else rounded(v, 6)) for name, v in variances],
    )
    typer.echo(
        f"\ncriterion {rounded(found.criterion, 6)} is {_weighed(found)}, per respondent\n"
        f"no mixture of {found.mechanism} queries is better by more than "
        f"{found.gap / found.criterion:.2%}\n"
        f"limit {rounded(found.limit, 6)} for any mechanism with this epsilon: efficiency {found.efficiency:.1%}"
    )
    line = advice(found)
    if line is not None:
        typer.echo(line)


def _print_rho(found: Design) -> None:
    rhos = [query.rho for query in found.queries if query.rho is not None]
    if rhos:
        typer.echo(f"an answer costs ε = {epsilon_text(found.epsilon)} and has ρ = {epsilon_text(max(rhos))} at most\n")


def _weighed(found: Design) -> str:
    """The criterion in words: `the variance of log shape + 2 × the variance of log scale`."""
    parts = [(f"{weight:g} × " if weight != 1 else "", name) for name, weight in found.criterion_of.items()]
    return " + ".join(f"{times}the variance of {name}" for times, name in parts)


def _described(query: Query) -> tuple[str, str]:
    edges = " ".join(rounded(edge, 5) for edge in query.edges)
    if on_interval(query):
        edges += f" (interval {rounded(query.low, 5)} to {rounded(query.high, 5)})"
    return str(query.n_answers), edges
