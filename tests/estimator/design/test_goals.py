"""Goals: what they may say, and one clear sentence for what they may not."""

import numpy as np
import pytest

from dither_estimator.design.goal import Goal, InvalidGoal, parse_goal
from dither_estimator.families import families

NORMAL = families["normal"]


@pytest.mark.parametrize(
    ("text", "weights"),
    [
        ("all", [1, 1]),
        ("mu", [1, 0]),
        (" sigma ", [0, 1]),
        ("sigma=2, mu=0.5", [0.5, 2]),
        ("mu=1,sigma=0", [1, 0]),
        ({"sigma": 3}, [0, 3]),
    ],
)
def test_goals_are_weights(text: object, weights: list[float]) -> None:
    goal = parse_goal(text, NORMAL)
    assert goal.vector(NORMAL).tolist() == weights
    assert parse_goal(goal, NORMAL) == goal
    assert parse_goal(str(goal), NORMAL) == goal


def test_equal_goals_are_one_key() -> None:
    assert (
        len({parse_goal("all", NORMAL), parse_goal("sigma=1,mu=1", NORMAL), Goal((("mu", 1.0), ("sigma", 1.0)))}) == 1
    )


def test_all_covers_every_family() -> None:
    for family in families.values():
        assert np.array_equal(parse_goal("all", family).vector(family), np.ones(len(family.names)))


TEXTS = [
    "",
    "nu",
    "mu=1,nu=2",
    "mu=",
    "mu=x",
    "mu=-1",
    "mu=nan",
    "mu=inf",
    "mu=1e9",
    "mu=0,sigma=0",
    "mu=1,mu=2",
    "mu,,",
]
OTHERS: list[object] = [None, 3, {}, {"mu": True}, {"mu": "1"}, {3: 1.0}, ["mu"]]


@pytest.mark.parametrize("goal", [*TEXTS, *OTHERS], ids=repr)
def test_anything_else_is_refused(goal: object) -> None:
    with pytest.raises(InvalidGoal, match="goal"):
        parse_goal(goal, NORMAL)
