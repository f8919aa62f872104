"""Public groups in a specification: what they are, and one clear sentence for whatever they cannot be."""

from decimal import Decimal
from typing import Any

import pytest

from dither_client import Laplace
from dither_client.tables.counts import CountTable
from dither_estimator.specification.groups import Groups
from dither_estimator.specification.specification import Specification, SpecificationError
from dither_estimator.specification.table import check_table

LABELS = ["north", "south"]
QUERY = Laplace(0, 1, 1, 1)


def read(groups: Any, **fields: Any) -> Specification:
    return Specification.from_json({"epsilon": 1, "groups": groups} | fields)


def test_groups_are_what_is_given() -> None:
    assert read(None).groups is None
    assert read({"name": "region", "labels": LABELS}).groups == Groups("region", ("north", "south"), None)
    shares = {"south": Decimal(3), "north": 1}
    assert read({"name": "region", "labels": LABELS, "shares": shares}).groups == Groups(
        "region", ("north", "south"), (0.25, 0.75)
    )
    for fields in ({}, {"family": "normal"}, {"family": "categorical", "categories": ["a", "b"]}):
        assert read({"name": "region", "labels": [f"{i}" for i in range(500)]}, **fields).groups is not None


@pytest.mark.parametrize("shares", [{}, {"shares": None}, {"shares": {"north": 0.25, "south": 0.75}}])
def test_what_is_read_is_written(shares: dict[str, Any]) -> None:
    groups = read({"name": "region", "labels": LABELS, **shares}).groups
    assert groups is not None
    assert read(groups.to_json()).groups == groups


@pytest.mark.parametrize(
    ("groups", "sentence"),
    [
        (LABELS, "groups must be an object"),
        ({"labels": LABELS}, "groups must be an object"),
        ({"name": "region"}, "groups must be an object"),
        ({"name": "region", "labels": LABELS, "weights": {}}, "groups must be an object"),
        ({"name": " region", "labels": LABELS}, "the name of groups must be a printable text"),
        ({"name": 1, "labels": LABELS}, "the name of groups must be a printable text"),
        ({"name": "region", "labels": "ns"}, "a list of 2 to 500 texts"),
        ({"name": "region", "labels": ["one"]}, "a list of 2 to 500 texts"),
        ({"name": "region", "labels": [f"{i}" for i in range(501)]}, "a list of 2 to 500 texts"),
        ({"name": "region", "labels": ["a", "a"]}, "must all be different"),
        ({"name": "region", "labels": ["\u00e9", "e\u0301"]}, "must all be different"),
        ({"name": "region", "labels": ["a", ""]}, "each label of groups must be a printable text"),
        ({"name": "region", "labels": ["a", "b\n"]}, "each label of groups must be a printable text"),
        ({"name": "region", "labels": ["a", "b" * 101]}, "at most 100 characters"),
        *(
            ({"name": "region", "labels": LABELS, "shares": shares}, "must give each label a number above 0")
            for shares in (
                [1, 2],
                {"north": 1},
                {"north": 1, "south": 2, "west": 3},
                {"north": 1, "south": 0},
                {"north": 1, "south": -1},
                {"north": 1, "south": True},
                {"north": 1, "south": "2"},
                {"north": 1, "south": float("nan")},
                {"north": 1, "south": 10**400},
            )
        ),
        ({"name": "region", "labels": LABELS, "shares": {"north": 1e-300, "south": 1e300}}, "differ by more"),
    ],
)
def test_what_is_no_group_is_refused_in_a_sentence(groups: Any, sentence: str) -> None:
    with pytest.raises(SpecificationError, match=sentence):
        read(groups)


@pytest.mark.parametrize(
    "field",
    [
        {"families": [{"family": "normal"}, {"family": "logistic"}]},
        {"family": "normal", "misfit_check": True},
        {"family": "normal", "member_cuts": [1]},
    ],
)
def test_what_has_no_groups_is_refused_beside_them(field: dict[str, Any]) -> None:
    with pytest.raises(SpecificationError, match="cannot go with groups"):
        read({"name": "region", "labels": LABELS}, **field)


def test_a_table_has_a_known_group_in_every_row() -> None:
    spec = read({"name": "region", "labels": LABELS}, family="normal")
    check_table(spec, CountTable({QUERY: [3, 4]}, groups={"north": {QUERY: [3, 1]}, "south": {QUERY: [0, 3]}}))
    with pytest.raises(SpecificationError, match="a label in every row"):
        check_table(spec, CountTable({QUERY: [3, 4]}, groups={"north": {QUERY: [3, 1]}}))
    with pytest.raises(SpecificationError, match="not among the labels"):
        check_table(spec, CountTable({QUERY: [3, 4]}, groups={"west": {QUERY: [3, 4]}}))
    check_table(
        Specification.from_json({"epsilon": 1, "family": "normal"}),
        CountTable({QUERY: [3, 4]}, groups={"west": {QUERY: [3, 4]}}),
    )
