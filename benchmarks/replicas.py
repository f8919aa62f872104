"""One, two and four replicas on one PostgreSQL under the same load each: processor time of an answer, waits for locks.

    python -m benchmarks.replicas [ANSWERS [ROUNDS]]

Four replicas share the server's core: what is compared is processor time, not how many cores there are. In each round
one of them is loaded, then two, then all. Each has as many connections and gets as many answers as one alone, from a
process of its own on the load's core. As many processes of the bare route (`loads.bare`) take the same turns: what
rises there, too, is what sharing a core costs. Turns are short and many: a machine's speed changes from second to
second.
While they store answers, a connection looks every few milliseconds for backends that wait for another's lock.
"""

import multiprocessing
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import httpx2
import numpy as np
import psycopg
from numpy.typing import NDArray
from prometheus_client.parser import text_string_to_metric_families
from scipy.stats import bootstrap

from benchmarks.loads.load import CONNECTIONS, answers, send
from benchmarks.loads.machine import LOAD_CORE, cpu_seconds, on_core, postgres_database
from benchmarks.loads.servers import TOKEN, Target, bare_server, dither_server, new_collection
from dither_client.protocol.flow import Send
from dither_client.protocol.respondent import JSON_HEADERS
from testing.tables import print_table

__all__ = ["main"]

_ANSWERS = 3_000
_ROUNDS = 40
_REPLICAS = (1, 2, 4)
_ROW = Send("POST", "/rows", b"{}", JSON_HEADERS)
_LOOK_SECONDS = 0.005
_WARM_UP = 2_000
"""Answers until connections, pools and plans are there."""
_IDLE_SECONDS = 5.0
_REST_SECONDS = 0.3
"""Till what came before is learnt."""
_WAITING = (
    "SELECT coalesce(wait_event_type, 'running'), coalesce(wait_event, ''), substring(query, '(?:INTO|UPDATE) (\\w+)') "
    "FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' AND pid <> pg_backend_pid()"
)


@dataclass
class _Watch:
    """What the backends of a database waited for, in samples."""

    url: str
    seen: Counter[tuple[str, str, str | None]] = field(default_factory=Counter)
    """Samples by the kind of wait, what was waited for, and the table that the statement writes."""
    done: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        with psycopg.connect(self.url, autocommit=True) as database:
            while not self.done.wait(_LOOK_SECONDS):
                self.seen.update(database.execute(_WAITING).fetchall())

    @property
    def locks(self) -> Counter[tuple[str, str, str | None]]:
        """The waits among them for rows or tables that another session holds."""
        return Counter({what: count for what, count in self.seen.items() if what[0] == "Lock"})


@dataclass(frozen=True)
class _Turn:
    """What a number of replicas took: the CPU seconds of all of them, and those of PostgreSQL."""

    replicas: int
    answers: int
    seconds: float
    servers: float
    database: float
    transactions: float
    watch: _Watch

    @property
    def answer(self) -> float:
        """CPU seconds of the servers for an answer."""
        return self.servers / self.answers

    def polls(self, idle: float) -> float:
        """The replicas' polling, by the model, in CPU seconds for an answer, if an idle one takes `idle` a second."""
        return self.replicas * idle * self.seconds / self.answers


@dataclass
class _Found:
    """Turns of Dither, CPU seconds of a request to the bare route, by the number of replicas; inputs of the model."""

    turns: dict[int, list[_Turn]] = field(default_factory=lambda: {replicas: [] for replicas in _REPLICAS})
    bare: dict[int, list[float]] = field(default_factory=lambda: {replicas: [] for replicas in _REPLICAS})
    idle: float = 0.0
    """The share of a core that an idle replica takes."""
    publication: int = 0
    """Bytes."""


def main(arguments: Sequence[str]) -> None:
    """Prints the tables; the arguments are the answers to each replica, and the rounds."""
    size = int(arguments[0]) if arguments else _ANSWERS
    rounds = int(arguments[1]) if len(arguments) > 1 else _ROUNDS
    with postgres_database() as url, postgres_database() as bare_url:
        if url is None or bare_url is None:
            print("No PostgreSQL: set BENCHMARK_POSTGRES to the URL of a database of it.", file=sys.stderr)
            return
        found = _measure(url, bare_url, size, rounds)
    columns = (
        "replicas", "servers' CPU, µs an answer", "to one replica", "the bare route's", "to one process",
        "the first rise to the second", "by the model", "answers in a transaction", "samples of active backends",
        "of them waiting for another's lock",
    )  # fmt: skip
    title = f"Replicas: {rounds} rounds of {size:,} answers over {CONNECTIONS} connections to each"
    print_table(title, columns, _rows(found))
    database = median(turn.database / turn.answers for turns in found.turns.values() for turn in turns)
    inputs = (
        ("PostgreSQL's CPU, µs an answer", f"{1e6 * database:.0f}"),
        ("an idle replica's CPU, ms a second", f"{1e3 * found.idle:.0f}"),
        ("a publication, bytes", f"{found.publication:,}"),
    )
    print_table("Inputs of the model", ("what", "measured"), inputs)


def _measure(url: str, bare_url: str, size: int, rounds: int) -> _Found:
    found = _Found()
    with ExitStack() as stack:
        targets: list[Target] = []
        collection = ""
        while len(targets) < max(_REPLICAS):
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            targets.append(stack.enter_context(dither_server(folder, url)))
            collection = collection or new_collection(targets[0])  # which it owns
            send(targets[-1], answers(targets[-1], collection, _WARM_UP))
        others = [stack.enter_context(bare_server(bare_url)) for _ in targets]
        for other in others:
            send(other, [_ROW] * _WARM_UP)
        time.sleep(_IDLE_SECONDS)  # till the last of them is learnt
        polling, _ = _used(targets, url, lambda: time.sleep(_IDLE_SECONDS))
        found.idle = polling / _IDLE_SECONDS / len(targets)
        loads = stack.enter_context(_loads(len(targets)))
        for number in range(rounds):
            for replicas in _REPLICAS:
                found.turns[replicas].append(_turn(url, targets[:replicas], collection, size, loads))
                found.bare[replicas].append(_bare_turn(others[:replicas], size, loads))
            print(f"round {number + 1} of {rounds}", file=sys.stderr, flush=True)
        with psycopg.connect(url) as connection:
            [(found.publication, slots)] = connection.execute(
                "SELECT (SELECT max(length(content)) FROM publications), (SELECT count(DISTINCT slot) FROM counts)"
            )
        assert slots == len(targets), "each has counts of its own"
    return found


def _rows(found: _Found) -> Iterator[tuple[object, ...]]:
    alone = median(turn.answer - turn.polls(found.idle) for turn in found.turns[1])
    for replicas, turns in found.turns.items():
        ratios = np.array([turn.answer / first.answer for turn, first in zip(turns, found.turns[1], strict=True)])
        others = np.array(found.bare[replicas]) / np.array(found.bare[1])
        yield (
            replicas,
            f"{1e6 * median(turn.answer for turn in turns):.0f}",
            _median(ratios),
            f"{1e6 * median(found.bare[replicas]):.0f}",
            _median(others),
            _median(ratios / others),
            f"{1e6 * (alone + median(turn.polls(found.idle) for turn in turns)):.0f}",
            f"{median(turn.answers / turn.transactions for turn in turns):.0f}",
            f"{sum(turn.watch.seen.total() for turn in turns):,}",
            _named(sum((turn.watch.locks for turn in turns), Counter())),
        )


def _median(ratios: NDArray[np.float64]) -> str:
    """The median of the ratios, and its 95% interval by the bootstrap."""
    if ratios.min() == ratios.max():
        return f"{ratios[0]:.2f}"
    low, high = bootstrap((ratios,), np.median, method="percentile", rng=1).confidence_interval
    return f"{np.median(ratios):.2f} ({low:.2f} to {high:.2f})"


def _named(locks: Counter[tuple[str, str, str | None]]) -> str:
    return ", ".join(f"{count} for {event} of {table}" for (_, event, table), count in locks.items()) or "0"


def _turn(url: str, targets: Sequence[Target], collection: str, size: int, loads: ProcessPoolExecutor) -> _Turn:
    """`size` answers to each, all at the same time."""
    shares = [answers(target, collection, size) for target in targets]
    time.sleep(_REST_SECONDS)
    watch = _Watch(url)
    thread = threading.Thread(target=watch.run)
    thread.start()
    stored, before, began = _stored(url), sum(map(_transactions, targets)), time.perf_counter()
    servers, database = _used(targets, url, lambda: list(loads.map(send, targets, shares)))
    seconds = time.perf_counter() - began
    watch.done.set()
    thread.join()
    number, transactions = size * len(targets), sum(map(_transactions, targets)) - before
    assert _stored(url) - stored == number, "every answer is counted once"
    return _Turn(len(targets), number, seconds, servers, database, transactions, watch)


def _bare_turn(targets: Sequence[Target], size: int, loads: ProcessPoolExecutor) -> float:
    """CPU seconds of a request to the bare route, `size` to each process of it, all at the same time."""
    time.sleep(_REST_SECONDS)
    before = sum(cpu_seconds(target.pid) for target in targets)
    list(loads.map(send, targets, [[_ROW] * size] * len(targets)))
    return (sum(cpu_seconds(target.pid) for target in targets) - before) / (size * len(targets))


def _stored(url: str) -> int:
    """Answers that are counted."""
    with psycopg.connect(url) as connection:
        [(stored,)] = connection.execute("SELECT coalesce(sum(count), 0) FROM counts")
    return int(stored)


def _used(targets: Sequence[Target], url: str, work: Callable[[], object]) -> tuple[float, float]:
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


def _transactions(target: Target) -> float:
    """How many transactions with answers the server has committed."""
    reply = httpx2.get(f"{target.url}/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    families = text_string_to_metric_families(reply.text)
    samples = {sample.name: sample.value for family in families for sample in family.samples if not sample.labels}
    return samples["dither_commit_rows_count"]


@contextmanager
def _loads(replicas: int) -> Iterator[ProcessPoolExecutor]:
    """A process for the load of each replica, all on the load's core."""
    with (
        on_core(LOAD_CORE),
        ProcessPoolExecutor(replicas, multiprocessing.get_context("forkserver")) as pool,
    ):
        list(pool.map(time.sleep, [0.2] * replicas))  # starts them all, here
        yield pool


if __name__ == "__main__":
    main(sys.argv[1:])
