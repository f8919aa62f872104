"""The options of `dither simulate`, as annotated types."""

from pathlib import Path
from typing import Annotated

import typer

from dither_client import Transform as TransformName
from dither_estimator.design.design import Mechanism as MechanismName
from dither_estimator.design.registry import USUAL
from dither_server.simulate.behaviours import DropOutBy as DropOutKind
from dither_server.simulate.choices import ChooseBy as ChoiceKind

__all__ = [
    "MOST_RESPONDENTS",
    "POPULATION",
    "WHERE_IT_RUNS",
    "Categories",
    "ChooseBy",
    "Collection",
    "Column",
    "Concurrency",
    "Data",
    "DropOut",
    "DropOutBy",
    "Epsilon",
    "EpsilonChoices",
    "Family",
    "Goal",
    "Groups",
    "InProcess",
    "Late",
    "Levels",
    "LoadedUrl",
    "Mechanism",
    "Outstanding",
    "Particles",
    "Periods",
    "Poison",
    "Policy",
    "Prior",
    "Respondents",
    "Retry",
    "Rho",
    "Scheduler",
    "Seed",
    "Spec",
    "Token",
    "Transform",
    "Truth",
    "Walk",
]

MOST_RESPONDENTS = 100_000_000
"""Their values take a gigabyte of memory."""

POPULATION, WHERE_IT_RUNS = "Population", "Where it runs"
_COLLECTION, _BEHAVIOUR = "Collection", "Behaviour"
"""Headings in the help, below which the options are."""

Family = Annotated[
    str | None,
    typer.Option(
        help="The family that is assumed, and that the values of --truth are drawn from; or nonparametric: none, and "
        "values are drawn from the normal family. With --spec or --collection it says only what values are drawn "
        "from; of groups, and of numbers without a family, it may name one for each, such as gamma,normal.",
        show_default="normal; with --data none; the collection's",
        rich_help_panel=POPULATION,
    ),
]

Transform = Annotated[
    TransformName | None,
    typer.Option(
        help="The scale on which the family holds, and --truth is given: log makes normal lognormal.",
        show_default="identity",
        rich_help_panel=POPULATION,
    ),
]

Categories = Annotated[
    str | None,
    typer.Option(
        help="The texts of categories, such as never,monthly,daily, instead of a family.",
        show_default=False,
        rich_help_panel=POPULATION,
    ),
]

Truth = Annotated[
    str | None,
    typer.Option(
        help="The parameters to draw values with, such as mu=50,sigma=3.16; or the shares of categories.",
        rich_help_panel=POPULATION,
    ),
]

Data = Annotated[
    Path | None, typer.Option(help="A CSV or Parquet file of values, instead of --truth.", rich_help_panel=POPULATION)
]

Column = Annotated[
    str | None, typer.Option(help="The column of --data that holds the values.", rich_help_panel=POPULATION)
]

Groups = Annotated[
    str | None,
    typer.Option(
        help="Labels of public groups, such as north,south, each of them as likely as the others; --truth "
        "then has the parameters or shares of each, separated by semicolons, or one set for all.",
        show_default=False,
        rich_help_panel=POPULATION,
    ),
]

Periods = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="The number of calendar periods, weeks unless --spec says otherwise, in which the respondents are asked, "
        "as many in each; needs --in-process, since nobody tells a server what time it is. --truth has one or more "
        "sets of parameters, separated by semicolons, that hold in turn.",
        show_default="none",
        rich_help_panel=POPULATION,
    ),
]

Walk = Annotated[
    str | None,
    typer.Option(
        help="How far parameters change from one of the --periods to the next: the standard deviations of the steps of "
        "a random walk, such as mu=0.5; a positive parameter's is that of its logarithm.",
        show_default="none",
        rich_help_panel=POPULATION,
    ),
]

Correlation = Annotated[
    float | None,
    typer.Option(
        help="The correlation of the normal scores of each two components of --spec; --truth then has the parameters "
        "of each, separated by semicolons.",
        show_default="0",
        rich_help_panel=POPULATION,
    ),
]

Respondents = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=MOST_RESPONDENTS,
        help="The number of respondents.",
        show_default="every row of --data",
        rich_help_panel=POPULATION,
    ),
]

Seed = Annotated[
    int | None,
    typer.Option(min=0, help="The seed of all random numbers here; a server draws its questions with its own."),
]

Epsilon = Annotated[str | None, typer.Option(help="ε of one answer.", show_default="1", rich_help_panel=_COLLECTION)]

EpsilonChoices = Annotated[
    str | None,
    typer.Option(
        help="Several ε, such as 0.5,2: each respondent chooses one.",
        show_default="no choice",
        rich_help_panel=_COLLECTION,
    ),
]

ChooseBy = Annotated[
    ChoiceKind,
    typer.Option(
        help="chance: each ε is equally likely; value: high values prefer the smallest ε, which biases.",
        rich_help_panel=_COLLECTION,
    ),
]

Goal = Annotated[
    str | None,
    typer.Option(
        help="all, a parameter, weights such as mu=1,sigma=2, distribution, quantiles=0.5,0.9 or above=1000.",
        show_default="all; without a family distribution",
        rich_help_panel=_COLLECTION,
    ),
]

Policy = Annotated[
    str | None,
    typer.Option(help="adaptive, thompson or fixed:LOW:HIGH.", show_default="adaptive", rich_help_panel=_COLLECTION),
]

Mechanism = Annotated[
    MechanismName | None,
    typer.Option(help="How answers are made private.", show_default=USUAL, rich_help_panel=_COLLECTION),
]

Rho = Annotated[
    str | None,
    typer.Option(
        help="ρ of one answer with gaussian, instead of --epsilon.", show_default=False, rich_help_panel=_COLLECTION
    ),
]

Levels = Annotated[
    int | None,
    typer.Option(
        help="Number of levels of laplace and gaussian; for randomized_response the number of cells less one.",
        show_default="chosen by the design",
        rich_help_panel=_COLLECTION,
    ),
]

Particles = Annotated[
    int | None, typer.Option(help="The number of particles.", show_default="1000", rich_help_panel=_COLLECTION)
]

Prior = Annotated[
    str | None,
    typer.Option(help="A JSON file with a prior, or paper.", show_default="wide", rich_help_panel=_COLLECTION),
]

Spec = Annotated[
    str | None,
    typer.Option(
        help="A JSON file with the specification, or - for standard input, instead of options.",
        rich_help_panel=_COLLECTION,
    ),
]

InProcess = Annotated[
    bool, typer.Option("--in-process", help="Run the estimator only, without a server.", rich_help_panel=WHERE_IT_RUNS)
]

LoadedUrl = Annotated[
    str | None, typer.Option(envvar="DITHER_URL", help="The server to load.", rich_help_panel=WHERE_IT_RUNS)
]

Token = Annotated[
    str | None,
    typer.Option(
        envvar="DITHER_TOKEN",
        help="An admin's token; with --collection an analyst's, or none if the collection is public.",
        show_default=False,
        rich_help_panel=WHERE_IT_RUNS,
    ),
]

Collection = Annotated[
    str | None, typer.Option(help="The id of a collection to use instead of a new one.", rich_help_panel=WHERE_IT_RUNS)
]

Concurrency = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=10_000,
        help="Over HTTP: how many respondents act at the same time.",
        show_default="64",
        rich_help_panel=WHERE_IT_RUNS,
    ),
]

Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="A Dask scheduler whose workers do the work, such as tcp://10.0.0.1:8786; the numbers are the same.",
        show_default=False,
        rich_help_panel=WHERE_IT_RUNS,
    ),
]

Outstanding = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=1_000_000,
        help="With --in-process: how many people have a question and have not answered yet.",
        show_default="1",
        rich_help_panel=WHERE_IT_RUNS,
    ),
]

DropOut = Annotated[float, typer.Option(help="The share of respondents who never answer.", rich_help_panel=_BEHAVIOUR)]

DropOutBy = Annotated[
    DropOutKind,
    typer.Option(
        help="Who may drop out: anyone, holders of high values, or those whose answer came out high.",
        rich_help_panel=_BEHAVIOUR,
    ),
]

Retry = Annotated[
    float, typer.Option(help="The share that sends the same answer three times.", rich_help_panel=_BEHAVIOUR)
]

Late = Annotated[float, typer.Option(help="The share that answers after all others.", rich_help_panel=_BEHAVIOUR)]

Poison = Annotated[
    float,
    typer.Option(help="The share that sends the highest answer, whatever their value.", rich_help_panel=_BEHAVIOUR),
]
