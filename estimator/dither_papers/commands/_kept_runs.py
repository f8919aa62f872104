"""Finished runs of a study in a file, one JSON object per line, so that a long study can be interrupted and resumed."""

import json
from pathlib import Path
from typing import Any

from dither_papers.studies.runner import RunKey, key_of
from dither_papers.studies.study import Run, RunResult, StudyError

__all__ = ["KeptRuns"]


class KeptRuns:
    """The runs of one study with one seed in the file `path`, which may also hold those of other seeds.

    An incomplete last line, left by a process that died, is dropped. Raises `StudyError` if the file is something else.
    """

    def __init__(self, path: Path, seed: int) -> None:
        self._path, self._seed = path, seed
        self.results: dict[RunKey, RunResult] = {}
        self._read()

    def add(self, run: Run, result: RunResult) -> None:
        """Append a run; it is in the file when this returns."""
        line = json.dumps({"seed": self._seed, "run": run.number, "cell": run.cell.values, "result": result})
        with self._path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
        self.results[key_of(run)] = result

    def _read(self) -> None:
        if not self._path.exists():
            return
        content = self._path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        for number, line in enumerate(whole.splitlines(), 1):
            self._take(number, line)
        if len(whole) < len(content):
            with self._path.open("r+b") as file:
                file.truncate(len(whole))

    def _take(self, number: int, line: bytes) -> None:
        try:
            entry: dict[str, Any] = json.loads(line)
            seed, key = entry["seed"], (json.dumps(entry["cell"], sort_keys=True), entry["run"])
            result = entry["result"]
        except (ValueError, KeyError, TypeError):
            raise StudyError(f"{self._path}, line {number}, is not a run of a study: move the file away") from None
        if seed == self._seed:
            self.results[key] = result
