"""Simulation-based calibration of a distribution that drifts, in a collection whose questions follow the answers.

    python -m benchmarks.calibration_of_periods [DRAWS [FOLDER]]

The first week's parameters and the scales of the steps are drawn from the prior, then a walk and a population for each
week, and everyone answers what the learner of a collection asks, which knows none of this. Then the posterior
probability below each number is uniform over the draws. In a panel, people answer in several weeks, and each one's
place in the population stays the same; the posterior takes answers as independent. The tests are those of
`benchmarks.calibration`; the false-alarm rate of all of them together is `FALSE_ALARMS`. A posterior that counts each
answer twice is the broken variant: its intervals are too narrow, and the tests have to see that.

The prior of a step is in units of a fit to all weeks, which the answers say; here, of the first week's sigma. No truth
jumps, though the prior expects that of 42% of 20 weeks: the answers soon say that it did not happen.

What is done is kept in `FOLDER`, so that the same command goes on where it stopped; after a change to the estimator it
needs another folder.
"""

import sys
from collections.abc import Iterator, Sequence

import numpy as np
from joblib import Memory, Parallel, delayed
from threadpoolctl import threadpool_limits

from benchmarks.calibration import FALSE_ALARMS, MODELS, pvalues
from dither_estimator.drift.tracking import SCALE
from dither_estimator.families import FloatArray
from dither_estimator.learning.over_time import PeriodTables, follow
from dither_estimator.learning.period_learner import PeriodLearner
from dither_estimator.specification.specification import Specification
from dither_server.simulate.by_period import draw_periods
from dither_server.simulate.in_process import simulate_in_process
from testing.tables import print_table

__all__ = ["main", "ranks", "specification"]

_DRAWS = 100
_WEEKS, _ANSWERS = 20, 3_000
_PANEL = {"answers": 2, "periods": _WEEKS}
_KINDS = ("others each week", "a panel")
_TIMES = {"once": 1, "twice": 2}
"""How often each answer is counted."""
_FIRST_SEED = 3_000
_PLACES = {"first": 0, "middle": _WEEKS // 2, "last": -1}


def main(arguments: Sequence[str]) -> None:
    """Prints the table; the arguments are those of the command."""
    draws = int(arguments[0]) if arguments else _DRAWS
    run = Memory(arguments[1] if len(arguments) > 1 else None, verbose=0).cache(ranks)
    tasks = [(kind, seed) for kind in _KINDS for seed in range(_FIRST_SEED, _FIRST_SEED + draws)]
    runs = Parallel(n_jobs=-1)(delayed(run)(*task) for task in tasks)
    found = np.array(runs).reshape(len(_KINDS), draws, len(_TIMES), -1)
    limit = FALSE_ALARMS / (2 * len(_KINDS) * found.shape[-1])
    print(f"\nA right estimator has any p-value below {limit:.1e} once in {1 / FALSE_ALARMS:,.0f} times.")
    columns = ("people", "answers counted", "posterior probability below", "mean", "in 5% to 95%", "p-value", "folded")
    title = f"Calibration of {_WEEKS} weeks with {_ANSWERS:,} answers: {draws} draws from the prior"
    print_table(title, columns, _rows(found))


def _rows(found: FloatArray) -> Iterator[tuple[object, ...]]:
    names = [f"{name}, {place} week" for place in _PLACES for name in MODELS["normal"]]
    names += [f"step of {name}" for name in MODELS["normal"]]
    cases = [(kind, times, found[i, :, j]) for i, kind in enumerate(_KINDS) for j, times in enumerate(_TIMES)]
    for kind, times, columns in cases:
        for name, column, (plain, folded) in zip(names, columns.T, pvalues(columns), strict=True):
            inside = ((column > 0.05) & (column < 0.95)).mean()
            yield kind, times, name, f"{column.mean():.3f}", f"{inside:.0%}", f"{plain:.2g}", f"{folded:.2g}"


def specification(kind: str) -> Specification:
    """A collection with drift, with the prior from which truths are drawn."""
    fields = {"family": "normal", "epsilon": 2, "prior": MODELS["normal"], "period": "week", "drift": True}
    return Specification.from_json(fields | ({} if kind == _KINDS[0] else {"panel": _PANEL}))


def ranks(kind: str, seed: int) -> FloatArray:
    """The posterior probability below each of the numbers of one truth, shape (2, 8): a row for each of `_TIMES`."""
    spec, rng = specification(kind), np.random.default_rng([seed, 7])
    mu, sigma = spec.family.constrain(spec.prior.sample(rng, 1))[0].tolist()
    steps = SCALE * np.abs(rng.standard_t(4, 2)) * [sigma, 1.0]
    assert spec.period is not None
    size = _ANSWERS if spec.panel is None else _ANSWERS // spec.panel.answers
    text = f"mu={mu},sigma={sigma}"
    people = draw_periods(rng, spec.family, text, spec.period, _WEEKS, steps, "identity", size, spec.panel)
    learner = PeriodLearner(spec, seed)
    with threadpool_limits(1):
        simulate_in_process(learner, people.values, None, rng, labels=people.labels)
        tables = learner.period_counts
        found = [follow(spec, _multiplied(tables, times)).draws for times in _TIMES.values()]
    theta = spec.family.unconstrain(np.array([list(each.values()) for each in people.truth.values()]))
    places = list(_PLACES.values())
    below = [(draws.coordinates[:, places] < theta[places]).mean(axis=0).ravel() for draws in found]
    return np.hstack([below, [(draws.scales < steps).mean(axis=0) for draws in found]])


def _multiplied(tables: PeriodTables, times: int) -> PeriodTables:
    return {label: {query: row * times for query, row in table.items()} for label, table in tables.items()}


if __name__ == "__main__":
    main(sys.argv[1:])
