"""A burst of respondents on a live server: what they teach, beside the same learner with as many answers outstanding.

    python -m benchmarks.burst [RUNS [CONNECTIONS,… [RESPONDENTS,…]]]

N(120, 15) at ε = 2 and 1 under the default prior, everybody at once on loopback: one process and two, each on its own
core with the database, on SQLite and on PostgreSQL. The posterior's standard deviations are medians of so many runs; as
many in process (`dither simulate --in-process --outstanding CONNECTIONS`) are what they are to be near.
"""

import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.machine import LOAD_CORE, on_core, postgres_database
from benchmarks.servers import TOKEN, Target, dither_server, new_collection
from dither_client.addresses import collection_path
from dither_client.posterior.wire import to_json
from dither_client.transport.json_api import Api
from dither_estimator.learning.learner import Learner
from dither_estimator.specification.specification import Specification
from dither_server.simulate.behaviours import Behaviours, draw_roles
from dither_server.simulate.in_process import simulate_in_process
from dither_server.simulate.outcome import Outcome
from dither_server.simulate.over_http import simulate_over_http
from testing.tables import print_table

__all__ = ["main"]

_RUNS = 9
_CONNECTIONS = (8, 64, 256)
_RESPONDENTS = (1_000, 3_000, 10_000)
_EPSILONS = (2, 1)
_MU, _SIGMA = 120.0, 15.0
_SEARCH = 2_000
"""Answers until which the population is searched for."""


@dataclass(frozen=True)
class _Burst:
    """What came of one population."""

    sds: tuple[float, float]
    """The posterior sds of μ and σ."""
    seconds: float = 0.0
    ticket_q99: float = 0.0
    later_rate: float = 0.0
    """Answers a second after the first `_SEARCH`; 0 if there were no more."""


def main(arguments: Sequence[str]) -> None:
    """Prints a table for each database and number of processes."""
    runs = int(arguments[0]) if arguments else _RUNS
    connections = _numbers(arguments[1]) if len(arguments) > 1 else _CONNECTIONS
    respondents = _numbers(arguments[2]) if len(arguments) > 2 else _RESPONDENTS
    cases = [(epsilon, size, count) for epsilon in _EPSILONS for size in respondents for count in connections]
    beside = {case: [_in_process(*case, seed) for seed in range(runs)] for case in cases}
    columns = (
        "ε", "respondents", "at once", "sd of μ, σ", "to in process", "seconds", "99% of tickets within, ms",
        "answers a second after 2,000",
    )  # fmt: skip
    for database in ("SQLite", "PostgreSQL"):
        for processes in (1, 2):
            with ExitStack() as stack:
                targets = _servers(stack, database, processes)
                title = f"{database}, {processes} process{'es' if processes > 1 else ''}: medians of {runs} runs"
                print_table(title, columns, (_row(targets, case, beside[case], runs) for case in cases))


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(",")))


def _servers(stack: ExitStack, database: str, processes: int) -> list[Target]:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    url: str | None = f"sqlite:///{folder}/dither.sqlite"
    if database == "PostgreSQL":
        url = stack.enter_context(postgres_database())
        if url is None:
            sys.exit("No PostgreSQL: set BENCHMARK_POSTGRES to the URL of a database of it.")
    targets = []
    for number in range(processes):
        own = folder / str(number)
        own.mkdir()
        targets.append(stack.enter_context(dither_server(own, url)))
    time.sleep(1.5 * (processes - 1))  # until each knows of the other
    return targets


def _row(targets: list[Target], case: tuple[int, int, int], beside: Sequence[_Burst], runs: int) -> tuple[str, ...]:
    epsilon, size, connections = case
    found = [_live(targets, *case, seed) for seed in range(runs)]
    own, other = (np.median([burst.sds for burst in bursts], axis=0) for bursts in (found, beside))
    rate = median(burst.later_rate for burst in found)
    return (
        str(epsilon),
        f"{size:,}",
        str(connections),
        f"{own[0]:.3g}, {own[1]:.3g}",
        f"{own[0] / other[0]:.2f}, {own[1] / other[1]:.2f}",
        f"{median(burst.seconds for burst in found):.2f}",
        f"{1e3 * median(burst.ticket_q99 for burst in found):.0f}",
        f"{rate:,.0f}" if rate else "",
    )


def _live(targets: list[Target], epsilon: int, size: int, connections: int, seed: int) -> _Burst:
    """One run: as many of the connections to each server."""
    collection = new_collection(targets[0], {"epsilon": epsilon, "range": None})
    values = _values(size, seed)
    outcomes: list[Outcome] = []
    reached: list[float] = []
    done = [0] * len(targets)
    began = time.perf_counter()

    def ask(number: int) -> None:
        def note(answered: int) -> None:
            done[number] = answered
            if not reached and sum(done) >= _SEARCH:
                reached.extend((time.perf_counter(), sum(done)))

        mine = values[number :: len(targets)]
        roles = draw_roles(np.random.default_rng(seed), Behaviours(), len(mine))
        at_once = max(1, connections // len(targets))
        url = targets[number].url
        outcomes.append(simulate_over_http(url, TOKEN, collection, mine, roles, at_once, None, note))

    with on_core(LOAD_CORE):
        threads = [threading.Thread(target=ask, args=(number,)) for number in range(len(targets))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    seconds = max(outcome.seconds for outcome in outcomes)
    rate = (size - reached[1]) / (began + seconds - reached[0]) if size > 2 * _SEARCH and reached else 0.0
    loads = [outcome.load for outcome in outcomes if outcome.load is not None]
    return _Burst(
        _sds(_settled(targets[0], collection, size)), seconds, max(load.ticket_seconds["q99"] for load in loads), rate
    )


def _settled(target: Target, collection: str, size: int) -> Any:
    with Api(target.url, TOKEN) as api:
        while True:
            posterior = api.get(collection_path(collection, "posterior"))
            if posterior["answers"] == size:
                return posterior["posterior"]
            time.sleep(0.1)


def _in_process(epsilon: int, size: int, outstanding: int, seed: int) -> _Burst:
    with threadpool_limits(1):
        spec = Specification.from_json({"family": "normal", "epsilon": epsilon})
        learner = Learner(spec, seed, outstanding=outstanding)
        roles = draw_roles(np.random.default_rng(seed), Behaviours(), size)
        rng = np.random.default_rng(seed)
        outcome = simulate_in_process(learner, _values(size, seed), roles, rng, outstanding=outstanding)
    return _Burst(_sds(to_json(outcome.posterior.posterior)))


def _sds(posterior: Any) -> tuple[float, float]:
    return posterior["mu"]["sd"], posterior["sigma"]["sd"]


def _values(size: int, seed: int) -> Any:
    return np.random.default_rng([seed, size]).normal(_MU, _SIGMA, size)


if __name__ == "__main__":
    main(sys.argv[1:])
