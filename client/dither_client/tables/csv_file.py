"""CSV files as spreadsheets write them and read them: cells separated by commas, semicolons or tabs.

A spreadsheet takes a text that begins with `=`, `+`, `-` or `@` for a formula, and runs it. Such a text is written with
an apostrophe before it, which is taken away where it is read again.
"""

import csv
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

__all__ = ["separator_of", "strict_rows", "unwritten_cell", "written_cell"]

_SEPARATORS = (",", ";", "\t")
_FORMULA = re.compile(r"'*(?:[\t\r\n]|\s*[=+\-@＝＋－＠])")
"""The beginning of a text that is written with an apostrophe, or with one more than it has."""
_NUMBER = r"[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?"
_NUMBERS = re.compile(rf"{_NUMBER}(?:[ |]{_NUMBER})*", re.ASCII)


def written_cell(value: Any) -> Any:
    """The cell for a value: itself, or a text with an apostrophe before it that would be a formula without one.

    A number is none, nor are several, such as cuts, that blanks or `|` separate.
    """
    formula = isinstance(value, str) and _FORMULA.match(value) and not _NUMBERS.fullmatch(value)
    return f"'{value}" if formula else value


def unwritten_cell(cell: str) -> str:
    """The text that `written_cell` was given."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def separator_of(path: Path, fits: Callable[[list[str]], object]) -> str:
    """The first separator with which the cells of the file's first row fit, otherwise the one that makes most cells.

    Raises `OSError`, `UnicodeDecodeError` and `csv.Error`.
    """
    with path.open(encoding="utf-8-sig", newline="") as file:
        line = file.readline()
    headers = {separator: next(csv.reader([line], delimiter=separator), []) for separator in _SEPARATORS}
    fitting = [separator for separator, cells in headers.items() if fits(cells)]
    return fitting[0] if fitting else max(_SEPARATORS, key=lambda separator: len(headers[separator]))


def strict_rows(file: IO[str], separator: str) -> Iterator[list[str]]:
    """The cells of each row of an opened file. Raises `csv.Error` for what is not a CSV file."""
    return csv.reader(file, delimiter=separator, strict=True)
