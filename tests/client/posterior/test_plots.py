"""Pictures of a single number's distribution."""

from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes

from dither_client.posterior.particles import parse_particles
from dither_client.posterior.reading import parse_posterior
from testing.servers.fake_server import POSTERIOR


def _axes(x: list[float], terms: dict[str, Any]) -> Axes:
    line = np.linspace(0.001, 0.999, len(x)).tolist()
    bands = dict.fromkeys(("mean", "q05", "q25", "q50", "q75", "q95"), line)
    data = {**POSTERIOR, "distribution": {"x": x, "cdf": bands, "density": bands}}
    found = parse_posterior("wages", data, lambda: parse_particles({}), terms={"transform": "log", **terms})
    [axes] = found.plot().axes
    return axes


@pytest.mark.parametrize(("highest", "scale"), [(1_000.0, "linear"), (100_000.0, "log")])
def test_values_far_apart_are_on_a_logarithmic_axis(highest: float, scale: str) -> None:
    axes = _axes(
        np.geomspace(100.0, highest, 400).tolist(), {"name": "Wages", "unit": "€", "period_of_value": "a week"}
    )
    assert axes.get_xscale() == scale
    assert axes.get_xlabel() == "€ a week", "that of the terms"
    assert axes.get_yticklabels()[-1].get_text() == "100%"
    low, high = axes.get_xlim()
    assert low < 100.0 * (highest / 100.0) ** 0.01
    assert high > 100.0 * (highest / 100.0) ** 0.99
