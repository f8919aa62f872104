"""`dither estimate --table`: the counts that an engine makes of answers, and a sentence for what cannot be counted."""

import importlib.util
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import ibis
import pandas
import psycopg
import pytest

from dither_client import Laplace, Query, RandomizedResponse
from dither_client.commands import run
from dither_client.errors import InvalidTable
from dither_client.tables.counts import CountTable, counts_rows, table_rows, write_table
from dither_client.tables.days import ANSWER_COLUMNS
from dither_client.tables.warehouse import answer_counts, count_answers

COUNTS: dict[Query, list[int]] = {
    RandomizedResponse((0.5,), 1): [30, 50],
    RandomizedResponse((-1.0, 0.25, 3.0), 1): [4, 0, 9, 2],
    Laplace(0.0, 2.0, 1, "0.1"): [7, 11],
}
Row = dict[str, Any]


def rows_of(counts: Mapping[Query, Sequence[int]], purpose: str = "training", start: int = 0) -> list[Row]:
    """A row for each answer, shuffled: neighbours answer different questions."""
    answers = [(query, answer) for query, row in counts.items() for answer, n in enumerate(row) for _ in range(n)]
    rows = [
        {
            "collection": "wages",
            "ticket": f"{start + number:032x}",
            "query_id": query.id,
            "query": query.canonical,
            "purpose": purpose,
            "answer": answer,
            "received_at": "2027-01-15T08:00:00.000Z",
        }
        for number, (query, answer) in enumerate(answers)
    ]
    return rows[::2] + rows[1::2]


CHECKS = rows_of({RandomizedResponse((8.0,), 1): [5, 6]}, "check", 1_000)
ROWS = rows_of(COUNTS) + CHECKS
TWICE = ROWS + ROWS[5:60]
"""Delivered at least once."""

Maker = Callable[[list[Row]], str]


def in_files(folder: Path, rows: list[Row]) -> str:
    """Parquet files whose rows of one ticket are in different files."""
    for number in range(3):
        write_table(folder / f"{number}.parquet", rows[number::3], ANSWER_COLUMNS)
    return f"{folder}/*.parquet"


def in_duckdb(folder: Path, rows: list[Row]) -> str:
    frame = pandas.DataFrame(rows, columns=list(ANSWER_COLUMNS))
    with duckdb.connect(folder / "warehouse.duckdb") as database:
        database.register("frame", frame)
        database.execute("CREATE SCHEMA raw; CREATE TABLE raw.answers AS SELECT * FROM frame")
    return f"duckdb://{folder / 'warehouse.duckdb'}#raw.answers"


def in_postgres(url: str, rows: list[Row]) -> str:
    """With the question as PostgreSQL keeps JSON, and tickets as bytes."""
    plain = url.replace("+psycopg", "")
    with psycopg.connect(plain) as database:
        columns = "collection text, ticket bytea, query jsonb, purpose text, answer smallint"
        database.execute(f"CREATE TABLE answers ({columns})")
        with database.cursor() as cursor:
            for row in rows:
                values = (row["collection"], bytes.fromhex(row["ticket"]), row["query"], row["purpose"], row["answer"])
                cursor.execute("INSERT INTO answers VALUES (%s, %s, %s, %s, %s)", values)
    return f"{plain}#answers"


@pytest.fixture(params=["files", "duckdb", pytest.param("postgres", marks=pytest.mark.postgres)])
def put(request: pytest.FixtureRequest, tmp_path: Path) -> Maker:
    """Puts rows into a warehouse, and returns its URI."""
    if request.param == "postgres":
        url = request.getfixturevalue("postgres_url")
        return lambda rows: in_postgres(url, rows)
    return lambda rows: {"files": in_files, "duckdb": in_duckdb}[request.param](tmp_path, rows)


def test_each_ticket_counts_once(put: Maker) -> None:
    """Answers of the goodness-of-fit check are not learnt, and repeated rows of a ticket do not count."""
    assert answer_counts(put(TWICE)) == (CountTable(dict(COUNTS)), None)


def test_the_posterior_is_that_of_the_counts(put: Maker, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """To the last digit."""
    (tmp_path / "spec.json").write_text('{"family": "normal", "epsilon": 1, "epsilon_choices": [0.1, 1]}')
    write_table(tmp_path / "counts.csv", counts_rows(COUNTS))
    estimate = ["estimate", "--spec", str(tmp_path / "spec.json"), "--json"]
    assert run([*estimate, "--counts", str(tmp_path / "counts.csv")]) == 0
    expected = capsys.readouterr().out
    assert run([*estimate, "--table", put(TWICE)]) == 0
    assert capsys.readouterr().out == expected
    assert json.loads(expected)["answers"] == 113


def test_a_table_with_groups_is_counted_by_group(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """To the last digit as from a count table; people without a group are refused by a collection that has them."""
    labels = ["north", "=1+1"]
    rows = [row | {"group": labels[place % 2]} for place, row in enumerate(ROWS)]
    columns = (*ANSWER_COLUMNS, "group")
    write_table(tmp_path / "answers.parquet", rows + rows[:9], columns)
    counted, _ = answer_counts(str(tmp_path / "answers.parquet"))
    assert counted.queries == COUNTS
    assert sum(sum(row) for row in counted.groups["north"].values()) == (113 + 1) // 2
    write_table(tmp_path / "counts.csv", table_rows(counted))
    groups = {"name": "region", "labels": labels}
    spec = {"family": "normal", "epsilon": 1, "epsilon_choices": [0.1, 1], "range": [-5, 5], "groups": groups}
    (tmp_path / "spec.json").write_text(json.dumps(spec | {"particles": 100}))
    estimate = ["estimate", "--spec", str(tmp_path / "spec.json"), "--json"]
    assert run([*estimate, "--counts", str(tmp_path / "counts.csv")]) == 0
    expected = capsys.readouterr().out
    assert run([*estimate, "--table", str(tmp_path / "answers.parquet")]) == 0
    assert capsys.readouterr().out == expected
    assert json.loads(expected)["groups"]["north"]["answers"] == 57
    write_table(tmp_path / "answers.csv", rows, columns)
    assert run([*estimate, "--table", str(tmp_path / "answers.csv")]) == 0
    assert capsys.readouterr().out == expected
    write_table(tmp_path / "answers.parquet", [*rows, ROWS[0] | {"ticket": "ab", "group": None}], columns)
    assert run([*estimate, "--table", str(tmp_path / "answers.parquet")]) == 2
    assert "a column group with a label in every row" in capsys.readouterr().err


def changed(row: Row, **cells: object) -> Row:
    return row | cells


OTHER_QUESTION = RandomizedResponse((0.75,), 1).canonical
BAD_ROWS = {
    "answer": ([changed(ROWS[0], answer=1 - ROWS[0]["answer"])], "1 tickets have several rows that differ"),
    "question": ([changed(row, query=OTHER_QUESTION) for row in ROWS[:2]], "2 tickets have several rows that differ"),
    "purpose": ([changed(ROWS[0], purpose="check")], "1 tickets have several rows that differ"),
    "no ticket": ([changed(ROWS[0], ticket=None)], "the table has rows whose ticket is blank"),
    "no answer": ([changed(ROWS[0], answer=None, ticket="ab")], "the table has rows whose answer is blank"),
    "collections": ([changed(ROWS[0], collection="b", ticket="ab")], "the table has answers of 2 collections"),
    "large": ([changed(ROWS[0], answer=2, ticket="ab")], "a question with the answers 0 to 1 has the answer 2"),
    "negative": ([changed(ROWS[0], answer=-1, ticket="ab")], "answer must be a whole number"),
    "no question": (
        [changed(ROWS[0], query='{"mechanism": "oracle"}', ticket="ab")],
        "query holds something that is not a question",
    ),
    "no object": ([changed(ROWS[0], query="[1]", ticket="ab")], "query must hold JSON objects"),
}


@pytest.mark.parametrize(("rows", "message"), BAD_ROWS.values(), ids=list(BAD_ROWS))
def test_rows_that_cannot_be_counted(rows: list[Row], message: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidTable, match=message):
        answer_counts(in_duckdb(tmp_path, ROWS + rows))


def test_a_table_without_tickets_is_refused(tmp_path: Path) -> None:
    write_table(tmp_path / "a.parquet", ROWS, ("query", "answer"))
    with pytest.raises(InvalidTable, match="the table lacks the columns ticket"):
        answer_counts(str(tmp_path / "a.parquet"))


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        ("", "is no folder of dither export --parquet-by-day"),
        ("{folder}", "is no folder of dither export --parquet-by-day, and does not end in .parquet or .csv"),
        ("{folder}/none.parquet", "the table cannot be read: "),
        ("{folder}/text.parquet", "the table cannot be read: "),
        ("duckdb://{folder}/none.duckdb#answers", "none.duckdb does not exist: check the name and the folder"),
        ("duckdb://{folder}/warehouse.duckdb", "name the table after #"),
        ("duckdb://{folder}/warehouse.duckdb#raw.nothing", "there is no table nothing"),
        ("duckdb://{folder}/text.parquet?x#answers", "the table cannot be read: "),
        ("postgresql://someone:verysecret@127.0.0.1:1/x#answers", "the table cannot be read: "),
        ("oracle-of-delphi://x#answers", "the table cannot be read: "),
    ],
)
def test_what_is_no_table(uri: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One sentence, without a password, and no file is made."""
    in_duckdb(tmp_path, ROWS)
    (tmp_path / "text.parquet").write_text("nothing")
    (tmp_path / "spec.json").write_text('{"family": "normal", "epsilon": 1}')
    before = sorted(tmp_path.iterdir())
    spec = ["--spec", str(tmp_path / "spec.json")]
    assert run(["estimate", *spec, "--table", uri.format(folder=tmp_path)]) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.err.count("\n") == 1
    assert "verysecret" not in printed.err
    assert not printed.out
    assert sorted(tmp_path.iterdir()) == before


def test_the_options_that_are_needed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    uri = in_duckdb(tmp_path, ROWS)
    assert run(["estimate", "--table", uri]) == 2
    assert "give the collection's specification with --spec" in capsys.readouterr().err
    (tmp_path / "spec.json").write_text('{"family": "normal", "epsilon": 1}')
    spec = ["--spec", str(tmp_path / "spec.json")]
    for options in ([], ["--table", uri, "--counts", "counts.csv"]):
        assert run(["estimate", *spec, *options]) == 2
        assert "give the answers with either --counts or --table" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("pyspark") is None, reason="no PySpark")
@pytest.mark.filterwarnings("ignore")  # Spark and the libraries that it is used with warn of each other's versions
def test_spark_counts_alike() -> None:
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        engine = ibis.pyspark.connect(session)
        session.createDataFrame(TWICE).createOrReplaceTempView("answers")
        found = count_answers(engine.table("answers"))
        training = [row for row in found if row["purpose"] == "training"]
        assert {(row["query"], row["answer"]): row["count"] for row in training} == {
            (query.canonical, answer): n for query, row in COUNTS.items() for answer, n in enumerate(row) if n
        }
    finally:
        session.stop()


def test_a_table_with_periods_is_counted_by_period(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """To the last digit as from a count table; answers of no period are refused by a collection that has them."""
    labels = ["2026-W07", "2026-W09"]
    rows = [row | {"period": labels[place % 2]} for place, row in enumerate(ROWS)]
    columns = (*ANSWER_COLUMNS, "period")
    write_table(tmp_path / "answers.parquet", rows, columns)
    counted, _ = answer_counts(str(tmp_path / "answers.parquet"))
    assert counted.periods.keys() == set(labels)
    write_table(tmp_path / "counts.csv", table_rows(counted))
    spec = {"family": "normal", "epsilon": 1, "epsilon_choices": [0.1, 1], "range": [-5, 5], "period": "week"}
    (tmp_path / "spec.json").write_text(json.dumps(spec | {"drift": True, "particles": 100}))
    options = ["estimate", "--spec", str(tmp_path / "spec.json"), "--json"]
    assert run([*options, "--counts", str(tmp_path / "counts.csv")]) == 0
    expected = capsys.readouterr().out
    assert run([*options, "--table", str(tmp_path / "answers.parquet")]) == 0
    assert capsys.readouterr().out == expected
    assert list(json.loads(expected)["periods"]) == ["2026-W07", "2026-W08", "2026-W09"]
    write_table(tmp_path / "answers.parquet", [*rows, ROWS[0] | {"ticket": "ab", "period": None}], columns)
    assert run([*options, "--table", str(tmp_path / "answers.parquet")]) == 2
    assert "a column period with a week in every row" in capsys.readouterr().err
