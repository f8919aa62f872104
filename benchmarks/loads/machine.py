"""Which core runs what, and what a process has used: for benchmarks of server processes on Linux."""

import os
import re
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg

from testing.databases import new_database

__all__ = [
    "LOAD_CORE",
    "SERVER_CORE",
    "busy_share",
    "cpu_seconds",
    "exact_cpu_seconds",
    "on_core",
    "postgres_database",
    "resident_bytes",
]

SERVER_CORE = max(os.sched_getaffinity(0))
LOAD_CORE = min(os.sched_getaffinity(0))
_POSTGRES = os.environ.get("BENCHMARK_POSTGRES", "postgresql://postgres@127.0.0.1:5432/postgres")


@contextmanager
def on_core(core: int) -> Iterator[None]:
    """Keeps this thread, and the processes that it starts, on one core."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def cpu_seconds(pid: int) -> float:
    """User and system time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def exact_cpu_seconds(pid: int) -> float:
    """CPU seconds of all of a process's threads that still run, to the nanosecond."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e9


def busy_share(pid: int, seconds: float = 3) -> float:
    """How much of one core a process takes in the next seconds."""
    before = exact_cpu_seconds(pid)
    time.sleep(seconds)
    return (exact_cpu_seconds(pid) - before) / seconds


def resident_bytes(pid: int) -> int:
    """Memory of a process that is its own: resident, without what is mapped from files."""
    found = re.search(r"RssAnon:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return int(found[1]) * 1024


@contextmanager
def postgres_database() -> Iterator[str | None]:
    """The URL of a new database at `BENCHMARK_POSTGRES`, dropped at the end; None if there is no PostgreSQL."""
    with ExitStack() as stack:
        try:
            url = stack.enter_context(new_database(_POSTGRES))
        except psycopg.OperationalError:
            yield None
            return
        yield url
