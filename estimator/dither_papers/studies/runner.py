"""Runs a study in parallel with seeds: the results depend neither on the number of jobs nor on interruptions."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from zlib import crc32

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from dither_estimator.workers import workers_of
from dither_papers.studies.study import Results, Run, RunFunction, RunResult, Study

__all__ = ["RunKey", "generator_of", "key_of", "run_study"]

RunKey = tuple[str, int]
"""`Cell.key` and the number of the run."""

_PARALLEL_FROM_SECONDS = 10.0
"""Seconds of work from which on starting processes pays off."""


def key_of(run: Run) -> RunKey:
    """The key that identifies a run of a study."""
    return run.cell.key, run.number


def generator_of(study: str, seed: int, number: int) -> np.random.Generator:
    """The generator of a run, the same for every cell."""
    return np.random.default_rng(np.random.SeedSequence([seed, crc32(study.encode()), number]))


def run_study(
    study: Study,
    runs: int,
    seed: int = 0,
    jobs: int = 1,
    kept: Mapping[RunKey, RunResult] | None = None,
    finished: Callable[[Run, RunResult], None] = lambda run, result: None,
    scheduler: str | None = None,
) -> Results:
    """All runs of a study, with `runs` of each random cell.

    `kept` are results of an earlier call with this seed, which are not recomputed. `finished` is called in this thread
    as each new result arrives, in no particular order. `jobs` is the number of processes; -1 means one per core. With
    `scheduler`, the address of a Dask scheduler, its workers do all runs. Raises what `workers_of` raises.
    """
    found = dict(kept or {})
    wanted = study.all_runs(runs)
    missing = [run for run in wanted if key_of(run) not in found]
    with workers_of(scheduler):
        alone = _PARALLEL_FROM_SECONDS if scheduler is None else None
        for run, result in _computed(study, missing, seed, jobs, alone):
            finished(run, result)
            found[key_of(run)] = result
    by_cell: dict[str, list[RunResult]] = {cell.key: [] for cell in study.cells}
    for run in wanted:
        by_cell[run.cell.key].append(found[key_of(run)])
    return Results(by_cell)


def _computed(
    study: Study, runs: Sequence[Run], seed: int, jobs: int, alone: float | None
) -> Iterator[tuple[Run, RunResult]]:
    """The runs in any order: in this process while all of them would take at most `alone` seconds, then in parallel."""
    start, done = time.monotonic(), 0
    while alone is not None and done < len(runs):
        if jobs != 1 and done and (time.monotonic() - start) / done * len(runs) > alone:
            break
        yield _one(study.name, study.run, seed, runs[done])
        done += 1
    if done < len(runs):
        tasks = (delayed(_one)(study.name, study.run, seed, rest) for rest in runs[done:])
        yield from Parallel(n_jobs=jobs, return_as="generator_unordered")(tasks)


def _one(name: str, compute: RunFunction, seed: int, run: Run) -> tuple[Run, RunResult]:
    with threadpool_limits(1, user_api="blas"):
        return run, compute(run.cell, generator_of(name, seed, run.number))
