"""Whether the present code repeats the kept runs of the papers' studies, to nine digits.

    python -m benchmarks.kept_runs [--drop] [--beside FOLDER] [STUDY …]

For each study whose kept runs are of another version of the code, by default for all, the first kept run of every cell
is repeated. If every one is the same, the runs are given the present version: what has changed is nothing that they
compute. Nine digits, since processors differ in the last bits of exponentials and sums. Otherwise the file stays as it
is, and the cells that differ are named; with --drop, the runs of these are taken out of it, and `make bench-papers`
computes them anew. Processor time cannot be repeated, so `truncation-costs` always differs.

Where a chain accepts or refuses, a last bit may decide, and everything after it is another draw. So a cell that differs
may only have been computed on another processor: with --beside, the code that made the kept runs, in a checkout at
FOLDER, computes it here, too, and if it finds the same as the present code, to the last digit, that is enough.
"""

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from dither_papers.studies.catalogue import find_study, studies
from dither_papers.studies.code_version import code_version
from dither_papers.studies.runner import generator_of
from dither_papers.studies.study import Study

__all__ = ["alike", "main", "relabel"]

_DROP, _BESIDE = "--drop", "--beside"
_ROOMS = ("client", "estimator", "server", "migrations")
_REPEAT = """
import json, sys
from threadpoolctl import threadpool_limits
from dither_papers.studies.catalogue import find_study
from dither_papers.studies.code_version import code_version
from dither_papers.studies.runner import generator_of
name, key, seed, run = json.load(sys.stdin)
study = find_study(name)
[cell] = [cell for cell in study.in_full().cells if cell.key == key]
with threadpool_limits(1, user_api="blas"):
    found = study.run(cell, generator_of(name, seed, run))
json.dump([code_version(study.run), found], sys.stdout)
"""
"""Repeats a run by the code that is on the path."""
_KEPT = Path(__file__).parent.parent / "docs" / "papers" / "runs"


def main(arguments: Sequence[str]) -> None:
    """Prints a line for each cell that is repeated, and one for each study."""
    beside, named = None, list(arguments)
    if _BESIDE in named:
        at = named.index(_BESIDE)
        beside = Path(*named[at + 1 : at + 2]).resolve()
        if not (beside / "estimator" / "dither_papers").is_dir() or at + 1 == len(named):
            sys.exit(f"{_BESIDE} needs the folder of a checkout of this project, with the code that made the kept runs")
        del named[at : at + 2]
    drop = _DROP in named
    named = [name for name in named if name != _DROP]
    for study in map(find_study, named) if named else studies:
        relabel(study, _KEPT / f"{study.name}.jsonl", drop, beside)


def relabel(study: Study, path: Path, drop: bool = False, beside: Path | None = None) -> bool:
    """Gives the runs in `path` the present version if they are repeated, and returns whether they have it now.

    With `drop`, runs of cells that differ are taken out first. `beside` is a checkout of the version that made them.
    """
    present = code_version(study.run)
    entries: list[dict[str, Any]] = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    versions = {entry["code"] for entry in entries}
    if versions == {present}:
        return True
    differs = {cell for cell, same in _repeated(study, entries, beside) if not same}
    if differs and not drop:
        print(f"{study.name}: {', '.join(sorted(versions))} stays, since {len(differs)} cells differ", flush=True)
        return False
    kept = [entry | {"code": present} for entry in entries if _cell(entry) not in differs]
    path.write_text("".join(f"{json.dumps(entry)}\n" for entry in kept), encoding="utf-8")
    print(
        f"{study.name}: {', '.join(sorted(versions))} is now {present}, {len(kept)} of {len(entries)} runs", flush=True
    )
    return True


def _repeated(study: Study, entries: Sequence[dict[str, Any]], beside: Path | None) -> Iterator[tuple[str, bool]]:
    """Each cell that has runs, and whether the first of them comes out the same."""
    cells = {cell.key: cell for cell in study.in_full().cells}
    firsts: dict[str, dict[str, Any]] = {}
    for entry in entries:
        firsts.setdefault(_cell(entry), entry)
    for key, entry in firsts.items():
        began = time.process_time()
        with threadpool_limits(1, user_api="blas"):
            found = study.run(cells[key], generator_of(study.name, entry["seed"], entry["run"]))
        found = json.loads(json.dumps(found))
        same = alike(found, entry["result"]) or (beside is not None and found == _found_by(beside, study, key, entry))
        took = f"{time.process_time() - began:.1f} s"
        print(f"{study.name} {key}: {'the same' if same else 'DIFFERS'}, {took}", flush=True)
        yield key, same


def _found_by(folder: Path, study: Study, key: str, entry: dict[str, Any]) -> Any:
    """The result of a run by the code of another checkout. Raises `ValueError` unless that made the kept runs."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(str(folder / room) for room in _ROOMS)}
    asked = json.dumps([study.name, key, entry["seed"], entry["run"]])
    command = [sys.executable, "-c", _REPEAT]
    done = subprocess.run(command, input=asked, env=environment, cwd=folder, text=True, capture_output=True, check=True)
    version, found = json.loads(done.stdout)
    if version != entry["code"]:
        raise ValueError(f"{folder} has the code {version} of {study.name}, whose kept runs are of {entry['code']}")
    return found


def alike(found: Any, kept: Any) -> bool:
    """Whether two results in JSON are the same, their numbers to nine digits."""
    if isinstance(found, dict) and isinstance(kept, dict):
        return found.keys() == kept.keys() and all(alike(found[name], kept[name]) for name in found)
    if isinstance(found, list) and isinstance(kept, list):
        return len(found) == len(kept) and all(map(alike, found, kept))
    if isinstance(found, float) and isinstance(kept, float):
        return math.isclose(found, kept, rel_tol=1e-9, abs_tol=1e-12)
    return bool(found == kept)


def _cell(entry: dict[str, Any]) -> str:
    """The key of a run's cell, as `Cell.key`."""
    return json.dumps(entry["cell"], sort_keys=True)


if __name__ == "__main__":
    main(sys.argv[1:])
