"""A folder of answers by day: a Parquet file for each day that is over, and a manifest of them.

A file is written under another name and renamed when all of it is on the disk, and so is the manifest after it. Whoever
reads the manifest therefore finds whole files, and a run that was stopped is simply repeated: the same rows make the
same bytes, with the same version of pyarrow. Needs the extra `tables`.

`manifest.json` holds `collection`; `specification`, from which `dither estimate` learns; and `days`, oldest first:
`day`, `rows`, and where there are rows, `file` and its `sha256`.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Any

from dither_client.errors import BadResponse, InvalidTable
from dither_client.strict_json import decode_json
from dither_client.tables.counts import GROUP_COLUMN, PERIOD_COLUMN

__all__ = ["ANSWER_COLUMNS", "DayFile", "Manifest", "answer_columns", "part_columns", "read_manifest", "write_day"]

ANSWER_COLUMNS = ("collection", "ticket", "query_id", "query", "purpose", "answer", "received_at")
"""The columns of a table of answers; `answer_columns` has one more where there are groups or periods."""

_NAME = "manifest.json"
_ROWS_AT_ONCE = 100_000
"""Rows of a row group, and the most that are in memory."""
_DIFFERENT = ("ticket", "received_at")
"""Columns whose cells mostly differ; the cells of others are written once for each row group."""


def answer_columns(terms: Mapping[str, Any]) -> tuple[str, ...]:
    """The columns of a table of answers to a collection with these terms, or this specification."""
    return (*ANSWER_COLUMNS, *part_columns(terms))


def part_columns(terms: Mapping[str, Any]) -> tuple[str, ...]:
    """The columns that tell answers apart: by group, by period, or neither."""
    fields = {GROUP_COLUMN: "groups", PERIOD_COLUMN: "period"}
    return tuple(column for column, field in fields.items() if terms.get(field))


@dataclass(frozen=True)
class DayFile:
    """The answers of one day; `file` and `sha256` are None if there were none."""

    day: date
    rows: int
    file: str | None
    sha256: str | None


@dataclass(frozen=True)
class Manifest:
    """What a folder holds."""

    folder: Path
    collection: str
    specification: Mapping[str, Any]
    days: tuple[DayFile, ...] = ()

    @property
    def rows(self) -> int:
        """The number of answers in all files."""
        return sum(day.rows for day in self.days)

    @property
    def files(self) -> list[str]:
        """The paths of all files."""
        return [str(self.folder / day.file) for day in self.days if day.file is not None]

    def with_day(self, day: DayFile) -> "Manifest":
        """Writes the manifest with one more day, and returns it. Raises `OSError`."""
        added = replace(self, days=(*self.days, day))
        days = [{name: value for name, value in vars(one).items() if value is not None} for one in added.days]
        content = {
            "collection": self.collection,
            "specification": self.specification,
            "days": [one | {"day": one["day"].isoformat()} for one in days],
        }
        part = self.folder / f"{_NAME}.part"
        with part.open("w", encoding="utf-8") as file:
            json.dump(content, file, indent=1)
            file.write("\n")
            os.fsync(file.fileno())
        _put_in_place(part, self.folder / _NAME)
        return added


def read_manifest(folder: Path) -> Manifest | None:
    """What the folder holds, or None if it has no manifest. Raises `InvalidTable` and `OSError`."""
    path = folder / _NAME
    if not path.exists():
        return None
    try:
        found = decode_json(path.read_bytes(), exact=False)
        days = tuple(
            DayFile(date.fromisoformat(day["day"]), int(day["rows"]), day.get("file"), day.get("sha256"))
            for day in found["days"]
        )
        manifest = Manifest(folder, str(found["collection"]), dict(found["specification"]), days)
    except (BadResponse, ValueError, KeyError, TypeError):
        raise InvalidTable(f"{path} is not a manifest of dither export --parquet-by-day") from None
    for one in manifest.days:
        if one.file is not None and Path(one.file).name != one.file:
            raise InvalidTable(f"{path} names a file of another folder")
    return manifest


def write_day(
    folder: Path,
    collection: str,
    day: date,
    rows: Iterable[Mapping[str, Any]],
    columns: Sequence[str] = ANSWER_COLUMNS,
) -> DayFile:
    """Writes the file of a day. Raises what reading the rows raises, then without a trace, and `OSError`."""
    name = f"{collection}-{day.isoformat()}.parquet"
    part = folder / f"{name}.part"
    try:
        written = _write(part, iter(rows), columns)
        if not written:
            return DayFile(day, 0, None, None)
        with part.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            os.fsync(file.fileno())
        _put_in_place(part, folder / name)
    finally:
        part.unlink(missing_ok=True)
    return DayFile(day, written, name, digest)


def _write(path: Path, rows: Iterator[Mapping[str, Any]], columns: Sequence[str]) -> int:
    """Writes the rows and returns their number."""
    import pyarrow
    from pyarrow import parquet

    types = {"answer": pyarrow.int64()}
    schema = pyarrow.schema([(column, types.get(column, pyarrow.string())) for column in columns])
    written = 0
    repeating = [column for column in columns if column not in _DIFFERENT]
    with parquet.ParquetWriter(path, schema, compression="zstd", use_dictionary=repeating) as writer:
        while some := list(islice(rows, _ROWS_AT_ONCE)):
            writer.write_table(pyarrow.Table.from_pylist(some, schema))
            written += len(some)
    return written


def _put_in_place(part: Path, path: Path) -> None:
    """Renames a file, and syncs that to the disk."""
    os.replace(part, path)
    if os.name != "nt":
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
