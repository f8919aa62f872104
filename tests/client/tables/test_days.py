"""Folders of answers by day: whole files or none, and manifests that say where to read."""

import json
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from dither_client.errors import InvalidTable
from dither_client.tables.days import ANSWER_COLUMNS, DayFile, Manifest, read_manifest, write_day

DAY = date(2027, 1, 15)


def rows(count: int, break_at: int | None = None) -> Iterator[dict[str, Any]]:
    for number in range(count):
        if number == break_at:
            raise ConnectionError
        yield dict.fromkeys(ANSWER_COLUMNS, "x") | {"ticket": str(number), "answer": number}


def test_a_day_that_breaks_off_leaves_no_trace(tmp_path: Path) -> None:
    with pytest.raises(ConnectionError):
        write_day(tmp_path, "wages", DAY, rows(10, break_at=7))
    assert list(tmp_path.iterdir()) == []


def test_a_day_without_answers_has_no_file(tmp_path: Path) -> None:
    assert write_day(tmp_path, "wages", DAY, rows(0)) == DayFile(DAY, 0, None, None)
    assert list(tmp_path.iterdir()) == []


def test_the_manifest_is_read_as_written(tmp_path: Path) -> None:
    manifest = Manifest(tmp_path, "wages", {"epsilon": 0.1, "family": "normal"})
    for day in (write_day(tmp_path, "wages", DAY, rows(3)), DayFile(date(2027, 1, 16), 0, None, None)):
        manifest = manifest.with_day(day)
    assert read_manifest(tmp_path) == manifest
    assert manifest.rows == 3
    assert manifest.files == [str(tmp_path / "wages-2027-01-15.parquet")]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["manifest.json", "wages-2027-01-15.parquet"]


def test_a_folder_without_a_manifest(tmp_path: Path) -> None:
    assert read_manifest(tmp_path) is None


@pytest.mark.parametrize(
    "content",
    [
        "nonsense",
        "[]",
        "{}",
        '{"collection": "a", "specification": {}, "days": [{"day": "yesterday", "rows": 1}]}',
        json.dumps({
            "collection": "a", "specification": {},
            "days": [{"day": "2027-01-15", "rows": 1, "file": "../other.parquet", "sha256": "0"}],
        }),
    ],
)  # fmt: skip
def test_what_is_no_manifest(content: str, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(InvalidTable, match="manifest"):
        read_manifest(tmp_path)
