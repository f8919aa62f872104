"""The worked example of docs/adding-a-family.md: its code is run, tested like every family, and learns a population."""

import re
from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

import pytest
from scipy import stats
from scipy_families import ORACLES, Oracle

from dither_estimator import families
from dither_estimator.families import Family
from testing.reader import blocks
from tests.estimator.families import test_families

MODULE, ORACLE, TRIAL = blocks("docs/adding-a-family.md", "python")
NAME = "rayleigh"


def _register(monkeypatch: pytest.MonkeyPatch, source: str) -> Family:
    """What the page says to do: the family in the table, its oracle in the tests."""
    defined: dict[str, Any] = {"__name__": "rayleigh"}
    exec(source, defined)
    [name] = defined["__all__"]
    family: Family = defined[name]()
    monkeypatch.setattr(families, "families", MappingProxyType({**families.families, family.name: family}))
    oracle = eval("{" + ORACLE + "}", {"Oracle": Oracle, "stats": stats})
    monkeypatch.setattr(test_families, "ORACLES", {**ORACLES, **oracle})
    return family


@pytest.fixture
def family() -> Iterator[Family]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        yield _register(monkeypatch, MODULE)


def test_the_example_passes_the_tests_of_every_family(family: Family) -> None:
    test_families.test_cdf_and_gradient(NAME, family)
    test_families.test_cdf_is_finite_far_away(family)
    test_families.test_values_lie_in_the_support(NAME, family)
    test_families.test_quantiles(NAME, family)
    test_families.test_draws(NAME, family)
    test_families.test_coordinates_go_there_and_back(NAME, family)
    test_families.test_a_rough_range_makes_a_prior_that_covers_it(NAME, family)


@pytest.mark.parametrize("mechanism", ["laplace", "randomized_response"])
def test_the_example_finds_its_population(family: Family, mechanism: str) -> None:
    test_families.test_a_population_is_found(NAME, family, mechanism)


def test_a_mistake_in_the_example_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "-0.5 * (" in MODULE
    family = _register(monkeypatch, MODULE.replace("-0.5 * (", "-1.0 * ("))
    with pytest.raises(AssertionError):
        test_families.test_cdf_and_gradient(NAME, family)


def test_the_trial_of_the_page_learns_the_scale(family: Family, capsys: pytest.CaptureFixture[str]) -> None:
    """Answers come from the operating system's generator: false alarms below 1e-4."""
    ran: dict[str, Any] = {}
    exec(TRIAL, ran)
    scale = ran["scale"]
    assert abs(scale.mean - 8.0) < 4 * scale.sd
    assert scale.sd == pytest.approx(0.26, rel=0.3)
    assert re.fullmatch(r"\d\.\d\d ± 0\.\d\d\n", capsys.readouterr().out)
