"""Compare mechanisms, policies, ε and numbers of respondents on one simulated population."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from dither_client.commands._shared import Json, console, fail, print_json, print_table
from dither_client.extras import require_extra
from dither_client.posterior.digits import rounded
from dither_client.tables.counts import write_table
from dither_client.tables.parquet import is_parquet
from dither_estimator.design.registry import MECHANISMS, USUAL, WITH_FAMILY, WITHOUT_FAMILY
from dither_estimator.families import Family
from dither_estimator.specification.caution import caution
from dither_estimator.specification.contradictions import new_specification
from dither_estimator.specification.fields import CATEGORICAL, NONPARAMETRIC, read_family
from dither_estimator.specification.specification import Specification, SpecificationError
from dither_server.commands import _simulate_options as options
from dither_server.commands._progress import progress_of
from dither_server.simulate.comparison import QUANTILES, Compared, People, Setting, compare
from dither_server.simulate.population import parse_truth, read_population
from dither_server.simulate.scenario import plain_object

__all__ = ["app"]

EXTRA = "loadgen"

app = typer.Typer(add_completion=False)

_COLUMNS = (
    "mechanism", "policy", "epsilon", "respondents", "repeats", "number", "truth", "bias", "rmse", "sd", "coverage",
    "limit", "distance",
)  # fmt: skip

_NOT_COMPARED = {
    "categories": "categories are not compared: leave them out, or ask people who have some with dither simulate "
    "--in-process --categories",
    "components": "several numbers of one person are not compared: leave out components and compare one of them, or "
    "ask for all with dither simulate --in-process --spec",
    "groups": "groups are not compared: leave groups out and compare one of them, or ask in all with dither simulate "
    "--in-process --spec",
    "period": "periods are not compared: leave out period, and drift and panel if there are any, or ask in several "
    "with dither simulate --in-process --periods",
    "epsilon_choices": "people who choose their ε are not compared: leave out epsilon_choices and list them in "
    "--epsilon, such as 0.5,2, where everybody has the same",
    "member_cuts": "counts that institutions share are not compared: leave out member_cuts, since people's own answers "
    "alone are simulated",
    "misfit_check": "the check of the family is not compared: leave out misfit_check, or make it with dither simulate "
    "--in-process --spec",
    "rho": "ρ is not compared: leave out rho and list ε in --epsilon, which gaussian takes as well",
}
"""What a specification may ask for, and a comparison does not simulate."""

_Family = Annotated[
    str | None,
    typer.Option(
        help="The family that is assumed, and that the values of --truth are drawn from; or nonparametric: none, which "
        "needs --data. If --spec names another, that is assumed.",
        show_default="that of --spec, or normal; with --data none",
        rich_help_panel=options.POPULATION,
    ),
]

_Truth = Annotated[
    str | None,
    typer.Option(
        help="The parameters to draw values with, such as mu=50,sigma=3.16.",
        show_default=False,
        rich_help_panel=options.POPULATION,
    ),
]

_Seed = Annotated[
    int | None, typer.Option(min=0, help="The seed of all random numbers: with the same, the same table.")
]

_Mechanisms = Annotated[
    str | None,
    typer.Option(help=f"Some of {', '.join(MECHANISMS)}, separated by commas.", show_default=USUAL),
]

_Policies = Annotated[
    str | None,
    typer.Option(help="Some of adaptive, thompson and fixed:LOW:HIGH, separated by commas.", show_default="adaptive"),
]

_Epsilons = Annotated[str | None, typer.Option(help="ε of one answer, such as 0.5,1,2.", show_default="1")]

_Sizes = Annotated[str, typer.Option(help="How many answer, such as 1000,10000.")]

_Repeats = Annotated[int, typer.Option(min=1, max=100_000, help="How often each is simulated.")]

_Spec = Annotated[
    str | None,
    typer.Option(
        help="A JSON file, or - for standard input, with other fields of a specification, such as range, prior or "
        "goal; --mechanisms, --policies and --epsilon take precedence.",
        show_default=False,
    ),
]

_Jobs = Annotated[
    int,
    typer.Option(
        min=-1,
        help="The number of processes, -1 for one a core. Results do not depend on it.",
        rich_help_panel=options.WHERE_IT_RUNS,
    ),
]

_Plot = Annotated[
    Path | None, typer.Option(help="Save a picture; the file's ending chooses the format.", show_default=False)
]

_Csv = Annotated[Path | None, typer.Option(help="Save the table, as .csv or .parquet.", show_default=False)]


@app.command("compare")
def compare_(
    family: _Family = None,
    transform: options.Transform = None,
    truth: _Truth = None,
    data: options.Data = None,
    column: options.Column = None,
    mechanisms: _Mechanisms = None,
    policies: _Policies = None,
    epsilon: _Epsilons = None,
    respondents: _Sizes = "1000",
    repeats: _Repeats = 20,
    spec: _Spec = None,
    seed: _Seed = None,
    jobs: _Jobs = 1,
    scheduler: options.Scheduler = None,
    plot: _Plot = None,
    csv: _Csv = None,
    as_json: Json = False,
) -> None:
    """Compare mechanisms, policies, ε and numbers of respondents on one simulated population.

    Every combination is simulated --repeats times in this process, without a server. Beside the error of the posterior
    mean (rmse) stand the posterior sd, the share of 90% intervals that hold the truth, and, where people are drawn from
    the family that is assumed, the error that no mechanism can go below with this ε.

    For example: dither compare --truth mu=50,sigma=10 --mechanisms laplace,randomized_response --epsilon 0.5,1,2 --seed
    1 --plot compared.png
    """
    _check_files(plot, csv)
    if jobs == 0:
        fail("jobs must be 1 or more, or -1 for one a core", 2)
    given = {} if spec is None else plain_object(spec)
    _check_compared(given, family)
    drawn = read_family(family or given.get("family") or ("normal" if data is None else None))
    fields = {"family": drawn.name, **({} if transform is None else {"transform": transform}), **given}
    sizes = _whole_numbers(respondents)
    varied = {"mechanism": mechanisms, "policy": policies, "epsilon": epsilon}
    settings = _settings(fields, {name: _texts(listed) for name, listed in varied.items() if listed is not None}, sizes)
    people = _people(settings[0], drawn, truth, data, column, max(sizes))
    with progress_of(repeats * len(settings)) as progress:
        found = compare(settings, people, repeats, seed, jobs, progress, scheduler)
    rows = [row for each in found for row in _rows(each, repeats)]
    if csv is not None:
        write_table(csv, rows, _COLUMNS)
    if plot is not None:
        where = data.name if data is not None else f"{drawn.name} {truth}"
        _save_picture(plot, f"Errors over {repeats:,} repetitions, {where}", found)
    if as_json:
        print_json({"repeats": repeats, "truth": dict(people.truth), "settings": [_object(each) for each in found]})
    else:
        _print(found, repeats)


def _check_compared(given: Mapping[str, Any], family: str | None) -> None:
    """Ends the command for a specification that asks for what is not compared."""
    categorical = CATEGORICAL.name in (family, given.get("family"))
    for name, sentence in _NOT_COMPARED.items():
        if given.get(name) or (name == "categories" and categorical):
            fail(sentence, 2)


def _check_files(plot: Path | None, csv: Path | None) -> None:
    """Ends the command before anything is simulated if a file's name has the wrong ending."""
    if plot is not None:
        require_extra("plot", "matplotlib")
        from dither_client.posterior.plots import check_picture

        check_picture(plot)
    if csv is not None:
        is_parquet(csv)


def _save_picture(file: Path, title: str, found: Sequence[Compared]) -> None:
    from dither_server.simulate.comparison_plot import plot_comparison

    plot_comparison(file, title, found)
    console.print(f"The picture is in {file}.")


def _settings(fields: Mapping[str, Any], varied: Mapping[str, Sequence[str]], sizes: Sequence[int]) -> list[Setting]:
    """Every combination, validated before any is simulated. Raises `SpecificationError`, which names it."""
    usual = {
        "mechanism": WITHOUT_FAMILY if fields["family"] == NONPARAMETRIC.name else WITH_FAMILY,
        "policy": "adaptive",
        "epsilon": "1",
    }
    lists = [varied.get(name) or [str(fields.get(name) or text)] for name, text in usual.items()]
    settings = []
    for mechanism, policy, epsilon in product(*lists):
        asked = {**fields, "mechanism": mechanism, "policy": policy, "epsilon": epsilon}
        try:
            warning = caution(new_specification(asked))
        except SpecificationError as error:
            raise SpecificationError(f"{mechanism} with {policy} at epsilon {epsilon}: {error}") from None
        if warning:
            console.print(f"Warning: with {mechanism} and {policy}, {warning}.")
        settings += [Setting(mechanism, policy, epsilon, size, asked) for size in sizes]
    return settings


def _people(
    setting: Setting, drawn: Family, truth: str | None, data: Path | None, column: str | None, most: int
) -> People:
    """The population, of which the specification's family may know nothing."""
    assumed = Specification.from_json(setting.fields)
    if (truth is None) == (data is None):
        fail("give the population with either --truth or --data", 2)
    scale = assumed.transform if assumed.parametric else setting.fields.get("transform", "identity")
    if data is not None:
        read = read_population(np.random.default_rng(0), data, column, assumed.family, assumed.transform, None)
        if most > len(read.values):
            many = f"{len(read.values):,} value{'' if len(read.values) == 1 else 's'}"
            fail(f"{data.name} has {many}: there cannot be more respondents", 2)
        return People(read.truth, values=np.sort(read.values))
    if not drawn.parameters:
        fail("draw the population from a family that --family names, or take it from a file with --data", 2)
    parameters = parse_truth(truth or "", drawn)
    member = tuple(parameters[name] for name in drawn.names)
    if assumed.nonparametric:
        levels = np.array([float(level) for level in QUANTILES])
        values = drawn.quantiles(np.array([member]), levels)[0]
        own = np.exp(values) if scale == "log" else values
        return People(dict(zip(QUANTILES, own.tolist(), strict=True)), drawn, member, scale)
    return People(parameters, drawn, member, scale)


def _rows(each: Compared, repeats: int) -> list[dict[str, Any]]:
    """A row for each number of a setting."""
    asked = each.setting
    shared = {
        "mechanism": asked.mechanism,
        "policy": asked.policy,
        "epsilon": asked.epsilon,
        "respondents": asked.respondents,
        "repeats": repeats,
        "distance": each.distance,
    }
    return [{**shared, "number": name, **asdict(summary)} for name, summary in each.numbers.items()]


def _object(each: Compared) -> dict[str, Any]:
    asked = each.setting
    return {
        "mechanism": asked.mechanism,
        "policy": asked.policy,
        "epsilon": float(asked.epsilon),
        "respondents": asked.respondents,
        "numbers": {name: asdict(summary) for name, summary in each.numbers.items()},
        "distance": each.distance,
    }


def _print(found: Sequence[Compared], repeats: int) -> None:
    policies = list(dict.fromkeys(each.setting.policy for each in found))
    policy = ["policy"] if len(policies) > 1 else []
    rows = [
        (
            row["mechanism"],
            *(row[name] for name in policy),
            row["epsilon"],
            f"{row['respondents']:,}",
            row["number"],
            rounded(row["rmse"], 3),
            "" if row["limit"] is None else rounded(row["limit"], 3),
            rounded(row["sd"], 3),
            f"{row['coverage']:.0%}",
            "" if row["distance"] is None else rounded(row["distance"], 2),
        )
        for each in found
        for row in _rows(each, repeats)
    ]
    print_table(("mechanism", *policy, "ε", "people", "of", "rmse", "limit", "sd", "in 90%", "ΔF"), rows)
    typer.echo(
        f"\n{repeats:,} repetitions, so that an rmse is known to about {(2 * repeats) ** -0.5:.0%}; "
        f"policy {', '.join(policies)}\n"
        "limit: the sd that no mechanism with this ε can go below; in 90%: intervals that hold the truth\n"
        "ΔF: the largest error of the share of people below a value"
    )


def _texts(listed: str) -> list[str]:
    """The parts of a list, each once."""
    return list(dict.fromkeys(part.strip() for part in listed.split(",")))


def _whole_numbers(listed: str) -> list[int]:
    parts = _texts(listed)
    if not all(part.isascii() and part.isdigit() and 0 < int(part[:12]) <= options.MOST_RESPONDENTS for part in parts):
        fail(f"respondents must be whole numbers from 1 to {options.MOST_RESPONDENTS:,}, such as 1000,10000", 2)
    return [int(part) for part in parts]
