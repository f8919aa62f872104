"""How soon a sudden jump is followed with drift, and how sure collections are meanwhile.

    python -m benchmarks.jumps [RUNS]

N(50, 10²), `"drift": true`, range 0 to 100, 400 people in each of eight weeks; then mu is higher by 2 or 4 σ, and so
many people have answered one by one, all questions as the collection asks them.
"""

import sys
from collections.abc import Iterator, Sequence
from datetime import date, timedelta

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from dither_estimator.learning.any_learner import any_learner
from dither_estimator.specification.specification import Specification
from dither_server.simulate.in_process import simulate_in_process
from testing.tables import print_table

__all__ = ["main"]

_RUNS = 20
_MU, _SIGMA = 50.0, 10.0
_WEEKS, _PEOPLE = 8, 400
_CASES = ((1, 4, 100), (1, 4, 200), (1, 4, 400), (1, 4, 600), (1, 2, 100), (1, 2, 400), (2, 4, 100), (2, 4, 300))
"""ε, the jump in σ, and the answers after it."""


def main(arguments: Sequence[str]) -> None:
    """Prints the table."""
    runs = int(arguments[0]) if arguments else _RUNS
    columns = ("ε", "jump, σ", "answers after it", "90% intervals that hold mu", "median of mu, median", "truth")
    print_table(f"After a jump: {runs} runs", columns, _rows(runs))


def _rows(runs: int) -> Iterator[tuple[str, ...]]:
    for epsilon, jump, answers in _CASES:
        found = Parallel(n_jobs=-1)(delayed(_run)(epsilon, jump, answers, seed) for seed in range(runs))
        low, middle, high = np.array(found).T
        truth = _MU + jump * _SIGMA
        held = int(((low <= truth) & (truth <= high)).sum())
        yield str(epsilon), str(jump), str(answers), f"{held} of {runs}", f"{np.median(middle):.1f}", f"{truth:.0f}"


def _run(epsilon: int, jump: int, answers: int, seed: int) -> tuple[float, float, float]:
    """The 5%, 50% and 95% quantiles of mu in the last week."""
    fields = {"family": "normal", "epsilon": epsilon, "period": "week", "drift": True, "range": [0, 100]}
    rng = np.random.default_rng([seed, jump, answers])
    sizes = [*[_PEOPLE] * _WEEKS, answers]
    labels = [_label(week) for week, size in enumerate(sizes) for _ in range(size)]
    values = rng.normal(_MU, _SIGMA, len(labels))
    values[-answers:] += jump * _SIGMA
    with threadpool_limits(1):
        learner = any_learner(Specification.from_json(fields), seed)
        found = simulate_in_process(learner, values, None, rng, labels=labels).posterior.posterior["mu"]
    return found.q05, found.q50, found.q95


def _label(week: int) -> str:
    year, number, _ = (date(2026, 1, 5) + timedelta(weeks=week)).isocalendar()
    return f"{year}-W{number:02d}"


if __name__ == "__main__":
    main(sys.argv[1:])
