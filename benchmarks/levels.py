"""Questions with many levels: what is asked beside the design, and what it teaches.

    python -m benchmarks.levels [SEEDS [EPSILON,…]]

`laplace` with 64 and 256 levels beside levels chosen by the design: N(50, 3.16²), goal `mu`, range 0 to 100, 1,000
respondents one by one, medians of the posterior's standard deviation of μ, beside the ratio that the designs' variances
promise. Then the worth of what `adaptive` asks while the population is still to be found, to the best that could be
asked; and the worth of what is asked once it is found: what the questions do for the goal's criterion, on average, to
the best design of as many levels; the least over levels of 2 to 256 and both policies.
"""

import sys
from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import hypot, sqrt
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from benchmarks.levels_search import worth_in_search
from dither_client import Query
from dither_estimator.design.design import Design, optimal_design
from dither_estimator.design.goal import parse_goal
from dither_estimator.design.member import Member
from dither_estimator.families import FloatArray, families
from dither_estimator.learning.learner import Learner
from dither_estimator.mechanisms.information import information
from dither_estimator.particles.system import ParticleSystem
from dither_estimator.policies.policy import question_policy
from dither_estimator.specification.specification import Specification
from dither_server.simulate.behaviours import Behaviours, draw_roles
from dither_server.simulate.in_process import simulate_in_process
from dither_server.simulate.outcome import Outcome
from dither_server.simulate.population import draw_population
from testing.tables import print_table

__all__ = ["MEMBERS", "MOST_LEVELS", "asked_and_design", "main", "possible", "worth"]

MEMBERS: dict[str, tuple[float, ...]] = {
    "normal": (50, 3.16), "laplace": (-7, 0.3), "logistic": (50, 3), "gumbel": (1e4, 3), "student_t": (50, 3, 4),
    "student_t:4": (0.1, 1e-3), "exponential": (50,), "gamma": (0.6, 20), "weibull": (0.8, 3), "beta": (2, 5),
    "bernoulli": (0.2,), "poisson": (2.3,), "negative_binomial": (30, 3),
}  # fmt: skip
MOST_LEVELS = {"laplace": 256, "gaussian": 128, "randomized_response": 63}
_FEW_VALUES = {"bernoulli": 1, "poisson": 5, "negative_binomial": 12}
"""The most cuts of `randomized_response` that there are designs with, for the standard members."""
_LEVELS = (2, 3, 5, 9, 16, 40, 63, 128, 256)
_EPSILONS = ("1", "5")
_SPREAD = 0.003
"""The sd of the particles in the coordinate that is known worst."""
_SEEDS = 100
"""With this many runs, the ratio of two medians has a standard error of about 6%; with 20 runs, of 12%."""
_RESPONDENTS = 1_000
_SEARCHES = 20
_SEARCHED = (30, 100, 200, 400)
"""Answers after which the search is looked at."""


def main(arguments: Sequence[str]) -> None:
    """Prints the tables; the arguments are those of the command."""
    seeds = int(arguments[0]) if arguments else _SEEDS
    epsilons = arguments[1].split(",") if len(arguments) > 1 else _EPSILONS
    columns: tuple[str, ...] = (
        "ε",
        "policy",
        "levels",
        "sd of μ",
        "to the design's own",
        "promised",
        "at most",
        "questions",
    )
    title = f"N(50, 3.16²), 1,000 respondents, medians of {seeds} seeds ± standard errors"
    print_table(title, columns, _taught(seeds, epsilons))
    columns = ("ε", "levels", "answers", "asked, to the best of as many levels", "that, to the best single cut")
    print_table(f"What `adaptive` asks in the search, means of {_SEARCHES} seeds", columns, _searched(epsilons))
    columns = ("family", *(f"{mechanism}, ε = {epsilon}" for mechanism in MOST_LEVELS for epsilon in epsilons))
    print_table("Least worth of what is asked, to the design's", columns, _worths(epsilons))


def possible(family: str, mechanism: str, levels: int) -> bool:
    """Whether there is a design of so many levels."""
    most = MOST_LEVELS[mechanism]
    return levels <= (min(most, _FEW_VALUES.get(family, most)) if mechanism == "randomized_response" else most)


def asked_and_design(
    family: str, mechanism: str, levels: int, epsilon: str, policy: str
) -> tuple[tuple[Query, ...], Design]:
    """A pool of the policy, once the population is found to be the family's member, and the best design for that."""
    fields = {"family": family, "mechanism": mechanism, "levels": levels, "epsilon": epsilon, "policy": policy}
    spec = Specification.from_json(fields)
    design = optimal_design(spec.family, MEMBERS[family], spec.mechanism, spec.epsilon, spec.goal, levels)
    particles = _found(spec, design)
    return question_policy(spec).pool(np.random.default_rng(2), particles, 8, 8.0, spec.epsilon), design


def worth(design: Design, asked: Sequence[Query]) -> float:
    """What the questions do for the criterion, on average, at the member the design is for: 1 is the design's own.

    `tr(W M⁻¹ F M⁻¹) / tr(W M⁻¹)`, F the mean information of the questions: by the equivalence theorem no question of
    the mechanism with as many levels has more than 1.
    """
    weights = np.diag(Member(design.family, design.theta).aim(design.goal))
    inverse = np.linalg.inv(design.information)
    mean: FloatArray = np.mean([information(design.family, design.theta, query) for query in asked], axis=0)
    return float(np.diag(inverse @ mean @ inverse) @ weights) / design.criterion


def _found(spec: Specification, design: Design) -> ParticleSystem:
    """Particles of the posterior that very many answers to the design's questions leave."""
    family, theta = spec.family, np.array([design.theta])
    base = family.unconstrain(theta)
    slopes = np.exp([p.log_jacobian(base[:, [j]])[0, 0] for j, p in enumerate(family.parameters)])
    covariance = np.linalg.inv(design.information * np.outer(slopes, slopes))
    root = np.linalg.cholesky(covariance) * _SPREAD / np.sqrt(np.diag(covariance).max())
    drawn = base + np.random.default_rng(1).normal(size=(1_000, len(slopes))) @ root.T
    return ParticleSystem(spec.prior, drawn, np.full(1_000, -np.log(1_000)), {}, 0.0, 0)


def _worths(epsilons: Sequence[str]) -> Iterator[tuple[object, ...]]:
    for family in MEMBERS:
        cells = [(family, mechanism, epsilon) for mechanism in MOST_LEVELS for epsilon in epsilons]
        yield family, *(f"{least:.3f}" if least else "" for least in Parallel(n_jobs=-1)(map(delayed(_least), cells)))


def _least(cell: tuple[str, str, str]) -> float | None:
    family, mechanism, epsilon = cell
    found = []
    for levels in _LEVELS:
        for policy in ("adaptive", "thompson") if possible(family, mechanism, levels) else ():
            asked, design = asked_and_design(family, mechanism, levels, epsilon, policy)
            found.append(worth(design, asked))
    return min(found, default=None)


def _taught(seeds: int, epsilons: Sequence[str]) -> Iterator[tuple[object, ...]]:
    family = families["normal"]
    goal = parse_goal("mu", family)
    for epsilon in epsilons:
        variances = {}
        for levels in (None, 64, 256):
            found = optimal_design(family, [0.0, 1.0], "laplace", Fraction(epsilon), goal, levels).variances[0]
            assert found is not None
            variances[levels] = found
        for policy in ("adaptive", "thompson"):
            own = (0.0, 0.0)
            for levels in (None, 64, 256):
                runs = Parallel(n_jobs=-1)(delayed(_run)(epsilon, policy, levels, seed) for seed in range(seeds))
                sd, error = _median([run[0] for run in runs])
                own = own if levels else (sd, error)
                ratio = sd / own[0]
                promised = sqrt(variances[levels] / variances[None])
                yield (
                    epsilon,
                    policy,
                    _named(levels),
                    f"{sd:.3f} ± {error:.3f}",
                    f"{ratio:.2f} ± {ratio * hypot(error / sd, own[1] / own[0]):.2f}" if levels else "1",
                    f"{promised:.2f}",
                    f"{1.15 * promised:.2f}",
                    max(run[1] for run in runs),
                )


def _median(values: Sequence[float]) -> tuple[float, float]:
    """The median, and its standard error by the bootstrap."""
    again = np.random.default_rng(0).choice(values, (1_000, len(values)))
    return float(np.median(values)), float(np.median(again, axis=1).std())


def _named(levels: int | None) -> str:
    return "the design's" if levels is None else str(levels)


def _run(epsilon: str, policy: str, levels: int | None, seed: int) -> tuple[float, int]:
    """The posterior's standard deviation of μ, and how many distinct questions were asked."""
    posterior = _simulated(epsilon, policy, levels, seed, _RESPONDENTS)[1].posterior
    return posterior.posterior["mu"].sd, posterior.queries


def _searched(epsilons: Sequence[str]) -> Iterator[tuple[object, ...]]:
    for epsilon in epsilons:
        for levels in (None, 64):
            for answers in _SEARCHED:
                seeds = range(_SEARCHES)
                worths = Parallel(n_jobs=-1)(delayed(_in_search)(epsilon, levels, seed, answers) for seed in seeds)
                asked, best = np.mean(worths, axis=0)
                yield epsilon, _named(levels), answers, f"{asked:.2f}", f"{best:.3f}"


def _in_search(epsilon: str, levels: int | None, seed: int, answers: int) -> tuple[float, float]:
    return worth_in_search(_simulated(epsilon, "adaptive", levels, seed, answers)[0])


def _simulated(epsilon: str, policy: str, levels: int | None, seed: int, respondents: int) -> tuple[Learner, Outcome]:
    fields: dict[str, Any] = {"family": "normal", "epsilon": epsilon, "range": [0, 100], "goal": "mu", "policy": policy}
    spec = Specification.from_json(fields if levels is None else fields | {"levels": levels})
    rng, learner = np.random.default_rng(seed), Learner(spec, seed)
    people = draw_population(rng, spec.family, {"mu": 50.0, "sigma": 10**0.5}, "identity", respondents)
    roles = draw_roles(rng, Behaviours(), respondents)
    return learner, simulate_in_process(learner, people.values, roles, rng)


if __name__ == "__main__":
    main(sys.argv[1:])
