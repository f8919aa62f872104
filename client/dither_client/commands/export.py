"""Save a collection's counts, answers or particles, or what they say of the population, as CSV or Parquet."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from dither_client.analyst import Analyst, AnsweredQuery
from dither_client.commands._shared import Json, Token, Url, console, fail, print_json, working
from dither_client.mechanisms.member_counts import MemberTable, member_table
from dither_client.posterior.wire import QUANTILES, ParameterSummary, to_json
from dither_client.tables.counts import counts_rows, write_table
from dither_client.tables.parquet import is_parquet

__all__ = ["app"]

app = typer.Typer(add_completion=False)


@app.command()
def export(
    collection: Annotated[str, typer.Argument(metavar="ID", help="The collection.", show_default=False)],
    url: Url,
    counts: Annotated[
        Path | None,
        typer.Option(help="A file for how often each answer was given to each question, and what institutions shared."),
    ] = None,
    check: Annotated[
        Path | None, typer.Option(help="A file for the answers of the goodness-of-fit check, which are never learnt.")
    ] = None,
    answers: Annotated[Path | None, typer.Option(help="A file for every answer.")] = None,
    particles: Annotated[Path | None, typer.Option(help="A file for the weighted particles of the posterior.")] = None,
    distribution: Annotated[
        Path | None, typer.Option(help="A file for the population's distribution: a row for each point.")
    ] = None,
    quantiles: Annotated[
        Path | None,
        typer.Option(help="A file for the population's quantiles, its mean, and the shares that the posterior gives."),
    ] = None,
    token: Token = None,
    as_json: Json = False,
) -> None:
    """Save tables of a collection in files that end in .csv or .parquet.

    For example: dither export wages --counts counts.csv --particles particles.parquet
    """
    tables: list[tuple[str, Path | None, Callable[[Analyst, str, Path], int]]] = [
        ("counts", counts, _export_counts),
        ("check", check, _export_check),
        ("answers", answers, _export_answers),
        ("particles", particles, _export_particles),
        ("distribution", distribution, _export_distribution),
        ("quantiles", quantiles, _export_quantiles),
    ]
    if not any(file for _, file, _ in tables):
        options = [f"--{name} FILE" for name, *_ in tables]
        fail(f"say what to save: {', '.join(options[:-1])} or {options[-1]}", 2)
    for _, file, _ in tables:
        if file is not None:
            is_parquet(file)
    saved = {}
    with Analyst(url, token) as analyst:
        for name, file, save in tables:
            if file is None:
                continue
            with working(f"Saving the {name}"):
                saved[name] = {"file": str(file), "rows": save(analyst, collection, file)}
    if as_json:
        print_json(saved)
    else:
        for one in saved.values():
            console.print(f"{one['rows']:,} rows are in {one['file']}.")


def _export_counts(analyst: Analyst, collection: str, file: Path) -> int:
    shared = member_table((one.query, one.counts) for one in analyst.member_counts(collection))
    return _write_counts(analyst.queries(collection), file, shared)


def _export_check(analyst: Analyst, collection: str, file: Path) -> int:
    return _write_counts(analyst.queries(collection, "check"), file)


def _write_counts(queries: list[AnsweredQuery], file: Path, members: MemberTable | None = None) -> int:
    hidden = [query for query in queries if query.counts is None]
    if hidden:
        fail("only analysts may read the counts by answer: give an analyst's token with --token", 2)
    return write_table(file, counts_rows({query.query: query.counts for query in queries if query.counts}, members))


def _export_answers(analyst: Analyst, collection: str, file: Path) -> int:
    # A server without the goodness-of-fit check does not report the purpose.
    rows = ({"purpose": "training", **answer} for answer in analyst.answers(collection))
    return write_table(file, rows, ("query_id", "purpose", "answer", "received_at"))


def _export_particles(analyst: Analyst, collection: str, file: Path) -> int:
    particles = analyst.particles(collection)
    columns = (*particles.parameters, "weight")
    rows = (
        dict(zip(columns, (*values, weight), strict=True))
        for values, weight in zip(particles.values, particles.weights, strict=True)
    )
    return write_table(file, rows, columns)


def _export_distribution(analyst: Analyst, collection: str, file: Path) -> int:
    found = analyst.posterior(collection).distribution
    if found is None:
        fail("the posterior has no distribution: its answers are categories, or it is still too wide")
    curves = {"cdf": to_json(found.cdf), "density": to_json(found.density)}
    columns = {"x": found.x, **{f"{name}_{part}": y for name, bands in curves.items() for part, y in bands.items()}}
    rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    return write_table(file, rows, tuple(columns))


def _export_quantiles(analyst: Analyst, collection: str, file: Path) -> int:
    """A row for each number that describes the population: what it is, of which level, value or category."""
    found = analyst.posterior(collection)
    named: list[tuple[str, Mapping[Any, ParameterSummary]]] = [
        ("quantile", found.quantiles),
        ("mean", {} if found.mean_value is None else {"": found.mean_value}),
        ("share_above", found.above),
        ("share_at", found.atoms),
        ("share_of", found.categories),
    ]
    rows = [
        {"what": what, "of": of if isinstance(of, str) else f"{of:.12g}", **to_json(summary)}
        for what, summaries in named
        for of, summary in summaries.items()
    ]
    return write_table(file, rows, ("what", "of", "mean", "sd", *QUANTILES))
