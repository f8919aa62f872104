"""A table of a million answers in a file: the posterior in a program, and by the command, start-up included.

    python -m benchmarks.count_table

The normal family with the papers' prior, and every family at its standard member under its default prior. Processor
time, the least of some repeats.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dither_client.tables.counts import counts_rows, read_table, write_table
from dither_estimator.families import Family, families
from dither_estimator.learning.learner import Learner
from dither_estimator.specification.specification import Specification
from dither_server.simulate.behaviours import Behaviours, draw_roles
from dither_server.simulate.in_process import simulate_in_process
from dither_server.simulate.population import draw_population
from dither_server.simulate.scenario import PAPER_PRIOR
from testing.tables import print_table

__all__ = ["main"]

_ANSWERS = 1_000_000
_REPEATS = 5
_ENDINGS = ("csv", "parquet")


def main() -> None:
    """Prints the tables."""
    columns = ["family", "questions"]
    columns += [f"{what}, {ending}, s" for what in ("reading and learning", "`dither estimate`") for ending in _ENDINGS]
    print_table(f"A table of {_ANSWERS:,} answers", columns, _rows())
    started = [(f"`dither {option}`", f"{_least(partial(_command, option)):.2f}") for option in ("--version", "--help")]
    print_table("Starting alone", ("command", "s"), started)


def _rows() -> Iterator[list[str]]:
    yield ["papers' normal", *_measured({"prior": PAPER_PRIOR}, families["normal"], {"mu": 50.0, "sigma": 10**0.5})]
    for name, family in families.items():
        truth = dict(zip(family.names, family.standard.tolist(), strict=True))
        yield [name, *_measured({}, family, truth)]


def _measured(fields: Mapping[str, Any], family: Family, truth: Mapping[str, float]) -> list[str]:
    """The number of questions; seconds of a program and of the command, for each format."""
    fields = {"family": family.name, "epsilon": "1", **fields}
    specification = Specification.from_json(fields)
    learner = Learner(specification, 1)
    rng = np.random.default_rng(1)
    people = draw_population(rng, family, dict(truth), "identity", _ANSWERS)
    simulate_in_process(learner, people.values, draw_roles(rng, Behaviours(), _ANSWERS), rng)
    rows = counts_rows({query: row.tolist() for query, row in learner.counts.items()})
    with tempfile.TemporaryDirectory() as folder:
        spec = Path(folder, "spec.json")
        spec.write_text(json.dumps(fields))
        tables = [Path(folder, f"counts.{ending}") for ending in _ENDINGS]
        for table in tables:
            write_table(table, rows)
        learnt = [_least(partial(_learn, specification, table)) for table in tables]
        whole = [_least(partial(_command, "estimate", "--spec", str(spec), "--counts", str(table))) for table in tables]
    return [str(len(learner.counts)), *(f"{seconds:.2f}" for seconds in (*learnt, *whole))]


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
    learner.learn_counts(read_table(table).queries)
    learner.posterior()


def _command(*arguments: str) -> None:
    subprocess.run([Path(sys.executable).with_name("dither"), *arguments], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
