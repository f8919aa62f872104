"""Kept runs get the version of code that repeats them, and of no other."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.kept_runs import relabel
from dither_papers.commands._kept_runs import KeptRuns
from dither_papers.studies.code_version import code_version
from dither_papers.studies.runner import run_study
from dither_papers.studies.study import Cell, Findings, Results, RunResult, Study

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
