"""One, two and four replicas on one PostgreSQL under the same load: processor time of an answer, waits for locks.

    python -m benchmarks.replicas [ANSWERS [ROUNDS]]

The replicas share the server's core: what is compared is processor time, not how many cores there are. While they
store answers, a connection of its own looks every few milliseconds for backends that wait for another's lock.
"""

import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import psycopg

from benchmarks.load import CONNECTIONS, answers, send
from benchmarks.machine import LOAD_CORE, cpu_seconds, on_core, postgres_database
from benchmarks.servers import Target, dither_server, new_collection
from benchmarks.tables import print_table
from dither_client.flow import Send

__all__ = ["main"]

_ANSWERS = 12_000
_ROUNDS = 3
_REPLICAS = (1, 2, 4)
_LOOK_SECONDS = 0.005
_WAITING = (
    "SELECT coalesce(wait_event_type, 'running'), coalesce(wait_event, '') FROM pg_stat_activity "
    "WHERE datname = current_database() AND state = 'active' AND pid <> pg_backend_pid()"
)


@dataclass
class _Watch:
    """What the backends of a database waited for, in samples."""

    url: str
    seen: Counter[tuple[str, str]] = field(default_factory=Counter)
    done: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        with psycopg.connect(self.url, autocommit=True) as database:
            while not self.done.wait(_LOOK_SECONDS):
                self.seen.update(database.execute(_WAITING).fetchall())

    @property
    def locks(self) -> Counter[tuple[str, str]]:
        """Of them, waits for rows or tables that another holds."""
        return Counter({what: count for what, count in self.seen.items() if what[0] == "Lock"})


def main(arguments: Sequence[str]) -> None:
    """Prints the table; the arguments are the answers of a round, and the rounds."""
    size = int(arguments[0]) if arguments else _ANSWERS
    rounds = int(arguments[1]) if len(arguments) > 1 else _ROUNDS
    columns = (
        "replicas", "servers' CPU, µs an answer", "to one replica", "lowest and highest of a round",
        "samples of active backends", "of them waiting for another's lock", "slots with counts",
    )  # fmt: skip
    title = f"Replicas: {rounds} rounds of {size:,} answers over {CONNECTIONS} connections"
    print_table(title, columns, _rows(size, rounds))


def _rows(size: int, rounds: int) -> Iterator[tuple[object, ...]]:
    found: dict[int, list[float]] = {replicas: [] for replicas in _REPLICAS}
    watched: dict[int, Counter[tuple[str, str]]] = {replicas: Counter() for replicas in _REPLICAS}
    locks: Counter[int] = Counter()
    slots: dict[int, int] = {}
    for number in range(rounds):
        for replicas in _REPLICAS:
            with postgres_database() as url:
                if url is None:
                    print("No PostgreSQL: set BENCHMARK_POSTGRES to the URL of a database of it.", file=sys.stderr)
                    return
                cpu, watch, slots[replicas] = _round(url, replicas, size)
            found[replicas].append(cpu)
            watched[replicas] += watch.seen
            locks[replicas] += watch.locks.total()
        print(f"round {number + 1} of {rounds}", file=sys.stderr, flush=True)
    for replicas in _REPLICAS:
        ratios = [cpu / one for cpu, one in zip(found[replicas], found[1], strict=True)]
        shown = f"{median(ratios):.2f}", f"{min(ratios):.2f} to {max(ratios):.2f}"
        looked = f"{watched[replicas].total():,}"
        yield replicas, f"{1e6 * median(found[replicas]):.0f}", *shown, looked, locks[replicas], slots[replicas]


def _round(url: str, replicas: int, size: int) -> tuple[float, _Watch, int]:
    """CPU seconds of the servers for an answer, what their backends waited for, and how many slots have counts."""
    watch = _Watch(url)
    with ExitStack() as stack:
        targets = []
        for _ in range(replicas):
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            targets.append(stack.enter_context(dither_server(folder, url)))
        collection = new_collection(targets[0])
        shares = [answers(targets[0], collection, size // replicas) for _ in targets]
        _store(targets, [share[: len(share) // 10] for share in shares])  # connections, pools and plans are there then
        thread = threading.Thread(target=watch.run)
        thread.start()
        before = sum(cpu_seconds(target.pid) for target in targets)
        rest = [share[len(share) // 10 :] for share in shares]
        _store(targets, rest)
        used = sum(cpu_seconds(target.pid) for target in targets) - before
        watch.done.set()
        thread.join()
    with psycopg.connect(url) as database:
        row = database.execute("SELECT count(DISTINCT slot), sum(count) FROM counts").fetchone()
        assert row is not None
        assert row[1] == sum(map(len, shares)), "every answer is counted once"
    return used / sum(map(len, rest)), watch, int(row[0])


def _store(targets: Sequence[Target], shares: Sequence[Sequence[Send]]) -> None:
    """Sends each target its share, all at the same time, from the load's core."""

    def work(target: Target, share: Sequence[Send]) -> None:
        with on_core(LOAD_CORE):
            send(target, share, CONNECTIONS // len(targets))

    threads = [threading.Thread(target=work, args=pair) for pair in zip(targets, shares, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main(sys.argv[1:])
