"""What a study is: cells, one seeded run of a cell, and the table, figure and sentence that the runs make."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dither_estimator.families import FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Cell", "Findings", "Results", "Row", "Run", "RunFunction", "RunResult", "Scalar", "Study", "StudyError"]

Scalar = str | int | float

RunResult = Mapping[str, Any]
"""What a run found, by name: numbers, texts, and lists of them, as JSON has them."""

Row = Mapping[str, Any]
"""A row of a table: a `Scalar` by column. Numbers are unrounded; the printed table rounds them."""


class StudyError(ValueError):
    """There is no such study, or it cannot be run as asked."""


@dataclass(frozen=True)
class Cell:
    """One condition of a study, such as a method at an ε."""

    values: Mapping[str, Scalar]
    random: bool = True
    """If not, one run is all that there is to see."""

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    @property
    def key(self) -> str:
        """The values as canonical JSON: what a stored run is known by."""
        return json.dumps(self.values, sort_keys=True)


@dataclass(frozen=True)
class Run:
    """Run number `number` (from 0) of a cell."""

    cell: Cell
    number: int


RunFunction = Callable[[Cell, np.random.Generator], RunResult]
"""One seeded run of a cell."""


@dataclass(frozen=True)
class Findings:
    """What a study found."""

    rows: Sequence[Row]
    """The table; every row has the same columns."""
    sentence: str
    """What the paper reported and what was seen."""
    draw: Callable[["Figure"], None]
    """Draws the paper's figure on an empty one."""


@dataclass(frozen=True)
class Results:
    """Every run of every cell, in order."""

    by_cell: Mapping[str, Sequence[RunResult]] = field(repr=False)
    """By `Cell.key`, as many as the cell has runs."""

    def of(self, **values: Scalar) -> Sequence[RunResult]:
        """The runs of the cell with exactly these values."""
        return self.by_cell[Cell(values).key]

    def only(self, **values: Scalar) -> RunResult:
        """The run of a cell that has one."""
        [result] = self.of(**values)
        return result

    def array(self, name: str, **values: Scalar) -> FloatArray:
        """What the runs of a cell found under a name, shape (runs, …)."""
        return np.array([result[name] for result in self.of(**values)], dtype=np.float64)


@dataclass(frozen=True)
class Study:
    """An experiment of a paper.

    `run(cell, rng)` computes one run. Its generator depends on the seed, the study and the number of the run alone, so
    that all cells can meet the same data in the same run; what it returns must be what JSON can hold.
    """

    name: str
    paper: str
    reproduces: str
    """What of the paper, such as `Figure 2`, in a few words."""
    runs: int
    """Small: all of them together take seconds or minutes."""
    full_runs: int
    """The paper's number."""
    cells: Sequence[Cell]
    run: RunFunction
    summarise: Callable[[Results], Findings]
    figure_size: tuple[float, float] = (7.0, 4.5)
    """Inches."""
    with_data: Callable[[str], "Study"] | None = None
    """The same study on the data of a file, given its text, if it can take one. Raises `ValueError`."""

    larger: Sequence[Cell] = ()
    """Cells that take too long for a first look: part of the study in full alone."""

    def in_full(self) -> "Study":
        """The study with its larger cells."""
        return replace(self, cells=[*self.cells, *self.larger], larger=())

    def all_runs(self, runs: int) -> list[Run]:
        """Every run of every cell, if those that are random have `runs` each."""
        return [Run(cell, number) for number in range(runs) for cell in self.cells if cell.random or number == 0]
