"""Two numbers of each person, asked as a server asks: the errors of everything that is learnt, beside the design's.

`promised` is the root mean square error that the optimal design of `dither design --components 2` has for a population
that is known beforehand, `seen` that of the posterior means over `RUNS` populations, `posterior sd` what the posterior
says, and `within 90%` how often its central 90% hold the truth. Means and standard deviations are in units of the true
standard deviation, both numbers together.

    python -m benchmarks.several_numbers [RUNS]
    python -m benchmarks.several_numbers peers [RUNS]

The second prints the errors of the package `multi-freq-ldpy` for the same people (`pairs_of_peers`).
"""

import sys
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks.peers.pairs_of_peers import CELLS, estimates_of_peers
from dither_estimator.dependence.design import joint_design
from dither_estimator.learning.learners import new_learner
from dither_estimator.learning.several_numbers import SeveralNumbers
from dither_estimator.specification.specification import Specification
from dither_server.simulate.by_component import PeopleOfComponents, draw_people_of_components
from dither_server.simulate.in_process import simulate_in_process
from testing.tables import print_table

__all__ = ["main"]

_RUNS = 40
_PEOPLE = {1: 10_000, 5: 2_000}
"""By ε."""
_LIMITS = (0.0, 100.0)
_TRUTH = {"mu": 50.0, "sigma": 10.0}
_COLUMNS = ("ε", "ρ", "people", "what", "promised", "seen", "posterior sd", "within 90%", "moves accepted")
_PEER_COLUMNS = ("ε", "ρ", "people", "multi-freq-ldpy", "cells", "mu", "sigma", "rho")


def _specification(epsilon: int) -> Specification:
    component = {"family": "normal", "range": list(_LIMITS)}
    components = [{"name": name, **component} for name in ("first", "second")]
    return Specification.from_json({"epsilon": epsilon, "components": components})


def _run(specification: Specification, rho: float, people: int, seed: list[int]) -> tuple[dict[str, Any], float]:
    """The truth, the mean, the sd and the ends of the central 90% of each number, and the acceptance rate."""
    _, asking, answering = np.random.SeedSequence(seed).spawn(3)
    drawn = _people(specification, rho, people, seed)
    learner = new_learner(specification, asking)
    reply = simulate_in_process(learner, drawn.values, None, np.random.default_rng(answering)).posterior
    population = learner.posterior().population
    assert isinstance(population, SeveralNumbers)
    assert reply.components is not None
    assert reply.correlations is not None
    numbers = [
        (name, (summary.mean - _TRUTH[name]) / _TRUTH["sigma"], summary.sd / _TRUTH["sigma"],
         summary.q05 <= _TRUTH[name] <= summary.q95)
        for part in reply.components.values()
        for name, summary in part.posterior.items()
    ]  # fmt: skip
    [found] = reply.correlations.values()
    numbers.append(("rho", found.mean - rho, found.sd, found.q05 <= rho <= found.q95))
    return {"numbers": numbers}, population.joint.acceptance


def _people(specification: Specification, rho: float, people: int, seed: list[int]) -> PeopleOfComponents:
    """The people of a run."""
    truth = ";".join([",".join(f"{name}={value}" for name, value in _TRUTH.items())] * 2)
    rng = np.random.default_rng(np.random.SeedSequence(seed).spawn(1)[0])
    return draw_people_of_components(rng, specification, [], truth, rho, people)


def _rows(runs: int) -> Iterator[tuple[object, ...]]:
    for epsilon, people in _PEOPLE.items():
        specification = _specification(epsilon)
        for rho in (0.0, 0.6):
            design = joint_design(2, rho, Fraction(epsilon))
            promised = dict(zip(("mu", "sigma", "_", "_", "rho"), design.variances / people, strict=True))
            found = [_run(specification, rho, people, [epsilon, round(10 * rho), run]) for run in range(runs)]
            accepted = np.mean([acceptance for _, acceptance in found])
            for what in ("mu", "sigma", "rho"):
                rows = np.array([row[1:] for each, _ in found for row in each["numbers"] if row[0] == what])
                error, sd = np.sqrt(np.mean(rows[:, 0] ** 2)), np.sqrt(np.mean(rows[:, 1] ** 2))
                sizes = [f"{value:.4f}" for value in (np.sqrt(promised[what]), error, sd)]
                yield epsilon, rho, people, what, *sizes, f"{rows[:, 2].mean():.0%}", f"{accepted:.3f}"


def _peer_rows(runs: int) -> Iterator[tuple[object, ...]]:
    truth = np.array([_TRUTH["mu"], _TRUTH["mu"], _TRUTH["sigma"], _TRUTH["sigma"]]) / _TRUTH["sigma"]
    for epsilon, people in _PEOPLE.items():
        specification = _specification(epsilon)
        for rho in (0.0, 0.6):
            seeds = [[epsilon, round(10 * rho), run] for run in range(runs)]
            values = [_people(specification, rho, people, seed).values for seed in seeds]
            best: dict[str, tuple[float, tuple[object, ...]]] = {}
            for cells in CELLS:
                for way, estimates in estimates_of_peers(values, _LIMITS, cells, epsilon).items():
                    found = np.array(estimates) / [*[_TRUTH["sigma"]] * 4, 1.0]
                    squares = ((found - [*truth, rho]) ** 2).mean(axis=0)
                    errors = np.sqrt([squares[:2].mean(), squares[2:4].mean(), squares[4]])
                    shown = ("–" if np.isnan(error) else f"{error:.4f}" for error in errors)
                    row = (epsilon, rho, people, way, cells, *shown)
                    best[way] = min(best.get(way, (np.inf, ())), (float(np.nansum(errors**2)), row))
            yield from (row for _, row in best.values())


def main(arguments: Sequence[str]) -> None:
    """Prints the table of several numbers, or that of a peer."""
    of_peers = arguments[:1] == ["peers"]
    given = arguments[1 if of_peers else 0 :]
    runs = int(given[0]) if given else _RUNS
    if of_peers:
        print_table("Several numbers: errors of a peer", _PEER_COLUMNS, _peer_rows(runs))
    else:
        print_table("Several numbers: errors beside those of the optimal design", _COLUMNS, _rows(runs))


if __name__ == "__main__":
    main(sys.argv[1:])
