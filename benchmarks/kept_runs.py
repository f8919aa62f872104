"""Whether the present code repeats the kept runs of the papers' studies, to nine digits.

    python -m benchmarks.kept_runs [--drop] [STUDY …]

For each study whose kept runs are of another version of the code, by default for all, the first kept run of every cell
is repeated. If every one is the same, the runs are given the present version: what has changed is nothing that they
compute. Nine digits, since processors differ in the last bits of exponentials and sums. Otherwise the file stays as it
is, and the cells that differ are named; with --drop, the runs of these are taken out of it, and `make bench-papers`
computes them anew. Processor time cannot be repeated, so `truncation-costs` always differs.
"""

import json
import math
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

_DROP = "--drop"
_KEPT = Path(__file__).parent.parent / "docs" / "papers" / "runs"


def main(arguments: Sequence[str]) -> None:
    """Prints a line for each cell that is repeated, and one for each study."""
    named = [argument for argument in arguments if argument != _DROP]
    for study in map(find_study, named) if named else studies:
        relabel(study, _KEPT / f"{study.name}.jsonl", _DROP in arguments)


def relabel(study: Study, path: Path, drop: bool = False) -> bool:
    """Gives the runs in `path` the present version if they are repeated, and returns whether they have it now.

    With `drop`, runs of cells that differ are taken out first.
    """
    present = code_version(study.run)
    entries: list[dict[str, Any]] = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    versions = {entry["code"] for entry in entries}
    if versions == {present}:
        return True
    differs = {cell for cell, same in _repeated(study, entries) if not same}
    if differs and not drop:
        print(f"{study.name}: {', '.join(sorted(versions))} stays, since {len(differs)} cells differ", flush=True)
        return False
    kept = [entry | {"code": present} for entry in entries if _cell(entry) not in differs]
    path.write_text("".join(f"{json.dumps(entry)}\n" for entry in kept), encoding="utf-8")
    print(
        f"{study.name}: {', '.join(sorted(versions))} is now {present}, {len(kept)} of {len(entries)} runs", flush=True
    )
    return True


def _repeated(study: Study, entries: Sequence[dict[str, Any]]) -> Iterator[tuple[str, bool]]:
    """Each cell that has runs, and whether the first of them comes out the same."""
    cells = {cell.key: cell for cell in study.in_full().cells}
    firsts: dict[str, dict[str, Any]] = {}
    for entry in entries:
        firsts.setdefault(_cell(entry), entry)
    for key, entry in firsts.items():
        began = time.process_time()
        with threadpool_limits(1, user_api="blas"):
            found = study.run(cells[key], generator_of(study.name, entry["seed"], entry["run"]))
        same = alike(json.loads(json.dumps(found)), entry["result"])
        took = f"{time.process_time() - began:.1f} s"
        print(f"{study.name} {key}: {'the same' if same else 'DIFFERS'}, {took}", flush=True)
        yield key, same


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
