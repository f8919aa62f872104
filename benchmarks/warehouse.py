"""Answers in Parquet files: the time and memory of `dither estimate --table`, beside the engine's own `GROUP BY`.

    python -m benchmarks.warehouse [ANSWERS]

Writes ANSWERS (default 100,000,000) as `dither export --parquet-by-day` does, 112 questions, into a temporary folder,
after a look at the free space. Beyond 100,000,000 the same files are there again under other names: each has its own
ticket only within them, and they are read as often. Each way runs in a process of its own, and its peak memory is the
system's. Tickets are counted on a tenth of the first 100,000,000, since that takes longest.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from pathlib import Path

import duckdb

from dither_client import RandomizedResponse
from dither_client.mechanisms.query import Query
from dither_client.tables.counts import counts_rows, write_table
from dither_client.tables.days import DayFile, Manifest
from dither_client.tables.warehouse import answer_counts
from testing.tables import print_table

__all__ = ["main"]

_ANSWERS = 100_000_000
_QUESTIONS = 112
_DAYS = 20
_BYTES_PER_ANSWER = 24
_TENTH = 10
_SPECIFICATION = {"family": "normal", "epsilon": 1}

_ROWS = """
COPY (
    SELECT 'survey' AS collection, md5((first + n)::VARCHAR) AS ticket, query_id, query, 'training' AS purpose,
           (hash(first + n) % 1000 < above)::BIGINT AS answer,
           strftime(day + to_seconds(n % 86400), '%Y-%m-%dT%H:%M:%S.000Z') AS received_at
    FROM range($rows) AS numbers (n), (SELECT $first::BIGINT AS first, $day::TIMESTAMP AS day), questions
    WHERE number = n % (SELECT count(*) FROM questions)
) TO '{file}' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 122880)
"""
_PLAIN = "SELECT collection, purpose, query, answer, count(*) FROM '{files}' GROUP BY ALL"
_ENGINE = "import duckdb, sys; duckdb.connect().execute(sys.argv[1]).fetchall()"
_COMMAND = "from dither_client.commands import main; main()"
_METER = """
import json, os, subprocess, sys, time
began = time.monotonic()
process = subprocess.Popen(sys.argv[2:])
_, status, usage = os.wait4(process.pid, 0)
with open(sys.argv[1], "w") as file:
    json.dump([time.monotonic() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000], file)
os._exit(os.waitstatus_to_exitcode(status))
"""
"""Runs a command and measures it. Small, since a child's peak memory begins with that of whoever started it."""


def main() -> None:
    """Prints the table."""
    answers = int(float(sys.argv[1])) if len(sys.argv) > 1 else _ANSWERS
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        free, needed = shutil.disk_usage(folder).free, 2 * min(answers, _ANSWERS) * _BYTES_PER_ANSWER
        if free < needed:
            sys.exit(f"{answers:,} answers need {needed >> 30} GiB in {folder}, where {free >> 30} GiB are free")
        some = folder / "some"
        _write(some, min(answers, _ANSWERS) // _TENTH)
        everything = folder / "everything"
        written = _write(everything, answers)
        specification, counts = folder / "specification.json", folder / "counts.csv"
        specification.write_text(json.dumps(_SPECIFICATION))
        write_table(counts, counts_rows(answer_counts(str(everything))[0].queries))
        print(f"{answers:,} answers in {_size(everything) / 1e9:.2f} GB, written in {written:.0f} s")
        columns = ("what", "answers", "s", "processor, s", "peak memory, MB")
        print_table("Answers in Parquet files", columns, _rows(answers, everything, some, specification, counts))


def _rows(answers: int, everything: Path, some: Path, specification: Path, counts: Path) -> Iterator[list[str]]:
    estimate = [sys.executable, "-c", _COMMAND, "estimate", "--json", "--spec", str(specification)]
    plain, _ = _measured([sys.executable, "-c", _ENGINE, _PLAIN.format(files=everything / "*.parquet")])
    yield ["DuckDB's own `GROUP BY`, its answer thrown away", f"{answers:,}", *plain]
    alone, expected = _measured([*estimate, "--counts", str(counts)])
    yield ["`dither estimate --counts`, the same counts in a file", f"{_QUESTIONS * 2} rows", *alone]
    found, posterior = _measured([*estimate, "--table", str(everything)])
    assert posterior == expected, "the posterior of the table is not that of its counts"
    yield ["`dither estimate --table`, a folder by day", f"{answers:,}", *found]
    repeats, _ = _measured([*estimate, "--table", str(some / "*.parquet")])
    yield ["`dither estimate --table`, tickets counted once", f"{min(answers, _ANSWERS) // _TENTH:,}", *repeats]


def _measured(command: Sequence[str]) -> tuple[list[str], bytes]:
    """Seconds, processor time and peak memory of a command, and what it printed."""
    with tempfile.NamedTemporaryFile() as figures:
        meter = [sys.executable, "-S", "-c", _METER, figures.name]
        printed = subprocess.run([*meter, *command], check=True, stdout=subprocess.PIPE).stdout
        seconds, processor, megabytes = json.load(figures)
    return [f"{seconds:.1f}", f"{processor:.1f}", f"{megabytes:.0f}"], printed


def _write(folder: Path, answers: int) -> float:
    """Writes a folder by day, and returns how many seconds that took."""
    folder.mkdir()
    began = time.monotonic()
    engine = duckdb.connect()
    engine.execute("CREATE TABLE questions (number BIGINT, query_id VARCHAR, query VARCHAR, above BIGINT)")
    for number in range(_QUESTIONS):
        query: Query = RandomizedResponse([number / 16], 1)
        engine.execute(
            "INSERT INTO questions VALUES (?, ?, ?, ?)", [number, query.id, query.canonical, 730 - 4 * number]
        )
    manifest = Manifest(folder, "survey", _SPECIFICATION)
    distinct = min(answers, _ANSWERS)
    for number in range(_DAYS * max(1, answers // _ANSWERS)):
        day = date(2026, 1, 1) + timedelta(number)
        first, last = (distinct * step // _DAYS for step in (number % _DAYS, number % _DAYS + 1))
        file = f"survey-{day.isoformat()}.parquet"
        if number < _DAYS:
            values = {"rows": last - first, "first": first, "day": day.isoformat()}
            engine.execute(_ROWS.format(file=folder / file), values)
        else:
            os.link(manifest.files[number % _DAYS], folder / file)
        manifest = manifest.with_day(DayFile(day, last - first, file, None))
    return time.monotonic() - began


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.glob("*.parquet"))


if __name__ == "__main__":
    main()
