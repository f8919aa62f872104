"""Random sequences of requests, crashes, restarts and jumps of the clock against a model: many more than the tests run.

`python -m benchmarks.sequences [NUMBER]`: so many (2,000), a tenth of them on PostgreSQL.
"""

import logging
import sys
import time
from collections.abc import Sequence
from itertools import count

from benchmarks.tables import print_table
from tests.server.answers.test_sequences import STEPS, OnPostgresql, OnSqlite, Sequences, run

__all__ = ["main"]

_SEQUENCES = 2_000
_TOLD_EVERY = 100


def main(arguments: Sequence[str]) -> None:
    """Prints the table; raises what a sequence finds, in its shortest form."""
    number = int(arguments[0]) if arguments else _SEQUENCES
    logging.disable(logging.CRITICAL)  # each crash is worth some lines
    rows = []
    shares = (("SQLite", OnSqlite, number - number // 10), ("PostgreSQL", OnPostgresql, number // 10))
    for name, machine, share in shares:
        began = time.perf_counter()
        run(_told(machine, name), share)
        rows.append((name, f"{share:,}", "0", f"{time.perf_counter() - began:,.0f}"))
    title = f"Sequences of up to {STEPS} steps"
    print_table(title, ("database", "sequences", "of them against the model", "seconds"), rows)


def _told(machine: type[Sequences], name: str) -> type[Sequences]:
    """The same, and how many of them are over."""
    over = count(1)

    def teardown(self: Sequences) -> None:
        machine.teardown(self)
        number = next(over)
        if number % _TOLD_EVERY == 0:
            print(f"{name}: {number:,} sequences", file=sys.stderr, flush=True)

    return type(f"Told{machine.__name__}", (machine,), {"teardown": teardown})


if __name__ == "__main__":
    main(sys.argv[1:])
