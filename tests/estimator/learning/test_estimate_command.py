"""`dither estimate`: the posterior of a count table in a file, and one clear sentence for bad input."""

import json
import math
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from populations import PAPER_PRIOR, interview, specification

from dither_client import Query, RandomizedResponse
from dither_client.commands import run
from dither_client.mechanisms.grouped_randomized_response import GroupedRandomizedResponse
from dither_client.tables.counts import COUNT_COLUMNS, counts_rows, write_table
from dither_estimator.families import families
from dither_estimator.learning.learner import Learner
from testing.patience import PATIENCE

HEADER = ",".join(COUNT_COLUMNS)
SPEC = {"family": "normal", "epsilon": 1, "prior": PAPER_PRIOR, "particles": 4_000}


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "spec.json"
    path.write_text(json.dumps(SPEC))
    return path


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_table_gives_the_posterior_of_its_answers(
    ending: str, spec: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(1)
    learner = Learner(specification(particles=4_000), 1)
    interview(learner, rng.normal(50, 3, 2_000), rng)
    table = tmp_path / f"counts.{ending}"
    write_table(table, counts_rows({query: row.tolist() for query, row in learner.counts.items()}))
    assert run(["estimate", "--spec", str(spec), "--counts", str(table), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    expected = learner.posterior()
    assert found["answers"] == 2_000
    assert found["queries"] == expected.queries
    assert found["poison"]["shift"] == pytest.approx(dict(expected.poison.shift), rel=0.15)
    for name, summary in expected.parameters.items():
        assert found["posterior"][name]["mean"] == pytest.approx(summary.mean, abs=0.15 * summary.sd)
        assert found["posterior"][name]["sd"] == pytest.approx(summary.sd, rel=0.12)


def test_a_table_of_several_epsilons(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec, table = tmp_path / "spec.json", tmp_path / "counts.csv"
    spec.write_text('{"family": "normal", "epsilon": 0.1, "epsilon_choices": [0.1, 0.3, 2]}')
    table.write_text(f"{HEADER}\nlaplace,0,2,1,,0.1,identity,0,5\nlaplace,0,3,1,,2,identity,1,7000\n")
    assert run(["estimate", "--spec", str(spec), "--counts", str(table), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["answers_by_epsilon"] == {"0.1": 5, "0.3": 0, "2": 7000}
    assert run(["estimate", "--spec", str(spec), "--counts", str(table)]) == 0
    assert "answers at ε = 0.1: 5, 0.3: 0, 2: 7,000\n" in capsys.readouterr().out


def test_people_get_a_table(spec: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "counts.csv"
    write_table(table, [])
    assert run(["estimate", "--spec", str(spec), "--counts", str(table)]) == 0
    printed = capsys.readouterr().out
    assert "Before any answer this is only what was assumed." in printed
    assert "0 answers to 0 queries" in printed
    write_table(table, counts_rows({RandomizedResponse([cut], 1): [0, 1] for cut in (40.0, 60.0)}))
    assert run(["estimate", "--spec", str(spec), "--counts", str(table)]) == 0
    assert re.search(r"\n  sigma +\S+ ± \S+ ", capsys.readouterr().out)


def test_what_one_cut_cannot_tell_has_no_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With a second cut the same answers have all of them."""
    spec, table = tmp_path / "spec.json", tmp_path / "counts.csv"
    spec.write_text(json.dumps({"family": "normal", "transform": "log", "epsilon": 1, "range": [100, 2_000]}))
    one, other = (RandomizedResponse([math.log(cut)], 1, "log") for cut in (500, 800))
    write_table(table, counts_rows({one: [400, 600]}))
    given = ["estimate", "--spec", str(spec), "--counts", str(table)]
    assert run(given) == 0
    printed = capsys.readouterr()
    assert "Warning: answers at 1 cut alone (500) cannot tell mu and sigma" in " ".join(printed.err.split())
    first, second, *rest = printed.out.splitlines()
    assert first == "Posterior of counts.csv after 1,000 answers"
    assert second.startswith("  Not identified: mu and sigma. ")
    assert len(rest) == 1, "what the computation took"
    assert rest[0].startswith("1,000 answers to 1 query;")
    assert run([*given, "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)["posterior"]) == {"mu", "sigma"}
    write_table(table, counts_rows({one: [400, 600], other: [600, 400]}))
    assert run(given) == 0
    printed = capsys.readouterr()
    assert "Half have at most" in printed.out
    assert "Not identified" not in printed.out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nonsense", "not a JSON object: line 1"),
        ('{"family": "normal", "epsilon": NaN}', "its numbers must be finite"),
        ('{"family": "normal"}', "epsilon is required"),
        ('{"family": "normal", "epsilon": 1, "transform": "log"}', "transform is not log"),
    ],
)
def test_bad_specifications(text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "spec.json").write_text(text)
    table = tmp_path / "counts.csv"
    table.write_text(f"{HEADER}\nlaplace,0,2,1,,1,identity,0,5\n")
    assert run(["estimate", "--spec", str(tmp_path / "spec.json"), "--counts", str(table)]) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert not printed.out


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("a,b\n1,2\n", "is not a count table"),
        (f"{HEADER}\nlaplace,0,2,1,,1,identity,0,-5\n", "count"),
        (f"{HEADER}\nlaplace,0,2,1,,1,identity,2,5\n", "answer"),
        (
            f"{HEADER}\nlaplace,2,0,1,,1,identity,0,5\n",
            "below high",
        ),
        (f"{HEADER}\nlaplace,x,2,1,,1,identity,0,5\n", "number"),
    ],
)
def test_bad_tables(table: str, message: str, spec: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "counts.csv").write_text(table)
    assert run(["estimate", "--spec", str(spec), "--counts", str(tmp_path / "counts.csv")]) == 2
    assert message in capsys.readouterr().err


ABOUT_CATEGORIES = "the table has questions about categories, and the specification is of numbers"
GROUPED = GroupedRandomizedResponse([[0], [1, 2]], 1)


@pytest.mark.parametrize(
    ("fields", "query", "message"),
    [
        ({}, GROUPED, ABOUT_CATEGORIES),
        ({"family": "normal"}, GROUPED, ABOUT_CATEGORIES),
        (
            {"family": "categorical", "categories": ["a", "b", "c"]},
            RandomizedResponse([1.0], 1),
            "the table has questions about numbers, and the specification is of categories",
        ),
        (
            {"family": "categorical", "categories": ["a", "b"]},
            GROUPED,
            "the table has questions about another number of categories than the specification's 2",
        ),
    ],
)
def test_a_table_about_other_values_is_refused(
    fields: dict[str, object], query: Query, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec, table = tmp_path / "spec.json", tmp_path / "counts.csv"
    spec.write_text(json.dumps({"epsilon": 1, **fields}))
    write_table(table, counts_rows({query: [30, 50]}))
    assert run(["estimate", "--spec", str(spec), "--counts", str(table), "--json"]) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", f"dither: {message}\n")


def test_without_a_family_people_get_quantiles_and_the_verdict(tmp_path: Path) -> None:
    """As `dither posterior` prints them, in the survey's unit; and nothing else is said on standard error."""
    spec, table = tmp_path / "spec.json", tmp_path / "counts.csv"
    spec.write_text('{"epsilon": 1, "minimum": 0, "unit": "€", "period_of_value": "per week", "decimals": 1}')
    cuts = [(0.01, 5), (100, 40), (500, 70), (1e9, 99)]
    write_table(table, counts_rows({RandomizedResponse([cut], 1): [200 + share, 300 - share] for cut, share in cuts}))
    code = "import sys; from dither_client.commands import run; sys.exit(run(sys.argv[1:]))"
    estimate = ["estimate", "--spec", str(spec), "--counts", str(table)]
    command = [sys.executable, "-W", "always", "-c", code, *estimate]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "Posterior of counts.csv after 2,000 answers"
    for name in ("5% have at most", "Half have at most", "95% have at most"):
        assert any(re.fullmatch(rf"  {name} +\S+ € per week  \(90%: \S+ to \S+\)", line) for line in lines), done.stdout
    assert any(re.match(r"  Half of the people have [\d.,]+ € per week or less", line) for line in lines)
    assert any(line.startswith(("  which family holds: ", "  between no family, ")) for line in lines)
    assert lines[-1].startswith("2,000 answers to 4 queries; effective sample size ")


def test_a_family_has_quantiles_and_the_mean_in_the_table(
    spec: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "counts.csv"
    write_table(table, counts_rows({RandomizedResponse([cut], 1): [200, 300] for cut in (40.0, 60.0)}))
    assert run(["estimate", "--spec", str(spec), "--counts", str(table)]) == 0
    printed = capsys.readouterr().out
    rows = [line.split("  ")[1] for line in printed.splitlines() if "  (90%: " in line]
    shares = ["5%", "10%", "25%", "Half", "75%", "90%", "95%"]
    assert rows == [*(f"{share} have at most" for share in shares), "Average", "mu", "sigma"]
    assert "holds if the values follow a normal distribution" in printed
    spec.write_text(json.dumps(json.loads(spec.read_text()) | {"transform": "log"}))
    write_table(table, counts_rows({RandomizedResponse([cut], 1, "log"): [200, 300] for cut in (3.7, 4.1)}))
    assert run(["estimate", "--spec", str(spec), "--counts", str(table)]) == 0
    assert "sigma" not in capsys.readouterr().out  # which is of logarithms


HEAVY = ("scipy.stats", "scipy.optimize", "matplotlib", "pandas", "sqlalchemy", "fastapi", "arviz_base")
"""Each takes longer to import than a million answers take to learn."""


def _imported(folder: Path, table: str, specs: list[dict[str, object]]) -> set[str]:
    """What of `HEAVY`, and of pyarrow, one process has imported that estimates with these specifications."""
    code = (
        "import json, sys; from dither_client.commands import run; "
        "assert all(run(['estimate', '--counts', sys.argv[1], '--spec', spec]) == 0 for spec in sys.argv[2:]); "
        f"print(json.dumps([name for name in {(*HEAVY, 'pyarrow')!r} if name in sys.modules]))"
    )
    files = [folder / f"{number}.json" for number in range(len(specs))]
    for file, spec in zip(files, specs, strict=True):
        file.write_text(json.dumps({"epsilon": 1, "particles": 100, **spec}))
    write_table(folder / table, counts_rows({RandomizedResponse((0.5,), 1): [30, 50]}))
    command = [sys.executable, "-c", code, str(folder / table), *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_nothing_heavy_is_imported_for_a_table(tmp_path: Path) -> None:
    """It holds for any family under its default prior; Parquet needs pyarrow, but not pandas."""
    specs: list[dict[str, object]] = [{"family": name} for name in (*families, "student_t:4")]
    assert _imported(tmp_path, "counts.csv", specs) == set()
    assert _imported(tmp_path, "counts.parquet", [{"family": "normal"}]) == {"pyarrow"}


def test_scipy_has_the_distributions_that_are_not_written_here(tmp_path: Path) -> None:
    """The test above would see an import of SciPy."""
    prior = {"mu": {"dist": "norm", "scale": 100}, "sigma": {"dist": "halfcauchy", "scale": 5}}
    assert "scipy.stats" in _imported(tmp_path, "counts.csv", [{"family": "normal", "prior": prior}])


def test_a_table_with_groups(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec, table = tmp_path / "spec.json", tmp_path / "counts.csv"
    groups = {"name": "region", "labels": ["north", "south"]}
    spec.write_text(json.dumps({"family": "normal", "epsilon": 2, "range": [0, 4], "particles": 100, "groups": groups}))
    row, other = "laplace,0,2,1,,2,identity", "laplace,0,3,1,,2,identity"
    table.write_text(f"{HEADER},group\n{row},0,5,north\n{other},1,7,south\n")
    assert run(["estimate", "--spec", str(spec), "--counts", str(table), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {label: group["answers"] for label, group in found["groups"].items()} == {"north": 5, "south": 7}
    assert run(["estimate", "--spec", str(spec), "--counts", str(table)]) == 0
    assert "south: median" in capsys.readouterr().out
    table.write_text(f"{HEADER}\n{row},0,5\n")
    assert run(["estimate", "--spec", str(spec), "--counts", str(table)]) == 2
    assert "a column group with a label in every row" in capsys.readouterr().err
