"""How soon a sudden jump is followed with drift, and how sure collections are meanwhile.

    python -m benchmarks.jumps [RUNS]

N(50, 10²), `"drift": true`, range 0 to 100, 400 people in each of eight weeks; then mu is higher by 2 or 4 σ, and so
many people have answered one by one, all questions as the collection asks them. `warned` are the runs with the warning
that the answers of the last week do not go with those before.

In the second table there is no jump: the population walks with a scale from its prior, and questions are those that
were best in the week before. It has the share of last weeks with the warning after so many answers.
"""

import sys
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from itertools import pairwise

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from benchmarks.periods import answers as answers_of
from dither_estimator.drift.surprise import RARE, surprise
from dither_estimator.drift.tracking import SCALE
from dither_estimator.learning.any_learner import any_learner
from dither_estimator.likelihood.counts import Counts, merge_counts
from dither_estimator.specification.specification import Specification
from dither_server.simulate.in_process import simulate_in_process
from testing.tables import print_table

__all__ = ["main"]

_RUNS = 20
_MU, _SIGMA = 50.0, 10.0
_WEEKS, _PEOPLE = 8, 400
_CASES = (
    *((1, 0, answers) for answers in (100, 400)),
    *((1, 4, answers) for answers in (100, 200, 400, 600)),
    *((1, 2, answers) for answers in (100, 400)),
    *((2, 4, answers) for answers in (100, 300)),
)
"""ε, the jump in σ, and the answers after it."""
_LOOKS = (50, 100, 400)
_WALKS_A_RUN = 5


def main(arguments: Sequence[str]) -> None:
    """Prints the table."""
    runs = int(arguments[0]) if arguments else _RUNS
    columns = ("ε", "jump, σ", "answers after it", "90% intervals that hold mu", "warned", "median of mu", "truth")
    print_table(f"After a jump: {runs} runs", columns, _rows(runs))
    weeks = _WALKS_A_RUN * runs
    print_table(f"Without one: {weeks} weeks", (*map(str, _LOOKS), "any of these"), [_without(weeks)])


def _rows(runs: int) -> Iterator[tuple[str, ...]]:
    for epsilon, jump, answers in _CASES:
        found = Parallel(n_jobs=-1)(delayed(_run)(epsilon, jump, answers, seed) for seed in range(runs))
        low, middle, high, p_value = np.array(found).T
        truth = _MU + jump * _SIGMA
        held = int(((low <= truth) & (truth <= high)).sum())
        warned = f"{int((p_value < RARE).sum())} of {runs}"
        cells = (f"{held} of {runs}", warned, f"{np.median(middle):.1f}", f"{truth:.0f}")
        yield (str(epsilon), str(jump), str(answers), *cells)


def _run(epsilon: int, jump: int, answers: int, seed: int) -> tuple[float, float, float, float]:
    """The 5%, 50% and 95% quantiles of mu in the last week, and how likely answers that are as far out are."""
    fields = {"family": "normal", "epsilon": epsilon, "period": "week", "drift": True, "range": [0, 100]}
    rng = np.random.default_rng([seed, jump, answers])
    sizes = [*[_PEOPLE] * _WEEKS, answers]
    labels = [_label(week) for week, size in enumerate(sizes) for _ in range(size)]
    values = rng.normal(_MU, _SIGMA, len(labels))
    values[-answers:] += jump * _SIGMA
    with threadpool_limits(1):
        learner = any_learner(Specification.from_json(fields), seed)
        posterior = simulate_in_process(learner, values, None, rng, labels=labels).posterior
    found, p_value = posterior.posterior["mu"], posterior.surprise
    assert p_value is not None
    return found.q05, found.q50, found.q95, p_value


def _without(weeks: int) -> tuple[str, ...]:
    """The shares of the last weeks of walks that are warned of after each number of answers, and after any."""
    found = np.array(Parallel(n_jobs=-1)(delayed(_walk)(seed) for seed in range(weeks))) < RARE
    return tuple(f"{share:.1%}" for share in (*found.mean(axis=0), found.any(axis=1).mean()))


def _walk(seed: int) -> list[float | None]:
    """How likely answers that are as far out are, after each number of them."""
    rng = np.random.default_rng([seed, 1])
    steps = SCALE * np.abs(rng.standard_t(4, 2)) * rng.standard_normal((_WEEKS, 2))
    path = np.array([_MU, np.log(_SIGMA)]) + np.array([_SIGMA, 1.0]) * np.vstack([np.zeros(2), steps]).cumsum(axis=0)
    members = np.column_stack([path[:, 0], np.exp(path[:, 1])])
    specification = Specification.from_json({"family": "normal", "epsilon": 1, "range": [0, 100]})
    latest: Counts = {}
    found = []
    with threadpool_limits(1):
        tables = [answers_of(rng, members[max(week - 1, 0)], members[week], _PEOPLE) for week in range(_WEEKS)]
        for before, after in pairwise((0, *_LOOKS)):
            latest = merge_counts(latest, answers_of(rng, members[-2], members[-1], after - before))
            found.append(surprise(np.random.default_rng(1), specification.prior, [*tables, latest]))
    return found


def _label(week: int) -> str:
    year, number, _ = (date(2026, 1, 5) + timedelta(weeks=week)).isocalendar()
    return f"{year}-W{number:02d}"


if __name__ == "__main__":
    main(sys.argv[1:])
