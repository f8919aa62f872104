"""What the studies of Yıldırım find, with small runs: who wins and why. Seeded."""

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from dither_client.commands import run as run_command
from dither_estimator.design.design import optimal_design
from dither_estimator.design.goal import parse_goal
from dither_estimator.families import FloatArray
from dither_estimator.families.normal import Normal
from dither_papers.commands._kept_runs import KeptRuns
from dither_papers.studies import (
    truncation_costs,
    truncation_errors,
    truncation_incomes,
    truncation_intervals,
    truncation_scores,
    truncation_subsets,
    truncation_trajectories,
)
from dither_papers.studies.catalogue import find_study
from dither_papers.studies.runner import generator_of, key_of, run_study
from dither_papers.studies.study import Cell, Findings, Study
from dither_papers.studies.truncation_errors import TRUTH, upper_ratio
from dither_papers.studies.truncation_methods import Setting
from dither_papers.truncation.clipped import Answers, Interval, answer, log_density
from dither_papers.truncation.incomes import MLE, SIZE, InvalidIncomes, parse_incomes, substitute
from dither_papers.truncation.information import exact_information
from dither_papers.truncation.intervals import PAPER_INTERVALS, best_interval
from testing.repository import DOCS

ADAPTIVE = "SMC-adaptive, marginal"
"""The paper's questions, with the exact posterior."""
KEPT = DOCS / "papers" / "runs"


def findings(study: Study, runs: int = 1) -> Findings:
    found = study.summarise(run_study(study, runs))
    drawn(found)
    return found


def drawn(found: Findings) -> None:
    from matplotlib.figure import Figure

    found.draw(Figure())


@cache
def estimate_of(method: str, epsilon: float, people: int, number: int) -> list[float]:
    """What run `number` of `truncation-figure-2-exact` finds, asked of so many."""
    study = find_study("truncation-figure-2-exact")
    [cell] = [cell for cell in study.cells if cell["epsilon"] == epsilon and cell["method"] == method]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(truncation_errors, "PEOPLE", people)
        return list(study.run(cell, generator_of(study.name, 0, number))["estimate"])


def rmse(method: str, epsilon: float, people: int, runs: int) -> FloatArray:
    """Root mean squared errors of μ and σ over the first runs."""
    found = np.array([estimate_of(method, epsilon, people, number) for number in range(runs)])
    return np.asarray(np.sqrt(((found - TRUTH) ** 2).mean(axis=0)))


@pytest.mark.long
def test_dithers_questions_tell_both_parameters() -> None:
    """Twelve runs at ε = 1, exact posteriors: the paper's intervals for μ hardly tell σ, which Dither's questions do.

    The ratios of errors are about 0.4 and 0.3 for σ, 0.5 and 0.4 for both; of 10,000 sets of runs 32 and 46 have 1.
    """
    adaptive, *ours = (rmse(method, 1.0, 1_000, 12) for method in (ADAPTIVE, "laplace", "randomized_response"))
    for errors in ours:
        assert errors[1] < adaptive[1]
        assert np.hypot(*errors) < np.hypot(*adaptive)


RUNS = {1.0: (1_000, 8), 2.0: (200, 12), 5.0: (200, 16), 10.0: (200, 20)}
"""Respondents and runs by ε, as few as tell."""


@pytest.mark.long
@pytest.mark.parametrize("epsilon", truncation_errors.EPSILONS)
def test_randomized_response_tells_the_spread_better(epsilon: float) -> None:
    """Than the paper's questions, at every ε: the ratios of errors of σ are about 0.3, 0.35, 0.35 and 0.55.

    Of 10,000 seeds six, two, none and six have 1 or more.
    """
    ours, adaptive = (rmse(method, epsilon, *RUNS[epsilon])[1] for method in ("randomized_response", ADAPTIVE))
    assert ours < adaptive


@pytest.mark.parametrize("epsilon", [5.0, *(pytest.param(other, marks=pytest.mark.long) for other in (2.0, 10.0))])
def test_adaptive_questions_beat_constant_ones(epsilon: float) -> None:
    """200 respondents, one likelihood: μ is nearer than with `μ ± 10σ`, and so is σ, which few runs tell from ε = 5 on.

    The ratios of errors are about 0.2, 0.4 and 0.45 for μ, 0.35 and 0.25 for σ; of 10,000 seeds none, five and two have
    1 or more.
    """
    adaptive, constant = (rmse(method, epsilon, *RUNS[epsilon]) for method in (ADAPTIVE, "SMC-nonadaptive, marginal"))
    assert adaptive[0] < constant[0]
    assert epsilon < 5 or adaptive[1] < constant[1]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, int], Findings]:
    """What a study makes of its first runs in `docs/papers/runs`, none of them computed again."""

    def read(name: str, runs: int) -> Findings:
        copy = tmp_path_factory.mktemp("runs") / f"{name}.jsonl"
        copy.write_bytes((KEPT / copy.name).read_bytes())
        study, results = find_study(name), KeptRuns(copy, 0, "").results
        assert {key_of(run) for run in study.all_runs(runs)} <= results.keys()
        return study.summarise(run_study(study, runs, kept=results))

    return read


def test_what_200_runs_found(kept: Callable[[str, int], Findings]) -> None:
    """Against the paper's two ways of asking, with the upper 95% limits that `docs/papers.md` has."""
    rows = {(row["ε"], row["method"]): row for row in kept("truncation-figure-2-exact", 200).rows}
    for epsilon in truncation_errors.EPSILONS:
        adaptive, constant = (rows[epsilon, f"SMC-{way}, marginal"] for way in ("adaptive", "nonadaptive"))
        assert adaptive["RMSE mu"] < 0.5 * constant["RMSE mu"]
        assert adaptive["RMSE sigma"] < 0.82 * constant["RMSE sigma"]
        for row in (adaptive, constant):
            assert row["randomized_response / this, sigma, at most"] < 0.65
            assert row["its goal mu / this, mu, at most"] < 1.002
            assert row["its goal mu / this, sigma, at most"] < 0.97
            assert row["laplace / this, sigma, at most"] < 0.92
            assert row["laplace / this, both, at most"] < 0.97
            if epsilon > 1.0:
                assert row["randomized_response / this, mu, at most"] < 1.11
    first = rows[1.0, ADAPTIVE]
    assert first["randomized_response / this, mu"] == pytest.approx(1.14, abs=0.01)
    assert first["randomized_response / this, mu, at most"] == pytest.approx(1.27, abs=0.01)
    ratios = [rows[epsilon, ADAPTIVE]["randomized_response / this, sigma"] for epsilon in truncation_errors.EPSILONS]
    assert ratios == pytest.approx([0.26, 0.17, 0.34, 0.57], abs=0.006)


@pytest.mark.parametrize(("epsilon", "both", "alone"), [(1, 1.125, 0.895), (5, 0.855, 0.846)])
def test_errors_of_the_mean_in_the_long_run(epsilon: int, both: float, alone: float) -> None:
    """From the information: against the paper's best interval for μ, randomised response is behind only where ε is
    small and σ matters as well."""
    family, [paper, _] = Normal(), np.diag(exact_information(best_interval("mean", float(epsilon)), float(epsilon)))
    for goal, expected in (("all", both), ("mu", alone)):
        design = optimal_design(
            family, family.standard, "randomized_response", Fraction(epsilon), parse_goal(goal, family)
        )
        assert design.variances[0] is not None
        assert (design.variances[0] * paper) ** 0.5 == pytest.approx(expected, abs=2e-3)


def test_tables_of_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Made-up estimates, twice as far off without adaptation: the ratios and their limits say so."""

    def made_up(method: str, setting: Setting, rng: np.random.Generator, values: object) -> tuple[float, float]:
        factor = 2.0 if method in ("SMC-nonadaptive", "MCMC") else 1.0
        mu, sigma = TRUTH + factor * rng.normal(0.0, 0.1, 2)
        return mu, sigma

    monkeypatch.setattr(truncation_errors, "estimate", made_up)
    rows = findings(find_study("truncation-figure-2"), 20).rows
    assert len(rows) == 4 * len(truncation_errors.METHODS)
    for row in rows:
        expected = 0.5 if row["method"] in ("SMC-nonadaptive", "MCMC") else 1.0
        ratios = {name: value for name, value in row.items() if " / this" in name}
        assert len(ratios) == 16
        assert {"laplace / this, mu", "laplace, goal mu / this, mu"} < set(ratios)
        assert list(ratios.values()) == pytest.approx([expected] * 16)


def test_upper_limits_of_ratios() -> None:
    """The bootstrap's limit for independent errors of 400 runs is near the F distribution's, and covers."""
    rng = np.random.default_rng(1)
    expected = stats.f.ppf(0.95, 400, 400) ** 0.5
    found = np.array([upper_ratio(*rng.normal(size=(2, 400, 1))) for _ in range(40)])
    assert (found[:, 1] / found[:, 0]).mean() == pytest.approx(expected, rel=0.02)
    assert (found[:, 1] > 1.0).mean() > 0.8  # 95% expected; 5 of 40 too low once in 20, 8 once in 2,000


def exactly(rng: np.random.Generator, interval: Interval, epsilon: float, noise_epsilon: float) -> FloatArray:
    return exact_information(interval, epsilon, noise_epsilon)


@pytest.mark.long
def test_the_papers_intervals_come_from_its_programs_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Monte Carlo error the grid's best with the published noise are the paper's, but for a step at ε = 2."""
    monkeypatch.setattr(truncation_intervals, "monte_carlo_information", exactly)
    rows = findings(find_study("truncation-intervals")).rows
    for row in rows:
        off = abs(row["Monte Carlo's, least"] - row["paper's half width"])
        if row["noise"] == "published":
            assert off < 0.061
        elif row["ε"] >= 5:
            assert off > 0.15
        assert row["stated F₁₁ at the paper's"] > 0.98 * row["stated F₁₁ at the exact"]
        assert row["paper's half width"] == PAPER_INTERVALS[row["ε"]]


def test_the_mixture_replaces_the_harmonic_score(monkeypatch: pytest.MonkeyPatch) -> None:
    """Information alone, estimates made up: thousands of times fewer respondents at ε = 1, as many at ε = 10."""
    monkeypatch.setattr(truncation_scores, "estimate", lambda *arguments: (50.1, 3.2))
    rows = findings(find_study("truncation-scores")).rows
    ratios = [row["trace(F⁻¹)"] / row["mixture"] for row in rows]
    assert ratios[0] > 1_000
    assert ratios[1] > 100
    assert 0.9999 < ratios[3] < ratios[2] < 1.02
    assert all(row["mixture"] > row["laplace"] > row["randomized_response"] for row in rows)


def test_what_30_runs_of_the_scores_found(kept: Callable[[str, int], Findings]) -> None:
    """The score's questions leave 1.9 to 3.6 times the mixture's error up to ε = 2, and about as much from 5 on.

    The logarithm of a ratio of two errors of 30 runs has a standard deviation of 0.18: as much is said within two.
    """
    ratios = np.array(
        [
            [row[f"RMSE {parameter}, harmonic"] / row[f"RMSE {parameter}, mixture"] for parameter in ("mu", "sigma")]
            for row in kept("truncation-scores", 30).rows
        ]
    )
    assert ratios[:2].min() == pytest.approx(1.9, abs=0.05)
    assert ratios[:2].max() == pytest.approx(3.6, abs=0.05)
    assert (np.abs(np.log(ratios[2:])) < 0.36).all()


@pytest.mark.long
def test_the_mixture_leaves_smaller_errors() -> None:
    """Six runs at ε = 1: about half the error of μ, and of both together; of 100 seeds eight have as much of either."""
    study = find_study("truncation-scores")
    cells = [cell for cell in study.cells if cell["epsilon"] == 1.0]
    results = run_study(replace(study, cells=cells), 6)
    harmonic, mixture = (
        np.sqrt(((results.array("estimate", epsilon=1.0, questions=questions) - TRUTH) ** 2).mean(axis=0))
        for questions in ("harmonic", "mixture")
    )
    assert mixture[0] < harmonic[0]
    assert np.hypot(*mixture) < np.hypot(*harmonic)


@pytest.mark.long
def test_particles_close_in_faster_with_adaptive_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    """120 respondents: at every ε the spread of μ is smaller than with constant intervals, at ε ≥ 2 by half."""
    monkeypatch.setattr(truncation_trajectories, "PEOPLE", 120)
    rows = {(row["ε"], row["method"]): row for row in findings(find_study("truncation-figure-1")).rows}
    for epsilon in (2.0, 5.0, 10.0):
        adaptive, constant, ours = (
            rows[epsilon, method]["sd of mu at 120"] for method in truncation_trajectories.METHODS
        )
        assert max(adaptive, ours) < 0.6 * constant


def some_incomes(n: int) -> Study:
    """`truncation-table-1` on the first n of its own incomes, as if they came in a file."""
    study = find_study("truncation-table-1")
    assert study.with_data is not None
    return study.with_data("income\n" + "".join(f"{income!r}\n" for income in substitute()[:n].tolist()))


def incomes_found(study: Study, method: str, runs: int) -> tuple[FloatArray, FloatArray]:
    """What a method finds, shape (runs, 2), and μ and σ of the normal distribution with the same quartiles."""
    [cell] = [cell for cell in study.cells if cell["method"] == method]
    found = run_study(replace(study, cells=[cell]), runs).by_cell[cell.key]
    return np.array([run["estimate"] for run in found]), np.array(found[0]["quartiles"])


@pytest.mark.long
def test_dithers_questions_find_the_middle_of_the_incomes() -> None:
    """1,000 incomes, seven runs: Dither's own questions end nearer to what the quartiles say than the harmonic score's.

    The ratios of errors are about 0.4 and 0.3; of 1,000 seeds two have 1 or more.
    """
    study = some_incomes(1_000)
    errors = {}
    for method in (ADAPTIVE, "laplace", "randomized_response"):
        found, central = incomes_found(study, method, 7)
        errors[method] = float(np.sqrt(((found - central) ** 2).sum(axis=1).mean()))
    assert central == pytest.approx([49.5, 12.2], abs=0.1)
    assert max(errors["laplace"], errors["randomized_response"]) < errors[ADAPTIVE]


@pytest.mark.long
def test_the_papers_method_finds_too_small_a_spread_of_few_incomes() -> None:
    """150 incomes, five runs of Algorithm 2: σ is about a quarter of what the quartiles say, and less than by Dither's
    questions, which have two thirds.

    Geometric means; of 10,000 seeds two have 0.7 of the quartiles' or more, and sixty more than by Dither's questions.
    The exact posterior is no wider there: it is the questions that tell little, and the prior likes a small σ.
    """
    study = some_incomes(150)
    (paper, central), (ours, _) = (
        incomes_found(study, method, 5) for method in ("SMC-adaptive", "randomized_response")
    )
    assert stats.gmean(paper[:, 1]) < 0.7 * central[1]
    assert stats.gmean(paper[:, 1]) < stats.gmean(ours[:, 1])


@pytest.mark.slow
def test_incomes_of_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """300 normal incomes at ε = 1, MHAAR with few iterations: a table of its own, kept apart by what is in the file."""
    monkeypatch.setattr(truncation_incomes, "Setting", partial(Setting, iterations=400))
    file = tmp_path / "incomes.csv"
    values = np.random.default_rng(3).normal(50.0, 10.0, 300)
    file.write_text(
        "unit,income\n" + "".join(f"{i},{x}\n" for i, x in enumerate(values)) + "300,\n301,missing\n302,-7\n"
    )
    arguments = ["--data", str(file), "--out", str(tmp_path), "--jobs", "1", "--json"]
    assert run_command(["reproduce", "truncation-table-1", *arguments]) == 0
    kept = [json.loads(line) for line in (tmp_path / "runs" / "truncation-table-1.jsonl").read_text().splitlines()]
    assert {entry["cell"]["data"] for entry in kept} == {kept[0]["cell"]["data"]}
    assert kept[0]["cell"]["data"].startswith("file ")
    for entry in kept:
        assert entry["result"]["mle"] == pytest.approx([values.mean(), values.std()])
    [ours] = [entry for entry in kept if entry["cell"]["method"] == "randomized_response"]
    assert abs(ours["result"]["estimate"][0] - 50.0) < 8.0


def test_incomes_are_read_from_their_column() -> None:
    assert parse_incomes("income\n3\nx\n4.5\n-1\ninf\n").tolist() == [3.0, 4.5]
    assert parse_incomes("place,income\n1,3\n2,4\n").tolist() == [3.0, 4.0]
    for text in ("", "a,b\n1,2\n", "income\nx\n", "income\n3\n3\n"):
        with pytest.raises(InvalidIncomes, match="the table must have"):
            parse_incomes(text)


def test_the_substitute_has_the_papers_estimate() -> None:
    incomes = substitute()
    assert len(incomes) == SIZE
    assert (incomes.mean(), incomes.std()) == pytest.approx(MLE)
    assert (incomes == substitute()).all()


def test_costs_are_told_with_their_growth(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that a method's answers move on as n², or as n."""
    now = [0.0]

    def made_up(method: str, setting: Setting, rng: np.random.Generator, values: FloatArray) -> tuple[float, float]:
        now[0] += len(values) ** (2.0 if method == "SMC-adaptive" else 1.0)
        return 50.0, 3.0

    monkeypatch.setattr(truncation_costs, "estimate", made_up)
    monkeypatch.setattr(truncation_costs, "process_time", lambda: now[0])
    study = find_study("truncation-costs").in_full()
    assert {cell["n"] for cell in study.cells if cell["method"] == "laplace"} == {
        100,
        1_000,
        10_000,
        100_000,
        1_000_000,
    }
    rows = findings(study).rows
    assert len(rows) == len(study.cells) > len(find_study("truncation-costs").cells)
    for row in rows:
        if row["n"] > 100:
            assert row["grows as n to the"] == pytest.approx(2.0 if row["method"] == "SMC-adaptive" else 1.0)


def test_the_grids_close_in_on_the_exact_moments() -> None:
    """A fine grid over all that is possible; a broken variant, with one grid of as many points, is far off."""
    rng = np.random.default_rng(5)
    low, values = rng.normal(49.0, 1.0, 300), rng.normal(50.0, 10**0.5, 300)
    answers = Answers(answer(rng, values, low, low + 3.0, 5.0), low, low + 3.0, 5.0)
    mu, log_sigma = np.linspace(46.0, 54.0, 161), np.linspace(-0.5, 3.0, 161)
    theta = np.stack(np.meshgrid(mu, np.exp(log_sigma), indexing="ij"), axis=-1).reshape(-1, 2)
    sums = np.concatenate([log_density(part, answers).sum(axis=1) for part in np.array_split(theta, 40)])
    logs = truncation_subsets.PRIOR.log_density(theta[:, 0], np.log(theta[:, 1])) + sums
    weights = np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum()
    mean = weights @ theta
    expected = np.array([mean, np.sqrt(weights @ (theta - mean) ** 2)])
    assert np.array(truncation_subsets.exact_moments(answers)) == pytest.approx(expected, rel=0.01)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(truncation_subsets, "_PASSES", 1)
        assert np.array(truncation_subsets.exact_moments(answers)) != pytest.approx(expected, rel=0.05)


def test_subsets_of_the_values_come_to_the_posterior(monkeypatch: pytest.MonkeyPatch) -> None:
    """Means within the posterior's standard deviation or so, whichever subset is moved (seeded)."""
    monkeypatch.setattr(truncation_subsets, "PARTICLES", 300)
    study = find_study("truncation-subsets")
    small = replace(study, cells=[Cell({**cell.values, "n": 60}) for cell in study.cells], runs=3)
    results = run_study(small, 3)
    monkeypatch.setattr(truncation_subsets, "SIZE", 60)
    rows = small.summarise(results).rows
    assert [row["values"] for row in rows] == ["all", "100", "30", "10"]
    assert rows[0]["to all"] == 1
    for row in rows:
        assert max(row["off, mu"], row["off, sigma"]) < 1.5
        assert 0.4 < row["sd to exact, mu"] < 1.6
