"""Answers in words, for every kind of question: what they say of a value, whether or not that is so."""

import math

import pytest

from dither_client import ComponentQuery, GroupedRandomizedResponse, JointQuery, Laplace, RandomizedResponse, Staircase
from dither_client.commands._answer_words import answer_words
from dither_client.mechanisms.query import Query

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
