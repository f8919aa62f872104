"""One, two and four replicas on one PostgreSQL under the same load: processor time of an answer, waits for locks.

    python -m benchmarks.replicas [ANSWERS [ROUNDS]]

Each replica has as many connections as one alone. They share the server's core: what is compared is processor time,
not how many cores there are. While they
store answers, a connection of its own looks every few milliseconds for backends that wait for another's lock.
"""

import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
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
_IDLE_SECONDS = 5.0
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


@dataclass(frozen=True)
class _Round:
    """What one round took: CPU seconds of the servers in all, of PostgreSQL for an answer, and of an idle replica."""

    answers: int
    seconds: float
    servers: float
    database_answer: float
    idle: float
    """A second."""
    publication: int
    """Bytes."""
    slots: int
    watch: _Watch

    @property
    def answer(self) -> float:
        """CPU seconds of the servers for an answer."""
        return self.servers / self.answers

    def predicted(self, alone: float, idle: float) -> float:
        """The same by the model: what an answer takes without polling, and each replica's polling."""
        replicas = self.slots
        return alone + replicas * idle * self.seconds / self.answers


def main(arguments: Sequence[str]) -> None:
    """Prints the tables; the arguments are the answers of a round, and the rounds."""
    size = int(arguments[0]) if arguments else _ANSWERS
    rounds = int(arguments[1]) if len(arguments) > 1 else _ROUNDS
    found: dict[int, list[_Round]] = {replicas: [] for replicas in _REPLICAS}
    for number in range(rounds):
        for replicas in _REPLICAS:
            with postgres_database() as url:
                if url is None:
                    print("No PostgreSQL: set BENCHMARK_POSTGRES to the URL of a database of it.", file=sys.stderr)
                    return
                found[replicas].append(_round(url, replicas, size))
        print(f"round {number + 1} of {rounds}", file=sys.stderr, flush=True)
    columns = (
        "replicas", "servers' CPU, µs an answer", "to one replica", "lowest and highest of a round", "by the model",
        "samples of active backends", "of them waiting for another's lock", "slots with counts",
    )  # fmt: skip
    title = f"Replicas: {rounds} rounds of {size:,} answers over {CONNECTIONS} connections to each"
    print_table(title, columns, _rows(found))
    everything = [one for some in found.values() for one in some]
    inputs = (
        ("PostgreSQL's CPU, µs an answer", f"{1e6 * median(one.database_answer for one in everything):.0f}"),
        ("an idle replica's CPU, ms a second", f"{1e3 * median(one.idle for one in everything):.0f}"),
        ("a publication, bytes", f"{median(one.publication for one in everything):,.0f}"),
    )
    print_table("Inputs of the model", ("what", "measured"), inputs)


def _rows(found: dict[int, list[_Round]]) -> Iterator[tuple[object, ...]]:
    idle = median(one.idle for some in found.values() for one in some)
    alone = median(one.answer - idle * one.seconds / one.answers for one in found[1])
    for replicas, rounds in found.items():
        ratios = [one.answer / first.answer for one, first in zip(rounds, found[1], strict=True)]
        yield (
            replicas,
            f"{1e6 * median(one.answer for one in rounds):.0f}",
            f"{median(ratios):.2f}",
            f"{min(ratios):.2f} to {max(ratios):.2f}",
            f"{1e6 * median(one.predicted(alone, idle) for one in rounds):.0f}",
            f"{sum(one.watch.seen.total() for one in rounds):,}",
            _named(sum((one.watch.locks for one in rounds), Counter())),
            rounds[0].slots,
        )


def _named(locks: Counter[tuple[str, str]]) -> str:
    return ", ".join(f"{count} for {event}" for (_, event), count in locks.items()) or "0"


def _round(url: str, replicas: int, size: int) -> _Round:
    watch = _Watch(url)
    with ExitStack() as stack:
        targets = []
        for _ in range(replicas):
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            targets.append(stack.enter_context(dither_server(folder, url)))
        collection = new_collection(targets[0])
        shares = [answers(targets[0], collection, size // replicas) for _ in targets]
        _store(targets, [share[: len(share) // 10] for share in shares])  # connections, pools and plans are there then
        time.sleep(_IDLE_SECONDS)  # till the last of them is learnt
        idle, _ = _used(targets, url, lambda: time.sleep(_IDLE_SECONDS))
        thread = threading.Thread(target=watch.run)
        thread.start()
        rest = [share[len(share) // 10 :] for share in shares]
        began = time.perf_counter()
        servers, database = _used(targets, url, lambda: _store(targets, rest))
        seconds = time.perf_counter() - began
        watch.done.set()
        thread.join()
        count = sum(map(len, rest))
        with psycopg.connect(url) as connection:
            slots, stored, publication = connection.execute(
                "SELECT count(DISTINCT slot), sum(count), (SELECT max(length(content)) FROM publications) FROM counts"
            ).fetchone() or (0, 0, 0)
        assert stored == sum(map(len, shares)), "every answer is counted once"
    per_second = idle / _IDLE_SECONDS / replicas
    return _Round(count, seconds, servers, database / count, per_second, publication, slots, watch)


def _used(targets: Sequence[Target], url: str, work: Callable[[], None]) -> tuple[float, float]:
    """CPU seconds of the servers, and of the PostgreSQL processes that serve them, while `work` runs."""
    servers, backends = [target.pid for target in targets], _backends(url)
    before = [sum(map(cpu_seconds, pids)) for pids in (servers, backends)]
    work()
    after = [sum(map(cpu_seconds, pids)) for pids in (servers, backends)]
    return after[0] - before[0], after[1] - before[1]


def _backends(url: str) -> list[int]:
    """The PostgreSQL processes of this machine that serve the database."""
    with psycopg.connect(url) as connection:
        query = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        return [pid for (pid,) in connection.execute(query) if Path(f"/proc/{pid}").exists()]


def _store(targets: Sequence[Target], shares: Sequence[Sequence[Send]]) -> None:
    """Sends each target its share, all at the same time, from the load's core."""

    def work(target: Target, share: Sequence[Send]) -> None:
        with on_core(LOAD_CORE):
            send(target, share, CONNECTIONS)

    threads = [threading.Thread(target=work, args=pair) for pair in zip(targets, shares, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main(sys.argv[1:])
