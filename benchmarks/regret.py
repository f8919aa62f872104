"""How good a question is that is asked one by one, and how good any could be for whoever has learnt as much.

    python -m benchmarks.regret [SEEDS]

The efficiency of a question (docs/statistics.md, "Many at once") is 1 for the best questions at the truth. Whoever has
learnt what I of those teach has, at best, a posterior with the covariance `M*⁻¹ / I`; the best question for it has the
largest mean efficiency, found here among the design's own, moved and stretched, and single cuts. It is a limit in the
long run, when posteriors are normal, and not for the first dozens of answers.
"""

import sys
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
from joblib import Parallel, delayed
from scipy.optimize import minimize

from benchmarks.rules import NORMAL, RULES, normal_fields, run
from dither_client import Query, RandomizedResponse
from dither_estimator.design.design import Design, Mechanism, optimal_design
from dither_estimator.design.goal import parse_goal
from dither_estimator.families import FloatArray
from dither_estimator.mechanisms.information import channel_information
from testing.tables import print_table

__all__ = ["best_efficiency", "main"]

_CASES: Sequence[tuple[Mechanism, str, int]] = (
    ("laplace", "0.5", 4_000), ("laplace", "1", 1_000), ("laplace", "2", 1_000),
    ("randomized_response", "0.5", 4_000), ("randomized_response", "1", 1_000), ("randomized_response", "5", 1_000),
)  # fmt: skip
_LEARNT = (40, 80, 160, 320, 640, 1_280, 2_560)
_SEEDS = 100
_QUESTIONS_AVERAGED = 21
"""Questions whose efficiencies are averaged."""
_NODES = 12
"""The nodes of the quadrature over μ, and over log σ."""
_PLACES = (0.0, 0.5, 1.0, 1.5)
"""Where the search for the best single cut begins."""


def main(arguments: Sequence[str]) -> None:
    """Prints the table; the argument is that of the command."""
    seeds = int(arguments[0]) if arguments else _SEEDS
    title = f"Efficiency of a question after as much was learnt, {seeds} seeds: the rule's; the best for the posterior"
    print_table(title, ("mechanism", "ε", *(f"{learnt:,}" for learnt in _LEARNT)), _rows(seeds))


def _rows(seeds: int) -> Iterator[tuple[object, ...]]:
    for mechanism, epsilon, respondents in _CASES:
        fields = normal_fields(mechanism, epsilon)
        runs = Parallel(n_jobs=-1)(delayed(run)(fields, RULES[0], respondents, seed) for seed in range(seeds))
        each = np.mean([one.efficiency for one in runs], axis=0)
        learnt = np.cumsum(each) - each
        asked = np.convolve(each, np.full(_QUESTIONS_AVERAGED, 1 / _QUESTIONS_AVERAGED), "same")
        design = optimal_design(NORMAL, [0.0, 1.0], mechanism, Fraction(epsilon), parse_goal("all", NORMAL))
        known = [amount for amount in _LEARNT if amount < learnt[-_QUESTIONS_AVERAGED]]
        found = [f"{np.interp(some, learnt, asked):.3f}; {best_efficiency(design, some):.3f}" for some in known]
        yield (mechanism, epsilon, *found, *[""] * (len(_LEARNT) - len(known)))


def best_efficiency(design: Design, learnt: float) -> float:
    """The mean efficiency of the best question for `N(μ, σ)`, if σ is lognormal and the covariance `M*⁻¹ / learnt`.

    `design`: the best for N(0, 1), the mean of what is drawn.
    """
    inverse = np.linalg.inv(design.information)
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    mu, log_scale = np.linalg.cholesky(inverse / learnt) @ [np.repeat(nodes, _NODES), np.tile(nodes, _NODES)]
    scale = np.exp(log_scale - 0.5 * inverse[1, 1] / learnt)
    chances = np.outer(weights, weights).ravel() / weights.sum() ** 2

    def wasted(at: FloatArray, question: Query) -> float:
        edges = (at[0] + np.exp(at[1]) * np.asarray(question.edges) - mu[:, None]) / scale[:, None]
        asked = channel_information(NORMAL, [0.0, 1.0], edges, question.channel())
        return 1.0 - float(chances @ np.einsum("ij,nij->n", inverse @ inverse, asked)) / design.criterion

    cut = RandomizedResponse((0.0,), design.queries[0].epsilon)
    starts = [(question, 0.0, log_stretch) for question in design.queries for log_stretch in (0.0, 0.2)]
    starts += [(cut, place, 0.0) for place in _PLACES]
    found = [minimize(wasted, at, (question,), method="Nelder-Mead").fun for question, *at in starts]
    return 1.0 - min(found)


if __name__ == "__main__":
    main(sys.argv[1:])
