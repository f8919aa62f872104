"""What readers of public collections cost a server: the same read again, and reads after every answer.

    python -m benchmarks.public_reads

Milliseconds of processor time at the median of five reads of unchanged results; then, while somebody answers and reads
the charts in turn for half a minute, how much of one core the server takes, and how many answers the charts are behind.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import httpx2

from benchmarks.loads.machine import busy_share, exact_cpu_seconds
from benchmarks.loads.servers import Target, dither_server, new_collection
from testing.tables import print_table

__all__ = ["main"]

_REGIONS = [f"region {i}" for i in range(500)]
_KINDS: Mapping[str, Mapping[str, Any]] = {
    "a family": {},
    "no family": {"family": None, "range": None},
    "500 groups": {"groups": {"name": "region", "labels": _REGIONS}},
    "500 groups, no family": {"family": None, "range": None, "groups": {"name": "region", "labels": _REGIONS}},
    "eight numbers": {
        "family": None,
        "range": None,
        "components": [{"name": f"number_{i}", "family": "normal"} for i in range(8)],
    },
}
_READS = (
    "/v1/collections/{}",
    "/v1/collections/{}/posterior",
    "/v1/collections/{}/posterior/particles",
    "/v1/collections/{}/queries",
    "/collections/{}",
    "/collections/{}/charts.json",
    "/collections/{}/findings.json",
    "/collections/{}/report",
    "/collections/{}/export/population.csv",
    "/collections/{}/export/counts.csv",
)
_TIMES = 5
_ANSWERS = 2_000
_IDLE = 0.03
"""The share of a core from which on a server has nothing left to do."""
_SECONDS = 30


def main(arguments: Sequence[str]) -> None:
    """Prints both tables."""
    del arguments
    again, after = [], []
    for kind, fields in _KINDS.items():
        with TemporaryDirectory() as folder, dither_server(Path(folder)) as target:
            collection = new_collection(target, {"visibility": "public", **fields})
            with httpx2.Client(base_url=target.url, timeout=120) as client:
                answer = _answering(client, collection, fields)
                for _ in range(_ANSWERS // 4):
                    answer(4)
                again.append((kind, *_repeated(target, client, collection)))
                after.append((kind, *_after_answers(target, client, collection, answer)))
    paths = [path.format("…") for path in _READS]
    rows = [(f"`{path}`", *(row[1 + i] for row in again)) for i, path in enumerate(paths)]
    print_table("CPU of the same read again, ms", ("read", *_KINDS), rows)
    print_table("Answer and read in turn", ("collection", "cores", "answers a second", "answers behind, most"), after)


def _answering(client: httpx2.Client, collection: str, fields: Mapping[str, Any]) -> Callable[[int], int]:
    """A function that sends some answers, of each group in turn, and returns how many were sent in all."""
    sent = 0

    def answer(count: int) -> int:
        nonlocal sent
        group = {"group": _REGIONS[sent // count % len(_REGIONS)]} if "groups" in fields else {}
        tickets = client.post(f"/v1/collections/{collection}/tickets", json={"count": count, **group}).json()["tickets"]
        responses = [{"ticket": each["ticket"], "answer": i % 2} for i, each in enumerate(tickets)]
        reply = client.post(f"/v1/collections/{collection}/responses/batch", json={"responses": responses})
        assert reply.status_code == 200, reply.text
        sent += count
        return sent

    return answer


def _repeated(target: Target, client: httpx2.Client, collection: str) -> list[str]:
    while (idle := busy_share(target.pid)) > _IDLE:
        pass
    found = []
    for path in _READS:
        client.get(path.format(collection))  # writes it for the first time
        costs = []
        for _ in range(_TIMES):
            began, before = time.perf_counter(), exact_cpu_seconds(target.pid)
            assert client.get(path.format(collection)).status_code == 200
            time.sleep(0.01)
            costs.append(exact_cpu_seconds(target.pid) - before - idle * (time.perf_counter() - began))
        found.append(f"{1e3 * max(0.0, median(costs)):.1f}")
    return found


def _after_answers(
    target: Target, client: httpx2.Client, collection: str, answer: Callable[[int], int]
) -> tuple[str, ...]:
    began, before, first, behind = time.perf_counter(), exact_cpu_seconds(target.pid), answer(1), 0
    while (seconds := time.perf_counter() - began) < _SECONDS:
        sent = answer(1)
        behind = max(behind, sent - client.get(f"/collections/{collection}/charts.json").json()["answers"])
    return f"{(exact_cpu_seconds(target.pid) - before) / seconds:.2f}", f"{(sent - first) / seconds:.0f}", f"{behind:,}"


if __name__ == "__main__":
    main([])
