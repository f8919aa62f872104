"""Answers in words, for every kind of question: what they say of a value, whether or not that is so."""

import json
import math
import random
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

import dither_client
from dither_client import ComponentQuery, GroupedRandomizedResponse, JointQuery, Laplace, RandomizedResponse, Staircase
from dither_client.commands._answer_words import answer_words
from dither_client.mechanisms.query import Query
from dither_client.protocol.messages import Terms

RANGES = RandomizedResponse([10, 20, 30], 1)
SETS = Staircase([10, 20, 30], [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]], [1] * 6, 1)
AT_0 = RandomizedResponse([math.nextafter(0, -1), 0, 5], 1)
TRIPLE = JointQuery([0, 1, 2], "odd_one_out", [[1], [2], [3]], ["identity"] * 3, RandomizedResponse([1, 2, 3], 1))
SHARED = Staircase([1, 2, 3, 4, 5], [[0, 1, 2], [0, 1, 4], [2, 3, 5], [3, 4, 5]], [1] * 4, 1)
"""A channel whose answers stand for three states each."""


@pytest.mark.parametrize(
    ("query", "said"),
    [
        (RANGES, ["at most 10", "above 10 and at most 20", "above 20 and at most 30", "above 30"]),
        (SETS, ["at most 20", "at most 10 or above 20 and at most 30", "at most 10 or above 30"]),
        (AT_0, ["below 0", "exactly 0", "above 0 and at most 5", "above 5"]),
        (Laplace(0, 100, 2, 1), ["at most 25", "above 25 and at most 75", "above 75"]),
        (RandomizedResponse([math.log(5), math.log(80)], 1, "log"), ["at most 5", "above 5 and at most 80"]),
        (RandomizedResponse([1000001, 1000002], 1), ["at most 1,000,001", "above 1,000,001 and at most 1,000,002"]),
    ],
)
def test_a_number_is_told_by_its_ranges(query: Query, said: list[str]) -> None:
    for answer, ranges in enumerate(said):
        assert answer_words(query, answer, None) == f"your value is {ranges}"
        assert answer_words(ComponentQuery(1, query), answer, None) == f"your number 2 is {ranges}"


ALONE = "to which of these is true while the others are false, or the other way round"


def pair(channel: Query) -> JointQuery:
    """In which of six cells of a plane two numbers are."""
    return JointQuery([0, 2], "cells", [[500, 700], [40]], ["identity", "identity"], channel)


@pytest.mark.parametrize(
    ("query", "answer", "said"),
    [
        (
            pair(RandomizedResponse(range(5), 1)),
            2,
            "n1 is above 500 and at most 700, and n3 is at most 40",
        ),
        (
            pair(SHARED),
            0,
            "n1 is at most 500; or n1 is above 500 and at most 700, and n3 is at most 40",
        ),
        (pair(SHARED), 3, "n1 is above 500 and at most 700, and n3 is above 40; or n1 is above 700"),
        (TRIPLE, 0, f"none, {ALONE}: n1 is above 1; n2 is above 2; n3 is above 3"),
        (TRIPLE, 2, f"n2, {ALONE}: n1 is above 1; n2 is above 2; n3 is above 3"),
        (GroupedRandomizedResponse([[0, 2], [1]], 1), 0, "you chose category 1 or category 3"),
    ],
)
def test_several_numbers_and_categories_are_told(query: Query, answer: int, said: str) -> None:
    assert answer_words(query, answer, None).replace("your number ", "n") == said


SCRIPT = """
import { decodeJson, odds, parseQuery } from "./dither.js";
const cases = decodeJson(new Uint8Array(await new Response(Deno.stdin.readable).arrayBuffer()));
console.log(JSON.stringify(cases.map((each) => {
  const query = parseQuery(each.get("query"));
  const decimals = each.get("decimals")?.value ?? null;
  const numbers = Array.from({ length: query.nAnswers }, (_, answer) => answer);
  return numbers.map((answer) => odds(query, answer, [], decimals, "en", [], each.get("unit"))[0].who);
})));
"""


TERMS = Terms(
    id="c",
    name="Wages",
    family="nonparametric",
    transform="identity",
    epsilon=Fraction(1),
    mechanism="randomized_response",
    state="open",
    answers=None,
    opens_at=None,
    closes_at=None,
    max_answers=None,
    admission="open",
    visibility="public",
    advice=None,
)


def of_some_size(rng: random.Random) -> Query:
    """A question about a number with a few cuts, at one of which there may be an atom."""
    size = 10 ** rng.uniform(2, 6)
    cuts = {round(rng.uniform(-1, 1) * size, rng.choice([2, 9])) for _ in range(3)}
    kind = rng.choice(["cells", "atom", "log", "interval"])
    if kind == "interval":
        low = float(f"{-size:.9g}")
        return Laplace(low, low + float(f"{3 * size:.9g}"), rng.choice([2, 4]), 1)
    if kind == "atom":
        atom = rng.choice([0.0, 5.0, 1000.0])
        cuts |= {math.nextafter(atom, -math.inf), atom}
    if kind == "log":
        return RandomizedResponse(sorted({math.log(abs(cut) + size) for cut in cuts}), 1, "log")
    return RandomizedResponse(sorted(cuts), 1)


def test_the_page_tells_of_the_same_values() -> None:
    """But for its signs, thousands that it does not separate, and `up to` for `at most`."""
    rng = random.Random(1)
    cases = [(of_some_size(rng), rng.choice([None, 0, 2]), rng.choice(["", "€"])) for _ in range(200)]
    asked = [{"query": query.to_json(), "decimals": decimals, "unit": unit} for query, decimals, unit in cases]
    web = Path(dither_client.__file__).parent / "web"
    run = subprocess.run(
        [
            Path(sys.executable).with_name("deno"),
            "eval",
            "--no-remote",
            "--ext=js",
            SCRIPT.replace("./", f"{web.as_uri()}/"),
        ],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=True,
    )
    for (query, decimals, unit), told in zip(cases, json.loads(run.stdout), strict=True):
        terms = replace(TERMS, unit=unit, decimals=decimals)
        for answer, who in enumerate(told):
            mine = answer_words(query, answer, terms).removeprefix("your value is ").replace(",", "")
            assert mine == who.replace("up to", "at most").replace("−", "-").replace(",", "")
