"""What a new collection cannot have because it contradicts itself, but which one that is stored already may have."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from dither_estimator.nonparametric.rounding import rounded
from dither_estimator.priors.distributions import TOO_SLOW
from dither_estimator.specification.fields import MAXIMUM_OF_LOGARITHMS, SpecificationError, read_range
from dither_estimator.specification.specification import Specification

__all__ = ["new_specification", "refuse_contradictions", "refuse_slow_priors"]

_FEWEST_VALUES = 2
"""People with fewer are all alike."""
_MOST_DRAWS, _MOST_SHARES = 1_000_000, 4_000_000
"""The most draws of the distributions of all groups, and of shares of categories in all groups: some seconds of work,
and about a gigabyte.
"""


def new_specification(data: Mapping[str, Any]) -> Specification:
    """The specification of a collection that is new, or only thought of, as the JSON `data` describe it.

    Raises `SpecificationError`, also where they contradict themselves, and what else `Specification.from_json` raises.
    """
    refuse_slow_priors(data)
    specification = Specification.from_json(data)
    refuse_contradictions(specification, data)
    return specification


def refuse_slow_priors(data: Any) -> None:
    """Raises `SpecificationError` where the JSON `data` of a new collection name a prior that would keep a core busy.

    It comes before they are read: of some priors quantiles alone take minutes. Whatever else is wrong stays unnoticed.
    """
    specification = _mapping(data)
    others = [part for name in ("families", "components") for part in _listed(specification.get(name))]
    for part in (specification, *map(_mapping, others)):
        for law in _mapping(part.get("prior")).values():
            dist = str(_mapping(law).get("dist"))
            if dist in TOO_SLOW:
                raise SpecificationError(f"prior: draws from {dist} take too long; name another distribution")


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def refuse_contradictions(specification: Specification, data: Mapping[str, Any]) -> None:
    """Raises `SpecificationError` where the `data` of a new collection, read as `specification`, contradict themselves.

    A server reads what it has stored without this check, so that it never stops at a collection of an older version.
    """
    for part, fields in zip(specification.components, data.get("components") or (), strict=True):
        try:
            refuse_contradictions(part.specification, fields)
        except SpecificationError as error:
            raise SpecificationError(f"the component {part.name}: {error}") from None
    _refuse_numbers_that_nobody_can_have(specification)
    _refuse_bounds_beside_all_values(specification, data)
    _refuse_a_range_beside_all_values(specification, data)
    _refuse_a_question_beside_all_values(specification)
    _refuse_too_many_draws(specification)


def _refuse_numbers_that_nobody_can_have(specification: Specification) -> None:
    """Raises `SpecificationError` if a bound or an atom has more decimals than values, or all values are equal."""
    support = specification.support
    if support.decimals is None:
        return
    named = {"minimum": support.minimum, "maximum": support.maximum}
    most = f"{support.decimals} decimal{'' if support.decimals == 1 else 's'}"
    numbers = {name: (bound,) for name, bound in named.items() if bound is not None} | {"atoms": support.atoms}
    for name, each in numbers.items():
        if not np.array_equal(rounded(np.array(each), support.decimals), each):
            raise SpecificationError(f"{name} must have at most {most}: correct {name} or decimals")
    if support.value_count < _FEWEST_VALUES:
        raise SpecificationError(
            f"minimum and maximum must have at least {_FEWEST_VALUES} values of {most} between them: correct these or "
            "decimals"
        )


def _refuse_bounds_beside_all_values(specification: Specification, data: Mapping[str, Any]) -> None:
    """Raises `SpecificationError` if devices would accept what has no logarithm, or nothing that the family has."""
    minimum, maximum = specification.support.minimum, specification.support.maximum
    if data.get("transform") == "log":
        if minimum is not None and minimum < 0:
            raise SpecificationError(
                "minimum must not be below 0 when transform is log: raise minimum or leave transform out"
            )
        if maximum is not None and maximum <= 0:
            raise SpecificationError(MAXIMUM_OF_LOGARITHMS)
        return
    if specification.rivals or specification.family.discrete:
        return
    least, most = specification.family.support
    for name, beside in (
        ("minimum", minimum is not None and minimum >= most),
        ("maximum", maximum is not None and maximum <= least),
    ):
        if beside:
            raise SpecificationError(
                f"{name} must leave some of the values of {_values_of_family(specification)}: leave {name} out or name "
                "another family"
            )


def _values_of_family(specification: Specification) -> str:
    """What the family is called, and where its values lie."""
    least, most = specification.family.support
    where = f"from {least:g} to {most:g}" if most < float("inf") else f"above {least:g}"
    return f"{specification.family.name}, which lie {where}"


def _refuse_a_range_beside_all_values(specification: Specification, data: Mapping[str, Any]) -> None:
    """Raises `SpecificationError` if the rough range of most values has none between the bounds, or of the family."""
    if data.get("range") is None or not specification.parametric:
        return
    low, high = read_range("identity", data["range"])
    least, most = specification.support.bounds("identity")
    if low >= most or high <= least:
        raise SpecificationError(
            "range must have some of the values between minimum and maximum: correct range or leave it out"
        )
    least, most = specification.family.support
    if data.get("transform") != "log" and (low >= most or high <= least):
        raise SpecificationError(
            f"range must have some of the values of {_values_of_family(specification)}: correct range or leave it out"
        )


def _refuse_a_question_beside_all_values(specification: Specification) -> None:
    """Raises `SpecificationError` if the one question of policy `fixed` has the same answer for all values."""
    if specification.policy.interval is None:
        return
    low, high = specification.policy.interval
    least, most = specification.support.bounds(specification.transform)
    if not specification.rivals:
        least, most = max(least, specification.family.support[0]), min(most, specification.family.support[1])
    if low < most and high > least:
        return
    where = "at HIGH or above" if high <= least else "at LOW or below"
    raise SpecificationError(
        f"policy must be fixed:LOW:HIGH with an interval that values lie in, or adaptive: all values lie {where}, so "
        "that everybody would have the same answer"
    )


def _refuse_too_many_draws(specification: Specification) -> None:
    """Raises `SpecificationError` if every posterior of the groups would take minutes, and gigabytes."""
    if specification.groups is None:
        return
    number, categories = len(specification.groups.labels), len(specification.categories)
    most = _MOST_SHARES // (number * categories) if categories else _MOST_DRAWS // number
    if specification.particles > most:
        what = f"{number} groups"
        if not specification.parametric:
            what += f" and {categories} categories" if categories else " without a family"
        raise SpecificationError(f"particles must be at most {most:,} with {what}: give fewer, or fewer groups")
