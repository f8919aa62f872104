"""The kinds of collections that a burst is measured with: their fields, and their people."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dither_estimator.families import FloatArray, Normal
from dither_estimator.specification.specification import Specification
from dither_server.simulate.by_component import draw_people_of_components
from dither_server.simulate.by_group import categories_by_group, draw_groups, members_by_group
from dither_server.simulate.by_period import draw_periods

__all__ = ["KINDS", "Kind", "People"]

_TRUTH = "mu=120,sigma=15"
_CATEGORIES = tuple("abcdefgh")
_GROUPS = ("north", "south", "east", "west")


@dataclass(frozen=True)
class People:
    """People in the order in which they are asked."""

    values: FloatArray
    labels: Sequence[str] | None = None
    """The label of each one's group or period."""


@dataclass(frozen=True)
class Kind:
    """A kind of collection, and of people."""

    fields: Mapping[str, Any]
    draw: Callable[[np.random.Generator, Specification, int], People]
    """Draws that many people of a collection."""
    found: str
    """What the sds are of."""
    sds: Callable[[Any], tuple[float, ...]]
    """The posterior sds, in a reply's JSON."""

    @property
    def grouped(self) -> bool:
        """Whether each person says in which group it is."""
        return "groups" in self.fields


def _normal(rng: np.random.Generator, _: Specification, size: int) -> People:
    return People(rng.normal(120, 15, size))


def _categorical(rng: np.random.Generator, _: Specification, size: int) -> People:
    shares = 1 / np.arange(1.0, len(_CATEGORIES) + 1)
    return People(rng.choice(len(_CATEGORIES), size, p=shares / shares.sum()).astype(float))


def _grouped(rng: np.random.Generator, _: Specification, size: int) -> People:
    people = draw_groups(rng, members_by_group(rng, [Normal()] * len(_GROUPS), _TRUTH, _GROUPS, "identity"), size)
    return People(people.values, people.labels)


def _grouped_categorical(rng: np.random.Generator, _: Specification, size: int) -> People:
    people = draw_groups(rng, categories_by_group(rng, _CATEGORIES, None, _GROUPS), size)
    return People(people.values, people.labels)


def _in_one_week(rng: np.random.Generator, specification: Specification, size: int) -> People:
    assert specification.period is not None
    people = draw_periods(rng, Normal(), _TRUTH, specification.period, 1, np.zeros(2), "identity", size)
    return People(people.values, people.labels)


def _of_two_numbers(rng: np.random.Generator, specification: Specification, size: int) -> People:
    return People(draw_people_of_components(rng, specification, [], f"{_TRUTH};{_TRUTH}", 0.0, size).values)


def _of_parameters(reply: Any) -> tuple[float, ...]:
    return (reply["posterior"]["mu"]["sd"], reply["posterior"]["sigma"]["sd"])


def _root_mean_square(replies: Mapping[str, Any], sd: Callable[[Any], float]) -> tuple[float]:
    return (float(np.sqrt(np.mean([sd(reply) ** 2 for reply in replies.values()]))),)


def _of_medians(reply: Any) -> tuple[float, ...]:
    return _root_mean_square(reply["groups"], lambda group: group["quantiles"]["0.5"]["sd"])


def _of_shares(reply: Any) -> tuple[float, ...]:
    return _root_mean_square(reply["categories"], lambda share: float(share["sd"]))


def _of_shares_of_groups(reply: Any) -> tuple[float, ...]:
    return _root_mean_square(reply["groups"], lambda group: _of_shares(group)[0])


def _of_two_and_correlation(reply: Any) -> tuple[float, ...]:
    medians = _root_mean_square(reply["components"], lambda component: component["quantiles"]["0.5"]["sd"])
    return (*medians, *(float(each["sd"]) for each in reply["correlations"].values()))


_A_NUMBER: dict[str, Any] = {"family": "normal", "range": None}
_REGIONS = {"name": "region", "labels": list(_GROUPS)}

KINDS: Mapping[str, Kind] = {
    "normal": Kind(_A_NUMBER, _normal, "μ, σ", _of_parameters),
    "range": Kind({"family": "normal", "range": [0, 300]}, _normal, "μ, σ", _of_parameters),
    "nonparametric": Kind(
        {"family": "nonparametric", "range": None},
        _normal,
        "the median",
        lambda reply: (reply["quantiles"]["0.5"]["sd"],),
    ),
    "categorical": Kind(
        {"family": "categorical", "range": None, "categories": list(_CATEGORIES)},
        _categorical,
        "a share (root mean square)",
        _of_shares,
    ),
    "groups": Kind(_A_NUMBER | {"groups": _REGIONS}, _grouped, "a group's median (root mean square)", _of_medians),
    "groups-nonparametric": Kind(
        {"family": "nonparametric", "range": None, "groups": _REGIONS},
        _grouped,
        "a group's median (root mean square)",
        _of_medians,
    ),
    "groups-categorical": Kind(
        {"family": "categorical", "range": None, "categories": list(_CATEGORIES), "groups": _REGIONS},
        _grouped_categorical,
        "a group's share (root mean square)",
        _of_shares_of_groups,
    ),
    "drift": Kind(_A_NUMBER | {"period": "week", "drift": True}, _in_one_week, "μ, σ", _of_parameters),
    "components": Kind(
        {
            "family": None,
            "range": None,
            "components": [{"name": name, "family": "normal"} for name in ("first", "second")],
        },
        _of_two_numbers,
        "a median (root mean square), the correlation",
        _of_two_and_correlation,
    ),
}
