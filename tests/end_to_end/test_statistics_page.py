"""docs/statistics.md: its table is what the designs reach, its picture is there."""

import re
from fractions import Fraction

import pytest

from dither_estimator.design.design import Mechanism, optimal_design
from dither_estimator.design.goal import parse_goal
from dither_estimator.families import families
from testing.repository import DOCS

PAGE = (DOCS / "statistics.md").read_text()
ROWS = re.findall(r"^\| `(\w+)` \| (\S+) \| (\S+) \| (\S+) \| (\S+) \| (\S+) \|$", PAGE, flags=re.MULTILINE)
WITHOUT_PRIVACY = {"all": 1.5, "sigma": 0.5}
"""`1 + 1/2` and `1/2`: the inverse Fisher information of a value of N(0, 1)."""


def test_the_table_is_there() -> None:
    assert len(ROWS) == 10


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=" ".join)
def test_the_price_of_privacy_is_what_the_table_says(row: tuple[str, ...]) -> None:
    """To the digits that are written."""
    goal, epsilon, *written = row
    family = families["normal"]
    mechanisms: tuple[Mechanism, ...] = ("laplace", "randomized_response", "staircase")
    designs = [
        optimal_design(family, family.standard, mechanism, Fraction(epsilon), parse_goal(goal, family))
        for mechanism in mechanisms
    ]
    for criterion, text in zip([*(d.criterion for d in designs), designs[0].limit], written, strict=True):
        digits = len(text.partition(".")[2])
        assert f"{criterion / WITHOUT_PRIVACY[goal]:.{digits}f}" == text


def test_the_picture_is_there() -> None:
    [picture] = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", PAGE)
    assert (DOCS / picture).stat().st_size > 20_000
