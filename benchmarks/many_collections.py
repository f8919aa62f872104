"""What a server with many collections keeps in memory of those that were each used once, and what their list costs.

    python -m benchmarks.many_collections [COLLECTIONS]

The list is read first, while nothing else goes on but requests for `/healthz`. Then each collection gets a ticket and
an answer, and its posterior is read; and the first ones again, after the server has had time to let them go.
"""

import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx2

from benchmarks.loads.machine import busy_share, exact_cpu_seconds, resident_bytes
from benchmarks.loads.servers import Target, dither_server, new_collection
from testing.tables import print_table

__all__ = ["main"]

_COLLECTIONS = 1_000
_PARTS = 10
_PAUSE = 5
"""Seconds between two parts."""
_REST = 60
"""Seconds after which what has not been used is let go."""
_IDLE = 0.1
"""The share of a core from which on a server has little left to do."""
_AGAIN = 20
"""How many collections are used again."""
_LISTS = 5


def main(arguments: Sequence[str]) -> None:
    """Prints the tables; the argument is the number of collections."""
    size = int(arguments[0]) if arguments else _COLLECTIONS
    with (
        tempfile.TemporaryDirectory() as folder,
        dither_server(Path(folder)) as target,
        httpx2.Client(base_url=target.url, timeout=60) as client,
    ):
        fields = {"visibility": "public", "family": None, "range": None}
        made = [new_collection(target, fields) for _ in range(size)]
        columns = ("kB", "processor time, ms: median", "/healthz waits, ms: longest")
        print_table(f"The list of {size:,} collections", columns, [_list(target, client)])
        print_table("Memory of a server", ("collections used", "memory, MiB"), _memory(target, client, made))


def _memory(target: Target, client: httpx2.Client, made: Sequence[str]) -> Iterator[tuple[str, str]]:
    yield "0", _resident(target)
    part = max(1, len(made) // _PARTS)
    for start in range(0, len(made), part):
        for collection in made[start : start + part]:
            _use(client, collection)
        time.sleep(_PAUSE)
        yield f"{min(start + part, len(made)):,}", _resident(target)
    time.sleep(_REST)
    yield f"all, {_REST} s later", _resident(target)
    times = [_use(client, collection) for collection in made[:_AGAIN]]
    yield f"{_AGAIN} of them again, in {1e3 * statistics.median(times):.0f} ms each at the median", _resident(target)


def _use(client: httpx2.Client, collection: str) -> float:
    """Asks for a ticket, answers and reads; returns how many seconds the ticket took."""
    path = f"/v1/collections/{collection}"
    began = time.perf_counter()
    ticket = client.post(f"{path}/tickets").raise_for_status().json()["ticket"]
    took = time.perf_counter() - began
    client.post(f"{path}/responses", json={"ticket": ticket, "answer": 0}).raise_for_status()
    client.get(f"{path}/posterior").raise_for_status()
    return took


def _resident(target: Target) -> str:
    return f"{resident_bytes(target.pid) / 2**20:.0f}"


def _list(target: Target, client: httpx2.Client) -> tuple[str, str, str]:
    while (idle := busy_share(target.pid)) > _IDLE:
        pass
    size, costs = len(client.get("/v1/collections").content), []
    with _Health(target.url) as health:
        for _ in range(_LISTS):
            began, before = time.perf_counter(), exact_cpu_seconds(target.pid)
            client.get("/v1/collections").raise_for_status()
            costs.append(exact_cpu_seconds(target.pid) - before - idle * (time.perf_counter() - began))
    return f"{size / 1000:,.0f}", f"{1e3 * statistics.median(costs):.0f}", f"{1e3 * health.longest:.0f}"


class _Health(threading.Thread):
    """Asks for `/healthz` all the time, and knows the longest that it waited, in seconds."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url
        self._stopped = threading.Event()
        self.longest = 0.0

    def __enter__(self) -> "_Health":
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stopped.set()
        self.join()

    def run(self) -> None:
        with httpx2.Client(base_url=self._url) as client:
            while not self._stopped.wait(0.002):
                began = time.perf_counter()
                client.get("/healthz").raise_for_status()
                self.longest = max(self.longest, time.perf_counter() - began)


if __name__ == "__main__":
    main(sys.argv[1:])
