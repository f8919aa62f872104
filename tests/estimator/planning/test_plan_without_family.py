"""Plans without a family: against collections that other seeds simulate, and what people read."""

import json
import math
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pytest

from dither_client.commands import run
from dither_estimator.commands import plan as command
from dither_estimator.families import find_family
from dither_estimator.learning.nonparametric_learner import NonparametricLearner
from dither_estimator.nonparametric.known import KnownPopulation
from dither_estimator.nonparametric.support import Support
from dither_estimator.planning.without_family import Wanted, foresee, foresee_precision, sds_of_values
from dither_estimator.specification.specification import Specification

CaptureFixture = pytest.CaptureFixture[str]

NORMAL = KnownPopulation.of_member(find_family("normal"), np.array([50.0, 10.0]), "identity")
WITHOUT = ["plan", "--family", "nonparametric"]
PEOPLE = ["--population", "normal", "--theta", "mu=50,sigma=10"]


def specification(**fields: Any) -> Specification:
    return Specification.from_json({"epsilon": 2, **fields})


def collected(spec: Specification, people: int, seed: int) -> NonparametricLearner:
    """A collection whose people answer one by one, each with their own value."""
    rng = np.random.default_rng([seed, 77])
    learner = NonparametricLearner(spec, 1_000 + seed)
    for value in rng.normal(50, 10, people):
        query = learner.ask()
        learner.learn(query, query.answer(value, lambda n: int(rng.integers(n))))
    return learner


@pytest.mark.slow
@pytest.mark.parametrize("goal", ["distribution", pytest.param("quantiles=0.5", marks=pytest.mark.long)])
def test_what_is_foreseen_comes(goal: str) -> None:
    """The median sds of five collections of people; sds of single ones scatter by 5 to 15%, so a third is far off."""
    spec = specification(goal=goal)
    foreseen = foresee_precision(spec, NORMAL, 1_500)
    found = [Wanted.of(spec.goal).sds(collected(spec, 1_500, seed).distribution, NORMAL.points) for seed in range(5)]
    wanted = Wanted.of(spec.goal)
    for name in wanted.names if spec.goal.distribution else wanted.asked(spec.goal):
        assert foreseen[name] == pytest.approx(median(each[name] for each in found), rel=0.33)


@pytest.mark.long
def test_as_many_as_are_needed_reach_the_target() -> None:
    spec = specification(goal="quantiles=0.5")
    plan = foresee(spec, NORMAL, {"quantile_0.5": 0.5})
    assert plan.sds["quantile_0.5"] == pytest.approx(0.5, rel=0.05)
    assert foresee_precision(spec, NORMAL, plan.answers)["quantile_0.5"] == pytest.approx(0.5, rel=0.15)
    assert foresee(spec, NORMAL, {"quantile_0.5": 1.0}).answers < plan.answers


def test_without_privacy_it_is_what_values_tell() -> None:
    wanted = Wanted((0.5, 0.9), (60.0,))
    found = sds_of_values(NORMAL, wanted)
    assert found["distribution"] == pytest.approx(math.sqrt(1 / 6), rel=0.01)
    assert found["quantile_0.5"] == pytest.approx(10 * math.sqrt(math.pi / 2), rel=0.01)
    assert found["above_60"] == pytest.approx(math.sqrt(0.1587 * 0.8413), rel=0.01)
    zeros = KnownPopulation.of_values(np.append(np.zeros(400), np.arange(1.0, 601.0)), Support(minimum=0.0))
    assert sds_of_values(zeros, Wanted((0.2,), ()))["quantile_0.2"] == 0


def test_json_and_a_table(tmp_path: Path, capsys: CaptureFixture) -> None:
    file = tmp_path / "wages.csv"
    drawn = np.random.default_rng(0).lognormal(6.2, 0.7, 3_000)
    file.write_text("wage\n" + "\n".join(f"{value:.2f}" for value in drawn))
    people = ["--data", str(file), "--column", "wage", "--minimum", "0", "--epsilon", "2"]
    assert run([*WITHOUT, *people, "--sd", "quantile_0.5=25", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found) == [
        *("epsilon", "respondents", "without_privacy", "price_of_privacy", "sd", "mechanism", "goal")
    ]
    assert found["mechanism"] == "randomized_response"
    assert found["goal"] == {"distribution": 1}
    assert found["sd"]["quantile_0.5"] == pytest.approx(25, rel=0.05)
    assert found["price_of_privacy"] == pytest.approx(found["respondents"] / found["without_privacy"])
    assert run([*WITHOUT, *people, "--respondents", str(found["respondents"])]) == 0
    assert "sd of quantile_0.5" in " ".join(capsys.readouterr().out.split())


def test_without_privacy_as_few_are_enough_as_the_goal_needs(capsys: CaptureFixture) -> None:
    """√(1 / 6n) is what n values tell of the distribution; quantiles that nobody asked for do not count."""
    assert run([*WITHOUT, *PEOPLE, "--epsilon", "2", "--respondents", "400", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["without_privacy"] == pytest.approx(1 / 6 / found["sd"]["distribution"] ** 2, abs=1.5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--sd", "distribution=0.02"], "either --data or --population"),
        ([*PEOPLE, "--sd", "mu=0.1"], "sd must be such as distribution=0.5"),
        ([*PEOPLE, "--respondents", "10"], "from 300 to 1,000,000,000 respondents"),
        ([*PEOPLE, "--sd", "distribution=0.02", "--confidence", "0.9"], "foreseen on average"),
        ([*PEOPLE, "--sd", "distribution=0.02", "--goal", "best"], "foreseen on average"),
        ([*PEOPLE, "--sd", "distribution=0.02", "--goal", "mu"], "goal must be distribution"),
        ([*PEOPLE, "--sd", "distribution=0.02", "--minimum", "0"], "outside minimum and maximum"),
    ],
)
def test_bad_input_is_one_sentence(arguments: list[str], message: str, capsys: CaptureFixture) -> None:
    assert run([*WITHOUT, "--epsilon", "1", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert len(captured.err.splitlines()) == 1


def test_a_family_has_no_atoms(capsys: CaptureFixture) -> None:
    assert run(["plan", "--epsilon", "1", "--sd", "mu=1", "--atoms", "0"]) == 2
    assert "--atoms is for --family nonparametric only" in capsys.readouterr().err


def test_bounds_of_a_family_save_respondents(capsys: CaptureFixture) -> None:
    """Values of N(.4, .1²) are found between 0 and 1 sooner than anywhere."""
    asked = ["plan", "--epsilon", "1", "--theta", "mu=0.4,sigma=0.1", "--sd", "mu=0.01", "--json"]
    needed = []
    for bounds in ([], ["--minimum", "0", "--maximum", "1"]):
        assert run([*asked, *bounds]) == 0
        needed.append(json.loads(capsys.readouterr().out)["respondents"])
    assert needed[1] < 0.95 * needed[0]


def test_a_table_has_a_column_for_each_target() -> None:
    """Where a table would be too wide it leaves quantiles out, but none that was asked for."""
    sds = dict.fromkeys(("distribution", *(f"quantile_{level}" for level in (0.1, 0.25, 0.5, 0.75, 0.9))), 1.0)
    assert command._shown(sds, {}) == ["distribution", "quantile_0.5"]
    assert command._shown(sds, {"quantile_0.9": 2.0}) == ["distribution", "quantile_0.5", "quantile_0.9"]
