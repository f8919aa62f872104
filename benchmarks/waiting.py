"""How long one ticket takes while the estimator moves its particles, over HTTP, on the server's one core.

    python -m benchmarks.waiting [TICKETS]

Batches of answers keep the particles moving; tickets are asked for one by one beside them.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import uvloop

from benchmarks.loads.load import batches
from benchmarks.loads.machine import LOAD_CORE, on_core
from benchmarks.loads.servers import Target, dither_server, new_collection
from dither_client.addresses import collection_path, parse_address
from dither_client.protocol.flow import Response, Send
from dither_client.protocol.respondent import JSON_HEADERS
from dither_server.simulate.connections import Connections
from testing.tables import print_table

__all__ = ["main"]

_TICKETS = 2_000
_PARTICLES = (1_000, 10_000, 100_000)
_BATCH = 100
_PAUSE = 0.002
"""Between two tickets, in seconds."""


def main(arguments: Sequence[str]) -> None:
    """Prints the table."""
    tickets = int(arguments[0]) if arguments else _TICKETS
    columns = ("particles", "beside", "tickets", "median, ms", "99%, ms", "largest, ms", "to stay below, 99%")
    with tempfile.TemporaryDirectory() as folder:
        print_table("Waiting for a ticket while particles move", columns, _rows(Path(folder), tickets))


def _rows(folder: Path, tickets: int) -> Iterator[tuple[object, ...]]:
    with dither_server(folder) as target:
        for particles in _PARTICLES:
            collection = new_collection(target, {"particles": particles})
            load = batches(target, collection, 20_000, _BATCH)
            for name, beside in (("nothing", []), ("answers that move the particles", load)):
                with on_core(LOAD_CORE):
                    times = uvloop.run(_asked(target, collection, beside, tickets))
                median, high = (1e3 * float(np.quantile(times, q)) for q in (0.5, 0.99))
                yield (
                    f"{particles:,}",
                    name,
                    len(times),
                    f"{median:.1f}",
                    f"{high:.1f}",
                    f"{1e3 * max(times):.1f}",
                    "25 ms",
                )


async def _asked(target: Target, collection: str, beside: Sequence[Send], tickets: int) -> list[float]:
    """Seconds that each ticket took."""
    pool = Connections(parse_address(target.url))
    request = Send("POST", collection_path(collection, "tickets"), b"{}", JSON_HEADERS)
    await pool.request(request)  # the first makes the particle system

    async def answer() -> None:
        for batch in beside:
            reply = await pool.request(batch)
            assert isinstance(reply, Response)
            assert reply.status == 200, reply.body
            await asyncio.sleep(0.05)

    async def ask() -> list[float]:
        times: list[float] = []
        while len(times) < tickets:
            began = time.perf_counter()
            reply = await pool.request(request)
            times.append(time.perf_counter() - began)
            assert isinstance(reply, Response)
            assert reply.status == 201, reply.body
            await asyncio.sleep(_PAUSE)
        return times

    answering = asyncio.create_task(answer())
    times = await ask()
    answering.cancel()
    pool.close()
    return times


if __name__ == "__main__":
    main(sys.argv[1:])
