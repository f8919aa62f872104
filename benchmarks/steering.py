"""Adversaries who answer first, with and without the second opinion; and what that opinion costs honest people."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from itertools import product

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from benchmarks.attacks import MEMBER
from dither_client import Query
from dither_estimator.families import FloatArray, families
from dither_estimator.learning import second_opinion as steering
from dither_estimator.learning.learner import Learner
from dither_estimator.mechanisms.channels import channel_of
from dither_estimator.specification.specification import Specification
from testing.tables import print_table

__all__ = ["interviewed", "main", "without_second_opinion"]

_ATTACKERS = 500
_RESPONDENTS = 10_000
_LOOKS = (500, 1_000, 2_000, 5_000, 10_000)
_HONEST_RESPONDENTS = 1_000
_SCALE = float(MEMBER[1])
_PRIORS = {
    "default": None,
    "paper": {
        "mu": {"dist": "norm", "loc": 0, "scale": 100},
        "sigma": {"dist": "invgamma", "a": 1, "scale": 1, "of": "variance"},
    },
}


def main(arguments: Sequence[str]) -> None:
    """Prints both tables; the argument is the number of seeds of the first, the second has twenty times as many."""
    seeds = int(arguments[0]) if arguments else 4
    columns = ("mechanism", "ε", "prior", "second opinion", *(f"after {look:,}" for look in _LOOKS))
    title = f"Steering: the first {_ATTACKERS} of {_RESPONDENTS:,} send the highest answer"
    print_table(
        f"{title}; |posterior mean of mu - 50|, in σ: median (worst) of {seeds} seeds", columns, _attacked(seeds)
    )
    columns = ("mechanism", "ε", "prior", "RMSE of mu; sigma, with", "without", "second opinions begun", "heard")
    print_table(
        f"What it costs {_HONEST_RESPONDENTS:,} honest respondents, {20 * seeds} seeds", columns, _honest(20 * seeds)
    )


@contextmanager
def without_second_opinion() -> Iterator[None]:
    """A context in which no posterior is ever doubted."""
    kept, steering.LONG_MOVE = steering.LONG_MOVE, np.inf
    try:
        yield
    finally:
        steering.LONG_MOVE = kept


def interviewed(learner: Learner, seed: int, adversaries: int, respondents: int) -> Iterator[int]:
    """Interviews the adversaries, then honest people of N(50, 3.16²); yields the number of answers after each."""
    rng = np.random.default_rng([seed, 1])
    values, uniforms = rng.normal(MEMBER[0], MEMBER[1], respondents).tolist(), rng.random(respondents).tolist()
    known: dict[Query, FloatArray] = {}
    for i, (value, uniform) in enumerate(zip(values, uniforms, strict=True)):
        query = learner.ask()
        if query not in known:
            known[query] = np.cumsum(channel_of(query).matrix, axis=1)[:, :-1]
        honest = int(np.searchsorted(known[query][query.cell(value)], uniform, "right"))
        learner.learn(query, query.n_answers - 1 if i < adversaries else honest)
        yield i + 1


def _attacked(seeds: int) -> Iterator[tuple[object, ...]]:
    for mechanism, epsilon, prior in product(("laplace", "randomized_response"), ("0.5", "1", "2"), _PRIORS):
        for second in (False, True):
            jobs = (delayed(_attack)(mechanism, epsilon, prior, seed, second) for seed in range(seeds))
            off = np.array(Parallel(n_jobs=-1)(jobs))
            cells = [f"{np.median(some):.2g} ({some.max():.2g})" for some in off.T]
            yield mechanism, epsilon, prior, "yes" if second else "no", *cells


def _attack(mechanism: str, epsilon: str, prior: str, seed: int, second: bool) -> list[float]:
    found = []
    with threadpool_limits(1), nullcontext() if second else without_second_opinion():
        learner = Learner(_specification(mechanism, epsilon, prior), seed)
        for answers in interviewed(learner, seed, _ATTACKERS, _RESPONDENTS):
            if answers in _LOOKS:
                theta, weights = learner.particles()
                found.append(abs(float(weights @ theta[:, 0]) - float(MEMBER[0])) / _SCALE)
    return found


def _honest(seeds: int) -> Iterator[tuple[object, ...]]:
    cases = (("laplace", "1"), ("randomized_response", "5"))
    for (mechanism, epsilon), prior in product(cases, _PRIORS):
        rows = [_errors(mechanism, epsilon, prior, seed, True) for seed in range(seeds)]
        plain = [_errors(mechanism, epsilon, prior, seed, False)[:2] for seed in range(seeds)]
        cured = np.array(rows, dtype=float)
        yield (
            mechanism,
            epsilon,
            prior,
            _rmse(cured[:, :2]),
            _rmse(np.array(plain)),
            f"{cured[:, 2].mean():.0%}",
            f"{cured[:, 3].mean():.0%}",
        )


def _errors(mechanism: str, epsilon: str, prior: str, seed: int, second: bool) -> tuple[float, float, bool, bool]:
    """Errors of the posterior means, and whether a second opinion was begun and heard."""
    begun = heard = False
    with threadpool_limits(1):
        learner = Learner(_specification(mechanism, epsilon, prior), seed)
        with nullcontext() if second else without_second_opinion():
            for _ in interviewed(learner, seed, 0, _HONEST_RESPONDENTS):
                opinion = learner.steering.second
                begun |= opinion is not None
                heard |= opinion is not None and opinion.heard
        theta, weights = learner.particles()
        mu, sigma = (weights @ theta - MEMBER).tolist()
    return mu, sigma, begun, heard


def _rmse(errors: FloatArray) -> str:
    squares = errors**2
    root = np.sqrt(squares.mean(axis=0))
    error = squares.std(axis=0) / len(squares) ** 0.5 / (2 * root)
    return "; ".join(f"{x:.3f} ± {e:.3f}" for x, e in zip(root, error, strict=True))


def _specification(mechanism: str, epsilon: str, prior: str) -> Specification:
    spec = {"family": families["normal"].name, "epsilon": epsilon, "mechanism": mechanism, "particles": 300}
    return Specification.from_json(spec | ({"prior": _PRIORS[prior]} if _PRIORS[prior] else {}))


if __name__ == "__main__":
    main(sys.argv[1:])
