"""Simulation-based calibration of two numbers of each person, in a collection whose questions follow the answers.

    python -m benchmarks.calibration_of_several_numbers [DRAWS [FOLDER]]

The parameters of both numbers and their correlation are drawn from the prior, then a population, and everyone answers
what the learner of a collection asks, which knows none of this. Then the posterior probability below each of the five
is uniform over the draws. The tests are those of `benchmarks.calibration`, each at both ε; the false-alarm rate of all
of them together is `FALSE_ALARMS`.

What is done is kept in `FOLDER`, so that the same command goes on where it stopped; after a change to the estimator it
needs another folder.
"""

import sys
from collections.abc import Iterator, Sequence

import numpy as np
from joblib import Memory, Parallel, delayed
from threadpoolctl import threadpool_limits

from benchmarks.calibration import FALSE_ALARMS, MODELS, pvalues
from dither_estimator.dependence.correlations import correlation_matrices, lkj_sample
from dither_estimator.families import FloatArray
from dither_estimator.learning.joint_learner import JointLearner
from dither_estimator.learning.several_numbers import SeveralNumbers
from dither_estimator.specification.specification import Specification
from dither_server.simulate.by_component import draw_people_of_components
from dither_server.simulate.in_process import simulate_in_process
from testing.tables import print_table

__all__ = ["main", "ranks", "specification"]

_DRAWS = 250
_ANSWERS = {2: 3_000, 5: 2_000}
"""By ε."""
_FIRST_SEED = 2_000
"""Smaller seeds were looked at while the learner was changed."""
_NAMES = ("first", "second")


def main(arguments: Sequence[str]) -> None:
    """Prints the table; the arguments are those of the command."""
    draws = int(arguments[0]) if arguments else _DRAWS
    run = Memory(arguments[1] if len(arguments) > 1 else None, verbose=0).cache(ranks)
    tasks = [
        (epsilon, answers, seed)
        for epsilon, answers in _ANSWERS.items()
        for seed in range(_FIRST_SEED, _FIRST_SEED + draws)
    ]
    found = np.array(Parallel(n_jobs=-1)(delayed(run)(*task) for task in tasks)).reshape(len(_ANSWERS), draws, -1)
    limit = FALSE_ALARMS / (2 * len(_ANSWERS) * found.shape[-1])
    print(f"\nA right estimator has any p-value below {limit:.1e} once in {1 / FALSE_ALARMS:,.0f} times.")
    columns = ("ε", "answers", "posterior probability below", "mean", "in 5% to 95%", "p-value", "folded")
    print_table(f"Calibration of two numbers: {draws} draws from the prior", columns, _rows(found))


def _rows(found: FloatArray) -> Iterator[tuple[object, ...]]:
    names = [*(f"{part} {name}" for part in _NAMES for name in MODELS["normal"]), "correlation"]
    for (epsilon, answers), columns in zip(_ANSWERS.items(), found, strict=True):
        for name, column, (plain, folded) in zip(names, columns.T, pvalues(columns), strict=True):
            inside = ((column > 0.05) & (column < 0.95)).mean()
            yield epsilon, answers, name, f"{column.mean():.3f}", f"{inside:.0%}", f"{plain:.2g}", f"{folded:.2g}"


def specification(epsilon: int) -> Specification:
    """Two numbers, with the prior from which truths are drawn."""
    component = {"family": "normal", "prior": MODELS["normal"]}
    return Specification.from_json({"epsilon": epsilon, "components": [{"name": name, **component} for name in _NAMES]})


def ranks(epsilon: int, answers: int, seed: int) -> FloatArray:
    """The posterior probability below each of the five numbers of one truth, shape (5,)."""
    spec, rng = specification(epsilon), np.random.default_rng([seed, 6])
    parts = [each.specification for each in spec.components]
    theta = [part.family.constrain(part.prior.sample(rng, 1))[0] for part in parts]
    rho = float(correlation_matrices(lkj_sample(rng, 1, len(parts), 1.0), len(parts))[0, 0, 1])
    text = ";".join(f"mu={mu},sigma={sigma}" for mu, sigma in theta)
    people = draw_people_of_components(rng, spec, [], text, rho, answers)
    learner = JointLearner(spec, seed)
    with threadpool_limits(1):
        simulate_in_process(learner, people.values, None, rng)
        population = learner.posterior().population
    assert isinstance(population, SeveralNumbers)
    draws = population.draws()
    return np.asarray((draws < np.append(np.concatenate(theta), rho)).mean(axis=0))


if __name__ == "__main__":
    main(sys.argv[1:])
