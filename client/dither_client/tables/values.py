"""Reads columns of values: one number per line, or a column of a table. No error repeats a value.

Decimals may begin with a comma where commas do not separate cells. One that could separate thousands is refused.
"""

import csv
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dither_client.errors import InvalidTable
from dither_client.tables.csv_file import separator_of, strict_rows
from dither_client.tables.file_errors import file_trouble
from dither_client.tables.parquet import is_parquet, read_parquet

__all__ = ["is_number", "read_column", "read_lines", "read_values"]

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+([eE][+-]?[0-9]+)?")
"""A number whose decimals begin with a comma."""
_EITHER = re.compile(r"[+-]?[1-9][0-9]{0,2},[0-9]{3}")
"""A number whose comma may separate thousands as well."""
_TABLES = (".csv", ".parquet")
_MOST_NAMES, _LONGEST_NAME = 20, 40
"""The most names of columns that an error lists, and the most characters of one."""


def is_number(text: str) -> bool:
    """Whether `text` writes a finite number, such as 42 or -3.5e2, and nothing else."""
    return _NUMBER.fullmatch(text) is not None and math.isfinite(float(text))


def read_values(path: Path, column: str | None = None) -> list[float]:
    """The numbers in a file: a column of a .csv or .parquet file, or one number per line of any other.

    The column may be left out where there is only one, and where a .csv file has a number in each line and no names.
    Raises `InvalidTable` and `MissingExtra`.
    """
    if path.suffix.lower() not in _TABLES:
        if column is not None:
            raise InvalidTable(f"{path.name} is read as one number per line: only .csv and .parquet files have columns")
        return read_lines(path.name, _content(path))
    if column is None and path.suffix.lower() == ".csv" and _is_bare(content := _content(path)):
        return read_lines(path.name, content)
    return read_column(path, column)


def read_lines(name: str, content: bytes) -> list[float]:
    """The numbers in a file's content, one per line; `name` is used in errors. Raises `InvalidTable`."""
    try:
        text = content.decode("utf-8-sig").rstrip()
    except UnicodeDecodeError:
        raise InvalidTable(f"{name} is not UTF-8 text") from None
    if not text:
        raise InvalidTable(f"{name} has no values")
    return _numbers(text.split("\n"), "line", name)


def read_column(path: Path, column: str | None) -> list[float]:
    """The numbers in a column of a .csv or .parquet file, the only one for None.

    Raises `InvalidTable` and `MissingExtra`.
    """
    read = _read_parquet if is_parquet(path) else _read_csv
    try:
        name, cells = read(path, column)
    except OSError as error:
        trouble = file_trouble(error) if error.filename else f"{path.name} cannot be read: it may be damaged"
        raise InvalidTable(trouble) from None
    if not cells:
        raise InvalidTable(f"{path.name} has no rows")
    return _numbers(cells, "row", f"the column {name} of {path.name}")


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidTable(file_trouble(error)) from None


def _is_bare(content: bytes) -> bool:
    """Whether the first line of a file is a number, rather than the names of columns."""
    return is_number(content.partition(b"\n")[0].decode("utf-8-sig", errors="replace").strip())


def _read_csv(path: Path, column: str | None) -> tuple[str, list[str]]:
    # The errors of `csv` quote the text that caused them, so none of them is passed on.
    no_table = InvalidTable(f"{path.name} is not a CSV file in UTF-8")
    cells = []
    try:
        separator = separator_of(path, lambda names: column in names)
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = strict_rows(file, separator)
            header = next(rows, None)
            if header is None:
                raise InvalidTable(f"{path.name} is empty")
            name = _named(path, column, header)
            place = header.index(name)
            if header.count(name) > 1:
                raise InvalidTable(f"{path.name} has several columns of the name that is asked for: rename all but one")
            for number, row in enumerate(rows, 1):
                if len(row) > len(header):
                    raise InvalidTable(
                        f"row {number:,} of {path.name} has more cells than there are columns; if its decimals begin "
                        "with a comma, write them with a point, or separate the columns with semicolons"
                    )
                cells.append(row[place] if place < len(row) else "")
    except (UnicodeDecodeError, csv.Error):
        raise no_table from None
    return name, cells


def _read_parquet(path: Path, column: str | None) -> tuple[str, list[Any]]:
    import pyarrow

    name = column or _named(path, column, read_parquet(path).column_names)
    cells = read_parquet(path, [name]).column(0)
    if not any(kind(cells.type) for kind in (pyarrow.types.is_integer, pyarrow.types.is_floating)):
        raise InvalidTable(f"the column {name} of {path.name} must hold numbers")
    found: list[Any] = cells.to_pylist()
    return name, found


def _named(path: Path, column: str | None, names: Sequence[str]) -> str:
    """The column, or the only one for None. Raises `InvalidTable`, which lists the names unless they may be values."""
    if column is not None and column in names:
        return column
    if len(names) == 1 and is_number(names[0].strip()):
        raise InvalidTable(f"the first line of {path.name} is a number and no column's name: leave --column out")
    if any(is_number(name.strip().replace(",", ".")) for name in names):
        raise InvalidTable(
            f"the first line of {path.name} has numbers in place of the columns' names: write names above them, "
            "or one number per line and no name"
        )
    if column is None and len(names) == 1:
        return names[0]
    listed = ", ".join(name for name in names[:_MOST_NAMES] if len(name) <= _LONGEST_NAME and name.isprintable())
    if column is None:
        raise InvalidTable(f"name the column of {path.name} that holds the values with --column: it has {listed}")
    raise InvalidTable(f"{path.name} has no column {column}: it has {listed}")


def _numbers(cells: Sequence[Any], unit: str, where: str) -> list[float]:
    texts = ["" if cell is None else str(cell).strip() for cell in cells]
    commas = [text for text in texts if _COMMA.fullmatch(text)]
    decimal = any(not _EITHER.fullmatch(text) for text in commas)
    values = []
    for number, text in enumerate(texts, 1):
        comma = _COMMA.fullmatch(text)
        if comma and not decimal:
            raise InvalidTable(
                f"{unit} {number:,} of {where} has a comma that may separate thousands or begin the decimals: write "
                "no mark between thousands, and a point before decimals"
            )
        plain = text.replace(",", ".") if comma else text
        if not is_number(plain):
            what = "not a finite number" if text else "blank"
            raise InvalidTable(f"{unit} {number:,} of {where} is {what}")
        values.append(float(plain))
    if decimal and any("." in text for text in texts):
        raise InvalidTable(f"{where} has numbers with commas and numbers with points: write all of them one way")
    return values
