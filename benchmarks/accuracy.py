"""Root mean squared error of the posterior mean over many simulations, beside the figures to reach."""

import sys
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from dither_estimator.families import families
from dither_estimator.learning.learner import Learner
from dither_estimator.specification.specification import Specification
from dither_server.simulate.behaviours import Behaviours, draw_roles
from dither_server.simulate.in_process import simulate_in_process
from dither_server.simulate.population import draw_population
from dither_server.simulate.scenario import PAPER_PRIOR
from testing.tables import print_table

__all__ = ["main"]

TRUTH = {"mu": 50.0, "sigma": 10**0.5}
RESPONDENTS = 1_000
FIGURES = {
    ("laplace", "1"): (0.42, 0.56),
    ("laplace", "2"): (0.25, 0.31),
    ("laplace", "5"): (0.16, 0.17),
    ("laplace", "10"): (0.135, 0.135),
    ("randomized_response", "1"): (0.41, 0.48),
    ("randomized_response", "2"): (0.20, 0.23),
    ("randomized_response", "5"): (0.12, 0.10),
    ("randomized_response", "10"): (0.115, 0.09),
}
"""RMSE of μ and of σ that the policy `adaptive` has to stay below."""

_SEEDS = 100
_EPSILONS = ("0.5", "1", "2", "5", "10")


def main(arguments: Sequence[str]) -> None:
    """Prints the table; the first argument is the number of seeds."""
    seeds = int(arguments[0]) if arguments else _SEEDS
    columns = (
        "mechanism",
        "ε",
        "policy",
        "RMSE of μ; σ",
        "to stay below",
        "questions",
        "90% intervals that cover μ; σ",
    )
    print_table(
        f"Accuracy: N(50, 3.16²), {RESPONDENTS:,} respondents, the paper's prior, {seeds} seeds", columns, _rows(seeds)
    )


def _rows(seeds: int) -> Iterator[tuple[object, ...]]:
    for mechanism, epsilon, policy in product(("laplace", "randomized_response"), _EPSILONS, ("adaptive", "thompson")):
        fields = {
            "mechanism": mechanism,
            "epsilon": epsilon,
            "policy": policy,
            "family": "normal",
            "prior": PAPER_PRIOR,
        }
        found = Parallel(n_jobs=-1)(delayed(_simulate)(fields, seed) for seed in range(seeds))
        errors, covered, questions = (np.array(column) for column in zip(*found, strict=True))
        mu, sigma = np.sqrt((errors**2).mean(axis=0))
        figures = FIGURES.get((mechanism, epsilon)) if policy == "adaptive" else None
        limit = f"{figures[0]}; {figures[1]}" if figures else ""
        cover = "; ".join(f"{share:.0%}" for share in covered.mean(axis=0))
        yield mechanism, epsilon, policy, f"{mu:.3f}; {sigma:.3f}", limit, f"{questions.mean():.0f}", cover


def _simulate(fields: dict[str, Any], seed: int) -> tuple[list[float], list[bool], int]:
    """Errors of the posterior means, whether 90% intervals cover the truth, and the number of questions."""
    with threadpool_limits(1):
        for_people, for_noise, for_learner = np.random.SeedSequence(seed).spawn(3)
        rng = np.random.default_rng(for_people)
        people = draw_population(rng, families["normal"], TRUTH, "identity", RESPONDENTS)
        roles = draw_roles(rng, Behaviours(), RESPONDENTS)
        learner = Learner(Specification.from_json(fields), for_learner)
        posterior = simulate_in_process(learner, people.values, roles, np.random.default_rng(for_noise)).posterior
    summaries = [(posterior.posterior[name], true) for name, true in TRUTH.items()]
    errors = [summary.mean - true for summary, true in summaries]
    return errors, [summary.q05 <= true <= summary.q95 for summary, true in summaries], posterior.queries


if __name__ == "__main__":
    main(sys.argv[1:])
