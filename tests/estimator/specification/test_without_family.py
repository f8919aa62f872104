"""Specifications without a family: the default, and what cannot go with it."""

from fractions import Fraction
from typing import Any

import pytest

from dither_client import Gaussian, Laplace, RandomizedResponse
from dither_estimator.nonparametric.support import ANYWHERE, Support
from dither_estimator.specification.specification import Specification, SpecificationError


def read(**fields: Any) -> Specification:
    return Specification.from_json({"epsilon": 1} | fields)


def test_who_names_no_family_learns_the_distribution() -> None:
    for spec in (read(), read(family=None), read(family="nonparametric"), read(goal="distribution")):
        assert spec.nonparametric
        assert (spec.family.name, spec.transform, spec.mechanism) == (
            "nonparametric",
            "identity",
            "randomized_response",
        )
        assert (spec.support, spec.around, spec.goal.weights) == (ANYWHERE, None, ())
    assert not read(family="normal").nonparametric


def test_values_lie_where_the_specification_says() -> None:
    spec = read(minimum=0, maximum=100, atoms=[50, 0, 50.0], range=[1, 90])
    assert spec.support == Support(0.0, 100.0, (0.0, 50.0))
    assert spec.around == (1.0, 90.0)
    assert read(transform="log").support == Support(minimum=0.0)
    assert read(transform="log", minimum=5).support == Support(minimum=5.0)
    assert read(minimum=0, decimals=2, atoms=[0.29]).support == Support(0.0, atoms=(0.29,), decimals=2)
    assert read(family="normal", decimals=2).support == ANYWHERE
    assert read(family="normal", minimum=-5, maximum=1e9).support == Support(-5.0, 1e9)  # which devices hold values to
    assert read(family="normal", transform="log").support == ANYWHERE


@pytest.mark.parametrize(
    ("mechanism", "kind"),
    [("laplace", Laplace), ("gaussian", Gaussian), ("randomized_response", RandomizedResponse)],
)
def test_questions_have_the_mechanism_and_the_levels_of_the_specification(mechanism: str, kind: type) -> None:
    for levels in (None, 2, 16):
        templates = read(mechanism=mechanism, levels=levels).templates(Fraction(1))
        for template in (templates.cells, templates.threshold):
            assert isinstance(template, kind)
            assert template.epsilon == 1
        assert levels is None or len(templates.cells.edges) == levels
        assert len(templates.threshold.edges) == 1


def test_a_threshold_has_the_rho_of_the_specification() -> None:
    templates = Specification.from_json({"mechanism": "gaussian", "rho": 0.1, "levels": 16}).templates(Fraction(1))
    assert templates.cells.rho == templates.threshold.rho == Fraction("0.1")
    assert templates.threshold.epsilon < templates.cells.epsilon


def test_staircases_without_a_family_are_those_whose_sets_are_cells() -> None:
    assert isinstance(read(mechanism="staircase").templates(Fraction(1)).cells, RandomizedResponse)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"prior": {}}, "prior needs a family: give family, such as normal, or leave prior out"),
        ({"misfit_check": True}, "misfit_check needs a family"),
        ({"misfit_check": 0.1}, "misfit_check needs a family"),
        ({"misfit_looks": [5]}, "misfit_looks needs a family"),
        ({"discriminate": 0.3}, "discriminate needs a family"),
        ({"member_cuts": [1]}, "member_cuts needs a family"),
        ({"families": [{"family": "nonparametric"}, {"family": "normal"}]}, "families needs a family"),
        ({"families": [{"family": "normal"}, {"family": "nonparametric"}]}, "family must be one of"),
        ({"goal": "mu"}, "goal must be distribution, quantiles=0.5 or above=1000 without a family"),
        ({"policy": "thompson"}, "policy thompson needs a family"),
        ({"transform": "sqrt"}, "transform must be one of identity, log"),
        ({"minimum": 3, "maximum": 2}, "the minimum must be below the maximum"),
        ({"minimum": "0"}, "minimum must be a number"),
        ({"decimals": 7}, "decimals must be an integer from 0 to 6"),
        ({"decimals": 1.0}, "decimals must be an integer from 0 to 6"),
        ({"minimum": True}, "minimum must be a number"),
        ({"maximum": float("inf")}, "maximum must be a number"),
        ({"minimum": float("nan")}, "minimum must be a number"),
        ({"minimum": 10**400}, "minimum must be a number"),
        ({"atoms": 0}, "atoms must be a list of at most 16 numbers"),
        ({"atoms": list(range(17))}, "atoms must be a list of at most 16 numbers"),
        ({"levels": 0}, "levels without a family must be an integer from 1 to 64"),
        ({"levels": 65}, "levels without a family must be an integer from 1 to 64"),
        ({"minimum": 1, "maximum": 1 + 1e-14}, "further apart: numbers of their size are so coarse that fewer than"),
        ({"minimum": 0, "maximum": 5e-324}, "minimum and maximum must be further apart: numbers of their size"),
        ({"atoms": [None]}, "each of atoms must be a number"),
        ({"atoms": [-1], "minimum": 0}, "atoms must lie between minimum and maximum"),
        ({"maximum": 0, "transform": "log"}, "maximum must be above 0 when transform is log"),
        ({"range": [-1, 5], "transform": "log"}, "range must not begin below 0 when transform is log"),
        ({"range": [-1, 5], "transform": "log", "minimum": 0}, "range must not begin below minimum"),
        ({"range": [-1, 5], "minimum": 0}, "range must not begin below minimum"),
        ({"range": [1, 5], "maximum": 4}, "range must not end above maximum"),
        ({"range": [5, 1]}, "range must be"),
        ({"range": {"1": 2, "3": 4}}, "range must be [low, high], two finite numbers"),
        ({"range": ["1", "2"]}, "range must be [low, high], two finite numbers"),
        ({"range": [-1e308, 1e308]}, "range must be of numbers that are at most 1e+300 and not all but equal"),
        ({"range": [0, 5e-324], "transform": "log"}, "range must be of numbers that are at most 1e+300"),
        ({"atoms": [1e12 + 0.5, 1e12 + 1]}, "atoms must differ in their first 12 digits, by which results name them"),
        ({"goal": {"above": [1e12 + 0.5, 1e12 + 1]}}, "the goal names one of above twice, to 12 digits"),
        ({"particles": 10_001}, "particles must be an integer from 100 to 10,000"),
        ({"levels": 1024}, "from 1 to 64"),
        ({"family": "normal", "atoms": [0]}, "atoms cannot go with a family: leave family out, or leave atoms out"),
        ({"family": "normal", "minimum": 2, "maximum": 2}, "the minimum must be below the maximum"),
        ({"family": "normal", "maximum": "much"}, "maximum must be a number"),
        ({"family": "cauchy"}, "or nonparametric"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_refused(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(SpecificationError) as caught:
        read(**fields)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("kind", "name"), [({}, "prior"), ({}, "families"), ({"categories": ["a", "b"]}, "range")])
def test_false_is_no_way_to_leave_a_field_out(kind: dict[str, Any], name: str) -> None:
    family = "categorical" if kind else "nonparametric"
    with pytest.raises(SpecificationError, match=f"^{name} "):
        Specification.from_json({"family": family, "epsilon": 1, name: False, **kind})
    assert Specification.from_json({"family": family, "epsilon": 1, "misfit_check": False, **kind})
