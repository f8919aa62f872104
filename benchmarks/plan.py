"""`dither plan` against simulation: of runs with as many respondents as planned, how precise is the posterior?"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from benchmarks.tables import print_table
from dither_estimator.families import FloatArray
from dither_estimator.learner import Learner
from dither_estimator.plan import Precision, precision_of_answers
from dither_estimator.specification import Specification
from dither_server.simulate.behaviours import Behaviours, draw_roles
from dither_server.simulate.in_process import simulate_in_process
from dither_server.simulate.population import draw_population

__all__ = ["main"]

TRUTH = {"mu": 50.0, "sigma": 10**0.5}
TARGET = {"mu": 0.5}
MECHANISMS = ("laplace", "randomized_response")
PRIORS: dict[str, dict[str, Any]] = {"default": {}, "range 44 to 56": {"range": [44, 56]}}

_SEEDS = 30


def main(arguments: Sequence[str]) -> None:
    """Prints the table; the first argument is the number of seeds, the others are the ε."""
    seeds = int(arguments[0]) if arguments else _SEEDS
    columns = (
        "mechanism",
        "prior",
        "ε",
        "respondents",
        "mean posterior sd of μ; σ",
        "to the planned",
        "answers spent on finding: planned for μ; for σ; by μ; by σ",
        "respondents needed, to those planned, by μ; σ",
        "runs below the sd planned for 90%",
    )
    print_table(
        f"Plans: N(50, 10), sd of mu {TARGET['mu']}, {seeds} seeds",
        columns,
        _rows(seeds, arguments[1:] or ("0.5", "1", "2", "5")),
    )


def _rows(seeds: int, epsilons: Sequence[str]) -> Iterator[tuple[object, ...]]:
    for mechanism, (prior, fields), epsilon in product(MECHANISMS, PRIORS.items(), epsilons):
        spec = Specification.from_json({"family": "normal", "mechanism": mechanism, "epsilon": epsilon, **fields})
        precision = precision_of_answers(spec, list(TRUTH.values()))
        respondents = precision.respondents(TARGET)
        planned, within = (np.array(list(precision.sd(respondents, c).values()), dtype=float) for c in (None, 0.9))
        runs = Parallel(n_jobs=-1)(delayed(_sds)(spec, respondents, seed) for seed in range(seeds))
        sds = np.array(runs)
        means = sds.mean(axis=0)
        ratios, spent = means / planned, _spent(precision, respondents, means)
        errors = sds.std(axis=0, ddof=1) / planned / np.sqrt(seeds)
        below = (sds <= within).mean(axis=0)
        yield (
            mechanism,
            prior,
            epsilon,
            f"{respondents:,}",
            _joined(means, ".3f"),
            "; ".join(f"{ratio:.2f} ± {error:.2f}" for ratio, error in zip(ratios, errors, strict=True)),
            _joined([*precision.search, *spent], ".0f"),
            _joined((respondents + spent - precision.search) / respondents, ".2f"),
            _joined(below, ".0%"),
        )


def _spent(precision: Precision, respondents: int, means: FloatArray) -> FloatArray:
    """How many answers the mean posterior sds are short of: those that went into finding the population, shape (d,)."""
    ideal = replace(precision, search=np.zeros(len(precision.names)))
    used = [ideal.respondents({name: mean}) for name, mean in zip(precision.names, means.tolist(), strict=True)]
    return respondents - np.array(used, dtype=float)


def _joined(numbers: Iterable[float], form: str) -> str:
    return "; ".join(format(number, form) for number in numbers)


def _sds(spec: Specification, respondents: int, seed: int) -> list[float]:
    """The posterior standard deviations of one simulated collection."""
    with threadpool_limits(1):
        for_people, for_noise, for_learner = np.random.SeedSequence(seed).spawn(3)
        rng = np.random.default_rng(for_people)
        people = draw_population(rng, spec.family, TRUTH, "identity", respondents)
        roles = draw_roles(rng, Behaviours(), respondents)
        learner = Learner(spec, for_learner)
        simulate_in_process(learner, people.values, roles, np.random.default_rng(for_noise))
        return [summary.sd for summary in learner.posterior().parameters.values()]


if __name__ == "__main__":
    main(sys.argv[1:])
