"""Studies are seeded, the same for any number of jobs, and taken up where they stopped."""

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from distributed import Client, LocalCluster

from dither_client.commands import run
from dither_estimator.workers import NoWorkers
from dither_papers.commands._kept_runs import KeptRuns
from dither_papers.studies import code_version as code_version_module
from dither_papers.studies import runner
from dither_papers.studies.catalogue import find_study
from dither_papers.studies.code_version import code_version
from dither_papers.studies.runner import run_study
from dither_papers.studies.study import Cell, Findings, Results, Run, RunResult, Study, StudyError
from testing.servers.process import free_port

CELLS = [Cell({"scale": scale, "method": "draw"}) for scale in (1.0, 2.0)] + [Cell({"method": "exact"}, random=False)]


def one(cell: Cell, rng: np.random.Generator) -> RunResult:
    if cell["method"] == "exact":
        return {"x": 0.0}
    return {"x": cell["scale"] * float(rng.normal()), "list": rng.integers(9, size=3).tolist()}


def broken(cell: Cell, rng: np.random.Generator) -> RunResult:
    """Depends on more than its generator."""
    return {"x": float(np.random.default_rng().normal())}


def summarise(results: Results) -> Findings:
    return Findings([{"mean": float(results.array("x", scale=1.0, method="draw").mean())}], "", lambda figure: None)


def study(run: object = one, name: str = "a-study") -> Study:
    return Study(name, "paper", "Figure 1", 2, 4, CELLS, run, summarise)  # type: ignore[arg-type]


def test_every_cell_has_its_runs_and_a_certain_one_has_one() -> None:
    results = run_study(study(), 5)
    assert [len(runs) for runs in results.by_cell.values()] == [5, 5, 1]
    assert results.only(method="exact") == {"x": 0.0}
    assert results.array("list", scale=1.0, method="draw").shape == (5, 3)


def test_cells_meet_the_same_draws_in_the_same_run() -> None:
    results = run_study(study(), 3)
    first, second = (results.array("x", scale=scale, method="draw") for scale in (1.0, 2.0))
    assert np.array_equal(second, 2 * first)
    assert len(set(first)) == 3


def test_the_seed_and_the_name_matter_and_nothing_else() -> None:
    assert run_study(study(), 3).by_cell == run_study(study(), 3).by_cell
    assert run_study(study(), 3).by_cell != run_study(study(), 3, seed=1).by_cell
    assert run_study(study(), 3).by_cell != run_study(study(name="another"), 3).by_cell
    assert run_study(study(broken), 3).by_cell != run_study(study(broken), 3).by_cell


@pytest.mark.slow
def test_the_number_of_jobs_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    """In processes from the second run on, whose results come back in any order."""
    monkeypatch.setattr(runner, "_PARALLEL_FROM_SECONDS", 0.0)
    real = find_study("ubapp-figure-7")
    assert run_study(real, 2, jobs=2).by_cell == run_study(real, 2, jobs=1).by_cell


@pytest.mark.slow
def test_the_workers_of_a_scheduler_find_the_same() -> None:
    """Two of them, in processes of their own; and this process computes nothing."""
    real = find_study("ubapp-figure-7")
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster) as client,
    ):
        found = run_study(real, 2, jobs=-1, scheduler=cluster.scheduler_address)
        took_part = client.run(lambda: "dither_papers.studies.runner" in sys.modules)
    assert list(took_part.values()) == [True, True]
    assert found.by_cell == run_study(real, 2, jobs=1).by_cell


def test_a_scheduler_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    address = f"tcp://127.0.0.1:{free_port()}"
    command = ["reproduce", "ubapp-figure-7", "--runs", "1", "--out", str(tmp_path), "--scheduler", address]
    assert run(command) == 2
    assert f"no Dask scheduler answers at {address}" in capsys.readouterr().err
    assert run([*command[:-1], "nonsense://x"]) == 2
    assert "no Dask scheduler answers" in capsys.readouterr().err


def test_a_scheduler_without_workers() -> None:
    with (
        LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0") as cluster,
        pytest.raises(NoWorkers, match="has no workers: start some with dask worker"),
    ):
        run_study(study(), 2, scheduler=cluster.scheduler_address)


def test_more_runs_begin_with_the_same_ones() -> None:
    few, many = run_study(study(), 2), run_study(study(), 4)
    assert all(list(many.by_cell[key])[: len(runs)] == list(runs) for key, runs in few.by_cell.items())


def test_finished_runs_are_not_computed_again(tmp_path: Path) -> None:
    file = tmp_path / "runs.jsonl"
    kept = KeptRuns(file, 0, "v1")
    whole = run_study(study(), 4, kept=kept.results, finished=kept.add)
    assert file.read_text().count("\n") == 9

    def never(cell: Cell, rng: np.random.Generator) -> RunResult:
        raise AssertionError("computed again")

    again = KeptRuns(file, 0, "v1")
    assert run_study(study(never), 4, kept=again.results, finished=again.add).by_cell == whole.by_cell
    assert run_study(study(never), 2, kept=again.results).by_cell == run_study(study(), 2).by_cell
    with pytest.raises(AssertionError, match="computed again"):
        run_study(study(never), 5, kept=again.results)
    assert not KeptRuns(file, 1, "v1").results, "another seed's runs are its own"


def test_a_study_that_was_killed_is_taken_up(tmp_path: Path) -> None:
    """At any byte: what was whole is kept, the rest computed again, to the same results and the same file."""
    file = tmp_path / "runs.jsonl"
    kept = KeptRuns(file, 0, "v1")
    whole = run_study(study(), 2, kept=kept.results, finished=kept.add)
    content = file.read_bytes()
    for cut in range(0, len(content), 7):
        file.write_bytes(content[:cut])
        again = KeptRuns(file, 0, "v1")
        assert len(again.results) == content[:cut].count(b"\n")
        assert run_study(study(), 2, kept=again.results, finished=again.add).by_cell == whole.by_cell
        assert sorted(file.read_bytes().splitlines()) == sorted(content.splitlines())


def test_a_run_is_in_the_file_when_it_is_finished(tmp_path: Path) -> None:
    kept = KeptRuns(tmp_path / "runs.jsonl", 3, "v1")
    kept.add(Run(CELLS[0], 1), {"x": 1.5})
    line = json.loads((tmp_path / "runs.jsonl").read_text())
    assert line == {"seed": 3, "code": "v1", "run": 1, "cell": {"scale": 1.0, "method": "draw"}, "result": {"x": 1.5}}


@pytest.mark.parametrize("line", ["{}", "not json", "[1]", '{"seed": 0}'])
def test_a_file_of_something_else_is_refused(tmp_path: Path, line: str) -> None:
    file = tmp_path / "runs.jsonl"
    file.write_text(line + "\n")
    with pytest.raises(StudyError, match="line 1"):
        KeptRuns(file, 0, "v1")
    assert file.read_text() == line + "\n"


def test_runs_of_two_versions_are_never_mixed(tmp_path: Path) -> None:
    """In the file of a seed; those of another seed are its own."""
    file = tmp_path / "runs.jsonl"
    KeptRuns(file, 0, "v1").add(Run(CELLS[0], 0), {"x": 1.0})
    later = KeptRuns(file, 0, "v2")
    assert later.code == "v1", "what is there can still be shown"
    with pytest.raises(StudyError, match="runs of version v1 of the code, not of the present v2: move the file away"):
        later.check_present()
    other = KeptRuns(file, 1, "v2")
    other.check_present()
    other.add(Run(CELLS[0], 0), {"x": 1.0})
    with file.open("a") as both:
        both.write(file.read_text().splitlines()[0].replace("v1", "v2") + "\n")
    with pytest.raises(StudyError, match="several versions"):
        KeptRuns(file, 0, "v2")


def test_the_version_is_that_of_what_a_run_reaches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A comment, a docstring and what only draws leave it; a constant two modules away and a function change it."""
    (tmp_path / "dither_far.py").write_text('FAR = 2\n"""Doc."""\nUNUSED = 3\n')
    (tmp_path / "dither_near.py").write_text("from dither_far import FAR\n\ndef near(x):\n    return x * FAR\n")
    text = "from dither_near import near\n\ndef run(x):\n    return near(x)\n\ndef draw(x):\n    return 1\n"
    text += "ALL = [draw(x) for x in range(3)]\n"
    (tmp_path / "dither_one.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)

    def version() -> str:
        code_version_module._parsed.cache_clear()
        code_version_module._definition.cache_clear()
        return code_version(importlib.import_module("dither_one").run)

    first = version()
    for name, old, new, changes in (
        ("dither_far", "Doc", "Other words", False),
        ("dither_far", "UNUSED = 3", "UNUSED = 4", False),
        ("dither_one", "return 1", "return 2", False),
        ("dither_near", "x * FAR", "x * FAR  # a comment", False),
        ("dither_far", "FAR = 2", "FAR = 3", True),
        ("dither_near", "x * FAR", "x + FAR", True),
    ):
        file = tmp_path / f"{name}.py"
        before = file.read_text()
        file.write_text(before.replace(old, new))
        assert (version() != first) == changes, (name, new)
        file.write_text(before)
    assert version() == first


def test_every_study_has_a_version_of_its_own_runs() -> None:
    """Two studies that compute the same have the same; Figure 2's runs reach the design of questions."""
    version = {
        name: code_version(find_study(name).run) for name in ("ubapp-figure-5", "ubapp-figure-7", "ops-figure-1")
    }
    assert version["ubapp-figure-5"] == version["ubapp-figure-7"] != version["ops-figure-1"]
