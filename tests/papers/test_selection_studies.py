"""What the studies of Alparslan & Yıldırım find, with small runs: which statistic wins, and by how much. Seeded."""

from functools import cache

import numpy as np
import pytest
from scipy import stats

from dither_estimator.families import FloatArray
from dither_papers.studies import selection_mixing, selection_order
from dither_papers.studies.catalogue import find_study
from dither_papers.studies.runner import generator_of, run_study
from dither_papers.studies.study import Cell, Findings, RunResult, Scalar


@cache
def findings(name: str) -> Findings:
    study = find_study(name)
    return study.summarise(run_study(study, 1))


def column(name: str, of: str) -> FloatArray:
    return np.array([row[of] for row in findings(name).rows], dtype=np.float64)


def one_run(name: str, number: int = 0, **values: Scalar) -> RunResult:
    """Run `number` of the cell with these values, as the study would have it."""
    study = find_study(name)
    [cell] = [cell for cell in study.cells if cell.key == Cell(values).key]
    return study.run(cell, generator_of(name, 0, number))


def test_the_best_power_depends_on_privacy() -> None:
    theta = column("selection-figure-1", "θ")
    first, third = (column("selection-figure-1", f"a = {a}, ε = 1") for a in (1, 3))
    assert (first[theta < 5] > third[theta < 5]).all()
    assert (first[theta > 7] < third[theta > 7]).all()
    first, third = (column("selection-figure-1", f"a = {a}, no privacy") for a in (1, 3))
    assert (first > third).all()
    half, first, second, third = (column("selection-figure-2", f"a = {a}, ε = 1") for a in (0.5, 1, 2, 3))
    assert (first > np.maximum(second, third)).all()
    assert (half > first).all()  # what the paper does not show
    without = [column("selection-figure-2", f"a = {a}, no privacy") for a in (0.5, 1, 2, 3)]
    assert (np.argmax(without, axis=0) == 2).all()
    widths = np.array([column("selection-figure-3", f"a = {a}, ε = 1") for a in (0.5, 1, 2, 5)])
    assert set(widths.argmax(axis=0)) == {0, 1, 2, 3}


def test_a_noisy_average_tells_more_than_noisy_values() -> None:
    first, second, third = (
        column("selection-figure-4", name)
        for name in ("F1, randomised response", "F2, average of noisy values", "F3, noisy average")
    )
    assert (third > first).all()
    assert (first > second).all()


@pytest.mark.long
def test_absolute_values_are_ahead_unless_there_is_hardly_any_noise() -> None:
    """Twenty observations with Gaussian noise; with Laplace noise twenty at ε = 1. Chains agree with quadrature."""
    first, second = (column("selection-figure-6", f"exact MSE, {name}") for name in ("a = 1", "a = 2"))
    assert (first[:4] < second[:4]).all()
    assert second[-1] < 1.1 * first[-1]
    assert (column("selection-figure-6", "F(θ), a = 1")[:4] > column("selection-figure-6", "F(θ), a = 2")[:4]).all()
    assert (column("selection-figure-6", "F(θ), a = 1")[4:] < column("selection-figure-6", "F(θ), a = 2")[4:]).all()
    np.testing.assert_allclose(column("selection-figure-6", "MSE, a = 1"), first, rtol=0.15)
    errors = [one_run("selection-figure-7", a=a, epsilon=1.0) for a in (1, 2)]
    assert np.mean(errors[0]["exact"]) < 0.7 * np.mean(errors[1]["exact"])
    assert abs(np.mean(errors[0]["chain"]) / np.mean(errors[0]["exact"]) - 1) < 0.25


def test_averaged_ratios_mix_better_than_pseudo_marginals() -> None:
    """At N = 2 by a quarter or more (the paper: by more than half)."""
    times = {name: one_run("selection-table-3", algorithm=name, N=2)["time"] for name in ("PMMH", "MHAAR")}
    assert times["MHAAR"] < 0.75 * times["PMMH"]


@pytest.mark.long
def test_times_fall_with_the_draws_of_pseudo_marginals_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two observations, chains half as long, N = 2 and 50: PMMH's times fall to a third, MHAAR's stay, and they meet.

    As geometric means: falls of 3 and 1.1, and 1.2 between them; beyond these bounds once in 1,000 seeds, if that.
    """
    monkeypatch.setattr(selection_mixing, "ITERATIONS", 2_500)

    def times(algorithm: str, draws: int) -> FloatArray:
        return np.array([one_run("selection-table-3", k, algorithm=algorithm, N=draws)["time"] for k in range(2)])

    marginal, averaged = ({n: float(stats.gmean(times(name, n))) for n in (2, 50)} for name in ("PMMH", "MHAAR"))
    assert marginal[2] > 1.5 * marginal[50]
    assert 0.6 < averaged[2] / averaged[50] < 1.7
    assert marginal[50] < 2.0 * averaged[50]


def test_the_median_tells_more_than_the_maximum_at_every_theta(monkeypatch: pytest.MonkeyPatch) -> None:
    """It tells 90 times as much at θ = 0.5 and 3.6 times at 8; a third of that is five standard errors off."""
    monkeypatch.setattr(selection_order, "ITERATIONS", 100)
    median, maximum = (
        np.array(one_run("selection-figure-8", statistic=s)["information"]) for s in ("median", "maximum")
    )
    assert (median > np.array([30.0, 15.0, 7.0, 3.2, 1.2]) * maximum).all()


def test_the_median_is_far_ahead_of_the_maximum() -> None:
    """Ten observations: a tenth of the error or less, also by a likelihood without chains."""
    median, maximum = (one_run("selection-table-4", statistic=s, noise="as stated") for s in ("median", "maximum"))
    for way in ("chain", "exact"):
        assert np.mean(median[way]) < 0.1 * np.mean(maximum[way])
    assert abs(np.mean(median["chain"]) / np.mean(median["exact"]) - 1) < 0.3


def test_absolute_values_are_ahead_where_each_is_released_by_itself() -> None:
    """Five sequences at ε = 10."""
    errors = [one_run("selection-figure-9", a=a, epsilon=10.0) for a in (1, 2)]
    assert np.mean(errors[0]["exact"]) < np.mean(errors[1]["exact"])
    assert errors[0]["information"] > 2 * errors[1]["information"]
