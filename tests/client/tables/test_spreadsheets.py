"""A CSV file that is opened in a spreadsheet runs nothing, and is read back as it was written."""

import csv
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dither_client import Query, RandomizedResponse
from dither_client.tables.counts import CountTable, read_table, table_rows, write_table
from dither_client.tables.csv_file import unwritten_cell, written_cell

LABELS = ["=1+1", "-north", "+cmd|' /C calc'!A0", "@SUM(A1)", "'=x", "''quoted", "＝1", "south", "-5"]


@given(st.text())
@example("\t=1")
@example("\r")
@example("'-5")
def test_any_text_is_read_as_it_was_written(text: str) -> None:
    assert unwritten_cell(written_cell(text)) == text


@given(st.sampled_from(["=", "+", "-", "@", "\t", "\r", "\n", " =", "＝", "＋", "－", "＠"]), st.text())
@example("-", "1+2")
def test_no_text_is_a_formula(first: str, rest: str) -> None:
    """A number is none, nor are several with blanks or bars between them."""
    cell = written_cell(first + rest)
    assert cell == f"'{first}{rest}" or [float(part) for part in cell.replace("|", " ").split(" ")]


@pytest.mark.parametrize("number", [-1.5, -3, 0.25, "-1.5", "-1e-07", "-1.5 0.0 2e-05", "-1.5 0.5|-2.0", None])
def test_a_number_stays_one(number: object) -> None:
    assert written_cell(number) == number


def test_the_labels_of_groups(tmp_path: Path) -> None:
    counts: dict[Query, list[int]] = {RandomizedResponse([-1.5, 0], 1): [1, 2, 3]}
    groups = dict.fromkeys(LABELS, counts)
    write_table(tmp_path / "counts.csv", table_rows(CountTable(groups=groups)))
    with (tmp_path / "counts.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["group"][0] for row in rows} == {"'", "s", "-"}
    assert {row["group"] for row in rows if row["group"].startswith("-")} == {"-5"}
    assert {row["cuts"] for row in rows} == {"-1.5 0.0"}
    assert read_table(tmp_path / "counts.csv").groups == groups
