"""CSV files as spreadsheets write them: cells separated by commas, semicolons or tabs."""

import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

__all__ = ["separator_of", "strict_rows"]

_SEPARATORS = (",", ";", "\t")


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
