"""Columns of values as people have them: semicolons, decimal commas, a number in each line, and what cannot be told."""

from pathlib import Path

import pandas
import pytest

from dither_client import InvalidTable
from dither_client.tables.values import read_lines, read_values

SECRET = "73519"


@pytest.mark.parametrize(
    ("name", "content", "column", "values"),
    [
        ("wages.csv", "wage,age\n540.5,31\n610,44\n", "wage", [540.5, 610]),
        ("wages.csv", "wage;age\n540,5;31\n610;44\n", "wage", [540.5, 610]),
        ("wages.csv", "wage;age\n540.5;31\n610;44\n", "wage", [540.5, 610]),
        ("wages.csv", "wage\tage\n540,5\t31\n1,250\t44\n", "wage", [540.5, 1.25]),
        ("wages.csv", 'wage,age\n"540,5",31\n', "wage", [540.5]),
        ("wages.csv", "age;wage, weekly\n31;540,5\n", "wage, weekly", [540.5]),
        ("wages.csv", "\ufeffwage;age\n-0,250;31\n", "wage", [-0.25]),
        ("wages.csv", "wage\n540\n610\n", None, [540, 610]),
        ("wages.csv", "540.5\n610\n", None, [540.5, 610]),
        ("wages.txt", "540,5\n610\n", None, [540.5, 610]),
        ("wages", "-1e3\n", None, [-1000]),
    ],
)
def test_what_spreadsheets_and_programs_write(
    tmp_path: Path, name: str, content: str, column: str | None, values: list[float]
) -> None:
    (tmp_path / name).write_text(content)
    assert read_values(tmp_path / name, column) == values


def test_the_only_column_of_a_parquet_file_needs_no_name(tmp_path: Path) -> None:
    pandas.DataFrame({"wage": [1.5, 2]}).to_parquet(tmp_path / "wages.parquet")
    assert read_values(tmp_path / "wages.parquet") == [1.5, 2]
    pandas.DataFrame({"wage": [1.5], "age": [3]}).to_parquet(tmp_path / "two.parquet")
    with pytest.raises(InvalidTable, match=r"name the column of two.parquet .* --column: it has wage, age"):
        read_values(tmp_path / "two.parquet")


@pytest.mark.parametrize(
    ("name", "content", "column", "says"),
    [
        ("wages.csv", f"wage;age\n1,{SECRET[:3]};31\n2,{SECRET[:3]};31\n", "wage", "may separate thousands or begin"),
        ("wages.csv", f"wage;age\n1,{SECRET};31\n1.{SECRET};31\n", "wage", "write all of them one way"),
        ("wages.csv", f"wage;age\n1.234,{SECRET};31\n", "wage", "row 1 of the column wage .* is not a finite number"),
        ("wages.csv", f"wage\n1,{SECRET}\n", "wage", "more cells than there are columns; if its decimals begin with a"),
        ("wages.csv", f"{SECRET};31\n1;2\n", None, "has numbers in place of the columns' names"),
        ("wages.csv", f"{SECRET}\n1\n", "wage", "a number and no column's name: leave --column out"),
        ("wages.csv", f"wage,age\n{SECRET},31\n", "pay", "wages.csv has no column pay: it has wage, age"),
        ("wages.csv", f"wage;age\n{SECRET};31\n", None, "name the column of wages.csv .*: it has wage, age"),
        ("wages.txt", f"{SECRET}\n", "wage", "only .csv and .parquet files have columns"),
    ],
)
def test_what_cannot_be_told_is_refused_with_what_to_do_and_no_value(
    tmp_path: Path, name: str, content: str, column: str | None, says: str
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(InvalidTable, match=says) as refusal:
        read_values(tmp_path / name, column)
    assert SECRET[:3] not in str(refusal.value)


def test_lines_with_two_readings_are_refused() -> None:
    with pytest.raises(InvalidTable, match="line 2 of them has a comma that may separate thousands"):
        read_lines("them", b"1\n1,250\n")
