"""How long drawing a question takes: one by one, and from a pool while the estimator works beside it.

    python -m benchmarks.drawing [ANSWERS [SECONDS]]

One by one, `Learner.ask` learns what is pending and renews the pool when it is due, so now and then a caller waits for
that. A server draws from a pool that is already there, as `Learners.draw` does, and waits only for the interpreter,
which the estimator's thread may hold: the second table has how long after it was due a question was drawn.
"""

import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count, cycle, product
from random import Random
from time import perf_counter, sleep
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.calibration import MODELS
from dither_client import Query
from dither_estimator.design.design import optimal_design
from dither_estimator.design.goal import parse_goal
from dither_estimator.design.registry import MECHANISMS
from dither_estimator.families import FloatArray, find_family
from dither_estimator.learning.learner import Learner
from dither_estimator.particles.system import init, update
from dither_estimator.specification.specification import Policy, Specification
from testing.tables import print_table

__all__ = ["main"]

_ANSWERS = 2_000
_SECONDS = 5.0
_PAUSE = 0.0005
"""Between two draws from a pool, in seconds."""
_QUESTIONS = 300
_ASKED = 2_000
_POOL = 16
_EPSILON = Fraction(1)
_BESIDE = (
    *product(("normal",), ("laplace", "randomized_response"), (1_000, 10_000, 100_000)),
    ("student_t", "staircase", 1_000),
)
"""Family, mechanism, and number of particles."""
_MILLISECONDS = ("median, ms", "99%, ms", "largest, ms")

_Work = Callable[[], object]


def main(arguments: Sequence[str]) -> None:
    """Prints the tables; the arguments are the answers of the first and the seconds of each row of the second."""
    answers = int(arguments[0]) if arguments else _ANSWERS
    seconds = float(arguments[1]) if len(arguments) > 1 else _SECONDS
    each = [f"{mechanism}: 99%; largest, ms" for mechanism in MECHANISMS]
    columns = ("family", "median, µs, at most", "above 1 ms, at most", *each)
    with threadpool_limits(1):
        print_table(f"Drawing: {answers:,} asked one by one, ε = {_EPSILON}", columns, _rows_one_by_one(answers))
        head = ("beside", "family", "mechanism", "particles", "questions", "rounds", *_MILLISECONDS)
        print_table("Drawing: from a pool, while the estimator works", head, _rows_beside(seconds))


def _rows_one_by_one(answers: int) -> Iterator[tuple[object, ...]]:
    for family in MODELS:
        times = [1e3 * _asking(_specification(family, mechanism), answers) for mechanism in MECHANISMS]
        found = [_percentiles(some) for some in times]
        median = max(median for median, _, _ in found)
        share = max(float((some > 1).mean()) for some in times)
        each = [f"{high:.1f}; {largest:,.0f}" for _, high, largest in found]
        yield family, f"{1e3 * median:.2f}", f"{share:.1%}", *each


def _rows_beside(seconds: float) -> Iterator[tuple[object, ...]]:
    yield "nothing", *[""] * 5, *_drawing(None, seconds)
    for family, mechanism, particles in _BESIDE:
        spec = _specification(family, mechanism, particles)
        table = _table(spec)
        for name, work in (("moves", _moving(spec, table)), ("all of it", _learning(spec, table))):
            yield name, family, mechanism, f"{particles:,}", len(table), *_working(work, seconds)
    yield "designs", "student_t", "staircase", "", "", *_working(_designing("student_t", "staircase"), seconds)
    yield "plain Python", *[""] * 4, *_working(lambda: sum(range(1_000)), seconds)
    yield "nothing", *[""] * 5, *_drawing(None, seconds)


def _specification(family: str, mechanism: str, particles: int = 1_000) -> Specification:
    fields = {"family": family, "mechanism": mechanism, "epsilon": str(_EPSILON), "prior": MODELS[family]}
    return Specification.from_json({**fields, "particles": particles})


def _people(spec: Specification, size: int) -> list[float]:
    """Values from a member that is drawn from the prior."""
    rng = np.random.default_rng(4)
    theta = spec.family.constrain(spec.prior.sample(rng, 1))[0]
    values: list[float] = spec.family.sample(rng, theta, size).tolist()
    return values


def _asking(spec: Specification, answers: int) -> FloatArray:
    """The seconds that each of a number of questions took, asked and answered one by one."""
    learner, random = Learner(spec, 4), Random(4)
    times = np.empty(answers)
    for i, value in enumerate(_people(spec, answers)):
        began = perf_counter()
        query = learner.ask()
        times[i] = perf_counter() - began
        learner.learn(query, query.answer(value, random.randrange))
    return times


def _table(spec: Specification) -> Mapping[Query, Sequence[int]]:
    """Answers to about `_QUESTIONS` different questions, those of draws from the prior."""
    questions = Learner(replace(spec, policy=Policy("thompson")), 4).pool(_QUESTIONS)
    random = Random(4)
    table: dict[Query, list[int]] = {}
    for query, value in zip(cycle(questions), _people(spec, _ASKED), strict=False):
        row = table.setdefault(query, [0] * query.n_answers)
        row[query.answer(value, random.randrange)] += 1
    return table


def _moving(spec: Specification, table: Mapping[Query, Sequence[int]]) -> _Work:
    """Work that takes the particles from the prior to the posterior of the table, by some ten moves."""
    rng = np.random.default_rng(4)
    system = init(rng, spec.prior, spec.particles)
    counts = {query: np.array(row, dtype=np.int64) for query, row in table.items()}
    return lambda: update(rng, system, counts)


def _learning(spec: Specification, table: Mapping[Query, Sequence[int]]) -> _Work:
    """What a server's owner does with a table: learns it, sums it up, chooses questions, makes a snapshot."""

    def work() -> None:
        learner = Learner(spec, 4)
        learner.learn_counts(table)
        learner.posterior().to_json()
        learner.pool(_POOL)
        learner.snapshot()

    return work


def _designing(family: str, mechanism: Any) -> _Work:
    """Work that finds the design of another member each time."""
    found = find_family(family)
    steps = count(1)

    def work() -> None:
        coordinates = found.unconstrain(found.standard[None]) + 0.01 * next(steps)
        optimal_design(found, found.constrain(coordinates)[0], mechanism, _EPSILON, parse_goal("all", found))

    return work


@dataclass
class _Worker:
    """Does some work again and again, in a thread of its own."""

    work: _Work
    rounds: int = 0
    stopping: bool = False

    def run(self) -> None:
        while not self.stopping:
            self.work()
            self.rounds += 1


def _working(work: _Work, seconds: float) -> tuple[object, ...]:
    """How often `work` was done, and by how much draws beside it came after they were due."""
    worker = _Worker(work)
    thread = threading.Thread(target=worker.run)
    thread.start()
    try:
        late = _drawing(worker, seconds)
    finally:
        worker.stopping = True
        thread.join()
    return worker.rounds, *late


def _drawing(beside: _Worker | None, seconds: float) -> tuple[str, ...]:
    """Milliseconds from when draws were due until they were done, over some time and one round of what is beside."""
    random = Random(4)
    pool = tuple(range(_POOL))
    late = []
    end = perf_counter() + seconds
    while (due := perf_counter() + _PAUSE) < end or (beside is not None and not beside.rounds):
        sleep(_PAUSE)
        random.choice(pool)
        late.append(perf_counter() - due)
    return tuple(f"{1e3 * time:.2f}" for time in _percentiles(np.array(late)))


def _percentiles(times: FloatArray) -> tuple[float, float, float]:
    median, high, largest = np.quantile(times, [0.5, 0.99, 1.0]).tolist()
    return median, high, largest


if __name__ == "__main__":
    main(sys.argv[1:])
