"""The curves of the picture `bands` are what its script computes, and what they are said to be."""

import json
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dither_estimator.families import FloatArray
from docs_build.bands import FILE, curves

KEPT = json.loads(FILE.read_text())
SAME = 0.05
"""In heights of a band: the means and limits of 1,000 other draws of the same posterior differ by 0.02."""


@pytest.fixture(scope="module")
def computed() -> dict[str, Any]:
    return curves()


def lines(document: dict[str, Any], *names: str) -> FloatArray:
    """Curves of all populations after all numbers of answers."""
    return np.array([[[stage[name] for name in names] for stage in each["stages"]] for each in document["populations"]])


def apart(kept: FloatArray, found: FloatArray) -> FloatArray:
    """By population and stage: how far mean, low and high are from those found, in band heights, root mean square."""
    heights = found[:, :, 2] - found[:, :, 1]
    squares = ((kept - found) ** 2).mean(axis=(2, 3)) / (heights**2).mean(axis=2)
    return np.asarray(np.sqrt(squares))


def test_the_file_is_what_the_script_computes(computed: dict[str, Any]) -> None:
    """`python -m docs_build.bands` writes it anew. Which draws there are may differ between machines."""
    for name in ("epsilon", "answers", "x"):
        assert KEPT[name] == computed[name]
    for name in ("name", "truth"):
        assert [each[name] for each in KEPT["populations"]] == [each[name] for each in computed["populations"]]
    kept, found = lines(KEPT, "mean", "low", "high"), lines(computed, "mean", "low", "high")
    assert (apart(kept, found) < SAME).all()
    assert (apart(kept[:, 1:], found[:, :-1]) > 3 * SAME).all()  # as after other numbers of answers
    draws, low, high = lines(KEPT, "draws")[:, :, 0], found[:, :, 1:2], found[:, :, 2:]
    assert 0.8 < ((low - 1 <= draws) & (draws <= high + 1)).mean() < 0.98
    assert FILE.stat().st_size < 50_000


def test_the_truth_is_that_of_the_page() -> None:
    """N(50, 10²), two groups, and 30% zeros."""
    x = np.array(KEPT["x"])
    groups = (stats.norm.cdf(x, 35, 5) + stats.norm.cdf(x, 65, 5)) / 2
    zeros = 0.3 + 0.7 * stats.norm.cdf(np.log(np.maximum(x, 1e-9) / 30) / 0.6)
    for each, exact in zip(KEPT["populations"], (stats.norm.cdf((x - 50) / 10), groups, zeros), strict=True):
        assert each["truth"] == pytest.approx(1000 * exact, abs=0.5)


def test_bands_narrow_and_hold_the_truth() -> None:
    """Between 2% and 98% of the people, from 1,000 answers on; a tenth of the people beside it they miss it."""
    bands, truth = lines(KEPT, "low", "high"), np.array([each["truth"] for each in KEPT["populations"]])
    heights = (bands[:, :, 1] - bands[:, :, 0]).mean(axis=2)
    assert (heights[:, 4:] < heights[:, 3:-1]).all()
    inside = (truth > 20) & (truth < 980)

    def covered(truth: FloatArray) -> float:
        late = bands[:, 4:]
        held = (late[:, :, 0] <= truth[:, np.newaxis]) & (truth[:, np.newaxis] <= late[:, :, 1])
        return float(np.mean([held[i][:, inside[i]].mean() for i in range(len(truth))]))

    assert covered(truth) > 0.8
    assert covered(truth + 100) < 0.3
