"""Save a collection's counts, answers or particles, or what they say of the population, as CSV or Parquet."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from dither_client.admin import Admin
from dither_client.analyst import Analyst
from dither_client.commands._answers import answer_rows, save_days
from dither_client.commands._archive import save_archive
from dither_client.commands._shared import CollectionId, Json, Token, Url, console, fail, print_json, working
from dither_client.posterior.population_table import parts_of, population_table
from dither_client.posterior.wire import DistributionSummary, to_json
from dither_client.tables.counts import table_rows, write_table
from dither_client.tables.days import answer_columns
from dither_client.tables.file_errors import check_folder
from dither_client.tables.parquet import is_parquet

__all__ = ["app"]

app = typer.Typer(add_completion=False)

_PAGES = (".html", ".htm")

_Table = tuple[str, Path | None, Callable[[Analyst, str, Path], int]]
"""The name of a table, the file it goes to, and what saves it and returns its number of rows."""

_Counts = Annotated[
    Path | None,
    typer.Option(help="A file for how often each answer was given to each question, and what institutions shared."),
]

_Check = Annotated[
    Path | None, typer.Option(help="A file for the answers of the goodness-of-fit check, which are never learnt.")
]

_Answers = Annotated[Path | None, typer.Option(help="A file for every answer.")]

_ParquetByDay = Annotated[
    Path | None,
    typer.Option(
        help="A folder for every answer: a .parquet file for each day (UTC) that is over, and manifest.json. "
        "Another run adds the days since."
    ),
]

_Particles = Annotated[Path | None, typer.Option(help="A file for the weighted particles of the posterior.")]

_Distribution = Annotated[
    Path | None, typer.Option(help="A file for the population's distribution: a row for each point.")
]

_Quantiles = Annotated[
    Path | None,
    typer.Option(help="A file for the population's quantiles, its mean, and the shares that the posterior gives."),
]

_Report = Annotated[
    Path | None, typer.Option(help="A file for the report: one page to print, as the dashboard has it, in .html.")
]

_Everything = Annotated[
    Path | None, typer.Option(help="A new ZIP file for everything about the collection; for admins.")
]


@app.command()
def export(
    collection: CollectionId,
    url: Url,
    counts: _Counts = None,
    check: _Check = None,
    answers: _Answers = None,
    parquet_by_day: _ParquetByDay = None,
    particles: _Particles = None,
    distribution: _Distribution = None,
    quantiles: _Quantiles = None,
    report: _Report = None,
    everything: _Everything = None,
    token: Token = None,
    as_json: Json = False,
) -> None:
    """Save tables of a collection in files that end in .csv or .parquet, its report, or all of it in a .zip file.

    For example: dither export wages --counts counts.csv --report wages.html
    """
    tables: list[_Table] = [
        ("counts", counts, _export_counts),
        ("check", check, _export_check),
        ("answers", answers, _export_answers),
        ("parquet-by-day", parquet_by_day, save_days),
        ("particles", particles, _export_particles),
        ("distribution", distribution, _export_distribution),
        ("quantiles", quantiles, _export_quantiles),
    ]
    _check_files(tables, report, everything)
    saved: dict[str, dict[str, Any]] = {}
    try:
        with Analyst(url, token) as analyst:
            for name, file, save in tables:
                if file is None:
                    continue
                with working(f"Saving the {name}"):
                    saved[name] = {"file": str(file), "rows": save(analyst, collection, file)}
            if report is not None:
                with working("Saving the report"):
                    report.write_bytes(analyst.report(collection))
                    saved["report"] = {"file": str(report)}
        if everything is not None:
            with Admin(url, token) as admin, working("Saving everything"):
                saved["everything"] = {"file": str(everything), "files": save_archive(admin, collection, everything)}
    except Exception:
        _say(saved)  # whatever else cannot be saved, these files are there
        raise
    if as_json:
        print_json(saved)
    else:
        _say(saved)


def _check_files(tables: list[_Table], report: Path | None, everything: Path | None) -> None:
    """Ends the command unless there is something to save, every file's name ends as it should, and it has a folder."""
    whole = [("report", report), ("everything", everything)]
    if not any(file for _, file in whole) and not any(file for _, file, _ in tables):
        options = [
            *(f"--{name} {'FOLDER' if save is save_days else 'FILE'}" for name, _, save in tables),
            *(f"--{name} FILE" for name, _ in whole),
        ]
        fail(f"say what to save: {', '.join(options[:-1])} or {options[-1]}", 2)
    for _, file, save in tables:
        if file is not None and save is not save_days:
            is_parquet(file)
    for file in filter(None, [*(file for _, file, _ in tables), report, everything]):
        check_folder(file)
    if report is not None and report.suffix.lower() not in _PAGES:
        fail(f"{report.name} must end in .html: the report is a page, which a browser prints or saves as PDF", 2)


def _say(saved: Mapping[str, Mapping[str, Any]]) -> None:
    for name, one in saved.items():
        console.print(_said(name, **one))


def _said(name: str, file: str, rows: int = 0, files: int = 0) -> str:
    """What was saved, as a sentence."""
    if name == "report":
        return f"The report is in {file}."
    if name == "everything":
        return f"{files} files are in {file}, and are as its manifest says."
    return f"{rows:,} row{' is' if rows == 1 else 's are'} in {file}."


def _export_counts(analyst: Analyst, collection: str, file: Path) -> int:
    return write_table(file, table_rows(analyst.count_table(collection)))


def _export_check(analyst: Analyst, collection: str, file: Path) -> int:
    return write_table(file, table_rows(analyst.count_table(collection, "check")))


def _export_answers(analyst: Analyst, collection: str, file: Path) -> int:
    columns = answer_columns(analyst.terms(collection))
    return write_table(file, answer_rows(analyst, collection, analyst.answers(collection)), columns)


def _export_particles(analyst: Analyst, collection: str, file: Path) -> int:
    particles = analyst.particles(collection)
    columns = (*particles.parameters, "weight")
    rows = (
        dict(zip(columns, (*values, weight), strict=True))
        for values, weight in zip(particles.values, particles.weights, strict=True)
    )
    return write_table(file, rows, columns)


def _export_distribution(analyst: Analyst, collection: str, file: Path) -> int:
    """A row for each point of the distribution, or of that of each component."""
    parts = parts_of(analyst.posterior(collection))
    if all(each.distribution is None for _, each in parts):
        fail("the posterior has no distribution: its answers are categories, or it is still too wide")
    rows = [own | row for own, each in parts if each.distribution is not None for row in _points(each.distribution)]
    return write_table(file, rows, tuple(rows[0]))


def _points(found: DistributionSummary) -> Iterator[dict[str, Any]]:
    curves = {"cdf": to_json(found.cdf), "density": to_json(found.density)}
    columns = {"x": found.x, **{f"{name}_{part}": y for name, bands in curves.items() for part, y in bands.items()}}
    return (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))


def _export_quantiles(analyst: Analyst, collection: str, file: Path) -> int:
    found = analyst.posterior(collection)
    columns, rows = population_table(found, found.basis)
    return write_table(file, rows, columns)
