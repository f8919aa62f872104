"""The comparison of rules takes the answers' luck out of the errors, and nothing else."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.rules import Run, normal_fields, run, without_luck
from dither_estimator.families import FloatArray


def _z(values: FloatArray) -> float:
    """How many standard errors the mean is from 0."""
    return float(values.mean() / (values.std(ddof=1) / np.sqrt(len(values))))


@pytest.mark.parametrize("rule", ["adaptive", "adaptive, 256 outstanding"])
def test_the_answers_luck_is_nothing_on_average(rule: str) -> None:
    """60 populations each; a mean 4 standard errors from 0 in any of these four would come once in 4,000 runs."""
    runs = [run(normal_fields("laplace", "0.5"), rule, 300, seed) for seed in range(60)]
    luck = np.array([one.luck for one in runs])
    for part in luck.T:
        assert abs(_z(part)) < 4
    # As if the best questions had been asked: those that were teach less, and so scores vary less.
    taught = np.array([one.efficiency.mean() for one in runs])
    assert _z(luck.sum(axis=1) - (1 - taught)) < -4


def test_luck_explains_most_of_an_error() -> None:
    runs = [run(normal_fields("laplace", "5"), "adaptive", 500, seed) for seed in range(24)]
    assert without_luck(runs).std() < 0.5 * np.std([one.squared for one in runs])


def test_errors_without_luck_have_the_same_mean() -> None:
    """2,000 comparisons of 20 runs whose error depends on the luck in a curve, which no fixed share of it explains.

    A mean 4 standard errors from the truth would come once in 16,000 runs. With what the same runs say of it, luck
    would explain the errors too well.
    """
    rng = np.random.default_rng(8)
    nothing = Run(0.0, np.zeros(1), 1.0, np.ones(1))
    found, fitted = [], []
    for _ in range(2_000):
        luck = rng.chisquare(1, 20) - 1
        squared = 1 + luck + luck**2
        runs = [replace(nothing, squared=float(y), luck=np.array([x])) for x, y in zip(luck, squared, strict=True)]
        found.append(without_luck(runs).mean() - 3)
        fitted.append(np.polynomial.Polynomial.fit(luck, squared, 1)(0.0) - 3)
    assert abs(_z(np.array(found))) < 4
    assert _z(np.array(fitted)) < -4
