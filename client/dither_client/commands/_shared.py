"""Helpers that every command of `dither` uses, also those of other packages.

    CollectionId            annotated type of the argument ID of a collection
    Url, Json               annotated types of the options --url (DITHER_URL) and --json
    AdminToken, ReaderToken, OptionalToken
                            those of --token (DITHER_TOKEN), by the token that a command needs
    console                 a rich Console on standard error, for people: progress, remarks, tables beside --json
    print_json(object)      prints the one JSON object of --json on standard output
    print_table(...)        prints a table for people on standard output
    fail(message, code=1)   prints a sentence on standard error and exits: 1 failed while running, 2 bad input
    read_input(file)        reads the bytes of FILE, or of standard input for -
    read_object(file)       reads the JSON object in it
    did_you_mean(...)       suggests a known word for a misspelt one, which it never repeats
    working(words)          shows on a terminal what the command is doing and for how long, while it does it
    status_of(error)        the exit status of an error

A command need not catch `DitherError`, `ValueError`, `OSError` or `MissingExtra`: `dither` prints a sentence for each
and exits with its status. An app is `typer.Typer(add_completion=False)`, and the first line of its module's docstring
is its line in `dither --help`.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from difflib import get_close_matches
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Column, Table

from dither_client.errors import Problem
from dither_client.extras import MissingExtra
from dither_client.posterior.names import term_text
from dither_client.protocol.messages import printable
from dither_client.tables.file_errors import json_object

__all__ = [
    "AdminToken",
    "CollectionId",
    "Json",
    "OptionalToken",
    "ReaderToken",
    "Url",
    "console",
    "did_you_mean",
    "fail",
    "print_json",
    "print_table",
    "read_input",
    "read_object",
    "status_of",
    "working",
]

CollectionId = Annotated[
    str,
    typer.Argument(
        metavar="ID",
        help="The collection's id, as dither collection list and the address of its page show it.",
        show_default=False,
    ),
]

Url = Annotated[str, typer.Option("--url", envvar="DITHER_URL", help="The server, https or on this machine.")]

AdminToken = Annotated[
    str | None, typer.Option("--token", envvar="DITHER_TOKEN", help="An admin's token.", show_default=False)
]

ReaderToken = Annotated[
    str | None,
    typer.Option(
        "--token",
        envvar="DITHER_TOKEN",
        help="An admin's or analyst's token; none is needed if the collection is public.",
        show_default=False,
    ),
]

OptionalToken = Annotated[
    str | None,
    typer.Option(
        "--token",
        envvar="DITHER_TOKEN",
        help="A token, to see private collections, and how many have answered them.",
        show_default=False,
    ),
]

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")]

console = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)

_BAD_REQUEST = (400, 401, 403, 404, 413, 422)
"""HTTP statuses that mean that the input is wrong, rather than that the server cannot handle it now."""

_BAD_INPUT = (
    ValueError,
    MissingExtra,
    FileExistsError,
    FileNotFoundError,
    IsADirectoryError,
    NotADirectoryError,
    PermissionError,
)


def print_json(data: Any) -> None:
    """Prints `data` as one line of strict JSON; `Fraction` and `Decimal` are numbers. Raises `ValueError` for NaN."""
    sys.stdout.write(json.dumps(data, allow_nan=False, default=_number) + "\n")


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Prints a table for people on standard output; its first column, which holds names, is never wrapped.

    Headings are wrapped between words only.
    """
    others = (Column(name, min_width=max(map(len, name.split()), default=None)) for name in columns[1:])
    table = Table(Column(columns[0], no_wrap=True), *others, box=None, pad_edge=False)
    for row in rows:
        table.add_row(*(printable(_cell(cell)) for cell in row))
    Console(highlight=False, markup=False).print(table)


def _cell(cell: object) -> str:
    """A cell as people write it: a time to the minute."""
    return "" if cell is None else term_text(cell) if isinstance(cell, str) else str(cell)


def fail(message: str, code: int = 1) -> NoReturn:
    """Prints one sentence on standard error and ends the command with the exit status `code`."""
    console.print(f"dither: {' '.join(message.split())}")
    raise typer.Exit(code)


def read_input(file: str) -> bytes:
    """Reads the content of the file, or of standard input if `file` is `-`. Raises `OSError`."""
    return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()


def read_object(file: str) -> dict[str, Any]:
    """Reads the JSON object in a file, or on standard input if `file` is `-`. Raises `OSError` and `ValueError`."""
    return json_object(read_input(file), "standard input" if file == "-" else file)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Returns "; did you mean …?" with the nearest of `known`, or nothing. It never repeats `word`."""
    close = get_close_matches(word, known, 1)
    return f"; did you mean {close[0]}?" if close else ""


@contextmanager
def working(words: str) -> Iterator[None]:
    """Shows `words` on a terminal, and for how long, until the context ends."""
    columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as shown:
        shown.add_task(words, total=None)
        yield


def status_of(error: Exception) -> int:
    """The exit status of an error: 2 for bad input, 1 for anything else."""
    if isinstance(error, Problem):
        return 2 if error.status in _BAD_REQUEST else 1
    return 2 if isinstance(error, _BAD_INPUT) else 1


def _number(value: object) -> int | float:
    if not isinstance(value, Fraction | Decimal):
        raise TypeError(f"{type(value).__name__} has no JSON form")
    return int(value) if value == int(value) else float(value)
