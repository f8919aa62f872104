from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither_client import Laplace, Query, RandomizedResponse, Staircase
from dither_server.packing import n_answers, pack_query, unpack_query

coordinates = st.floats(-1e9, 1e9).map(lambda x: x + 0.0)
epsilons = st.integers(1, 50_000_000).map(lambda micro: Fraction(micro, 1_000_000))
transforms = st.sampled_from(["identity", "log"])


@st.composite
def staircases(draw: Any) -> Query:
    """Some sets of cells and their complements, each of the two with the same weight."""
    cells = draw(st.integers(2, 64))
    chosen = draw(st.sets(st.integers(1, 2**cells - 2), min_size=1, max_size=20))
    weights = {frozenset((bits, 2**cells - 1 - bits)): draw(st.integers(2, 1_000_000)) for bits in chosen}
    weights[next(iter(weights))] = 1
    sets = {
        tuple(k for k in range(cells) if bits >> k & 1): weight for pair, weight in weights.items() for bits in pair
    }
    cuts = sorted(draw(st.lists(coordinates, min_size=cells - 1, max_size=cells - 1, unique=True)))
    return Staircase(cuts, sorted(sets), [sets[some] for some in sorted(sets)], draw(epsilons), draw(transforms))


@st.composite
def queries(draw: Any) -> Query:
    if draw(st.booleans()):
        return draw(staircases())  # type: ignore[no-any-return]
    if draw(st.booleans()):
        low = draw(coordinates)
        levels = draw(st.integers(1, 1024))
        return Laplace(low, low + 1 + levels * draw(st.floats(0.01, 1e3)), levels, draw(epsilons), draw(transforms))
    cuts = sorted(draw(st.lists(coordinates, min_size=1, max_size=40, unique=True)))
    return RandomizedResponse(cuts, draw(epsilons), draw(transforms))


@given(queries())
def test_a_packed_query_comes_back_as_it_was(query: Query) -> None:
    packed = pack_query(query)
    assert unpack_query(packed) == query
    assert pack_query(unpack_query(packed)) == packed
    assert n_answers(packed) == query.n_answers


@given(queries(), queries())
def test_two_queries_have_one_packing_only_if_they_are_one(first: Query, second: Query) -> None:
    assert (pack_query(first) == pack_query(second)) == (first == second)


def test_the_largest_queries_fit() -> None:
    finest = Staircase(range(63), [[cell] for cell in range(64)], [1] * 64, 50)
    for query in (Laplace(0, 1, 1024, "0.000001"), RandomizedResponse(range(1023), 50, "log"), finest):
        assert unpack_query(pack_query(query)) == query


def test_what_has_no_packing_is_refused() -> None:
    with pytest.raises(TypeError, match="str has no packing"):
        pack_query("laplace")  # type: ignore[arg-type]
