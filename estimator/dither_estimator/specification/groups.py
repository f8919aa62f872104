"""Public groups of a collection: everybody belongs to one and says so without noise; each has its own posterior."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from unicodedata import normalize

import numpy as np

from dither_client.tables.counts import CountTable
from dither_estimator.families import FloatArray
from dither_estimator.specification.fields import SpecificationError
from dither_estimator.specification.texts import is_line

__all__ = ["MAX_GROUPS", "MAX_LABEL", "Groups", "read_groups", "refuse_fields_beside_groups"]

MAX_GROUPS = 500
MAX_LABEL = 100
"""The most characters of a group's label, and of what the labels are called."""
_ABSENT = 0.5
"""Answers that a group without any is taken to have, for the rate at which its people answer."""
_FIELDS = ("name", "labels", "shares")
_NOT_BESIDE_GROUPS = ("families", "discriminate", "misfit_check", "misfit_looks", "member_cuts")


@dataclass(frozen=True)
class Groups:
    """The public groups of a collection."""

    name: str
    """What the labels are, such as `region`."""
    labels: tuple[str, ...]
    shares: tuple[float, ...] | None = None
    """The share of the whole population in each group, which sum to 1; None if they are not known."""

    def to_json(self) -> dict[str, Any]:
        """The field `groups` of a specification that describes these groups."""
        shares = {} if self.shares is None else {"shares": dict(zip(self.labels, self.shares, strict=True))}
        return {"name": self.name, "labels": list(self.labels), **shares}

    def log_rates(self, answers: Sequence[int]) -> FloatArray | None:
        """The logarithm of the rate at which people of each group answer, less the mean; None if shares are unknown.

        `answers` are the number of each group's.
        """
        if self.shares is None:
            return None
        rates = np.log(np.maximum(answers, _ABSENT) / np.array(self.shares))
        return np.asarray(rates - rates.mean())

    def check_table(self, table: CountTable) -> None:
        """Raises `SpecificationError` unless every row of the table has the label of one of these groups."""
        if table.members:
            raise SpecificationError("counts of members cannot go with groups")
        of_groups = sum(sum(row) for queries in table.groups.values() for row in queries.values())
        if of_groups < sum(sum(row) for row in table.queries.values()):
            raise SpecificationError(
                "the table must have a column group with a label in every row, as there are groups"
            )
        if not set(table.groups) <= set(self.labels):
            raise SpecificationError("the table has a group that is not among the labels of the specification's groups")


def read_groups(value: Any) -> Groups | None:
    """The groups that a specification's field describes; None for None. Raises `SpecificationError`."""
    if value is None:
        return None
    if not isinstance(value, Mapping) or not {"name", "labels"} <= set(value) <= set(_FIELDS):
        raise SpecificationError(
            'groups must be an object such as {"name": "region", "labels": ["north", "south"]}, and may have "shares"'
        )
    name = _text("the name of groups", value["name"])
    labels = value["labels"]
    if not isinstance(labels, list | tuple) or not 2 <= len(labels) <= MAX_GROUPS:
        raise SpecificationError(f"the labels of groups must be a list of 2 to {MAX_GROUPS} texts")
    known = tuple(_text("each label of groups", label) for label in labels)
    if len({normalize("NFC", label) for label in known}) < len(known):
        raise SpecificationError(
            "the labels of groups must all be different, in more than how their letters are composed"
        )
    return Groups(name, known, _shares(known, value.get("shares")))


def refuse_fields_beside_groups(data: Mapping[str, Any]) -> None:
    """Raises `SpecificationError` if a field is given that a collection with groups cannot have."""
    for name in _NOT_BESIDE_GROUPS:
        if data.get(name) is not None and data[name] is not False:
            raise SpecificationError(f"{name} cannot go with groups: leave {name} out")


def _text(what: str, value: Any) -> str:
    if not isinstance(value, str) or not is_line(value) or value != value.strip():
        raise SpecificationError(f"{what} must be a printable text without blanks around it")
    if len(value) > MAX_LABEL:
        raise SpecificationError(f"{what} must have at most {MAX_LABEL} characters")
    return value


def _shares(labels: tuple[str, ...], value: Any) -> tuple[float, ...] | None:
    if value is None:
        return None
    wrong = SpecificationError("the shares of groups must give each label a number above 0, and no other label")
    if not isinstance(value, Mapping) or set(value) != set(labels):
        raise wrong
    given = [value[label] for label in labels]
    if any(isinstance(share, bool) or not isinstance(share, int | float | Decimal) for share in given):
        raise wrong
    try:
        numbers = [float(share) for share in given]
    except OverflowError:
        raise wrong from None
    if not all(math.isfinite(share) and share > 0 for share in numbers):
        raise wrong
    largest = max(numbers)
    total = math.fsum(share / largest for share in numbers)
    shares = tuple(share / largest / total for share in numbers)
    if not min(shares) > 0:
        raise SpecificationError("the shares of groups differ by more than floating point can hold")
    return shares
