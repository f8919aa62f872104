"""Channels: their rows sum to 1 and their largest column ratio is e^ε, so the declared ε is the true one."""

import math
from fractions import Fraction
from itertools import product

import pytest

from dither_client import Laplace, Query, RandomizedResponse

EPSILONS = ["0.01", "0.1", "0.5", "1", "2", "5", "10", "20"]


def largest_ratio(channel: list[list[float]]) -> float:
    """The largest ratio of two probabilities of one answer, whatever the two values."""
    columns: list[tuple[float, ...]] = list(zip(*channel, strict=True))
    return max(max(column) / min(column) for column in columns)


LAPLACES = [Laplace(0, 1, levels, epsilon) for levels, epsilon in product([1, 2, 3, 4, 7, 8, 64, 100], EPSILONS)]
RANDOMIZED = [RandomizedResponse(range(cells - 1), epsilon) for cells, epsilon in product(range(2, 13), EPSILONS)]


@pytest.mark.parametrize("query", LAPLACES + RANDOMIZED + [Laplace(0, 1, 1024, 1), RandomizedResponse(range(1023), 1)])
def test_channels(query: Query) -> None:
    channel = query.channel()
    assert len(channel) == query.n_answers
    for row in channel:
        assert len(row) == query.n_answers
        assert math.fsum(row) == pytest.approx(1, rel=1e-12)
    assert largest_ratio(channel) == pytest.approx(math.exp(query.epsilon), rel=1e-12)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_one_level_is_randomized_response_over_two_cells(epsilon: str) -> None:
    threshold, response = Laplace(1, 2, 1, epsilon), RandomizedResponse([1.5], epsilon)
    assert threshold.edges == response.edges
    for row, other in zip(threshold.channel(), response.channel(), strict=True):
        assert row == pytest.approx(other, rel=1e-12)


def test_the_laplace_channel_is_clipped_geometric_noise() -> None:
    """The law of design 1, summed term by term from the untruncated noise."""
    levels, epsilon = 5, 1.5
    alpha = math.exp(-epsilon / levels)
    noise = {z: (1 - alpha) / (1 + alpha) * alpha ** abs(z) for z in range(-400, 401)}
    for level, row in enumerate(Laplace(0, 1, levels, "1.5").channel()):
        expected = [0.0] * (levels + 1)
        for z, probability in noise.items():
            expected[min(max(level + z, 0), levels)] += probability
        assert row == pytest.approx(expected, rel=1e-12)


def test_the_randomized_response_channel() -> None:
    own, other = math.e**2 / (math.e**2 + 3), 1 / (math.e**2 + 3)
    channel = RandomizedResponse([0, 1, 2], 2).channel()
    for cell, row in enumerate(channel):
        assert row == pytest.approx([own if answer == cell else other for answer in range(4)], rel=1e-12)


def test_a_wrong_channel_is_seen() -> None:
    """Noise that is √2 too small, as in the papers' own program, is √2 ε-private: the ratio gives it away."""
    weaker = Laplace(0, 1, 4, Fraction(1_414_214, 1_000_000))
    assert largest_ratio(weaker.channel()) > math.e * 1.5
