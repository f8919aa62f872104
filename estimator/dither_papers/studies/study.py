"""The parts of a study: cells, one seeded run of a cell, and the table, figure and sentence that summarise the runs."""

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
"""What a run found, by name: numbers, texts and lists of them, as in JSON."""

Row = Mapping[str, Any]
"""A row of a table: a `Scalar` by column. Numbers are unrounded; the printed table rounds them."""


class StudyError(ValueError):
    """The study does not exist or cannot be run as requested."""


@dataclass(frozen=True)
class Cell:
    """One condition of a study, such as a method at an ε."""

    values: Mapping[str, Scalar]
    random: bool = True
    """If false, all runs are equal and there is only one."""

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    @property
    def key(self) -> str:
        """The values as canonical JSON, which identifies stored runs."""
        return json.dumps(self.values, sort_keys=True)


@dataclass(frozen=True)
class Run:
    """Run number `number` (from 0) of a cell."""

    cell: Cell
    number: int


RunFunction = Callable[[Cell, np.random.Generator], RunResult]
"""Computes one seeded run of a cell."""


@dataclass(frozen=True)
class Findings:
    """The findings of a study."""

    rows: Sequence[Row]
    """The table; all rows have the same columns."""
    sentence: str
    """What the paper reported and what was found."""
    draw: Callable[["Figure"], None]
    """Draws the paper's figure on an empty one."""


@dataclass(frozen=True)
class Results:
    """All runs of all cells, in order."""

    by_cell: Mapping[str, Sequence[RunResult]] = field(repr=False)
    """The results of each cell's runs, by `Cell.key`."""

    def of(self, **values: Scalar) -> Sequence[RunResult]:
        """The runs of the cell with exactly these values."""
        return self.by_cell[Cell(values).key]

    def only(self, **values: Scalar) -> RunResult:
        """The run of a cell that has only one."""
        [result] = self.of(**values)
        return result

    def array(self, name: str, **values: Scalar) -> FloatArray:
        """The results of a cell's runs under this name, shape (runs, …)."""
        return np.array([result[name] for result in self.of(**values)], dtype=np.float64)


@dataclass(frozen=True)
class Study:
    """An experiment of a paper.

    `run(cell, rng)` computes one run. Its generator depends only on the seed, the study and the number of the run, so
    that in a given run all cells can use the same data; the result must be representable in JSON.
    """

    name: str
    paper: str
    reproduces: str
    """The part of the paper, in a few words, such as `Figure 2`."""
    runs: int
    """The default number of runs, small enough that all take seconds or minutes."""
    full_runs: int
    """The paper's number of runs; ours where exact posteriors allow more, or where the paper has one."""
    cells: Sequence[Cell]
    run: RunFunction
    summarise: Callable[[Results], Findings]
    figure_size: tuple[float, float] = (7.0, 4.5)
    """Width and height in inches."""
    sizes: str = ""
    """Sizes other than the paper's, for the caption, such as `chains of 4,000 steps (the paper's: 100,000)`."""
    with_data: Callable[[str], "Study"] | None = None
    """Returns the same study on the data in the text of a file; None if it takes none. Raises `ValueError`."""

    larger: Sequence[Cell] = ()
    """Cells that take too long for a first look; only in the full study."""

    def in_full(self) -> "Study":
        """The study with its larger cells."""
        return replace(self, cells=[*self.cells, *self.larger], larger=())

    def all_runs(self, runs: int) -> list[Run]:
        """All runs of all cells, with `runs` of each random one."""
        return [Run(cell, number) for number in range(runs) for cell in self.cells if cell.random or number == 0]
