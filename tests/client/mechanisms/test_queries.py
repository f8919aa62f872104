"""Queries: their cells, their names, and everything that is refused."""

import json
import math
import pickle
from bisect import bisect_left
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither_client import InvalidQuery, InvalidValue, Laplace, Query, RandomizedResponse, parse_query
from dither_client.mechanisms.query import MAX_CELLS, check_value

LAPLACE = {
    "mechanism": "laplace",
    "low": -1,
    "high": Decimal("2.5"),
    "levels": 7,
    "epsilon": 1,
    "transform": "identity",
}
RANDOMIZED = {"mechanism": "randomized_response", "cuts": [-1, 0, 2.5], "epsilon": Decimal("0.1"), "transform": "log"}

coordinates = st.integers(-(2**20), 2**20).map(lambda j: j / 64)
values = st.floats(allow_nan=False, allow_infinity=False) | coordinates
epsilons = st.integers(1, 20_000_000).map(lambda amount: Fraction(amount, 1_000_000))


@st.composite
def laplaces(draw: st.DrawFn) -> Laplace:
    low = draw(coordinates)
    width = draw(st.integers(1, 2**14)) / 64
    return Laplace(low, low + width, draw(st.integers(1, 64)), draw(epsilons))


@st.composite
def randomized_responses(draw: st.DrawFn) -> RandomizedResponse:
    cuts = sorted(draw(st.sets(coordinates, min_size=1, max_size=12)))
    return RandomizedResponse(cuts, draw(epsilons))


queries = laplaces() | randomized_responses()


@given(queries, values)
def test_a_cell_is_the_number_of_edges_strictly_below(query: Query, value: float) -> None:
    cell = query.cell(value)
    assert cell == bisect_left(query.edges, value) == sum(edge < value for edge in query.edges)
    assert 0 <= cell < query.n_answers == len(query.edges) + 1


@given(queries)
def test_ties_go_down(query: Query) -> None:
    for cell, edge in enumerate(query.edges):
        assert query.cell(edge) == cell
        assert query.cell(math.nextafter(edge, math.inf)) == cell + 1


@given(laplaces())
def test_laplace_rounds_to_the_nearest_point(query: Laplace) -> None:
    step = Fraction(query.high - query.low) / query.levels
    for level in range(query.levels + 1):
        near = Fraction(query.low) + step * level
        assert query.cell(float(near + step / 4)) == level
        assert query.cell(float(near - step / 4)) == level
    assert query.cell(query.low - 1e9) == 0
    assert query.cell(query.high + 1e9) == query.levels


def test_a_logarithm_puts_what_is_not_positive_below_everything() -> None:
    query = Laplace(0.0, 2.0, 2, 1, "log")
    assert [query.cell(value) for value in (-5, -0.0, 0, 5e-324, 1)] == [0] * 5
    assert query.cell(math.e) == 1
    assert query.cell(1e300) == 2
    assert RandomizedResponse([0.0], 1, "log").cell(1.0) == 0


@given(queries)
def test_json_round_trip(query: Query) -> None:
    text = json.dumps(query.to_json(), allow_nan=False)
    again = parse_query(json.loads(text, parse_float=Decimal))
    assert again == query
    assert hash(again) == hash(query)
    assert again.id == query.id
    assert pickle.loads(pickle.dumps(query)) == query


def test_the_name_of_a_question_stays() -> None:
    """An id is stored by servers, so it may never change."""
    assert parse_query(LAPLACE).id == "b41dd668d94338be1101f7c3c7f31cc2"


def test_different_questions_have_different_names() -> None:
    variants = [
        Laplace(0, 1, 1, 1),
        Laplace(0, 1, 2, 1),
        Laplace(0, 2, 1, 1),
        Laplace(0, 1, 1, 2),
        Laplace(0, 1, 1, 1, "log"),
        RandomizedResponse([0.5], 1),
        RandomizedResponse([0.5, 1], 1),
    ]
    assert len({query.id for query in variants}) == len(set(variants)) == len(variants)
    assert Laplace(-0.0, 1, 1, 1) == Laplace(0, 1, 1, "1.0")
    assert Laplace(-0.0, 1, 1, 1).id == Laplace(0, 1, 1, "1.0").id


def test_queries_are_immutable() -> None:
    with pytest.raises(AttributeError):
        Laplace(0, 1, 1, 1).epsilon = Fraction(9)  # type: ignore[misc]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, "3", None, True, 10**400, 1j, [1.0]])
def test_values_that_cannot_be_asked_about(bad: Any) -> None:
    for query in (Laplace(0, 1, 1, 1), RandomizedResponse([0.5], 1, "log")):
        with pytest.raises(InvalidValue):
            query.answer(bad)


@pytest.mark.parametrize("value", [np.int64(3), np.int8(3), np.float32(3), np.float64(3), Fraction(3)])
def test_numbers_of_other_types_are_values(value: Any) -> None:
    """A column of pandas has NumPy's numbers."""
    assert check_value(value) == 3.0
    assert type(check_value(value)) is float
    with pytest.raises(InvalidValue, match="must be a number"):
        check_value(np.bool_(True))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"levels": 0}, "levels must be 1 to"),
        ({"levels": MAX_CELLS + 1}, "levels must be 1 to"),
        ({"levels": 10**30}, "levels must be 1 to"),
        ({"levels": True}, "levels must be an integer"),
        ({"levels": 2.0}, "levels must be an integer"),
        ({"levels": "2"}, "levels must be an integer"),
        ({"low": math.nan}, "low must be finite"),
        ({"high": math.inf}, "high must be finite"),
        ({"low": Decimal("1e400")}, "low must be finite"),
        ({"low": 10**400}, "low must be finite"),
        ({"low": Decimal("sNaN")}, "low must be finite"),
        ({"low": "0"}, "low must be a number"),
        ({"low": False}, "low must be a number"),
        ({"low": None}, "low must be a number"),
        ({"low": 3}, "low must be below high"),
        ({"low": Decimal("2.5")}, "low must be below high"),
        ({"low": -1e308, "high": 1e308}, "too wide"),
        ({"low": 1.0, "high": math.nextafter(1.0, 2.0)}, "too narrow"),
        ({"epsilon": 0}, "epsilon must be above 0"),
        ({"epsilon": -1}, "epsilon must be above 0"),
        ({"epsilon": Decimal("50.000001")}, "epsilon must be at most 50"),
        ({"epsilon": Decimal("0.0000001")}, "six decimals"),
        ({"epsilon": True}, "epsilon must be"),
        ({"epsilon": None}, "epsilon must be"),
        ({"transform": "sqrt"}, "transform must be"),
        ({"transform": None}, "transform must be"),
        ({"transform": []}, "transform must be"),
        ({"cuts": [1]}, "exactly the fields"),
        ({"mechanism": "gauss"}, "mechanism must be"),
        ({"mechanism": None}, "mechanism must be"),
        ({"mechanism": []}, "mechanism must be"),
    ],
)
def test_refused_laplace_queries(change: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidQuery, match=says):
        parse_query({**LAPLACE, **change})


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"cuts": []}, "1 to 1023 cuts"),
        ({"cuts": list(range(1024))}, "1 to 1023 cuts"),
        ({"cuts": [1, 1]}, "increase strictly"),
        ({"cuts": [2, 1]}, "increase strictly"),
        ({"cuts": [1, math.nan]}, "cuts must be finite"),
        ({"cuts": [1, "2"]}, "cuts must be a number"),
        ({"cuts": "12"}, "list of numbers"),
        ({"cuts": {"0": 1}}, "list of numbers"),
        ({"cuts": 3}, "list of numbers"),
        ({"low": 1}, "exactly the fields"),
    ],
)
def test_refused_randomized_responses(change: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidQuery, match=says):
        parse_query({**RANDOMIZED, **change})


@pytest.mark.parametrize("bad", [None, [], "laplace", 3, {}])
def test_what_is_no_query_at_all(bad: object) -> None:
    with pytest.raises(InvalidQuery):
        parse_query(bad)


def test_the_transform_may_be_left_out() -> None:
    without = {name: value for name, value in LAPLACE.items() if name != "transform"}
    assert parse_query(without) == parse_query(LAPLACE)


def test_the_finest_queries_are_allowed() -> None:
    assert Laplace(0, 1, MAX_CELLS, 1).n_answers == MAX_CELLS + 1
    assert RandomizedResponse(range(MAX_CELLS - 1), 1).n_answers == MAX_CELLS
