from fractions import Fraction
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dither_client import ComponentQuery, Gaussian, JointQuery, Laplace, Query, RandomizedResponse, Staircase
from dither_client.mechanisms.registry import QUERY_TYPES
from dither_server.tickets.packing import (
    NO_GROUP,
    Purpose,
    group_of,
    in_group,
    n_answers,
    pack_query,
    purpose_of,
    unpack_query,
)

coordinates = st.floats(-1e9, 1e9).map(lambda x: x + 0.0)
epsilons = st.integers(1, 50_000_000).map(lambda micro: Fraction(micro, 1_000_000))
PACKED = "0081000f424000014018000000000000401a000000000000"
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
def joint_queries(draw: Any) -> Query:
    epsilon, count = draw(epsilons), draw(st.integers(2, 3))
    components = sorted(draw(st.sets(st.integers(0, 7), min_size=count, max_size=count)))
    scales = [draw(transforms) for _ in components]
    if count == 3 or draw(st.booleans()):
        states = "odd_one_out" if count == 3 else "same_side"
        halves = RandomizedResponse(range(2 * count - 3), epsilon)
        return JointQuery(components, states, [[draw(coordinates)] for _ in components], scales, halves)
    cuts = [sorted(draw(st.lists(coordinates, min_size=1, max_size=7, unique=True))) for _ in components]
    cells = (len(cuts[0]) + 1) * (len(cuts[1]) + 1)
    sets = [[cell] for cell in range(cells)]
    places = range(cells - 1)
    channel: Query = Staircase(places, sets, [1] * cells, epsilon) if cells > 8 else RandomizedResponse(places, epsilon)
    return JointQuery(components, "cells", cuts, scales, channel)


@st.composite
def queries(draw: Any) -> Query:
    query = draw(ordinary_queries())
    kind = draw(st.integers(0, 3))
    if kind == 0:
        return draw(joint_queries())
    return ComponentQuery(draw(st.integers(0, 7)), query) if kind == 1 else query


@st.composite
def ordinary_queries(draw: Any) -> Query:
    if draw(st.booleans()):
        return draw(staircases())
    if draw(st.booleans()):
        low = draw(coordinates)
        levels = draw(st.integers(1, 1024))
        return Laplace(low, low + 1 + levels * draw(st.floats(0.01, 1e3)), levels, draw(epsilons), draw(transforms))
    if draw(st.booleans()):
        low = draw(coordinates)
        rho = Fraction(draw(st.integers(1, 20_000_000)), 1_000_000)
        return Gaussian(low, low + 1 + draw(st.floats(1, 1e3)), draw(st.integers(1, 9)), rho, 50, draw(transforms))
    cuts = sorted(draw(st.lists(coordinates, min_size=1, max_size=40, unique=True)))
    return RandomizedResponse(cuts, draw(epsilons), draw(transforms))


purposes = st.sampled_from(["training", "check"])


@given(queries(), purposes)
def test_a_packed_query_comes_back_as_it_was(query: Query, purpose: Purpose) -> None:
    packed = pack_query(query, purpose)
    assert unpack_query(packed) == query
    assert purpose_of(packed) == purpose
    assert pack_query(unpack_query(packed), purpose) == packed
    assert n_answers(packed) == query.n_answers


@given(queries(), purposes, st.integers(1, 500))
def test_a_group_goes_with_a_query_and_changes_nothing_else(query: Query, purpose: Purpose, group: int) -> None:
    packed = pack_query(query, purpose)
    grouped = in_group(packed, group)
    assert (group_of(packed), group_of(grouped)) == (NO_GROUP, group)
    assert in_group(packed, NO_GROUP) == packed
    assert (unpack_query(grouped), purpose_of(grouped), n_answers(grouped)) == (query, purpose, query.n_answers)
    assert grouped != packed
    assert grouped != in_group(packed, group + 1)


def test_a_query_without_a_group_is_packed_as_it_was_before_there_were_groups() -> None:
    """Tickets that were issued before an upgrade stay valid after it, and those after a return."""
    packed = pack_query(Laplace(6.0, 6.5, 1, 1, "log"), "check")
    assert packed.hex() == PACKED


@given(queries(), queries(), purposes, purposes)
def test_two_queries_have_one_packing_only_if_they_are_one(
    first: Query, second: Query, one: Purpose, other: Purpose
) -> None:
    assert (pack_query(first, one) == pack_query(second, other)) == ((first, one) == (second, other))


def test_tickets_from_before_the_misfit_check_are_for_training() -> None:
    packed = bytes.fromhex("0001000f42400001" + "4018000000000000" + "4019000000000000")
    assert unpack_query(packed) == Laplace(6.0, 6.25, 1, 1, "log")
    assert purpose_of(packed) == "training"
    assert pack_query(Laplace(6.0, 6.25, 1, 1, "log")) == packed


def test_the_largest_queries_fit() -> None:
    for query in (
        Laplace(0, 1, 1024, "0.000001"),
        RandomizedResponse(range(1023), 50, "log"),
        Staircase(range(63), [[cell] for cell in range(64)], [1] * 64, 50),
        Gaussian(0, 1, 1024, "0.000001", "0.00113"),
        Gaussian(0, 1, 1, "49.999999", 50),
    ):
        assert unpack_query(pack_query(query)) == query


def test_no_two_mechanisms_have_one_number() -> None:
    assert {kind.mechanism: kind.number for kind in QUERY_TYPES.values()} == {
        "laplace": 0, "randomized_response": 1, "gaussian": 2, "staircase": 3, "grouped_randomized_response": 4,
        "component": 5, "joint": 6,
    }  # fmt: skip
