"""Time and memory of the estimator, one answer at a time: does either grow with the number of answers?"""

import multiprocessing
import resource
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np

from dither_estimator.families import families
from dither_estimator.learning.learner import Learner
from dither_estimator.specification.fields import DEFAULT_PARTICLES
from dither_estimator.specification.specification import Specification
from dither_server.simulate.behaviours import Behaviours, draw_roles
from dither_server.simulate.in_process import simulate_in_process
from dither_server.simulate.population import draw_population
from dither_server.simulate.scenario import PAPER_PRIOR
from testing.tables import print_table

__all__ = ["main"]

SIZES = (1_000, 10_000, 100_000, 1_000_000)
_REPEATS = 3
MANY_PARTICLES = 100_000
_FEW_SIZES = (1_000, 10_000)


@dataclass(frozen=True)
class _Measured:
    seconds: float
    queries: int
    moves: int
    state_bytes: int
    """The size of the snapshot, which is all that is remembered of the answers."""
    peak_mebibytes: float


def main() -> None:
    """Prints the tables."""
    columns = ("answers", "µs an answer", "to the row above", "questions", "moves", "state, KiB", "peak RSS, MiB")
    print_table("Estimator: one answer at a time, ε = 1, 1,000 particles", columns, _rows())
    many_columns = ("answers", "seconds", "questions", "moves", "state, KiB", "peak RSS, MiB")
    print_table(f"Estimator: the same with {MANY_PARTICLES:,} particles", many_columns, _rows_of_many_particles())


def _rows() -> Iterator[tuple[object, ...]]:
    before = None
    for size in SIZES:
        runs = [_in_fresh_process(size, seed) for seed in range(_REPEATS)]
        best = min(runs, key=lambda run: run.seconds)
        each = best.seconds / size * 1e6
        ratio = "" if before is None else f"{each / before:.2f}"
        before = each
        memory = (f"{best.state_bytes / 1024:.0f}", f"{best.peak_mebibytes:.0f}")
        yield (f"{size:,}", f"{each:.1f}", ratio, best.queries, best.moves, *memory)


def _rows_of_many_particles() -> Iterator[tuple[object, ...]]:
    for size in _FEW_SIZES:
        run = _in_fresh_process(size, 0, MANY_PARTICLES)
        memory = (f"{run.state_bytes / 1024:,.0f}", f"{run.peak_mebibytes:.0f}")
        yield (f"{size:,}", f"{run.seconds:.1f}", run.queries, run.moves, *memory)


def _in_fresh_process(size: int, seed: int, particles: int = DEFAULT_PARTICLES) -> _Measured:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, context) as pool:
        return pool.submit(_measure, size, seed, particles).result()


def _measure(size: int, seed: int, particles: int) -> _Measured:
    fields = {"family": "normal", "epsilon": 1, "prior": PAPER_PRIOR, "particles": particles}
    spec = Specification.from_json(fields)
    learner = Learner(spec, seed)
    rng = np.random.default_rng(seed)
    people = draw_population(rng, families["normal"], {"mu": 50.0, "sigma": 10**0.5}, "identity", size)
    outcome = simulate_in_process(learner, people.values, draw_roles(rng, Behaviours(), size), rng)
    assert outcome.estimator_seconds is not None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform == "linux" else 1024**2)
    return _Measured(
        seconds=outcome.estimator_seconds,
        queries=outcome.posterior.queries,
        moves=outcome.posterior.moves,
        state_bytes=len(learner.snapshot()),
        peak_mebibytes=peak,
    )


if __name__ == "__main__":
    main()
