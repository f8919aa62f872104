"""New collections that contradict themselves are refused; those that are stored already are read."""

from typing import Any

import pytest

from dither_estimator.priors.distributions import TOO_SLOW
from dither_estimator.specification.contradictions import new_specification
from dither_estimator.specification.specification import Specification, SpecificationError

LOG = "minimum must not be below 0 when transform is log: raise minimum or leave transform out"
ALIKE = "policy must be fixed:LOW:HIGH with an interval that values lie in, or adaptive: all values lie {}, so that"
LAPLACE = {"mechanism": "laplace"}
SLOW = {
    "family": "normal",
    "prior": {"mu": {"dist": "levy_stable", "alpha": 1.5, "beta": 0}, "sigma": {"dist": "halfnorm"}},
}
TOO_LONG = "prior: draws from levy_stable take too long; name another distribution"
MANY = [str(number) for number in range(500)]


def check(fields: dict[str, Any]) -> None:
    new_specification({"epsilon": 1, **fields})


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"transform": "log", "minimum": -5}, LOG),
        ({"transform": "log", "minimum": -5, "family": "normal"}, LOG),
        (
            {"transform": "log", "maximum": 0, "family": "normal"},
            "maximum must be above 0 when transform is log: raise",
        ),
        (
            {"maximum": -5, "family": "gamma"},
            "maximum must leave some of the values of gamma, which lie above 0: leave",
        ),
        ({"maximum": 0, "family": "weibull"}, "maximum must leave some of the values of weibull"),
        (
            {"minimum": 5, "family": "beta"},
            "minimum must leave some of the values of beta, which lie from 0 to 1: leave",
        ),
        (
            {"family": "gamma", "range": [-10, -5]},
            "range must have some of the values of gamma, which lie above 0: correct range or leave it out",
        ),
        ({"family": "beta", "range": [2, 3]}, "range must have some of the values of beta, which lie from 0 to 1:"),
        (
            {"family": "normal", "range": [5, 20], "maximum": 4},
            "range must have some of the values between minimum and maximum: correct range or leave it out",
        ),
        (
            {"family": "normal", "transform": "log", "range": [5, 20], "minimum": 20},
            "range must have some of the values between minimum and maximum",
        ),
        ({"decimals": 0, "atoms": [0, 0.5]}, "atoms must have at most 0 decimals: correct atoms or decimals"),
        ({"decimals": 1, "minimum": 0.25}, "minimum must have at most 1 decimal: correct minimum or decimals"),
        ({"decimals": 1, "maximum": 0.25}, "maximum must have at most 1 decimal: correct maximum or decimals"),
        (
            {"groups": {"name": "region", "labels": MANY}, "particles": 2_001},
            "particles must be at most 2,000 with 500 groups without a family: give fewer, or fewer groups",
        ),
        (
            {"family": "normal", "groups": {"name": "region", "labels": MANY}, "particles": 2_001},
            "particles must be at most 2,000 with 500 groups: give fewer, or fewer groups",
        ),
        (
            {"family": "categorical", "categories": MANY[:64], "groups": {"name": "region", "labels": MANY}},
            "particles must be at most 125 with 500 groups and 64 categories",
        ),
        ({"components": [{"name": "a"}, {"name": "b", "transform": "log", "minimum": -5}]}, f"the component b: {LOG}"),
        (SLOW, TOO_LONG),
        ({"families": [{"family": "laplace"}, SLOW]}, TOO_LONG),
        ({"components": [{"name": "a"}, {"name": "b", **SLOW}]}, TOO_LONG),
        (LAPLACE | {"policy": "fixed:-5:-1", "minimum": 0}, ALIKE.format("at HIGH or above")),
        (LAPLACE | {"policy": "fixed:-5:0", "minimum": 0}, ALIKE.format("at HIGH or above")),
        ({"policy": "fixed:-5:-1", "minimum": 0}, ALIKE.format("at HIGH or above")),
        ({"policy": "fixed:100:200", "maximum": 99.5, "family": "normal"}, ALIKE.format("at LOW or below")),
        ({"policy": "fixed:-5:-1", "family": "gamma"}, ALIKE.format("at HIGH or above")),
        (
            {"policy": "fixed:-5:-1", "family": "normal", "transform": "log", "minimum": 1},
            ALIKE.format("at HIGH or above"),
        ),
    ],
)
def test_a_contradiction_is_refused_in_a_sentence(fields: dict[str, Any], says: str) -> None:
    Specification.from_json({"epsilon": 1, **fields})
    with pytest.raises(SpecificationError) as caught:
        check(fields)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"transform": "log", "minimum": 0},
        {"transform": "log", "minimum": 0, "family": "normal"},
        {"minimum": -5, "family": "gamma"},
        {"maximum": 0, "family": "normal"},
        {"maximum": 0, "family": "poisson"},
        {"maximum": -5, "families": [{"family": "gamma"}, {"family": "normal"}]},
        {"family": "gamma", "range": [-5, 10]},
        {"family": "beta", "range": [0.9, 3]},
        {"family": "poisson", "range": [0, 1]},
        {"family": "normal", "range": [5, 20], "minimum": 19, "maximum": 25},
        {"family": "normal", "transform": "log", "range": [0.1, 0.5]},
        {"policy": "fixed:-5:1", "minimum": 0},
        {"policy": "fixed:-5:-1"},
        {"policy": "fixed:-5:-1", "family": "normal"},
        {"policy": "fixed:-5:-1", "family": "normal", "transform": "log", "minimum": 0},
        {"policy": "fixed:-5:-1", "families": [{"family": "gamma"}, {"family": "normal"}]},
        {"components": [{"name": "a"}, {"name": "b"}]},
        {"family": "normal", "groups": {"name": "region", "labels": MANY}},
        {"family": "normal", "groups": {"name": "region", "labels": MANY}, "particles": 2_000},
    ],
)
def test_what_does_not_contradict_itself_is_not_refused(fields: dict[str, Any]) -> None:
    check(fields)


@pytest.mark.parametrize("dist", sorted(TOO_SLOW))
def test_slow_priors_are_refused_before_they_are_looked_at(dist: str) -> None:
    """With wrong shapes, which are not noticed."""
    with pytest.raises(SpecificationError, match=f"^prior: draws from {dist} take too long"):
        check({"family": "normal", "prior": {"mu": {"dist": dist, "shape": "none"}}})


@pytest.mark.parametrize("prior", [[], "levy_stable", {"mu": ["levy_stable"]}, {"mu": {"dist": ["levy_stable"]}}])
def test_what_is_no_prior_is_refused_as_such(prior: Any) -> None:
    with pytest.raises(SpecificationError, match=r"^prior "):
        check({"family": "normal", "prior": prior})
