"""The options of `dither design` and `dither plan`, as annotated types; `_without_family` has the others."""

from typing import Annotated

import typer

from dither_client import Transform
from dither_estimator.design.design import Mechanism as MechanismName
from dither_estimator.design.registry import USUAL
from dither_estimator.planning.precision import MAX_RESPONDENTS

__all__ = [
    "Components",
    "Confidence",
    "Correlation",
    "Epsilon",
    "Family",
    "Goal",
    "Groups",
    "GuessedTheta",
    "Levels",
    "Mechanism",
    "PlannedEpsilon",
    "PlannedGoal",
    "PlannedMaximum",
    "PlannedMinimum",
    "PlannedRespondents",
    "PlannedTransform",
    "Rho",
    "Sd",
    "Theta",
    "ValueRange",
]

_STANDARD = "the standard member, such as mu=0,sigma=1"

Family = Annotated[str, typer.Option(help="The family of distributions, or nonparametric: none.")]

Mechanism = Annotated[
    MechanismName | None,
    typer.Option(help="How answers are made private.", show_default=USUAL),
]

# Only of `dither design`.

Epsilon = Annotated[
    str | None, typer.Option(help="ε of one answer, at most six decimals; or give --rho.", show_default=False)
]

Goal = Annotated[
    str,
    typer.Option(
        help="all, a parameter's name, weights such as mu=1,sigma=2, distribution, quantiles=0.5,0.9 or above=1000."
    ),
]

Rho = Annotated[
    str | None,
    typer.Option(
        help="For gaussian, instead of --epsilon: ρ of zero-concentrated privacy.",
        show_default=False,
    ),
]

Levels = Annotated[
    int | None,
    typer.Option(help="Levels of laplace or gaussian, cuts of randomized_response; the design chooses by default."),
]

Theta = Annotated[
    str | None,
    typer.Option(help="The member to design for, such as mu=50,sigma=3.", show_default=_STANDARD),
]

Components = Annotated[
    int | None, typer.Option(help="Several numbers of each person: how many, 2 to 4.", show_default=False)
]

Correlation = Annotated[
    float | None,
    typer.Option(help="With --components: the correlation of each two of them, 0 to 0.99.", show_default="0"),
]

# Only of `dither plan`.

PlannedEpsilon = Annotated[str, typer.Option(help="ε of one answer, or several such as 0.5,1,2,5: a row for each.")]

Sd = Annotated[
    str | None,
    typer.Option(help="The posterior standard deviations to reach, such as mu=0.5,sigma=0.3 or quantile_0.5=0.4."),
]

PlannedRespondents = Annotated[
    int | None, typer.Option(min=1, max=MAX_RESPONDENTS, help="The number of respondents, instead of --sd.")
]

Confidence = Annotated[
    float | None,
    typer.Option(help="The probability of reaching it, 0.5 to 0.9999.", show_default="on average"),
]

GuessedTheta = Annotated[
    str | None,
    typer.Option(help="A guess of the population, such as mu=50,sigma=3.", show_default=_STANDARD),
]

PlannedTransform = Annotated[
    Transform | None,
    typer.Option(help="The scale on which the family, or that of --population, holds.", show_default="identity"),
]

Groups = Annotated[
    str | None,
    typer.Option(
        help="Labels of public groups, such as north,south, with equally many people in each; --theta then has "
        "the parameters of each, separated by semicolons, or one set for all.",
        show_default=False,
    ),
]

ValueRange = Annotated[
    str | None,
    typer.Option(
        "--range", help="The collection's range, such as 40,60, where most values lie.", show_default="not known"
    ),
]

PlannedMinimum = Annotated[float | None, typer.Option("--minimum", help="No value is below.", show_default="not known")]
PlannedMaximum = Annotated[float | None, typer.Option("--maximum", help="No value is above.", show_default="not known")]

PlannedGoal = Annotated[
    str | None,
    typer.Option(
        help="The collection's goal: all, weights such as mu=1,sigma=0.1, distribution, quantiles=0.5, above=1000, "
        "or best: the cheapest for --sd.",
        show_default="all; without a family distribution",
    ),
]
