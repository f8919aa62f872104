"""The odds that the page tells are true of every mechanism's channel, and no smaller ones would be."""

import math
from fractions import Fraction
from itertools import product

import pytest
from questions import QUESTIONS

from dither_client import Laplace, Query
from dither_client.mechanisms.registry import QUERY_TYPES
from dither_server.pages.guessing import best_guess

EPSILONS = ["0.01", "0.5", "1", "3", "10"]


def after_any_answer(channel: list[list[float]]) -> float:
    """The largest probability that any answer gives to one of any two values that were equally likely before."""
    columns = zip(*channel, strict=True)
    return max(max(column) / (max(column) + min(column)) for column in columns)


def on_average(channel: list[list[float]]) -> float:
    """The share of right guesses about the two values that are told apart best."""
    return max(
        math.fsum(max(p, q) for p, q in zip(one, other, strict=True)) / 2 for one, other in product(channel, channel)
    )


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("mechanism", sorted(QUERY_TYPES))
def test_no_guess_is_better_than_the_page_says(mechanism: str, epsilon: str) -> None:
    query: Query = QUESTIONS[mechanism]([0.0, 1.0, 2.0, 3.0, 4.0], Fraction(epsilon))
    channel = query.channel()
    said = best_guess(float(query.epsilon))
    exactly = 1 / (1 + math.exp(-float(query.epsilon)))
    assert on_average(channel) <= after_any_answer(channel) <= exactly * (1 + 1e-9)
    assert abs(said.right / said.people - exactly) <= 0.5 / said.people + 1e-9 or said.right == said.people - 1


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_question_with_one_cut_attains_it(epsilon: str) -> None:
    channel = Laplace(0, 1, 1, epsilon).channel()
    assert on_average(channel) == pytest.approx(1 / (1 + math.exp(-float(epsilon))), rel=1e-12)


@pytest.mark.parametrize(
    ("epsilon", "people", "right"),
    [(0.5, 100, 62), (1, 100, 73), (5, 100, 99), (0.01, 1_000, 502), (10, 100_000, 99_995), (50, 1_000_000, 999_999)],
)
def test_odds_tell_an_answer_from_none_and_from_certainty(epsilon: float, people: int, right: int) -> None:
    guess = best_guess(epsilon)
    assert (guess.people, guess.without, guess.right, guess.wrong) == (people, people // 2, right, people - right)
