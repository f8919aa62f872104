"""What requests of strangers cost at worst: the server's CPU time and memory, and how long it is silent meanwhile.

    python -m benchmarks.hostile [ROWS [ROUTES]]

One request at a time, from this machine, to which no limit of tickets applies. `ROUTES`: a part of the paths' text.
"""

import re
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

import httpx2

from benchmarks.loads.hostile_requests import Attack, attacks, encapsulated_attacks, routes
from benchmarks.loads.load import batches
from benchmarks.loads.machine import busy_share, exact_cpu_seconds
from benchmarks.loads.servers import Target, dither_server, new_collection
from dither_client.oblivious.encapsulation import read_configurations
from dither_server.app import create_app
from dither_server.settings import Settings
from testing.tables import print_table

__all__ = ["main"]

_ROWS = 25
_TIMES = 5
_MAX_REPEATED_SECONDS = 0.3
"""A request that takes longer than this is not repeated."""
_BOUND_CPU, _BOUND_MEMORY = 5.0, 2.0
"""Milliseconds and megabytes."""
_HEALTH = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
_COLUMNS = ("call", "what", "bytes", "status", "CPU, ms", "memory, MB", "silent, ms")


@dataclass(frozen=True)
class _Cost:
    """What a request cost at the median, in milliseconds, and at most in megabytes."""

    attack: Attack
    status: str
    cpu: float
    memory: float


def main(arguments: Sequence[str]) -> None:
    """Prints the dearest requests, and how many were over the bounds."""
    rows = int(arguments[0]) if arguments else _ROWS
    part = arguments[1] if len(arguments) > 1 else ""
    with tempfile.TemporaryDirectory() as folder, dither_server(Path(folder)) as target:
        collection = new_collection(target, {"particles": 1000})
        every = [route for route in routes(create_app(Settings())) if part in route[1]]
        for attack in attacks(every, collection):  # the first of each kind imports and caches
            if attack.what == "nothing":
                _send(target, attack.content)
        time.sleep(1)
        idle = busy_share(target.pid)
        found = [_cost(target, [attack] * _TIMES, idle) for attack in attacks(every, collection)]
        if ("POST", "/ohttp") in every:
            key = read_configurations(httpx2.get(f"{target.url}/ohttp-keys").content)
            sealed = encapsulated_attacks(key, collection)
            found += [_cost(target, [attack] * _TIMES, idle) for attack in sealed]
        found.sort(key=lambda cost: -cost.cpu)
        title = f"{len(found):,} hostile requests: the dearest, medians of {_TIMES}"
        print_table(title, _COLUMNS, (_row(target, cost, [cost.attack]) for cost in found[:rows]))
        most = sorted(found, key=lambda cost: -cost.memory)[:5]
        print_table("Those that took most memory", _COLUMNS, (_row(target, cost, [cost.attack]) for cost in most))
        dear = sum(cost.cpu > _BOUND_CPU or cost.memory > _BOUND_MEMORY for cost in found)
        print(f"\n{dear:,} cost more than {_BOUND_CPU:g} ms of CPU or {_BOUND_MEMORY:g} MB.")
        honest = (_honest(target, collection, count) for count in (500, 10_000))
        rows_of = (_row(target, _cost(target, some[1:], idle), some[:1]) for some in honest)
        print_table("Batches of genuine answers, of a stranger and of a gateway", _COLUMNS, rows_of)


def _honest(target: Target, collection: str, count: int) -> list[Attack]:
    """Batches as they should be: of a stranger, and those of more answers of a gateway."""
    found = []
    for send in batches(target, collection, count * (_TIMES + 1), count):
        known = {name: value for name, value in send.headers.items() if count > 500 or name != "authorization"}
        lines = [f"{send.method} {send.path} HTTP/1.1", "host: localhost", f"content-length: {len(send.body)}"]
        lines += [*(f"{name}: {value}" for name, value in known.items()), "", ""]
        content = "\r\n".join(lines).encode() + send.body
        found.append(Attack("POST …/responses/batch", f"{count:,} genuine answers", content))
    return found


def _row(target: Target, cost: _Cost, again: Sequence[Attack]) -> tuple[str, ...]:
    """A row of a table; the request is sent `again` to see for how long nobody else is answered."""
    silent = max(_silence(target, attack) for attack in again)
    attack = cost.attack
    figures = (f"{cost.cpu:.1f}", f"{cost.memory:.1f}", f"{1e3 * silent:.0f}")
    return (f"`{attack.route}`", attack.what, f"{attack.size:,}", cost.status, *figures)


def _cost(target: Target, same: Sequence[Attack], idle: float) -> _Cost:
    cpus, memories, status = [], [], ""
    for attack in same:
        Path(f"/proc/{target.pid}/clear_refs").write_text("5")  # the peak begins anew
        resident, before, began = _memory(target, "VmRSS"), exact_cpu_seconds(target.pid), time.perf_counter()
        status = _send(target, attack.content)
        time.sleep(0.005)  # what is done after the reply belongs to it
        seconds = time.perf_counter() - began
        cpus.append(max(0.0, 1e3 * (exact_cpu_seconds(target.pid) - before - idle * seconds)))
        memories.append((_memory(target, "VmHWM") - resident) / 1e6)
        if seconds > _MAX_REPEATED_SECONDS:
            break
    return _Cost(same[0], status, median(cpus), max(memories))


def _silence(target: Target, attack: Attack) -> float:
    """The most seconds that a question of health took, of those asked one after the other meanwhile."""
    waits: list[float] = []
    over = threading.Event()

    def ask() -> None:
        while not over.is_set():
            began = time.perf_counter()
            _send(target, _HEALTH)
            waits.append(time.perf_counter() - began)

    asking = threading.Thread(target=ask)
    asking.start()
    time.sleep(0.02)
    _send(target, attack.content)
    over.set()
    asking.join()
    return max(waits)


def _send(target: Target, content: bytes) -> str:
    """The status of the reply; a dash if the connection was closed without one."""
    address = urlsplit(target.url)
    with socket.create_connection((address.hostname, address.port), timeout=120) as connection:
        sender = threading.Thread(target=_push, args=[connection, content])
        sender.start()
        try:
            reply = connection.recv(65_536)
            while reply and b"\r\n\r\n" not in reply and (more := connection.recv(65_536)):
                reply += more
        except ConnectionError:
            reply = b""
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
        sender.join()
    found = re.match(rb"HTTP/1.1 (\d+)", reply)
    return found[1].decode() if found else "-"


def _push(connection: socket.socket, content: bytes) -> None:
    with suppress(OSError):
        connection.sendall(content)


def _memory(target: Target, what: str) -> int:
    found = re.search(rf"{what}:\s+(\d+) kB", Path(f"/proc/{target.pid}/status").read_text())
    assert found is not None
    return int(found[1]) * 1024


if __name__ == "__main__":
    main(sys.argv[1:])
