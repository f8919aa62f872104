"""Every mechanism's ε by enumeration of its exact law, in decimals rounded outwards.

Proved of the law that `Query.sample` draws from, in integers and without an approximation (`test_sampling.py` holds
the draws against the channel): its rows sum to 1, and no answer is more than `e^ε` times as probable from one value as
from another. `Query.channel()` is that law in floating point, for the estimator; it is shown to be within 1e-12 of the
law, and nobody's privacy hangs on it.
"""

from decimal import Decimal
from fractions import Fraction

import pytest
from exact_channels import EXACT_CHANNELS, Interval, exact_channel, exponential, largest_ratio
from hypothesis import given, settings
from hypothesis import strategies as st
from questions import QUESTIONS

from dither_client import Laplace, Query
from dither_client.mechanisms.registry import QUERY_TYPES

WIDTH = Decimal("1e-40")
MICRO = Fraction(1, 1_000_000)
EXTREMES = [MICRO, Fraction(1), Fraction(20), Fraction(50)]
TIGHT = ("grouped_randomized_response", "laplace", "randomized_response")
"""Mechanisms whose ε is their law's, and not only a bound on it."""

epsilons = st.one_of(st.sampled_from(EXTREMES), st.integers(1, 50_000_000).map(lambda micro: micro * MICRO))


def is_private(query: Query, epsilon: Fraction) -> bool:
    """Whether the exact law is ε-private: proved, to within the intervals' width."""
    ratio, allowed = largest_ratio(exact_channel(query)), exponential(epsilon)
    assert max(ratio.width, allowed.width) < WIDTH
    return ratio.low <= allowed.high


def check(query: Query) -> None:
    exact, rounded = exact_channel(query), query.channel()
    for row, floats in zip(exact, rounded, strict=True):
        total = sum(row[1:], row[0])
        assert 1 in total
        assert total.width < WIDTH
        for probability, number in zip(row, floats, strict=True):
            assert abs(Decimal(number) / probability.low - 1) < Decimal("1e-12")
    assert is_private(query, query.epsilon)


def test_every_mechanism_has_an_exact_law() -> None:
    assert set(QUERY_TYPES) <= set(EXACT_CHANNELS), "write the law of the new mechanism into exact_channels.py"
    assert set(QUERY_TYPES) <= set(QUESTIONS), "write a question of the new mechanism into questions.py"


@pytest.mark.parametrize("mechanism", sorted(QUERY_TYPES))
@settings(deadline=None, max_examples=40, derandomize=True)
@given(epsilon=epsilons, points=st.lists(st.integers(-200, 200), min_size=2, max_size=20, unique=True))
def test_channels_are_as_private_as_they_say(mechanism: str, epsilon: Fraction, points: list[int]) -> None:
    check(QUESTIONS[mechanism](sorted(map(float, points)), epsilon))


@pytest.mark.parametrize("mechanism", sorted(QUERY_TYPES))
@pytest.mark.parametrize("epsilon", EXTREMES, ids=str)
def test_many_levels(mechanism: str, epsilon: Fraction) -> None:
    points = 31 if mechanism == "staircase" else 101
    check(QUESTIONS[mechanism](list(map(float, range(points))), epsilon))


@pytest.mark.parametrize("mechanism", TIGHT)
@settings(deadline=None, max_examples=40, derandomize=True)
@given(epsilon=epsilons, cuts=st.integers(2, 12))
def test_an_understated_epsilon_is_seen(mechanism: str, epsilon: Fraction, cuts: int) -> None:
    """A millionth too little is seen: the least difference that can be written on the wire."""
    query = QUESTIONS[mechanism](list(map(float, range(cuts))), epsilon)
    assert not is_private(query, epsilon - MICRO)
    assert is_private(query, epsilon + MICRO)


def test_a_law_that_is_wrong_in_the_last_place_is_seen() -> None:
    """A row that adds up to 1 in floating point does not in these intervals."""
    row = [Interval.of(Fraction(number)) for number in Laplace(0, 1, 5, "0.7").channel()[2]]
    assert 1 not in sum(row[1:], row[0])


def test_intervals_enclose() -> None:
    """e by its series, with a bound on the rest: `Σ_{k ≤ 60} 1/k!` is less than e, by less than `2/61!`."""
    term, series = Fraction(1), Fraction(1)
    for k in range(1, 61):
        term /= k
        series += term
    assert Fraction(exponential(Fraction(1)).low) <= series + 2 * term / 61
    assert series <= Fraction(exponential(Fraction(1)).high)
    third = Interval.of(Fraction(1, 3))
    assert Fraction(1, 3) in third
    assert Fraction(1, 9) in third * third
    assert 1 in third / third
    assert Fraction(2, 3) in Interval.of(1) - third
    assert Fraction(third.low) < Fraction(1, 3) < Fraction(third.high)
    assert Fraction(1, 3) in exponential(Fraction(0)) * third
