"""Plans of public groups: against collections whose people answer one by one, and what people read."""

import json
import math
from random import Random
from typing import Any

import numpy as np
import pytest

from dither_client.commands import run
from dither_estimator.families import FloatArray
from dither_estimator.learning.grouped_learner import GroupedLearner
from dither_estimator.planning import by_group
from dither_estimator.planning.by_group import foresee_groups, foresee_groups_precision
from dither_estimator.planning.precision import precision_of_answers
from dither_estimator.specification.specification import Specification

CaptureFixture = pytest.CaptureFixture[str]

LABELS = ("north", "south", "west", "east", "centre")
PLAN = ["plan", "--groups", "north,south", "--range", "0,100"]


def specification(groups: bool = True, **fields: Any) -> Specification:
    of_groups = {"groups": {"name": "region", "labels": list(LABELS)}} if groups else {}
    given = {"family": "normal", "epsilon": 2, "range": [0, 100], "particles": 500}
    return Specification.from_json(given | of_groups | fields)


def people(theta: FloatArray) -> FloatArray:
    return np.tile(theta, (len(LABELS), 1))


def collected(theta: FloatArray, number: int, seed: int) -> FloatArray:
    """The sds of each group's mu and sigma after so many answers of each, one by one."""
    learner, rng, random = GroupedLearner(specification(), 100 + seed), np.random.default_rng(seed), Random(seed)
    for _ in range(number):
        for label, (mu, sigma) in zip(LABELS, theta.tolist(), strict=True):
            query = learner.ask(group=label)
            learner.learn(query, query.answer(rng.normal(mu, sigma), random.randrange), label)
    groups = learner.posterior().groups
    assert groups is not None
    return np.array([[group.parameters[name].sd for name in ("mu", "sigma")] for group in groups().by_label.values()])


@pytest.mark.long
def test_what_is_foreseen_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Medians over five groups and over five collections each, within three tenths.

    How far groups lie apart is learnt in every collection anew, so the ratio of two medians over five collections
    scatters by 11% for mu and 15% for sigma: other seeds miss it once in 20 times. What groups that stand alone would
    know, the broken variant, is twice as much.
    """
    monkeypatch.setattr(by_group, "_COLLECTIONS", 5)
    theta = people(np.array([50.0, 10.0]))
    comes = np.median([collected(theta, 60, seed) for seed in range(5)], axis=(0, 1))
    foreseen = foresee_groups_precision(specification(), theta, 60)
    assert np.median([list(sds.values()) for sds in foreseen.values()], axis=0) == pytest.approx(comes, rel=0.3)
    alone = precision_of_answers(specification(groups=False), theta[0]).sd(60)
    assert alone["mu"] is not None
    assert alone["mu"] > 1.5 * comes[0]


@pytest.mark.long
def test_as_many_as_are_needed_reach_the_target(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every group's sd is at the target or below, as an interpolation between looks has it; a wide one takes fewer."""
    spec, theta = specification(epsilon=5), people(np.array([50.0, 10.0]))
    number, sds = foresee_groups(spec, theta, {"mu": 1.0})
    assert max(each["mu"] for each in sds.values()) == pytest.approx(1.0, rel=0.15)
    monkeypatch.setattr(by_group, "_COLLECTIONS", 1)
    assert foresee_groups(spec, theta, {"mu": 4.0})[0] < number


def test_quantiles_shares_and_the_whole_distribution(capsys: CaptureFixture) -> None:
    for goal, names in (
        ("quantiles=0.5,above=60", ["mu", "sigma", "quantile_0.5", "above_60"]),
        ("distribution", ["mu", "sigma", "distribution"]),
    ):
        options = ["--epsilon", "5", "--goal", goal, "--respondents", "20", "--json", "--theta", "mu=50,sigma=10"]
        assert run([*PLAN, *options]) == 0
        found = json.loads(capsys.readouterr().out)
        assert list(found) == ["epsilon", "respondents", "respondents_alone", "groups", "mechanism", "goal"]
        assert found["respondents"] == 20
        assert list(found["groups"]) == ["north", "south"]
        for group in found["groups"].values():
            assert list(group) == ["respondents", "respondents_alone", "sd", "sd_alone"]
            assert group["respondents"] == 10
            assert list(group["sd"]) == names
            # Ten answers leave sigma a long tail, whose sd may be anything.
            assert all(0 < sd < (math.inf if name == "sigma" else 100) for name, sd in group["sd"].items())
        assert sum(group["respondents_alone"] for group in found["groups"].values()) == found["respondents_alone"]


def test_a_line_for_each_group_and_epsilon(capsys: CaptureFixture) -> None:
    theta = "mu=40,sigma=10; mu=60,sigma=20"
    assert run([*PLAN, "--epsilon", "4,5", "--theta", theta, "--respondents", "20"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:3] for line in lines[1:5]] == [
        [epsilon, group, "10"] for epsilon in ("4", "5") for group in ("north", "south")
    ]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--theta", "mu=1,sigma=1;mu=2,sigma=1;mu=3,sigma=1", "--sd", "mu=1"], "each of the 2 groups"),
        (["--confidence", "0.9", "--sd", "mu=1"], "planned with a family, on average"),
        (["--goal", "best", "--sd", "mu=1"], "planned with a family, on average"),
        (["--family", "nonparametric", "--sd", "quantile_0.5=1"], "the plan of each is its own"),
        (["--respondents", "4"], "at least 10 respondents for each group"),
        (["--groups", "north", "--sd", "mu=1"], "a list of 2 to 500 texts"),
    ],
)
def test_one_sentence_for_what_cannot_be(options: list[str], said: str, capsys: CaptureFixture) -> None:
    assert run([*PLAN, "--epsilon", "1", *options]) != 0
    told = capsys.readouterr().err
    assert said in " ".join(told.split())
    assert "Traceback" not in told
