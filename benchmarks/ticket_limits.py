"""What limits cost a ticket: the check alone, and over HTTP with a limit by forwarded address beside none."""

import tempfile
import time
from functools import partial
from pathlib import Path
from statistics import median

from starlette.requests import HTTPConnection

from benchmarks.loads.load import send
from benchmarks.loads.machine import cpu_seconds
from benchmarks.loads.servers import Target, dither_server, new_collection
from dither_client.addresses import collection_path
from dither_client.protocol.flow import Send
from dither_client.protocol.respondent import JSON_HEADERS
from dither_server.access.limits import TicketLimits
from dither_server.settings import Settings
from testing.tables import print_table

__all__ = ["main"]

_REQUESTS = 4_000
_ROUNDS = 5
_CHECKS = 100_000


def main() -> None:
    """Prints the table."""
    limited = {"DITHER_TICKETS_PER_MINUTE": "100000000", "DITHER_TRUSTED_PROXIES": "127.0.0.1"}
    with tempfile.TemporaryDirectory() as folder:
        rates, cpus = _over_http(Path(folder), limited)
    rows = [
        ("the check alone", f"{_check_seconds() * 1e6:.2f} µs", ""),
        ("server's CPU for a ticket, no limit", f"{median(cpus[0]) * 1e6:.0f} µs", "1.00"),
        ("server's CPU for a ticket, limited", f"{median(cpus[1]) * 1e6:.0f} µs", f"{_ratio(cpus):.2f}"),
        ("tickets a second, no limit", f"{median(rates[0]):,.0f}", "1.00"),
        ("tickets a second, limited", f"{median(rates[1]):,.0f}", f"{_ratio(rates):.2f}"),
    ]
    print_table(f"Limits: medians of {_ROUNDS} rounds of {_REQUESTS:,} tickets", ("what", "figure", "ratio"), rows)


def _check_seconds() -> float:
    limits = TicketLimits(Settings())
    requests = [
        HTTPConnection({"type": "http", "client": (f"192.0.{i // 256 % 256}.{i % 256}", 1), "headers": []})
        for i in range(4_000)
    ]
    began = time.perf_counter()
    for number in range(_CHECKS):
        limits.admit(requests[number % len(requests)], None)
    return (time.perf_counter() - began) / _CHECKS


def _over_http(folder: Path, limited: dict[str, str]) -> tuple[list[list[float]], list[list[float]]]:
    """Rates, and CPU seconds for each ticket, of a server without and one with limits, which take turns."""
    rates: list[list[float]] = [[], []]
    cpus: list[list[float]] = [[], []]
    for name in ("plain", "limited"):
        (folder / name).mkdir()
    with dither_server(folder / "plain") as plain, dither_server(folder / "limited", None, **limited) as other:
        works = []
        servers: list[tuple[Target, dict[str, str]]] = [(plain, {}), (other, {"x-forwarded-for": "192.0.2.7"})]
        for target, headers in servers:
            collection = new_collection(target)
            ask = Send("POST", collection_path(collection, "tickets"), b"{}", {**JSON_HEADERS, **headers})
            works.append((target.pid, partial(send, target, [ask] * _REQUESTS)))
        for _ in range(_ROUNDS):
            for at, (pid, work) in enumerate(works):
                cpu, began = cpu_seconds(pid), time.perf_counter()
                work()
                rates[at].append(_REQUESTS / (time.perf_counter() - began))
                cpus[at].append((cpu_seconds(pid) - cpu) / _REQUESTS)
    return rates, cpus


def _ratio(pairs: list[list[float]]) -> float:
    return float(median(with_limits / without for without, with_limits in zip(*pairs, strict=True)))


if __name__ == "__main__":
    main()
