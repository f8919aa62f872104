"""Several numbers of one person: what is asked of them, what is refused, and what never leaves the device."""

import asyncio
import math
from bisect import bisect_left
from fractions import Fraction
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither_client import (
    AsyncClient,
    BadResponse,
    Client,
    Component,
    ComponentQuery,
    InvalidQuery,
    InvalidValue,
    JointQuery,
    Laplace,
    MemoryLedger,
    OverCap,
    Query,
    RandomizedResponse,
    Staircase,
    parse_query,
)
from dither_client.commands import run
from dither_client.mechanisms.bounds import Bounds
from dither_client.mechanisms.price import Price
from dither_client.protocol.messages import parse_terms
from dither_client.tables.counts import counts_rows, read_table, write_table
from testing.servers.question_server import asking, terms_of

HALVES, QUARTERS = RandomizedResponse([0.0], 1), RandomizedResponse([0.0, 1.0, 2.0], 1)
SAME = JointQuery([0, 2], "same_side", [[6.0], [40.0]], ["log", "identity"], HALVES)
ODD = JointQuery([0, 1, 2], "odd_one_out", [[6.0], [0.0], [40.0]], ["log", "identity", "identity"], QUARTERS)
CELLS = JointQuery([1, 2], "cells", [[0.0], [30.0, 40.0]], ["identity"] * 2, RandomizedResponse(range(5), 1))
WAGE = ComponentQuery(0, Laplace(6.0, 6.25, 1, 1, "log"))
EVERY = [SAME, ODD, CELLS, WAGE]
COMPONENTS = (
    Component("wage", "log", Bounds(0, 100_000)),
    Component("score", "identity"),
    Component("age", "identity", Bounds(0, 120)),
)
PRICE = Price("laplace", "identity", Fraction(1), components=COMPONENTS)
PERSON = {"wage": 540.0, "score": -2.5, "age": 41.0}

numbers = st.floats(-1e6, 1e6)


@given(st.tuples(numbers, numbers, numbers))
def test_the_cell_of_a_component_is_that_of_its_number_alone(person: tuple[float, float, float]) -> None:
    for component in range(3):
        for inner in (Laplace(-3, 5, 8, 1), RandomizedResponse([1.0, 2.0, 7.0], 1, "log")):
            assert ComponentQuery(component, inner).cell(person) == inner.cell(person[component])


@given(st.tuples(numbers, numbers, numbers))
def test_states_are_what_their_names_say(person: tuple[float, float, float]) -> None:
    wage = math.log(person[0]) if person[0] > 0 else -math.inf
    above = [wage > 6.0, person[1] > 0.0, person[2] > 40.0]
    assert SAME.cell(person) == (above[0] == above[2])
    alone = [number + 1 for number in range(3) if above.count(above[number]) == 1]
    assert [ODD.cell(person)] == (alone or [0])
    assert CELLS.cell(person) == 3 * above[1] + bisect_left([30.0, 40.0], person[2])


def test_ties_go_down() -> None:
    assert [CELLS.cell((1.0, 0.0, age)) for age in (30.0, 30.1, 40.0, 40.1)] == [0, 1, 1, 2]
    assert SAME.cell((math.exp(5.0), 0.0, 40.0)) == 1


def test_an_answer_is_drawn_from_the_state_of_the_person() -> None:
    """With an ε of 50 the answer is the state, but for a chance below 1e-20."""
    surely = JointQuery([0, 2], "same_side", [[6.0], [40.0]], ["log", "identity"], RandomizedResponse([0.0], 50))
    assert [surely.answer((540.0, 0.0, age)) for age in (39.0, 41.0)] == [0, 1]


@pytest.mark.parametrize("query", EVERY, ids=lambda query: query.to_json().get("states", "component"))
def test_questions_are_read_as_they_are_written(query: Query, tmp_path: Path) -> None:
    assert parse_query(query.to_json()) == query
    assert hash(parse_query(query.to_json())) == hash(query)
    counts = {query: list(range(query.n_answers)), Laplace(0, 1, 1, "0.5"): [3, 4]}
    for name in ("counts.csv", "counts.parquet"):
        rows = counts_rows(counts)
        write_table(tmp_path / name, rows, tuple(rows[0]))
        assert read_table(tmp_path / name).queries == counts


NO_QUESTIONS: list[tuple[dict[str, Any], str]] = [
    ({"component": 8}, "0 to 7"),
    ({"component": -1}, "0 to 7"),
    ({"component": True}, "0 to 7"),
    ({"component": 0.0}, "0 to 7"),
    ({"query": WAGE.to_json()}, "mechanism must be one of laplace"),
    ({"query": SAME.to_json()}, "mechanism must be one of laplace"),
    ({"query": 5}, "JSON object"),
    ({"epsilon": 2}, "epsilon must be that"),
    ({"transform": "identity"}, "transform must be that"),
    ({"extra": 1}, "exactly the fields"),
]
NO_JOINT_QUESTIONS: list[tuple[dict[str, Any], str]] = [
    ({"components": [2, 0]}, "must increase"),
    ({"components": [0, 0]}, "must increase"),
    ({"components": [0]}, "list of 2"),
    ({"components": [0, 1, 2]}, "list of 2"),
    ({"components": [0, 8]}, "0 to 7"),
    ({"components": "01"}, "list of whole numbers"),
    ({"states": "sum"}, "states must be one of"),
    ({"states": "odd_one_out"}, "list of 3"),
    ({"cuts": [[6.0]]}, "list of 2"),
    ({"cuts": [[6.0], []]}, "a list of numbers for each"),
    ({"cuts": [[6.0], [1.0, 2.0]]}, "one cut"),
    ({"cuts": [[6.0], ["7"]]}, "must be a number"),
    ({"transforms": ["log"]}, "list of 2"),
    ({"transforms": ["log", "sqrt"]}, "transform must be"),
    ({"transform": "log"}, 'transform must be "identity"'),
    ({"epsilon": "0.5"}, "epsilon must be that"),
    ({"channel": Laplace(0, 1, 1, 1).to_json()}, "randomized_response or staircase"),
    ({"channel": QUARTERS.to_json()}, "a cell for each of the 2 states"),
    ({"channel": RandomizedResponse([0.0], 1, "log").to_json()}, "transform of the channel"),
    ({"channel": SAME.to_json()}, "mechanism must be one of laplace"),
]


@pytest.mark.parametrize(("changed", "why"), NO_QUESTIONS)
def test_what_is_no_question_about_a_component_is_refused(changed: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidQuery, match=why):
        parse_query({**WAGE.to_json(), **changed})


@pytest.mark.parametrize(("changed", "why"), NO_JOINT_QUESTIONS)
def test_what_is_no_question_about_several_numbers_is_refused(changed: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidQuery, match=why):
        parse_query({**SAME.to_json(), **changed})


# What the terms rule out.

REFUSED: list[tuple[Query, type[Exception], str]] = [
    (Laplace(0, 1, 1, 1), InvalidQuery, "about no component"),
    (ComponentQuery(3, Laplace(0, 1, 1, 1)), InvalidQuery, "about component 3, and the terms list 3"),
    (ComponentQuery(0, Laplace(0, 1, 1, 1)), InvalidQuery, "transform is identity, and the terms say log"),
    (ComponentQuery(1, Staircase([0.0, 1], [[0], [1], [2]], [1] * 3, 1)), InvalidQuery, "mechanism is not the one"),
    (ComponentQuery(1, Laplace(0, 1, 1, "1.000001")), OverCap, "more than the ε = 1"),
    (JointQuery([0, 2], "same_side", [[6.0], [4.0]], ["log", "log"], HALVES), InvalidQuery, "transforms are log, log"),
    (JointQuery([0, 3], "same_side", [[6.0], [4.0]], ["log", "identity"], HALVES), InvalidQuery, "component 3"),
    (JointQuery([1, 2], "same_side", [[6.0], [4.0]], ["identity"] * 2, RandomizedResponse([0], 2)), OverCap, "ε = 2"),
]


@pytest.mark.parametrize("query", EVERY, ids=lambda query: query.to_json().get("states", "component"))
def test_questions_that_the_terms_allow(query: Query) -> None:
    PRICE.check(query)
    assert Price.from_json(PRICE.to_json()) == PRICE
    with pytest.raises(InvalidQuery, match="one of several numbers, and the terms ask for one value"):
        Price("laplace", "log", Fraction(1)).check(query)


@pytest.mark.parametrize(("query", "error", "why"), REFUSED)
def test_questions_that_the_terms_rule_out(query: Query, error: type[Exception], why: str) -> None:
    with pytest.raises(error, match=why):
        PRICE.check(query)


@pytest.mark.parametrize("changed", [(), COMPONENTS[:2], (COMPONENTS[0], Component("score", "log"), COMPONENTS[2])])
def test_components_never_change(changed: tuple[Component, ...]) -> None:
    with pytest.raises(BadResponse, match="has changed the components"):
        PRICE.check_kept(Price("laplace", "identity", Fraction(1), components=changed))


# What a person gives.

NO_VALUES: list[tuple[Any, str]] = [
    (5.0, "a number for each of wage, score, age"),
    ("540", "a number for each of wage, score, age"),
    ([540.0, 1.0, 41.0], "a number for each of wage, score, age"),
    ({"wage": 540.0, "age": 41.0}, "lacks the component score"),
    ({**PERSON, "weight": 77.0}, "no component: weight; components are wage, score, age"),
    ({**PERSON, 77.25: 1.0}, "no component; components are wage, score, age"),
    ({**PERSON, "540.25": 1.0}, "no component; components are wage, score, age"),
    ({**PERSON, "age": 540.25}, "age must be from 0 to 120 here"),
    ({**PERSON, "age": "41"}, "age must be a number"),
    ({**PERSON, "score": math.nan}, "score must be a finite number"),
]


@pytest.mark.parametrize(("value", "why"), NO_VALUES)
def test_what_is_not_a_number_for_each_component_is_refused(value: Any, why: str) -> None:
    with pytest.raises(InvalidValue, match=why) as caught:
        PRICE.held(value)
    assert not any(text in str(caught.value) for text in ("540.25", "77.25", "77.0", "41"))


def test_numbers_are_put_in_the_order_of_the_terms() -> None:
    assert PRICE.held({"age": 41, "wage": 540, "score": -2.5}) == (540.0, -2.5, 41.0)


@pytest.mark.parametrize("value", [5.0, (540.0,), "540", {"wage": 540}])
def test_a_question_is_about_the_numbers_that_there_are(value: Any) -> None:
    for query in (SAME, ComponentQuery(1, Laplace(0, 1, 1, 1))):
        with pytest.raises(InvalidValue, match="one of several numbers"):
            query.cell(value)


# Over HTTP.


def test_a_client_answers_and_sends_no_value() -> None:
    query = JointQuery([0, 1], "same_side", [[6.0], [4.0]], ["identity"] * 2, RandomizedResponse([0.0], 20))

    async def answer(url: str) -> None:
        async with AsyncClient(url, MemoryLedger(20)) as client:
            await client.answer("b", {"n1": 5.0, "n0": 5.0})

    with asking(query) as server:
        with Client(server.url, MemoryLedger(20)) as client:
            receipt = client.answer("a", {"n1": 5.0, "n0": 7.0})
            assert (receipt.query, receipt.answer) == (query, 1)
            assert [component.name for component in client.terms("a").components] == ["n0", "n1"]
            with pytest.raises(InvalidValue, match="lacks the component n1"):
                client.answer("c", {"n0": 7.0})
            with pytest.raises(InvalidValue, match="a number for each"):
                client.answer("c", 7.0)
        asyncio.run(answer(server.url))
    assert [(heard.collection, heard.answer) for heard in server.heard] == [("a", 1), ("b", 0)]


@pytest.mark.parametrize(
    ("given", "answer"), [(["--value", "n1=5", "--value", "n0=7.5"], 1), (["--value", "n0=3", "--value", "n1=5"], 0)]
)
def test_the_command_line_takes_a_number_for_each(given: list[str], answer: int, tmp_path: Path, capsys: Any) -> None:
    query = JointQuery([0, 1], "same_side", [[6.0], [4.0]], ["identity"] * 2, RandomizedResponse([0.0], 20))
    with asking(query) as server:
        ledger = ["--ledger", str(tmp_path / "ledger"), "--max-epsilon", "20"]
        assert run(["answer", "people", *given, "--url", server.url, *ledger]) == 0
        said = f"{['no', 'yes'][answer]}, to whether these are both true or both false: "
        of = "your n0 is above 6; your n1 is above 4; true or not, only you can tell."
        assert f"Your answer was sent: {said}{of}" in capsys.readouterr().out
        refused = ["--value", "n0=540.25", "--value", "n2=540.25"]
        assert run(["answer", "more", *refused, "--url", server.url, *ledger]) != 0
        told = capsys.readouterr().err
        assert "NAME=NUMBER once for each of n0, n1" in " ".join(told.split())
        assert "540.25" not in told
        assert run(["answer", "more", "540.25", "--url", server.url, *ledger]) != 0
        assert "540.25" not in capsys.readouterr().err
    assert len(server.heard) == 1


def test_the_command_line_reads_a_line_for_each_number(
    tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = JointQuery([0, 1], "same_side", [[6.0], [4.0]], ["identity"] * 2, RandomizedResponse([0.0], 20))
    with asking(query) as server:
        at = ["--url", server.url, "--ledger", str(tmp_path / "ledger"), "--max-epsilon", "20"]
        for text, status in (("n1=5\n", 1), ("n0=7.5\nn1=540.25x\n", 1), ("n0=7.5\nn1=5\n", 0)):
            monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(text.encode())))
            assert (run(["answer", "people", "-", *at]) != 0) == bool(status)
            assert "540.25" not in capsys.readouterr().err
    assert [heard.answer for heard in server.heard] == [1]


NO_COMPONENTS: list[Any] = [
    [],
    [{"name": "a", "transform": "log"}],
    [{"name": "a", "transform": "log"}] * 2,
    [{"name": "a", "transform": "log"}, {"name": "b"}],
    [{"name": "a", "transform": "log"}, {"name": "b c", "transform": "log"}],
    [{"name": "a", "transform": "log"}, {"name": "b", "transform": "log", "minimum": 2, "maximum": 1}],
    [{"name": f"n{k}", "transform": "log"} for k in range(9)],
    {"a": "log"},
]


@pytest.mark.parametrize("components", NO_COMPONENTS)
def test_terms_whose_components_make_no_sense_are_refused(components: Any) -> None:
    with pytest.raises(BadResponse):
        parse_terms({**terms_of(SAME), "components": components})
