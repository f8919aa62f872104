"""`dither reproduce`: the list, files, JSON, one clear sentence for bad input."""

import csv
import json
import signal
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from dither_client.commands import run
from dither_papers.studies.catalogue import studies
from testing.patience import PATIENCE, until

CaptureFixture = pytest.CaptureFixture[str]

QUICK = "ubapp-figure-7"


def reproduce(capsys: CaptureFixture, out: Path, *arguments: str) -> Any:
    assert run(["reproduce", QUICK, "--out", str(out), "--json", *arguments]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_list_has_every_study(capsys: CaptureFixture) -> None:
    assert run(["reproduce", "--list"]) == 0
    text = capsys.readouterr().out
    assert run(["reproduce", "--list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["studies"]
    assert [entry["study"] for entry in listed] == [study.name for study in studies]
    for study in studies:
        assert study.name in text


def test_studies_are_named_apart_and_small_by_default() -> None:
    names = [study.name for study in studies]
    assert len(set(names)) == len(names)
    for study in studies:
        assert len({cell.key for cell in study.cells}) == len(study.cells)
        assert 0 < study.runs <= study.full_runs


def test_table_figure_and_csv_are_written(capsys: CaptureFixture, tmp_path: Path) -> None:
    found = reproduce(capsys, tmp_path, "--runs", "2")
    assert list(found) == ["study", "paper", "reproduces", "runs", "seed", "code", "rows", "sentence", "files"]
    assert found["runs"] == 2
    assert found["sentence"].startswith("Paper: ")
    files = {kind: Path(file) for kind, file in found["files"].items()}
    assert files["figure"].read_bytes().startswith(b"\x89PNG")
    with files["csv"].open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [{k: float(v) for k, v in row.items()} for row in rows] == found["rows"]
    text = files["table"].read_text()
    assert found["sentence"] in text
    assert f"]({QUICK}.png)" in text
    assert f"`dither reproduce {QUICK} --runs 2 --seed 0`, runs: 2, in full 5; code {found['code']}" in text


def test_the_seed_decides_and_runs_are_kept(capsys: CaptureFixture, tmp_path: Path) -> None:
    first = reproduce(capsys, tmp_path, "--runs", "1")
    assert reproduce(capsys, tmp_path / "elsewhere", "--runs", "1")["rows"] == first["rows"]
    assert reproduce(capsys, tmp_path / "elsewhere", "--runs", "1", "--seed", "5")["rows"] != first["rows"]
    kept = tmp_path / "runs" / f"{QUICK}.jsonl"
    lines = kept.read_text().splitlines()
    assert reproduce(capsys, tmp_path, "--runs", "1")["rows"] == first["rows"]
    assert kept.read_text().splitlines() == lines
    entry = json.loads(lines[0])
    entry["result"]["mse"] = 77.0
    kept.write_text("\n".join([json.dumps(entry), *lines[1:]]) + "\n")
    assert 77.0 in reproduce(capsys, tmp_path, "--runs", "1")["rows"][0].values(), "what is kept is used"


def test_a_table_and_a_sentence_for_people(capsys: CaptureFixture, tmp_path: Path) -> None:
    assert run(["reproduce", QUICK, "--out", str(tmp_path), "--runs", "1"]) == 0
    printed = capsys.readouterr()
    assert "Lakshminarayanan & Rojas: Figure 7" in printed.out
    assert "Paper: " in printed.out
    assert str(tmp_path) in printed.out.replace("\n", "")
    assert QUICK in printed.err, "progress"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "name a study, or all; see dither reproduce --list"),
        (["ubapp-figure-44"], "there is no such study; did you mean ubapp-figure-4"),
        (["zzz"], "there is no such study; see dither reproduce --list"),
        ([QUICK, "--runs", "0"], "runs must be a whole number from 1 to 1,000,000, or full"),
        ([QUICK, "--runs", "many"], "runs must be a whole number from 1 to 1,000,000, or full"),
        ([QUICK, "--data", "any.csv"], "data is for one of the studies that take a file: "),
        (["all", "--data", "any.csv"], "data is for one of the studies that take a file: "),
        (["war-logs-states", "--data", "missing.csv"], "missing.csv does not exist: check the name and the folder"),
        ([QUICK, "--seed", "-1"], "--seed"),
        ([QUICK, "--jobs", "0"], "--jobs"),
    ],
)
def test_bad_input_gets_one_sentence(
    capsys: CaptureFixture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["reproduce", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert sentence in printed.err
    assert printed.err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_file_in_the_way_is_one_sentence(capsys: CaptureFixture, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert run(["reproduce", QUICK, "--out", str(tmp_path / "file")]) != 0
    assert capsys.readouterr().err.count("\n") == 1


def test_the_extra_is_named_where_it_is_missing() -> None:
    code = (
        "import sys; sys.modules['joblib'] = None; from dither_client.commands import run; "
        "sys.exit(run(['reproduce', '--list']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 2
    assert "pip install 'dither[papers]'" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
def test_a_study_that_is_interrupted_says_so_and_goes_on(tmp_path: Path) -> None:
    """As with Ctrl-C, in a process of its own; the second call computes what the first had not."""
    # Where these tests run in the background of a shell, the process would begin with Ctrl-C ignored.
    heeds = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    start = f"{heeds}; from dither_client.commands import main; main()"
    command = [sys.executable, "-c", start, "reproduce", "ops-figure-2"]
    arguments = ["--runs", "20", "--out", str(tmp_path), "--jobs", "1"]
    kept = tmp_path / "runs" / "ops-figure-2.jsonl"
    with subprocess.Popen([*command, *arguments], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        until(lambda: kept.exists() and kept.read_bytes().count(b"\n") > 5)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, "what a shell makes of Ctrl-C"
    assert "Traceback" not in said
    before = kept.read_text()
    assert 5 < before.count("\n") < 400
    runs = ["--runs", "1", *arguments[2:]]
    done = subprocess.run([*command, *runs], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0
    assert kept.read_text().startswith(before)


def entries(folder: Path) -> Path:
    """A table of two regions, and of two states that are plain to see."""
    table = folder / "table.csv"
    lines = ["region,time,kind,harm"]
    for region, month in product(("north", "south"), range(10, 22)):
        kind, harm = ("a", "no") if (month < 16) == (region == "north") else ("b", "yes")
        lines += [f"{region},{month},{kind},{harm}"] * 200 + [f"{region},{month},c,no"] * 20
    table.write_text("\n".join(lines) + "\n")
    return table


@pytest.mark.slow
def test_the_data_of_a_file(capsys: CaptureFixture, tmp_path: Path) -> None:
    """A table of its own; its runs are kept apart from those of the synthetic ones."""
    table = entries(tmp_path)
    arguments = ["--data", str(table), "--out", str(tmp_path), "--jobs", "1", "--json"]
    assert run(["reproduce", "war-logs-states", *arguments]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {row["states"] for row in rows} == {2, 3}
    assert all(row["data"].startswith("file ") for row in rows)
    [laplace] = [row for row in rows if row["method"] == "Laplace" and row["states"] == 2]
    assert laplace["states that are right"] > 0.95
    table.write_text(table.read_text() + "south,99,c,no\n")
    assert run(["reproduce", "war-logs-states", *arguments]) == 0
    again = json.loads(capsys.readouterr().out)["rows"]
    assert {row["data"] for row in again} != {row["data"] for row in rows}


@pytest.mark.slow
def test_emissions_of_the_data_of_a_file(capsys: CaptureFixture, tmp_path: Path) -> None:
    """The table's own features in its two states, beside what is found without privacy."""
    arguments = ["--data", str(entries(tmp_path)), "--out", str(tmp_path), "--runs", "2", "--jobs", "1", "--json"]
    assert run(["reproduce", "war-logs-emissions", *arguments]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["reproduces"].endswith("the records of a file")
    assert "found without privacy stand for the true ones" in found["sentence"]
    assert [(row["state"], row["feature"]) for row in found["rows"]] == list(product((1, 2), ("kind", "harm")))
    for row in found["rows"]:
        assert row["without privacy, distance"] < 0.02
        assert row["Laplace, distance"] < 0.03
        assert row["Laplace, mode is right"] == 1
    kept = [json.loads(line) for line in (tmp_path / "runs" / "war-logs-emissions.jsonl").read_text().splitlines()]
    assert len({entry["cell"]["data"] for entry in kept}) == 1
    assert kept[0]["cell"]["data"].startswith("file ")


@pytest.mark.parametrize("study", ["war-logs-states", "war-logs-emissions", "war-logs-figure-6"])
def test_a_file_that_is_no_table_is_one_sentence_that_says_what_is_needed(
    capsys: CaptureFixture, tmp_path: Path, study: str
) -> None:
    nonsense = tmp_path / "nonsense.csv"
    nonsense.write_text("place,value\nsecret,2\n")
    assert run(["reproduce", study, "--data", str(nonsense), "--out", str(tmp_path / "out")]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert "the table must have the columns region and time, and one for each feature" in printed.err
    assert "secret" not in printed.err
    assert not (tmp_path / "out").exists()


def test_a_table_may_have_the_mark_that_spreadsheets_put_first(capsys: CaptureFixture, tmp_path: Path) -> None:
    """With it the columns are found, and a value that lacks; another encoding is refused, with what to do."""
    table = tmp_path / "table.csv"
    table.write_text("region,time,kind\nß,2\n", encoding="utf-8-sig")
    arguments = ["reproduce", "war-logs-states", "--data", str(table), "--out", str(tmp_path / "out")]
    assert run(arguments) == 2
    assert "each with a value in every column" in capsys.readouterr().err.replace("\n", " ")
    table.write_text("region,time,kind\nß,2,a\n", encoding="latin-1")
    assert run(arguments) == 2
    assert f"{table} is not in UTF-8: save it as CSV in UTF-8" in capsys.readouterr().err.replace("\n", " ")
