"""Reads columns of values: one number per line, or a column of a table. No error repeats the input."""

import csv
import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from dither_client.errors import InvalidTable
from dither_client.tables.file_errors import file_trouble
from dither_client.tables.parquet import is_parquet, read_parquet

__all__ = ["is_number", "read_column", "read_lines"]

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def is_number(text: str) -> bool:
    """Whether `text` writes a finite number, such as 42 or -3.5e2, and nothing else."""
    return _NUMBER.fullmatch(text) is not None and math.isfinite(float(text))


def read_lines(name: str, content: bytes) -> list[float]:
    """The numbers in a file's content, one per line; `name` is used in errors. Raises `InvalidTable`."""
    try:
        text = content.decode("utf-8-sig").rstrip()
    except UnicodeDecodeError:
        raise InvalidTable(f"{name} is not UTF-8 text") from None
    if not text:
        raise InvalidTable(f"{name} has no values")
    return _numbers(text.split("\n"), "line", name)


def read_column(path: Path, column: str) -> list[float]:
    """The numbers in a column of a .csv or .parquet file. Raises `InvalidTable` and `MissingExtra`."""
    read = _read_parquet if is_parquet(path) else _read_csv
    try:
        cells = read(path, column)
    except OSError as error:
        trouble = file_trouble(error) if error.filename else f"{path.name} cannot be read: it may be damaged"
        raise InvalidTable(trouble) from None
    if not cells:
        raise InvalidTable(f"{path.name} has no rows")
    return _numbers(cells, "row", f"the column {column} of {path.name}")


def _read_csv(path: Path, column: str) -> list[str]:
    # The errors of `csv` quote the text that caused them, so none of them is passed on.
    no_table = InvalidTable(f"{path.name} is not a CSV file in UTF-8")
    cells = []
    with path.open(encoding="utf-8-sig", newline="") as file:
        try:
            rows = csv.reader(file, strict=True)
            header = next(rows, None)
            if header is None:
                raise no_table
            if column not in header:
                raise InvalidTable(f"{path.name} has no column {column}")
            place = header.index(column)
            for row in rows:
                if len(row) > len(header):
                    raise no_table
                cells.append(row[place] if place < len(row) else "")
        except (UnicodeDecodeError, csv.Error):
            raise no_table from None
    return cells


def _read_parquet(path: Path, column: str) -> list[Any]:
    import pyarrow

    cells = read_parquet(path, [column]).column(0)
    if not any(kind(cells.type) for kind in (pyarrow.types.is_integer, pyarrow.types.is_floating)):
        raise InvalidTable(f"the column {column} of {path.name} must hold numbers")
    found: list[Any] = cells.to_pylist()
    return found


def _numbers(cells: Iterable[Any], unit: str, where: str) -> list[float]:
    values = []
    for number, cell in enumerate(cells, 1):
        text = "" if cell is None else str(cell).strip()
        if not is_number(text):
            what = "not a finite number" if text else "blank"
            raise InvalidTable(f"{unit} {number:,} of {where} is {what}")
        values.append(float(text))
    return values
