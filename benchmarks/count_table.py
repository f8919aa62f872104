"""A table of a million answers in a file: the posterior in a program, and by the command, start-up included.

    python -m benchmarks.count_table

Processor time, the least of some repeats.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.tables import print_table
from dither_client.tables import counts_rows, read_counts, write_table
from dither_estimator.families import families
from dither_estimator.learner import Learner
from dither_estimator.specification import Specification
from dither_server.simulate.behaviours import Behaviours, draw_roles
from dither_server.simulate.in_process import simulate_in_process
from dither_server.simulate.population import draw_population
from dither_server.simulate.scenario import PAPER_PRIOR

__all__ = ["main"]

_ANSWERS = 1_000_000
_REPEATS = 5
_FIELDS = {"family": "normal", "epsilon": "1", "prior": PAPER_PRIOR}


def main() -> None:
    """Prints the table."""
    specification = Specification.from_json(_FIELDS)
    learner = Learner(specification, 1)
    rng = np.random.default_rng(1)
    people = draw_population(rng, families["normal"], {"mu": 50.0, "sigma": 10**0.5}, "identity", _ANSWERS)
    simulate_in_process(learner, people.values, draw_roles(rng, Behaviours(), _ANSWERS), rng)
    counts = {query: row.tolist() for query, row in learner.counts.items()}
    rows: list[tuple[object, ...]] = []
    with tempfile.TemporaryDirectory() as folder:
        spec = Path(folder, "spec.json")
        spec.write_text(json.dumps(_FIELDS))
        started = _least(partial(_command, "--version"))
        for ending in ("csv", "parquet"):
            table = Path(folder, f"counts.{ending}")
            write_table(table, counts_rows(counts))
            learnt = _least(partial(_learn, specification, table))
            whole = _least(partial(_command, "estimate", "--spec", str(spec), "--counts", str(table)))
            rows.append((ending, len(counts), *(f"{seconds:.2f}" for seconds in (learnt, whole, started))))
    columns = ("table", "questions", "reading and learning, s", "`dither estimate`, s", "`dither --version`, s")
    print_table(f"A table of {_ANSWERS:,} answers", columns, rows)


def _least(work: Callable[[], object]) -> float:
    """Processor time of `work`, processes that it starts included."""
    found = []
    for _ in range(_REPEATS):
        before = os.times()
        work()
        after = os.times()
        found.append(sum(after[:4]) - sum(before[:4]))
    return min(found)


def _learn(specification: Specification, table: Path) -> None:
    learner = Learner(specification, 1)
    learner.learn_counts(read_counts(table))
    learner.posterior()


def _command(*arguments: str) -> None:
    subprocess.run([Path(sys.executable).with_name("dither"), *arguments], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
