"""The power of the misfit check, and its false alarms: one look at the end, at a false-alarm rate of 5%."""

import sys
from collections.abc import Iterator, Sequence

import numpy as np
from joblib import Parallel, delayed
from scipy import stats
from threadpoolctl import threadpool_limits

from dither_estimator.families import find_family
from dither_estimator.learning.checked_learner import CheckedLearner
from dither_estimator.specification.specification import Specification
from dither_server.simulate.behaviours import Behaviours, draw_roles
from dither_server.simulate.in_process import simulate_in_process
from testing.tables import print_table

__all__ = ["main"]

_RUNS = 50
_ALPHA = 0.05
_NEVER = 10**9
_CASES = (
    # the population, its parameters, the family it is taken for, ε, respondents
    ("normal", (0, 1), "normal", "1", 20_000),
    ("gumbel", (0, 1), "normal", "1", 20_000),
    ("gumbel", (0, 1), "normal", "1", 100_000),
    ("gumbel", (0, 1), "normal", "2", 5_780),
    ("gumbel", (0, 1), "normal", "2", 20_000),
    ("exponential", (1,), "normal", "1", 20_000),
)


def main(arguments: Sequence[str]) -> None:
    """Prints the table; the first argument is the number of runs."""
    runs = int(arguments[0]) if arguments else _RUNS
    columns = ("population", "taken for", "ε", "respondents", "check answers", "alarms", "95% interval")
    print_table(f"Misfit check: share 20%, one look at the end, α = {_ALPHA}, {runs} runs", columns, _rows(runs))


def _rows(runs: int) -> Iterator[tuple[object, ...]]:
    for distribution, theta, family, epsilon, respondents in _CASES:
        fields = {"family": family, "epsilon": epsilon, "range": [-4, 6]}
        spec = Specification.from_json({**fields, "misfit_check": True, "misfit_looks": [_NEVER]})
        found = Parallel(n_jobs=-1)(delayed(_run)(spec, distribution, theta, respondents, seed) for seed in range(runs))
        p_values, check_answers = np.array(found).T
        alarms = int((p_values <= _ALPHA).sum())
        interval = stats.binomtest(alarms, runs).proportion_ci(0.95, "wilson")
        low_to_high = f"{interval.low:.0%} to {interval.high:.0%}"
        yield (
            distribution,
            family,
            epsilon,
            f"{respondents:,}",
            f"{check_answers.mean():,.0f}",
            f"{alarms / runs:.0%}",
            low_to_high,
        )


def _run(
    spec: Specification, distribution: str, theta: tuple[float, ...], respondents: int, seed: int
) -> tuple[float, int]:
    """The p-value of a look at the end, and the number of check answers."""
    with threadpool_limits(1):
        for_people, for_noise, for_learner = np.random.SeedSequence(seed).spawn(3)
        rng = np.random.default_rng(for_people)
        values = find_family(distribution).sample(rng, np.array(theta, dtype=float), respondents)
        learner = CheckedLearner(spec, for_learner)
        roles = draw_roles(rng, Behaviours(), respondents)
        simulate_in_process(learner, values, roles, np.random.default_rng(for_noise))
        return learner.p_value(), learner.answers - learner.learner.answers


if __name__ == "__main__":
    main(sys.argv[1:])
