"""Save a collection's counts, answers or particles as CSV or Parquet."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from dither_client.analyst import Analyst, AnsweredQuery
from dither_client.commands._shared import Json, Token, Url, console, fail, print_json, working
from dither_client.mechanisms.member_counts import MemberTable, member_table
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
    ]
    if not any(file for _, file, _ in tables):
        fail("say what to save: --counts FILE, --check FILE, --answers FILE or --particles FILE", 2)
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
