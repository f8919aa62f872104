"""Finished runs of a study in a file, one JSON object per line, so that a long study can be interrupted and resumed.

Each has the version of the code that computed it, and runs of two versions are never mixed.
"""

import json
from pathlib import Path
from typing import Any

from dither_papers.studies.runner import RunKey, key_of
from dither_papers.studies.study import Run, RunResult, StudyError

__all__ = ["KeptRuns"]


class KeptRuns:
    """The runs of one study with one seed in the file `path`, which may also hold those of other seeds.

    `code` is the version of the present code. An incomplete last line, left by a process that died, is dropped. Raises
    `StudyError` if the file is something else, or has runs of several versions.
    """

    def __init__(self, path: Path, seed: int, code: str) -> None:
        self._path, self._seed, self._present = path, seed, code
        self.results: dict[RunKey, RunResult] = {}
        self._versions: set[str] = set()
        self._read()
        if len(self._versions) > 1:
            raise StudyError(f"{path} has runs of several versions of the code: move the file away")

    @property
    def code(self) -> str:
        """The version of the code that computed the runs; of the present code while there are none."""
        return next(iter(self._versions), self._present)

    def check_present(self) -> None:
        """Raise `StudyError` if new runs would be mixed with those of another version."""
        if self.code != self._present:
            raise StudyError(
                f"{self._path} has runs of version {self.code} of the code, not of the present {self._present}: "
                "move the file away"
            )

    def add(self, run: Run, result: RunResult) -> None:
        """Append a run; it is in the file when this returns."""
        entry = {"seed": self._seed, "code": self._present, "run": run.number, "cell": run.cell.values}
        line = json.dumps(entry | {"result": result})
        with self._path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
        self.results[key_of(run)] = result
        self._versions.add(self._present)

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
            result, code = entry["result"], str(entry["code"])
        except (ValueError, KeyError, TypeError):
            raise StudyError(f"{self._path}, line {number}, is not a run of a study: move the file away") from None
        if seed == self._seed:
            self.results[key] = result
            self._versions.add(code)
