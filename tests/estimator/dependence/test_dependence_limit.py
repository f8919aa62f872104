"""The limit for several numbers, against every mechanism where there are few, and against the designs."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest

from dither_client.commands import run
from dither_estimator.dependence.design import joint_design
from dither_estimator.dependence.limit import Grid, best_on_grid
from dither_estimator.dependence.normals import EqualNormals
from dither_estimator.design.design import DesignError

CaptureFixture = pytest.CaptureFixture[str]


@pytest.mark.parametrize("epsilon", ["0.5", "1"])
def test_nothing_tells_more_of_an_absent_correlation_than_sides(epsilon: str) -> None:
    """With known margins the limit on 6×6 cells is what randomised response about the sides has, `π²/4 coth²(ε/2)`."""
    grid = Grid(EqualNormals(2, 0.0), (-1.4, -0.7, 0.0, 0.7, 1.4), Fraction(epsilon), known_margins=True)
    best = best_on_grid(grid)
    expected = math.pi**2 / 4 / math.tanh(float(epsilon) / 2) ** 2
    assert best.criterion == pytest.approx(expected, rel=1e-4)
    assert best.gap < 1e-3 * best.criterion


@pytest.mark.parametrize(("components", "expected"), [(3, 82.0), (4, 328.0)])
def test_nothing_tells_more_of_absent_correlations_than_triples(components: int, expected: float) -> None:
    """All mechanisms that see the sides of the medians are looked at."""
    best = best_on_grid(Grid(EqualNormals(components, 0.0), (0.0,), Fraction(1), known_margins=True))
    assert best.criterion == pytest.approx(expected, rel=1e-3)
    assert best.gap < 1e-3 * best.criterion


@pytest.mark.parametrize(
    ("rho", "epsilon", "limit", "efficiency"),
    [
        (0.0, "0.5", 575, 0.95),
        (0.0, "1", 137, 0.95),
        (0.0, "2", 32.7, 0.95),
        (0.0, "5", 6.88, 0.95),
        (0.6, "1", 108, 0.9),
    ],
)
def test_two_numbers(rho: float, epsilon: str, limit: float, efficiency: float) -> None:
    found = joint_design(2, rho, Fraction(epsilon))
    assert found.limit.criterion == pytest.approx(limit, rel=0.005)
    assert found.limit.gap < 0.01 * found.limit.criterion
    assert found.efficiency > efficiency
    assert found.split.criterion > found.criterion


def test_the_split_is_the_best_one() -> None:
    split = joint_design(2, 0.0, Fraction(1)).split
    at = [
        split.margins / s + split.correlations / (1 - s) for s in (split.share - 0.01, split.share, split.share + 0.01)
    ]
    assert at[1] == pytest.approx(split.criterion)
    assert at[1] < min(at[0], at[2])
    assert split.correlations == pytest.approx(11.554, rel=1e-3)
    assert split.margins == pytest.approx(4 * 21.07, rel=2e-3)


def test_a_design_for_more_numbers_treats_them_alike() -> None:
    """With a third number unrelated questions change places: all means, sds and correlations have one variance each."""
    found = joint_design(3, 0.0, Fraction(1))
    for name in ("mu", "sigma", "rho"):
        variances = [v for key, v in zip(found.normals.names, found.variances, strict=True) if key.startswith(name)]
        np.testing.assert_allclose(variances, variances[0])
    assert sum(found.weights) == pytest.approx(1)
    assert {"cells", "odd one out"} <= {kind.name for kind in found.kinds}


def test_the_command(capsys: CaptureFixture) -> None:
    assert run(["design", "--components", "2", "--epsilon", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["criterion"] == pytest.approx(sum(found["variance"].values()))
    assert found["efficiency"] == pytest.approx(found["limit"] / found["criterion"])
    assert found["split"]["components"] + found["split"]["pairs"] == pytest.approx(1)
    assert sum(kind["weight"] for kind in found["kinds"]) == pytest.approx(1)
    assert run(["design", "--components", "2", "--epsilon", "1", "--correlation", "0"]) == 0
    assert "efficiency 96" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--components", "9", "--epsilon", "1"], "components must be 2 to 4"),
        (["--components", "2"], "--components needs --epsilon"),
        (["--components", "2", "--epsilon", "1", "--correlation", "1"], "correlation must be 0 to 0.99"),
        (["--components", "2", "--epsilon", "1", "--correlation", "nan"], "correlation must be 0 to 0.99"),
        (["--components", "2", "--epsilon", "1", "--rho", "1"], "--rho is not for --components"),
        (["--epsilon", "1", "--correlation", "0.6"], "--correlation is for --components only"),
        (["--components", "2", "--epsilon", "1", "--goal", "mu"], "--goal is not for --components"),
    ],
)
def test_bad_input_gets_a_sentence(arguments: list[str], sentence: str, capsys: CaptureFixture) -> None:
    assert run(["design", *arguments]) == 2
    assert sentence in capsys.readouterr().err


def test_too_many_numbers_are_refused() -> None:
    with pytest.raises(DesignError):
        joint_design(5, 0.0, Fraction(1))
