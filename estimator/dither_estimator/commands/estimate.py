"""Compute a posterior from a count table, without a server."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any

import typer

from dither_client.commands._shared import Json, fail, read_object, working
from dither_client.tables.counts import CountTable, read_table

__all__ = ["app"]

EXTRA = "estimator"

app = typer.Typer(add_completion=False)


@app.command()
def estimate(
    spec: Annotated[
        str | None,
        typer.Option(
            help="The collection's specification, a JSON file, or - for standard input. A folder of --parquet-by-day "
            "has its own.",
            show_default=False,
        ),
    ] = None,
    counts: Annotated[
        Path | None,
        typer.Option(help="The count table, .csv or .parquet, as dither export writes it.", show_default=False),
    ] = None,
    table: Annotated[
        str | None,
        typer.Option(
            metavar="URI",
            help="Or the answers themselves, as dither export --answers writes them, counted where they are: a folder "
            "of dither export --parquet-by-day; .parquet or .csv files, such as 'answers/*.parquet'; "
            "duckdb://FILE#TABLE, postgresql://HOST/DATABASE#TABLE, and other engines of Ibis. Such a folder has each "
            "ticket once; in any other table rows of one ticket count once, which takes many times as long.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the particles.")] = 0,
    as_json: Json = False,
) -> None:
    """Compute the posterior of a count table, or of a table of answers in files or in a database.

    For example: dither estimate --spec wages.json --counts counts.csv --json

    or, in a warehouse: dither estimate --spec wages.json --table 'postgresql://warehouse/surveys#wages'
    """
    given = None if spec is None else read_object(spec)
    with working("Counting the answers"), ThreadPoolExecutor(1) as beside:
        reading = beside.submit(_read, counts, table)
        from dither_estimator.commands import _learn_table  # half a second, in which an engine counts

        counted, found, name = reading.result()
    fields = found if given is None else given
    if fields is None:
        fail("give the collection's specification with --spec: the table does not have it", 2)
    _learn_table.print_posterior(counted, fields, name, seed, as_json=as_json)


def _read(counts: Path | None, table: str | None) -> tuple[CountTable, Mapping[str, Any] | None, str]:
    """The count table, the specification where it comes with it, and a name for both."""
    if counts is not None and table is None:
        return read_table(counts), None, counts.name
    if table is None or counts is not None:
        fail("give the answers with either --counts or --table", 2)
    from dither_client.tables.warehouse import answer_counts

    return *answer_counts(table), "the table"
