"""Count tables: what is written is read back, and every mistake in a file is named."""

import csv
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas
import pyarrow
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from dither_client import Gaussian, InvalidTable, Laplace, MemberCounts, MissingExtra, Query, RandomizedResponse
from dither_client.mechanisms.member_counts import member_table
from dither_client.tables.counts import (
    COUNT_COLUMNS,
    CountTable,
    counts_rows,
    read_table,
    table_rows,
    write_table,
)

ALLOWED = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
THIRDS = Laplace(0.1, 0.30000000000000004, 2, "0.1", "log")
CELLS = RandomizedResponse([-1e-7, 0, 1 / 3], "1.234567")
COUNTS: dict[Query, list[int]] = {THIRDS: [5, 0, 7], CELLS: [1, 2, 3, 4]}

LAPLACE_ROW = {"mechanism": "laplace", "low": "0", "high": "1", "levels": "4", "cuts": "", "epsilon": "0.1"} | {
    "transform": "identity",
    "answer": "2",
    "count": "17",
}
RANDOMIZED_ROW = {**LAPLACE_ROW, "mechanism": "randomized_response", "low": "", "high": "", "levels": "", "cuts": "0 1"}

ENDINGS = pytest.mark.parametrize("ending", ["csv", "parquet"])


def write_csv(path: Path, *rows: dict[str, str]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


@ENDINGS
def test_round_trip(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"counts.{ending}"
    assert write_table(path, counts_rows(COUNTS)) == 7
    assert read_table(path).queries == COUNTS
    assert list(read_table(path).queries) == list(COUNTS)


@ENDINGS
def test_rho_has_a_column_where_a_query_needs_one(tmp_path: Path, ending: str) -> None:
    noisy = Gaussian(0.5, 0.75, 2, "0.123456", "1.5", "log")
    plain, both = tmp_path / f"plain.{ending}", tmp_path / f"both.{ending}"
    write_table(plain, counts_rows(COUNTS))
    write_table(both, counts_rows({**COUNTS, noisy: [4, 0, 2]}))
    headers = [list(pandas.read_csv(p) if ending == "csv" else pandas.read_parquet(p)) for p in (plain, both)]
    assert headers == [list(COUNT_COLUMNS), [*COUNT_COLUMNS, "rho"]]
    assert read_table(both).queries == {**COUNTS, noisy: [4, 0, 2]}


CLINIC = MemberCounts([0.1, 1 / 3], 5, "0.3", "log")


@ENDINGS
@pytest.mark.parametrize("counts", [COUNTS, {}])
def test_what_institutions_shared_has_rows_of_its_own(
    tmp_path: Path, ending: str, counts: dict[Query, list[int]]
) -> None:
    """Two institutions alike, a third with one count like theirs: 3, 2 and 1 of each, and groups of 3 and of 2."""
    members = member_table([(CLINIC, (3, 0)), (CLINIC, (3, 0)), (CLINIC, (3, 2))])
    high, low = CLINIC.apart()
    assert members == {high: {3: 3}, low: {0: 2, 2: 1}}
    path = tmp_path / f"counts.{ending}"
    assert write_table(path, counts_rows(counts, members)) == 3 + sum(map(len, counts.values()))
    assert read_table(path) == CountTable(counts, members)
    header = list(pandas.read_csv(path) if ending == "csv" else pandas.read_parquet(path))
    assert header == [*COUNT_COLUMNS, "size"]


def test_the_row_of_an_institution(tmp_path: Path) -> None:
    write_table(tmp_path / "counts.csv", counts_rows({}, member_table([(CLINIC, (1, 2))])))
    assert (tmp_path / "counts.csv").read_text().splitlines() == [
        "mechanism,low,high,levels,cuts,epsilon,transform,answer,count,size",
        "member_counts,,,,0.1,0.3,log,1,1,3",
        "member_counts,,,,0.3333333333333333,0.3,log,2,1,2",
    ]


MEMBERS_ROW = {"mechanism": "member_counts", "low": "", "high": "", "levels": "", "cuts": "0.5", "epsilon": "1"} | {
    "transform": "identity",
    "answer": "4",
    "count": "1",
    "size": "10",
}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"size": ""}, "size is blank"),
        ({"size": "0"}, "there must be 1 to 1000000 members"),
        ({"size": "1000001"}, "there must be 1 to 1000000 members"),
        ({"size": "2.5"}, "size must be a whole number"),
        ({"size": "nan"}, "size must be a number"),
        ({"answer": "11"}, "answer must be 0 to 10, not 11"),
        ({"answer": "-1"}, "answer must be a whole number"),
        ({"answer": "NaN"}, "answer must be a number"),
        ({"answer": "1e30"}, "answer must be a whole number"),
        ({"count": "-1"}, "count must be a whole number"),
        ({"cuts": "0.5 1"}, "cuts must hold one cut"),
        ({"cuts": ""}, "cuts must hold one cut"),
        ({"cuts": "1e400"}, "cuts must be a number that a double can hold"),
        ({"levels": "4"}, "levels must be blank for member_counts"),
        ({"epsilon": "0"}, "epsilon must be above 0"),
        ({"transform": "sqrt"}, "transform must be"),
        ({**LAPLACE_ROW, "size": "10"}, "size must be blank for laplace"),
    ],
)
def test_a_wrong_row_of_an_institution_is_named(tmp_path: Path, change: dict[str, str], says: str) -> None:
    path = write_csv(tmp_path / "counts.csv", MEMBERS_ROW, {**MEMBERS_ROW, **change})
    with pytest.raises(InvalidTable, match=f"^row 2 of counts.csv: .*{says}"):
        read_table(path)


@settings(suppress_health_check=ALLOWED, deadline=None, max_examples=50)
@given(
    st.dictionaries(
        st.builds(
            lambda low, width, levels, amount: Laplace(low, low + width, levels, Fraction(amount, 10**6)),
            st.floats(-1e6, 1e6),
            st.floats(0.01, 1e6),
            st.integers(1, 5),
            st.integers(1, 50_000_000),
        )
        | st.builds(
            lambda cuts, amount: RandomizedResponse(sorted(cuts), Fraction(amount, 10**6), "log"),
            st.sets(st.floats(-1e300, 1e300), min_size=1, max_size=5),
            st.integers(1, 50_000_000),
        ),
        st.integers(0, 2**53),
        max_size=5,
    ),
    st.sampled_from(["csv", "parquet"]),
)
def test_round_trip_of_any_counts(tmp_path: Path, totals: dict[Query, int], ending: str) -> None:
    counts = {query: [total] + [0] * (query.n_answers - 1) for query, total in totals.items()}
    write_table(tmp_path / f"any.{ending}", counts_rows(counts))
    assert read_table(tmp_path / f"any.{ending}").queries == counts


def test_the_columns_of_the_contract(tmp_path: Path) -> None:
    write_table(tmp_path / "counts.csv", counts_rows(COUNTS))
    lines = (tmp_path / "counts.csv").read_text().splitlines()
    assert lines[0] == "mechanism,low,high,levels,cuts,epsilon,transform,answer,count"
    assert lines[1] == "laplace,0.1,0.30000000000000004,2,,0.1,log,0,5"
    assert lines[-1] == "randomized_response,,,,-1e-07 0.0 0.3333333333333333,1.234567,identity,3,4"


def test_parquet_has_types_that_databases_know(tmp_path: Path) -> None:
    """Also when a column is empty."""
    write_table(tmp_path / "counts.parquet", counts_rows({CELLS: [1, 2, 3, 4]}))
    table = parquet.read_table(tmp_path / "counts.parquet")
    assert [str(field.type) for field in table.schema] == [
        *("string", "double", "double", "int64", "string", "string", "string", "int64", "int64")
    ]
    assert table.column("low").null_count == 4


def test_other_tables(tmp_path: Path) -> None:
    rows = [{"mu": 1, "sigma": 2.5, "weight": 0.5, "more": "ignored"}]
    for ending in ("csv", "parquet"):
        write_table(tmp_path / f"particles.{ending}", rows, ("mu", "sigma", "weight"))
    assert (tmp_path / "particles.csv").read_text().splitlines() == ["mu,sigma,weight", "1,2.5,0.5"]
    assert parquet.read_table(tmp_path / "particles.parquet").to_pylist() == [{"mu": 1.0, "sigma": 2.5, "weight": 0.5}]


@ENDINGS
def test_no_rows(tmp_path: Path, ending: str) -> None:
    assert write_table(tmp_path / f"counts.{ending}", []) == 0
    assert read_table(tmp_path / f"counts.{ending}").queries == {}


def test_rows_of_one_answer_add_up(tmp_path: Path) -> None:
    rows = [{**LAPLACE_ROW, "region": region, "count": "3"} for region in ("north", "south")]
    path = write_csv(tmp_path / "counts.csv", *rows, {**LAPLACE_ROW, "region": "", "answer": "0", "low": "-0.0"})
    assert read_table(path).queries == {Laplace(0, 1, 4, "0.1"): [17, 0, 6, 0, 0]}


def test_what_other_programs_write(tmp_path: Path) -> None:
    """A byte order mark, blanks around cells, whole numbers with a point, ε in any form, NaN for nothing."""
    row = {**LAPLACE_ROW, "levels": "4.0", "count": " 17.0 ", "low": "0e0", "epsilon": "1E-1"}
    path = write_csv(tmp_path / "counts.csv", row)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    expected: dict[Query, list[int]] = {Laplace(0, 1, 4, "0.1"): [0, 0, 17, 0, 0]}
    assert read_table(path).queries == expected
    typed: dict[str, Any] = {**LAPLACE_ROW, "low": 0, "high": 1.0, "levels": 4, "answer": 2, "count": 17.0}
    for epsilon, nothing in ((0.1, None), (Decimal("0.1000"), ""), ("0.1", float("nan"))):
        table = pyarrow.Table.from_pylist([{**typed, "epsilon": epsilon, "cuts": nothing}])
        parquet.write_table(table, tmp_path / "counts.parquet")
        assert read_table(tmp_path / "counts.parquet").queries == expected
    frame = pandas.DataFrame([{**typed, "epsilon": 0.1, "cuts": None}, {**RANDOMIZED_ROW, "low": None, "high": None}])
    frame["levels"] = pandas.Series([4.0, None])
    frame["answer"], frame["count"], frame["epsilon"] = [2, 1], [17, 5], [0.1, 0.1]
    both: dict[Query, list[int]] = {**expected, RandomizedResponse([0, 1], "0.1"): [0, 5, 0]}
    for path, write in (
        (tmp_path / "frame.csv", frame.to_csv),
        (tmp_path / "frame.parquet", frame.to_parquet),
    ):
        write(path, index=False)
        assert read_table(path).queries == both


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({**LAPLACE_ROW, "mechanism": "gauss"}, "mechanism must be one of laplace, randomized_response"),
        ({**LAPLACE_ROW, "mechanism": ""}, "mechanism must be one of"),
        ({**LAPLACE_ROW, "low": ""}, "low is blank"),
        ({**LAPLACE_ROW, "low": "few"}, "low must be a number"),
        ({**LAPLACE_ROW, "low": "nan"}, "low must be a number"),
        ({**LAPLACE_ROW, "high": "-inf"}, "high must be a number"),
        ({**LAPLACE_ROW, "high": "1e400"}, "high must be a number that a double can hold"),
        ({**LAPLACE_ROW, "high": "0"}, "low must be below high"),
        ({**LAPLACE_ROW, "levels": "1.5"}, "levels must be a whole number"),
        ({**LAPLACE_ROW, "levels": "0"}, "levels must be 1 to 1024"),
        ({**LAPLACE_ROW, "cuts": "1"}, "cuts must be blank for laplace"),
        ({**LAPLACE_ROW, "epsilon": ""}, "epsilon is blank"),
        ({**LAPLACE_ROW, "epsilon": "0"}, "epsilon must be above 0"),
        ({**LAPLACE_ROW, "epsilon": "0.0000001"}, "epsilon must have at most six decimals"),
        ({**LAPLACE_ROW, "epsilon": "51"}, "epsilon must be at most 50"),
        ({**LAPLACE_ROW, "transform": ""}, "transform must be"),
        ({**LAPLACE_ROW, "transform": "sqrt"}, "transform must be"),
        ({**LAPLACE_ROW, "answer": ""}, "answer is blank"),
        ({**LAPLACE_ROW, "answer": "5"}, "answer must be 0 to 4, not 5"),
        ({**LAPLACE_ROW, "answer": "-1"}, "answer must be a whole number"),
        ({**LAPLACE_ROW, "count": ""}, "count is blank"),
        ({**LAPLACE_ROW, "count": "-3"}, "count must be a whole number"),
        ({**LAPLACE_ROW, "count": "2.5"}, "count must be a whole number"),
        ({**LAPLACE_ROW, "count": "many"}, "count must be a number"),
        ({**LAPLACE_ROW, "count": "1e999999999"}, "count must be a number that a double can hold"),
        ({**RANDOMIZED_ROW, "cuts": ""}, "1 to 1023 cuts"),
        ({**RANDOMIZED_ROW, "cuts": "1 0"}, "cuts must increase strictly"),
        ({**RANDOMIZED_ROW, "cuts": "0;1"}, "cuts must be a number"),
        ({**RANDOMIZED_ROW, "levels": "3"}, "levels must be blank for randomized_response"),
        ({**RANDOMIZED_ROW, "low": "3"}, "low must be blank for randomized_response"),
    ],
)
def test_a_wrong_row_is_named(tmp_path: Path, row: dict[str, str], says: str) -> None:
    path = write_csv(tmp_path / "counts.csv", LAPLACE_ROW, row)
    with pytest.raises(InvalidTable, match=f"^row 2 of counts.csv: .*{says}"):
        read_table(path)


GAUSSIAN_ROW = {**LAPLACE_ROW, "mechanism": "gaussian", "rho": "0.1", "epsilon": "0.5"}


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({**LAPLACE_ROW, "rho": "0.1"}, "rho must be blank for laplace"),
        ({**GAUSSIAN_ROW, "rho": ""}, "rho is blank"),
        ({**GAUSSIAN_ROW, "rho": "little"}, "rho must be a number"),
        ({**GAUSSIAN_ROW, "rho": "-1"}, "rho must be above 0"),
        ({**GAUSSIAN_ROW, "epsilon": "0.1"}, "epsilon must be at least"),
    ],
)
def test_a_wrong_rho_is_named(tmp_path: Path, row: dict[str, str], says: str) -> None:
    path = write_csv(tmp_path / "counts.csv", GAUSSIAN_ROW, {**LAPLACE_ROW, "rho": " "}, row)
    with pytest.raises(InvalidTable, match=f"^row 3 of counts.csv: .*{says}"):
        read_table(path)


def test_gaussian_rows_need_the_column(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "counts.csv", {name: cell for name, cell in GAUSSIAN_ROW.items() if name != "rho"})
    with pytest.raises(InvalidTable, match="rho is blank"):
        read_table(path)


def test_a_short_row_is_named(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "counts.csv", LAPLACE_ROW)
    with path.open("a") as file:
        file.write("laplace,0,1\n")
    with pytest.raises(InvalidTable, match=r"row 2 of counts\.csv: levels is blank"):
        read_table(path)


def test_a_row_with_more_cells_than_columns_is_named(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "counts.csv", LAPLACE_ROW)
    with path.open("a") as file:
        file.write(",".join([*LAPLACE_ROW.values(), "99"]) + "\n")
    with pytest.raises(InvalidTable, match=r"row 2 of counts\.csv: there are more cells than columns"):
        read_table(path)


@ENDINGS
def test_missing_columns_are_named(tmp_path: Path, ending: str) -> None:
    columns = [column for column in COUNT_COLUMNS if column not in ("count", "cuts")]
    write_table(tmp_path / f"counts.{ending}", counts_rows(COUNTS), columns)
    with pytest.raises(InvalidTable, match=rf"counts\.{ending} lacks the columns cuts, count"):
        read_table(tmp_path / f"counts.{ending}")


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"not a table", b"PAR1", b'"', b"a,b\n\x00"])
@ENDINGS
def test_files_that_are_no_tables(tmp_path: Path, content: bytes, ending: str) -> None:
    path = tmp_path / f"counts.{ending}"
    path.write_bytes(content)
    with pytest.raises(InvalidTable, match="counts"):
        read_table(path)


def test_other_endings(tmp_path: Path) -> None:
    for name in ("counts.xlsx", "counts", "csv"):
        with pytest.raises(InvalidTable, match=r"must end in \.csv or \.parquet"):
            read_table(tmp_path / name)
        with pytest.raises(InvalidTable, match=r"must end in \.csv or \.parquet"):
            write_table(tmp_path / name, [])
        assert not (tmp_path / name).exists()


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    for name in ("counts.csv", "counts.parquet"):
        with pytest.raises(FileNotFoundError):
            read_table(tmp_path / name)


def test_parquet_needs_its_extra_and_csv_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dither_client.extras.find_spec", lambda name: None)
    write_table(tmp_path / "counts.csv", counts_rows(COUNTS))
    assert read_table(tmp_path / "counts.csv").queries == COUNTS
    with pytest.raises(MissingExtra, match=r"dither\[tables\]"):
        write_table(tmp_path / "counts.parquet", counts_rows(COUNTS))


@ENDINGS
def test_groups_have_a_column_where_there_are_groups(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"counts.{ending}"
    groups: dict[str, dict[Query, list[int]]] = {
        "1": {THIRDS: [5, 0, 7]},
        "süd": {THIRDS: [1, 0, 0], CELLS: [1, 2, 3, 4]},
    }
    write_table(path, table_rows(CountTable(groups=groups)))
    table = read_table(path)
    assert table.groups == table.groups_in_order == groups
    assert table.queries == {THIRDS: [6, 0, 7], CELLS: [1, 2, 3, 4]}


def test_a_group_may_be_a_number_in_a_parquet_file(tmp_path: Path) -> None:
    path = tmp_path / "counts.parquet"
    rows = [{**row, "group": 7} for row in counts_rows({CELLS: [1, 2, 3, 4]})]
    parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    assert read_table(path).groups == {"7": {CELLS: [1, 2, 3, 4]}}


def test_rows_without_a_group_count_in_the_whole_alone(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "counts.csv", {**LAPLACE_ROW, "group": "north"}, {**LAPLACE_ROW, "group": " "})
    table = read_table(path)
    assert [sum(row) for row in table.queries.values()] == [34]
    assert [sum(row) for row in table.groups["north"].values()] == [17]
