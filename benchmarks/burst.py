"""A burst of respondents on a live server: what they teach, beside the same learner with as many answers outstanding.

    python -m benchmarks.burst [RUNS [CONNECTIONS,… [RESPONDENTS,… [COLLECTION,… [DATABASE,… [PROCESSES,…]]]]]]

N(120, 15²) at ε = 2 and 1 under the default prior, everybody at once on loopback: one process and two, each on its own
core with the database, on SQLite and on PostgreSQL. Collections are of the family `normal`, without and with a `range`
from 0 to 300; of `nonparametric`; of `categorical` with eight categories, whose shares are in proportion to 1, 1/2,
1/3, …; with four equal `groups`, of the family, without one and of the categories; with weeks and `drift`; and of two
independent normal numbers, `components`. The posterior's standard deviations are medians of so many runs. They are to
be near those of as many runs in process (`dither simulate --in-process --outstanding CONNECTIONS`).
"""

import math
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.loads.burst_kinds import KINDS, People
from benchmarks.loads.crowds import Course, Crowds, crowds_of
from benchmarks.loads.machine import cpu_seconds, postgres_database
from benchmarks.loads.servers import TOKEN, Target, dither_server, new_collection
from dither_client.addresses import collection_path
from dither_client.posterior.wire import to_json
from dither_client.transport.json_api import Api
from dither_estimator.learning.any_learner import any_learner
from dither_estimator.specification.specification import Specification
from dither_server.simulate.behaviours import Behaviours, draw_roles
from dither_server.simulate.in_process import simulate_in_process
from dither_server.simulate.respondents import Respondents
from testing.tables import print_table

__all__ = ["main"]

_RUNS = 9
_CONNECTIONS = (8, 64, 256)
_RESPONDENTS = (1_000, 3_000, 10_000)
_EPSILONS = (2, 1)
_DATABASES = ("SQLite", "PostgreSQL")
_PROCESSES = (1, 2)
_SEARCH = 2_000
"""Answers until which the population is searched for."""


_Case = tuple[str, int, int, int]
"""The kind, ε, the number of respondents, and how many come at once."""


@dataclass(frozen=True)
class _Burst:
    """The results of one population."""

    sds: tuple[float, ...]
    seconds: float = 0.0
    cpu: float = 0.0
    """Seconds of processor time of the servers, from first ticket to last estimate."""
    ticket_q99: float = 0.0
    later_rate: float = 0.0
    """Answers a second after the first `_SEARCH`; 0 if there were no more."""


def main(arguments: Sequence[str]) -> None:
    """Prints a table for each database and number of processes."""
    runs = int(arguments[0]) if arguments else _RUNS
    given = [argument.split(",") for argument in arguments[1:]]
    usual = [[*map(str, each)] for each in (_CONNECTIONS, _RESPONDENTS, KINDS, _DATABASES, _PROCESSES)]
    connections, respondents, kinds, databases, processes = [*given, *usual[len(given) :]]
    cases = [
        (kind, epsilon, int(size), int(count))
        for kind in kinds
        for epsilon in _EPSILONS
        for size in respondents
        for count in connections
    ]
    beside = {case: [_in_process(*case, seed) for seed in range(runs)] for case in cases}
    columns = (
        "collection", "ε", "respondents", "at once", "sd of", "posterior sd", "to in process", "seconds",
        "CPU seconds of the servers", "99% of tickets within, ms", "answers a second after 2,000",
    )  # fmt: skip
    for database in databases:
        for number in map(int, processes):
            with ExitStack() as stack:
                targets, crowds = _servers(stack, database, number), stack.enter_context(crowds_of(number))
                title = f"{database}, {number} process{'es' if number > 1 else ''}: medians of {runs} runs"
                print_table(title, columns, (_row(targets, crowds, case, beside[case], runs) for case in cases))


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


def _row(targets: list[Target], crowds: Crowds, case: _Case, beside: Sequence[_Burst], runs: int) -> tuple[str, ...]:
    kind, epsilon, size, connections = case
    found = [_live(targets, crowds, *case, seed) for seed in range(runs)]
    own, other = (np.median([burst.sds for burst in bursts], axis=0) for bursts in (found, beside))
    rate = median(burst.later_rate for burst in found)
    return (
        kind,
        str(epsilon),
        f"{size:,}",
        str(connections),
        KINDS[kind].found,
        ", ".join(f"{sd:.3g}" for sd in own),
        ", ".join(f"{ratio:.2f}" for ratio in own / other),
        f"{median(burst.seconds for burst in found):.2f}",
        f"{median(burst.cpu for burst in found):.2f}",
        f"{1e3 * median(burst.ticket_q99 for burst in found):.0f}",
        f"{rate:,.0f}" if rate else "",
    )


def _live(
    targets: list[Target], crowds: Crowds, kind: str, epsilon: int, size: int, connections: int, seed: int
) -> _Burst:
    """One run: as many of the connections to each server."""
    collection = new_collection(targets[0], {**KINDS[kind].fields, "epsilon": epsilon})
    people, number = _people(kind, epsilon, size, seed), len(targets)
    parts = [_part(people, slice(first, None, number), KINDS[kind].grouped, seed) for first in range(number)]
    used = sum(cpu_seconds(target.pid) for target in targets)
    courses = crowds.answer(targets, collection, parts, max(1, connections // number))
    settled = _settled(targets[0], collection, size)
    began = min(course.done[0][0] for course in courses)
    ended = max(course.done[-1][0] for course in courses)
    found, learnt_at = _found(courses)
    return _Burst(
        KINDS[kind].sds(settled),
        ended - began,
        sum(cpu_seconds(target.pid) for target in targets) - used,
        float(np.quantile(np.concatenate([course.tally.waits for course in courses]), 0.99)),
        (size - found) / (ended - learnt_at) if size > 2 * _SEARCH else 0.0,
    )


def _part(people: People, here: slice, grouped: bool, seed: int) -> Respondents:
    values = people.values[here]
    roles = draw_roles(np.random.default_rng(seed), Behaviours(), len(values))
    return Respondents(values, roles, groups=people.labels[here] if people.labels and grouped else None)


def _found(courses: Sequence[Course]) -> tuple[int, float]:
    """How many were done, and when, once `_SEARCH` were."""
    done = [0] * len(courses)
    for at, crowd, now in sorted((at, crowd, now) for crowd, course in enumerate(courses) for at, now in course.done):
        done[crowd] = now
        if sum(done) >= _SEARCH:
            return sum(done), at
    return sum(done), math.inf


def _settled(target: Target, collection: str, size: int) -> Any:
    with Api(target.url, TOKEN) as api:
        while True:
            posterior = api.get(collection_path(collection, "posterior"))
            if posterior["answers"] == size and posterior.get("groups", True):  # some come after the answers' count
                return posterior
            time.sleep(0.1)


def _in_process(kind: str, epsilon: int, size: int, outstanding: int, seed: int) -> _Burst:
    with threadpool_limits(1):
        specification = _specification(kind, epsilon)
        learner, people = any_learner(specification, seed, outstanding), _people(kind, epsilon, size, seed)
        rng = np.random.default_rng(seed)
        outcome = simulate_in_process(learner, people.values, None, rng, labels=people.labels, outstanding=outstanding)
    return _Burst(KINDS[kind].sds(to_json(outcome.posterior)))


def _specification(kind: str, epsilon: int) -> Specification:
    fields = {name: value for name, value in KINDS[kind].fields.items() if value is not None}
    return Specification.from_json({**fields, "epsilon": epsilon})


def _people(kind: str, epsilon: int, size: int, seed: int) -> People:
    return KINDS[kind].draw(np.random.default_rng([seed, size]), _specification(kind, epsilon), size)


if __name__ == "__main__":
    main(sys.argv[1:])
