"""Gaussian noise: its ε by enumeration, its ρ by every Rényi divergence, its sampler, and what is refused.

The oracle writes the clipped channel out from its definition, term by term, with 90 digits; nothing is left out that
could matter to 60 of them.
"""

import math
from collections import Counter
from collections.abc import Callable
from decimal import ROUND_CEILING, Context, Decimal, Inexact, localcontext
from fractions import Fraction
from functools import cache
from itertools import pairwise, product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from dither_client import Gaussian, InvalidQuery, RandomizedResponse, gaussian_epsilon, gaussian_rho, parse_query
from dither_client.mechanisms.gaussian_epsilon import clipped_epsilon, tail_bounds
from dither_client.mechanisms.sampling import bernoulli_exp, discrete_gaussian, discrete_laplace
from tests.client.mechanisms.test_sampling import Sampler, p_value, row_p_value, seeded

MICRO = Decimal("0.000001")
EXACT = Context(prec=90)
GRID = [
    *product([1, 2, 3, 4], map(Fraction, ["0.001", "0.1", "0.5", "1", "2.5", "7", "20", "49.9"])),
    *product([8, 64], map(Fraction, ["0.1", "1", "5", "20"])),
    (1, Fraction("0.00001")),
    (7, Fraction("3.0625")),  # on the border of the two ways to sum all weights
    (7, Fraction("3.062499")),
]


@cache
def truth(levels: int, rho: Fraction) -> list[list[Decimal]]:
    """The clipped channel: every weight of the noise, one by one, in the row's own order."""
    rate = EXACT.divide(rho.numerator, EXACT.multiply(rho.denominator, levels**2))
    weights = [Decimal(1)]
    while weights[-1] > Decimal("1e-80") or len(weights) <= levels:
        weights.append(EXACT.exp(EXACT.minus(EXACT.multiply(rate, len(weights) ** 2))))
    total = sum_of([*weights, *weights[1:]])
    tails = [sum_of(weights[distance:]) for distance in range(levels + 1)]
    return [
        [
            EXACT.divide(
                tails[level] if answer == 0 else tails[levels - level] if answer == levels else
                weights[abs(level - answer)],
                total,
            )
            for answer in range(levels + 1)
        ]
        for level in range(levels + 1)
    ]  # fmt: skip


def sum_of(numbers: list[Decimal]) -> Decimal:
    total = Decimal(0)
    for number in sorted(numbers):
        total = EXACT.add(total, number)
    return total


def true_epsilon(levels: int, rho: Fraction) -> Decimal:
    """The largest log ratio in any column of the whole channel."""
    return max(EXACT.ln(EXACT.divide(max(column), min(column))) for column in zip(*truth(levels, rho), strict=True))


def sound(bound: Callable[[int, Fraction], Fraction]) -> bool:
    """Whether a bound of ε is never below the truth, and never above it by more than 2e-6, over the grid."""
    for levels, rho in GRID:
        found, true = bound(levels, rho), true_epsilon(levels, rho)
        excess = EXACT.subtract(EXACT.divide(found.numerator, found.denominator), true)
        if not 0 <= excess <= 2 * MICRO:
            return False
    return True


def test_the_bound_is_above_the_enumerated_epsilon_and_near_it() -> None:
    assert sound(gaussian_epsilon)


def nearest(levels: int, rho: Fraction) -> Fraction:
    """Rounded to the nearest micro-ε."""
    return Fraction(round(clipped_epsilon(levels, rho).upper / MICRO), 10**6)


def truncated(levels: int, rho: Fraction) -> Fraction:
    """Tails that end at three standard deviations."""
    rate, reach = float(rho) / levels**2, levels + math.ceil(3 * levels / math.sqrt(2 * rho))
    first, last = (sum(math.exp(-rate * z * z) for z in range(start, reach)) for start in (0, levels))
    return Fraction(math.ceil(math.log(first / last) * 1e6), 10**6)


def inner_answers(levels: int, rho: Fraction) -> Fraction:
    """The answers between the ends alone."""
    return Fraction(math.ceil(rho * Fraction((levels - 1) ** 2, levels**2) * 10**6), 10**6)


def unclipped(levels: int, rho: Fraction) -> Fraction:
    """ρ itself, as if the ratio at the end were that of two single weights."""
    return rho


@pytest.mark.parametrize("broken", [nearest, truncated, inner_answers, unclipped])
def test_a_broken_bound_is_seen(broken: Callable[[int, Fraction], Fraction]) -> None:
    assert not sound(broken)


@pytest.mark.parametrize(("levels", "rho"), GRID)
def test_every_interval_holds_the_truth(levels: int, rho: Fraction) -> None:
    tails, total = tail_bounds(levels, rho)
    rows = truth(levels, rho)
    for distance, tail in enumerate(tails):
        assert EXACT.divide(tail.lower, total.upper) < rows[distance][0] < EXACT.divide(tail.upper, total.lower)
        assert tail.upper - tail.lower < Decimal("1e-30") * tail.lower
    epsilon = clipped_epsilon(levels, rho)
    assert epsilon.lower < true_epsilon(levels, rho) < epsilon.upper
    assert epsilon.upper - epsilon.lower < Decimal("1e-30")


@pytest.mark.parametrize(("levels", "rho"), [(1024, "0.000001"), (1024, "1"), (1024, "49"), (1000, "0.03")])
def test_the_end_answers_have_the_largest_ratio(levels: int, rho: str) -> None:
    """Every column of the finest channels, by the bounds of its largest and of its smallest entry."""
    tails, _ = tail_bounds(levels, Fraction(rho))
    weights = [
        (EXACT.subtract(here.lower, after.upper), EXACT.subtract(here.upper, after.lower))
        for here, after in pairwise(tails)
    ]
    end = EXACT.divide(tails[0].lower, tails[levels].upper)
    assert all(EXACT.divide(weights[0][1], weights[max(s, levels - s)][0]) < end for s in range(1, levels))
    assert gaussian_epsilon(levels, Fraction(rho)) >= Fraction(math.log(end))


def test_the_callers_decimal_context_does_not_matter() -> None:
    expected = clipped_epsilon(5, Fraction(1, 3)), Gaussian(0, 1, 5, "0.3", 2).channel()
    with localcontext() as context:
        context.prec, context.rounding, context.traps[Inexact] = 3, ROUND_CEILING, True
        assert (clipped_epsilon(5, Fraction(1, 3)), Gaussian(0, 1, 5, "0.3", 2).channel()) == expected


@pytest.mark.parametrize(("levels", "rho"), GRID)
def test_a_query_must_charge_its_epsilon(levels: int, rho: Fraction) -> None:
    least = gaussian_epsilon(levels, rho)
    if least > 50:
        with pytest.raises(InvalidQuery, match="epsilon must be at least"):
            Gaussian(0, 1, levels, rho, 50)
        return
    assert Gaussian(0, 1, levels, rho, least).epsilon == least
    with pytest.raises(InvalidQuery, match="epsilon must be at least"):
        Gaussian(0, 1, levels, rho, least - Fraction(1, 10**6))


@pytest.mark.parametrize(
    ("levels", "epsilon"), list(product([1, 2, 5, 64, 1024], map(Fraction, ["0.002", "0.5", "1", "10", "50"])))
)
def test_the_largest_rho_of_an_epsilon(levels: int, epsilon: Fraction) -> None:
    rho = gaussian_rho(levels, epsilon)
    assert gaussian_epsilon(levels, rho) <= epsilon
    if rho < 50:
        assert gaussian_epsilon(levels, rho + Fraction(1, 10**6)) > epsilon


def test_an_epsilon_below_every_rho() -> None:
    with pytest.raises(InvalidQuery, match="too small for gaussian noise"):
        gaussian_rho(1, Fraction(1, 1000))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rho": 0}, "rho must be above 0"),
        ({"rho": "0.1234567"}, "rho must have at most six decimals"),
        ({"rho": 51}, "rho must be above 0 and at most 50"),
        ({"rho": float("nan")}, "rho must be"),
        ({"rho": None}, "rho must be a number"),
        ({"epsilon": 51}, "epsilon must be at most 50"),
        ({"levels": 1025}, "levels must be 1 to 1024"),
        ({"levels": 2.0}, "levels must be an integer"),
        ({"low": 1}, "low must be below high"),
        ({"cuts": [1]}, "a gaussian query has exactly the fields"),
    ],
)
def test_refused_queries(change: dict[str, Any], message: str) -> None:
    wire = {"mechanism": "gaussian", "low": 0, "high": 1, "levels": 4, "rho": 1, "epsilon": 2, "transform": "identity"}
    assert parse_query(wire) == Gaussian(0, 1, 4, 1, 2)
    with pytest.raises(InvalidQuery, match=message):
        parse_query({**wire, **change})


def test_what_makes_two_questions_one() -> None:
    query = Gaussian(0, 1, 3, "0.25", "1.5", "log")
    assert parse_query(query.to_json()) == query
    others = [Gaussian(0, 1, 3, "0.26", "1.5", "log"), Gaussian(0, 1, 2, "0.25", "1.5", "log")]
    assert len({query.id, *(other.id for other in others)}) == 3
    assert len({query.channel_key, *(other.channel_key for other in others)}) == 3
    assert Gaussian(-5, 9, 3, "0.25", 2).channel_key == query.channel_key


@pytest.mark.parametrize(("levels", "rho"), GRID)
def test_channels(levels: int, rho: Fraction) -> None:
    epsilon = gaussian_epsilon(levels, rho)
    if epsilon > 50:
        return
    channel = Gaussian(0, 1, levels, rho, epsilon).channel()
    for row, exact in zip(channel, truth(levels, rho), strict=True):
        assert math.fsum(row) == pytest.approx(1, rel=1e-14)
        assert row == pytest.approx([float(entry) for entry in exact], rel=1e-15)


@pytest.mark.parametrize("epsilon", ["0.01", "0.5", "1", "5", "20"])
def test_one_level_is_randomized_response(epsilon: str) -> None:
    """Up to the six decimals of ρ."""
    gaussian = Gaussian(0, 1, 1, gaussian_rho(1, Fraction(epsilon)), epsilon)
    response = RandomizedResponse([0.5], epsilon)
    assert gaussian.edges == response.edges
    for row, other in zip(gaussian.channel(), response.channel(), strict=True):
        assert row == pytest.approx(other, rel=1e-4)


ORDERS = np.concatenate([[1 + 1e-6, 1.01, 1.1, 1.5], np.arange(2.0, 51.0)])


def largest_renyi(channel: list[list[float]]) -> npt.NDArray[np.float64]:
    """The largest Rényi divergence of two rows at each of `ORDERS`, over its order: at most ρ if rows are ρ-zCDP."""
    logs = np.log(np.array(channel))
    largest = []
    for order in ORDERS:
        exponents = order * logs[:, None] - (order - 1) * logs[None]
        peak = exponents.max(axis=2, keepdims=True)
        sums = np.log(np.exp(exponents - peak).sum(axis=2)) + peak[:, :, 0]
        largest.append(float(sums.max()) / (order - 1) / order)
    return np.array(largest)


@pytest.mark.parametrize(
    ("levels", "rho"), list(product([1, 2, 3, 4, 8, 64], ["0.001", "0.1", "0.5", "1", "2.5", "7", "20", "40"]))
)
def test_every_renyi_divergence_is_within_rho(levels: int, rho: str) -> None:
    """All pairs of levels, all orders; rounding near order 1 is at most 1e-9."""
    query = Gaussian(0, 1, levels, rho, 50)
    assert (largest_renyi(query.channel()) <= float(query.rho) + 1e-9).all()


def test_noise_of_half_the_variance_is_beyond_rho() -> None:
    twice = Gaussian(0, 1, 3, 40, 50)
    assert largest_renyi(twice.channel()).max() > 20 * 1.5


FAMILY = 1e-6
SAMPLED = [
    Gaussian(0, 1, levels, rho, 50)
    for levels, rho in product([1, 2, 4, 8], ["0.001", "0.123456", "1", "20"])
]  # fmt: skip
LARGE = [Gaussian(0, 1, levels, rho, 50) for levels, rho in product([64, 1024], ["0.01", "20"])]
ROWS = [(query, sorted({0, 1, query.levels // 2, query.levels})) for query in SAMPLED + LARGE]
LEVEL = FAMILY / sum(len(cells) for _, cells in ROWS)


@pytest.mark.parametrize(("query", "cells"), ROWS, ids=lambda part: str(part)[:60])
def test_samplers_follow_the_channel(query: Gaussian, cells: list[int]) -> None:
    for cell in cells:
        assert row_p_value(query, cell, query.sample) > LEVEL


def with_noise(query: Gaussian, noise: Callable[[Callable[[int], int]], int]) -> Sampler:
    return lambda cell, randbelow: min(max(cell + noise(randbelow), 0), query.levels)


QUERY = Gaussian(0, 1, 4, 1, 2)  # σ² = 8
BROKEN: dict[str, Sampler] = {
    "σ² of levels²/ρ": with_noise(QUERY, lambda randbelow: discrete_gaussian(16, 1, randbelow)),
    "σ in place of σ²": with_noise(QUERY, lambda randbelow: discrete_gaussian(2828, 1000, randbelow)),
    "σ a tenth too small": with_noise(QUERY, lambda randbelow: discrete_gaussian(648, 100, randbelow)),
    "the proposal itself": with_noise(QUERY, lambda randbelow: discrete_laplace(1, 3, randbelow)),
    "no final clip": lambda cell, randbelow: cell + QUERY.noise(randbelow),
    "accepted by the law of the noise": with_noise(QUERY, lambda randbelow: wrongly_accepted(randbelow)),
}


def wrongly_accepted(randbelow: Callable[[int], int]) -> int:
    while True:
        proposal = discrete_laplace(1, 3, randbelow)
        if bernoulli_exp(proposal**2, 8, randbelow):
            return proposal


def worst(sampler: Sampler) -> float:
    """The smallest p-value at an end level and at an inner one, with ten thousand draws each."""
    return min(row_p_value(QUERY, cell, sampler, 10_000) for cell in (0, 2))


def test_the_sampler_passes_what_broken_ones_fail() -> None:
    assert worst(QUERY.sample) > LEVEL


@pytest.mark.parametrize("broken", BROKEN.values(), ids=list(BROKEN))
def test_broken_samplers_are_rejected(broken: Sampler) -> None:
    assert worst(broken) < LEVEL


@pytest.mark.parametrize(("numerator", "denominator"), [(1, 8), (1, 1), (8, 1), (35, 4), (1000, 7)])
def test_discrete_gaussian(numerator: int, denominator: int) -> None:
    """Five tests at 1e-7 each, of the noise before it is clipped."""
    randbelow = seeded(f"gaussian {numerator} {denominator}")
    reach = 100
    law = np.exp(-(np.arange(-reach, reach + 1.0) ** 2) * denominator / (2 * numerator))
    answers = [discrete_gaussian(numerator, denominator, randbelow) + reach for _ in range(10_000)]
    assert p_value((law / law.sum()).tolist(), answers) > 1e-7
    assert Counter(answers)[reach] > 0
