"""Kept runs get the version of code that repeats them, and of no other."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from benchmarks.kept_runs import relabel
from dither_papers.commands._kept_runs import KeptRuns
from dither_papers.studies.catalogue import find_study
from dither_papers.studies.code_version import code_version
from dither_papers.studies.runner import run_study
from dither_papers.studies.study import Cell, Findings, Results, RunResult, Study
from testing.repository import ROOT

CELLS = [Cell({"size": size}) for size in (1, 2, 3)]


def draw(cell: Cell, rng: np.random.Generator) -> RunResult:
    return {"found": rng.normal(size=cell["size"]).tolist()}


def changed(cell: Cell, rng: np.random.Generator) -> RunResult:
    """The eighth digit of one number of one cell."""
    found = draw(cell, rng)["found"]
    return {"found": [*found[:-1], found[-1] * (1 + 1e-8) if cell["size"] == 2 else found[-1]]}


def on_another_processor(cell: Cell, rng: np.random.Generator) -> RunResult:
    """The last bit of every number."""
    return {"found": np.nextafter(draw(cell, rng)["found"], 9).tolist()}


def study(run: Callable[[Cell, np.random.Generator], RunResult]) -> Study:
    def summarise(results: Results) -> Findings:
        raise NotImplementedError

    return Study("a study", "a paper", "a figure", 2, 2, CELLS, run, summarise)


def kept(path: Path) -> KeptRuns:
    """Four runs of every cell, of an earlier version."""
    runs = KeptRuns(path, 0, "earlier")
    run_study(study(draw), 4, 0, finished=runs.add)
    return runs


def versions(path: Path) -> list[str]:
    return [json.loads(line)["code"] for line in path.read_text().splitlines()]


def test_runs_that_are_repeated_are_of_the_present_code(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    before = kept(path).results
    assert relabel(study(draw), path)
    assert versions(path) == [code_version(draw)] * 12
    assert KeptRuns(path, 0, "another").results == before


def test_runs_that_differ_in_the_last_bit_are_the_same(tmp_path: Path) -> None:
    """A sum is rounded otherwise on another processor."""
    path = tmp_path / "runs.jsonl"
    before = kept(path).results
    assert relabel(study(on_another_processor), path)
    assert KeptRuns(path, 0, "another").results == before


def test_runs_that_differ_are_not(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    kept(path)
    assert not relabel(study(changed), path)
    assert versions(path) == ["earlier"] * 12
    assert relabel(study(changed), path, drop=True)
    assert versions(path) == [code_version(changed)] * 8
    assert {key for key, _ in KeptRuns(path, 0, "another").results} == {CELLS[0].key, CELLS[2].key}


ROOMS = ("client", "estimator", "server", "migrations")
DOCSTRING = '"""What each mechanism releases: two noisy statistics, and one count."""\n'
ANOTHER_WAY, ANOTHER_RESULT = "    cell = cell\n", "    rng = np.random.default_rng(1)\n"


@pytest.mark.parametrize(("earlier", "same"), [(ANOTHER_WAY, True), (ANOTHER_RESULT, False)])
def test_code_that_made_runs_elsewhere_is_asked_here(tmp_path: Path, earlier: str, same: bool) -> None:
    """A last bit had sent the kept run elsewhere, but here its version finds what the present one finds."""
    for room in ROOMS:
        shutil.copytree(ROOT / room, tmp_path / room, ignore=shutil.ignore_patterns("__pycache__", "web"))
    module = tmp_path / "estimator" / "dither_papers" / "studies" / "ops_posteriors.py"
    assert DOCSTRING in module.read_text()
    module.write_text(module.read_text().replace(DOCSTRING, DOCSTRING + earlier))
    real, path = find_study("ops-figure-1"), tmp_path / "runs.jsonl"
    entry = {"seed": 0, "run": 0, "cell": real.cells[0].values, "result": {"noisy": [0.0, 0.0], "count": 0.0}}
    path.write_text(json.dumps({**entry, "code": "another"}) + "\n")
    with pytest.raises(
        ValueError, match=r"has the code \w{10} of ops-figure-1, whose kept runs are of another"
    ) as told:
        relabel(real, path, beside=tmp_path)
    version = str(told.value).partition("has the code ")[2][:10]
    assert version != code_version(real.run)
    path.write_text(json.dumps({**entry, "code": version}) + "\n")
    assert not relabel(real, path)
    assert relabel(real, path, beside=tmp_path) is same
    assert versions(path) == [code_version(real.run) if same else version]
