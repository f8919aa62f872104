"""Save a collection's counts, answers or particles, or what they say of the population, as CSV or Parquet."""

import math
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from dither_client.admin import Admin
from dither_client.analyst import Analyst
from dither_client.commands._answers import answer_rows, save_days
from dither_client.commands._archive import save_archive
from dither_client.commands._shared import CollectionId, Json, ReaderToken, Url, console, fail, print_json, working
from dither_client.posterior.population_table import PARTS, Parts, parts_of, parts_table, population_table
from dither_client.posterior.posterior import Posterior
from dither_client.posterior.wire import DistributionSummary, to_json
from dither_client.tables.counts import table_rows, write_table
from dither_client.tables.days import answer_columns
from dither_client.tables.file_errors import check_folder
from dither_client.tables.parquet import is_parquet

__all__ = ["app"]

app = typer.Typer(add_completion=False)

_PAGES = (".html", ".htm")
_BY_DAY = "parquet-by-day"

_Files = Mapping[str, Path | None]
"""The file that each option names, if it was given."""

_Counts = Annotated[
    Path | None,
    typer.Option(help="A file for how often each answer was given to each question, and what institutions shared."),
]

_Check = Annotated[
    Path | None, typer.Option(help="A file for the answers of the goodness-of-fit check, which are never learnt.")
]

_Answers = Annotated[Path | None, typer.Option(help="A file for every answer; needs an admin's or analyst's token.")]

_ParquetByDay = Annotated[
    Path | None,
    typer.Option(
        help="A folder for every answer: a .parquet file for each day (UTC) that is over, and manifest.json. "
        "Another run adds the days since. Needs an admin's or analyst's token."
    ),
]

_Particles = Annotated[Path | None, typer.Option(help="A file for the weighted particles of the posterior.")]

_Distribution = Annotated[
    Path | None, typer.Option(help="A file for the population's distribution: a row for each point.")
]

_Quantiles = Annotated[
    Path | None,
    typer.Option(
        help="A file for the population's quantiles, its mean, and the shares that the posterior gives; those of "
        "groups or periods go into one beside it: with wages.csv, wages-groups.csv or wages-periods.csv."
    ),
]

_Report = Annotated[
    Path | None, typer.Option(help="A file for the report: one page to print, as the dashboard has it, in .html.")
]

_Everything = Annotated[
    Path | None, typer.Option(help="A new ZIP file for everything about the collection; needs an admin's token.")
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
    token: ReaderToken = None,
    as_json: Json = False,
) -> None:
    """Save tables of a collection in files that end in .csv or .parquet, its report, or all of it in a .zip file.

    For example: dither export k3xw8c2nqa --counts counts.csv --report wages.html
    """
    tables: _Files = {
        "counts": counts,
        "check": check,
        "answers": answers,
        _BY_DAY: parquet_by_day,
        "particles": particles,
        "distribution": distribution,
        "quantiles": quantiles,
    }
    _check_files(tables, report, everything)
    saved: dict[str, dict[str, Any]] = {}
    try:
        with Analyst(url, token) as analyst:
            read = cache(partial(analyst.posterior, collection))
            if distribution is not None:
                _check_distribution(read(), analyst, collection)
            for option, file in tables.items():
                if file is None:
                    continue
                with working(f"Saving the {option}"):
                    for name, written, rows in _save(option, analyst, collection, file, read):
                        saved[name] = {"file": str(written), "rows": rows}
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


def _check_files(tables: _Files, report: Path | None, everything: Path | None) -> None:
    """Ends the command unless there is something to save, and every file is named as it should, apart, in a folder."""
    files = {**tables, "report": report, "everything": everything}
    given = {option: file for option, file in files.items() if file is not None}
    if not given:
        options = [f"--{option} {'FOLDER' if option == _BY_DAY else 'FILE'}" for option in files]
        fail(f"say what to save: {', '.join(options[:-1])} or {options[-1]}", 2)
    for option, file in given.items():
        if option in tables and option != _BY_DAY:
            is_parquet(file)
    for file in given.values():
        check_folder(file)
    if report is not None and report.suffix.lower() not in _PAGES:
        fail(f"{report.name} must end in .html: the report is a page, which a browser prints or saves as PDF", 2)
    if "quantiles" in given and (taken := {_beside(given["quantiles"], each) for each in PARTS} & {*given.values()}):
        fail(f"{taken.pop().name} is where --quantiles saves groups or periods: name another file", 2)


def _say(saved: Mapping[str, Mapping[str, Any]]) -> None:
    for name, one in saved.items():
        console.print(_said(name, **one))


def _said(name: str, file: str, rows: int = 0, files: int = 0) -> str:
    """What was saved, as a sentence."""
    if name == "report":
        return f"The report is in {file}."
    if name == "everything":
        return f"{files} files are in {file}, and are as its manifest says."
    told = f" by {name.removesuffix('s')}" if name in PARTS else ""
    return f"{rows:,} row{'' if rows == 1 else 's'}{told} {'is' if rows == 1 else 'are'} in {file}."


def _save(
    option: str, analyst: Analyst, collection: str, file: Path, read: Callable[[], Posterior]
) -> Iterator[tuple[str, Path, int]]:
    """Saves what an option asks for: the name, the file and the number of rows of each table.

    `read` gives the posterior, the same one each time, so that tables of it agree.
    """
    if option == "quantiles":
        yield from _export_quantiles(read(), file)
    elif option == "distribution":
        yield option, file, _export_distribution(read(), file)
    else:
        yield option, file, _SAVERS[option](analyst, collection, file)


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


def _export_distribution(found: Posterior, file: Path) -> int:
    """A row for each point of the distribution, or of that of each component."""
    parts = parts_of(found)
    rows = [own | row for own, each in parts if each.distribution is not None for row in _points(each.distribution)]
    return write_table(file, rows, tuple(rows[0]))


def _check_distribution(found: Posterior, analyst: Analyst, collection: str) -> None:
    """Ends the command where the posterior has none, before anything is saved."""
    if any(each.distribution is not None for _, each in parts_of(found)):
        return
    if analyst.terms(collection).get("categories"):
        fail("categories have no distribution: leave --distribution out", 2)
    fail("the posterior is still too wide to have a distribution: leave --distribution out, or ask more people")


def _points(found: DistributionSummary) -> Iterator[dict[str, Any]]:
    """A row for each point from the smallest possible value on, without the float below it, where the share is 0."""
    curves = {"cdf": to_json(found.cdf), "density": to_json(found.density)}
    columns = {"x": found.x, **{f"{name}_{part}": y for name, bands in curves.items() for part, y in bands.items()}}
    rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    jumps = found.x[1:2] == (math.nextafter(found.x[0], math.inf),)
    return islice(rows, int(jumps and not any(y[0] for y in curves["cdf"].values())), None)


def _export_quantiles(found: Posterior, file: Path) -> Iterator[tuple[str, Path, int]]:
    """The population, and in a file beside it each of the groups or periods, where there are some."""
    columns, rows = population_table(found, found.basis)
    yield "quantiles", file, write_table(file, rows, columns)
    for parts in PARTS:
        columns, rows = parts_table(found, parts)
        if rows:
            beside = _beside(file, parts)
            yield parts, beside, write_table(beside, rows, columns)


def _beside(file: Path, parts: Parts) -> Path:
    return file.with_stem(f"{file.stem}-{parts}")


_SAVERS: dict[str, Callable[[Analyst, str, Path], int]] = {
    "counts": _export_counts,
    "check": _export_check,
    "answers": _export_answers,
    _BY_DAY: save_days,
    "particles": _export_particles,
}
"""What saves the table of an option, and returns its number of rows."""
