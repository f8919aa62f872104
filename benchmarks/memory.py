"""A server's memory over 5,000,000 answers in batches: it must not grow with their number.

python -m benchmarks.memory [ANSWERS [PARTS]]
"""

import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from benchmarks.loads.load import batches, measure, send
from benchmarks.loads.machine import resident_bytes
from benchmarks.loads.servers import dither_server, new_collection
from testing.tables import print_table

__all__ = ["main"]

_ANSWERS = 5_000_000
_PARTS = 20
_BATCH = 1_000
_CONCURRENT_BATCHES = 4


def main(arguments: Sequence[str]) -> None:
    """Prints the table; the arguments are the answers in all, and in how many parts memory is looked at."""
    answers = int(arguments[0]) if arguments else _ANSWERS
    parts = int(arguments[1]) if len(arguments) > 1 else _PARTS
    columns = ("answers", "memory, MiB", "to the first row", "database, MiB", "answers a second of the server's CPU")
    with tempfile.TemporaryDirectory() as folder:
        print_table("Memory of a server", columns, _rows(Path(folder), answers // parts, parts))


def _rows(folder: Path, size: int, parts: int) -> Iterator[tuple[str, ...]]:
    first = 0
    with dither_server(folder) as target:
        collection = new_collection(target)
        for part in range(parts):
            requests = batches(target, collection, size, _BATCH)
            round_ = measure(target, size, partial(send, target, requests, _CONCURRENT_BATCHES))
            memory = resident_bytes(target.pid)
            first = first or memory
            stored = sum(file.stat().st_size for file in folder.glob("dither.sqlite*"))
            shown = f"{memory / 2**20:.0f}", f"{memory / first:.2f}", f"{stored / 2**20:,.0f}", f"{1 / round_.cpu:,.0f}"
            yield f"{(part + 1) * size:,}", *shown


if __name__ == "__main__":
    main(sys.argv[1:])
