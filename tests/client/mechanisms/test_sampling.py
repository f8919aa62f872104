"""The samplers against the exact channel: Pearson's chi-square over whole rows.

Every row of every channel below is one test, each at level `FAMILY / number of rows`, so the chance that any correct
sampler is rejected by all of them together is at most 1e-6; seeds are fixed, so the outcome never changes. The same
test, with the same number of draws, must reject each of the deliberately broken samplers.
"""

import math
import random
from collections import Counter
from collections.abc import Callable
from itertools import product

import pytest
from scipy.stats import chi2

from dither_client import Laplace, Query, RandomizedResponse
from dither_client.mechanisms.sampling import RandBelow, bernoulli_exp, discrete_laplace, system_randbelow

FAMILY = 1e-6
DRAWS = 2_000

EPSILONS = ("0.01", "0.5", "1.234567", "5", "20")
SMALL = [Laplace(0, 1, levels, epsilon) for levels, epsilon in product(range(1, 9), EPSILONS)]
CELLS = [RandomizedResponse(range(cells - 1), epsilon) for cells, epsilon in product(range(2, 13), EPSILONS)]
LARGE = [Laplace(0, 1, levels, epsilon) for levels, epsilon in product((64, 1024), ("0.5", "3", "20"))]
ROWS: list[tuple[Query, list[int]]] = [
    *((query, list(range(query.n_answers))) for query in SMALL + CELLS),
    *((query, [0, 1, query.levels // 3, query.levels]) for query in LARGE),
]
LEVEL = FAMILY / sum(len(cells) for _, cells in ROWS)

Sampler = Callable[[int, RandBelow], int]


def seeded(seed: str) -> RandBelow:
    return random.Random(seed).randrange


def p_value(expected: list[float], answers: list[int]) -> float:
    """Pearson's chi-square, neighbouring answers pooled until each class expects 10; 0 for an impossible answer."""
    if not all(0 <= answer < len(expected) for answer in answers):
        return 0.0
    counts = Counter(answers)
    classes: list[list[float]] = [[0.0, 0.0]]
    for answer, probability in enumerate(expected):
        if classes[-1][0] >= 10:
            classes.append([0.0, 0.0])
        classes[-1][0] += probability * len(answers)
        classes[-1][1] += counts[answer]
    if classes[-1][0] < 10 and len(classes) > 1:
        mean, count = classes.pop()
        classes[-1][0] += mean
        classes[-1][1] += count
    if len(classes) == 1:
        return 1.0
    return float(chi2.sf(sum((count - mean) ** 2 / mean for mean, count in classes), len(classes) - 1))


def row_p_value(query: Query, cell: int, sampler: Sampler, draws: int = DRAWS) -> float:
    randbelow = seeded(f"{query} {cell}")
    return p_value(query.channel()[cell], [sampler(cell, randbelow) for _ in range(draws)])


@pytest.mark.parametrize(("query", "cells"), ROWS, ids=lambda part: str(part)[:60])
def test_samplers_follow_the_channel(query: Query, cells: list[int]) -> None:
    for cell in cells:
        assert row_p_value(query, cell, query.sample) > LEVEL


def test_the_system_generator_follows_the_channel() -> None:
    """Unseeded: fails once in a million runs."""
    for query in (Laplace(0, 1, 3, "1.5"), RandomizedResponse([0, 1], "1.5")):
        for cell in range(query.n_answers):
            answers = [query.sample(cell, system_randbelow) for _ in range(DRAWS)]
            assert p_value(query.channel()[cell], answers) > FAMILY / 7


def wrong_scale(query: Laplace) -> Sampler:
    """Noise of scale 1/ε where it should be levels/ε."""

    def sample(cell: int, randbelow: RandBelow) -> int:
        noise = discrete_laplace(query.epsilon.numerator, query.epsilon.denominator, randbelow)
        return min(max(cell + noise, 0), query.levels)

    return sample


def root_two(query: Laplace) -> Sampler:
    """The papers' own program: the scale taken for a standard deviation, so the noise is √2 too small."""

    def sample(cell: int, randbelow: RandBelow) -> int:
        noise = discrete_laplace(round(math.sqrt(2) * 10_000 * query.epsilon), 10_000 * query.levels, randbelow)
        return min(max(cell + noise, 0), query.levels)

    return sample


def no_clip(query: Laplace) -> Sampler:
    """The last step left out."""

    def sample(cell: int, randbelow: RandBelow) -> int:
        return cell + discrete_laplace(query.epsilon.numerator, query.epsilon.denominator * query.levels, randbelow)

    return sample


def double_zero(query: Laplace) -> Sampler:
    """A geometric magnitude and a sign, with the second zero not rejected."""

    def sample(cell: int, randbelow: RandBelow) -> int:
        magnitude = 0
        while bernoulli_exp(query.epsilon.numerator, query.epsilon.denominator * query.levels, randbelow):
            magnitude += 1
        return min(max(cell + (magnitude if randbelow(2) else -magnitude), 0), query.levels)

    return sample


def modulo_bias(query: Query) -> Sampler:
    """Four random bits modulo n: the first `16 mod n` numbers come up more often."""

    def sample(cell: int, randbelow: RandBelow) -> int:
        return query.sample(cell, lambda n: randbelow(16) % n if n < 16 else randbelow(n))

    return sample


def inclusive(query: Query) -> Sampler:
    """Uniform numbers `0..n` in place of `0..n-1`."""

    def sample(cell: int, randbelow: RandBelow) -> int:
        return min(query.sample(cell, lambda n: randbelow(n + 1)), query.n_answers - 1)

    return sample


@pytest.mark.parametrize(
    "broken",
    [
        wrong_scale(Laplace(0, 1, 4, 1)),
        root_two(Laplace(0, 1, 4, 1)),
        no_clip(Laplace(0, 1, 4, 1)),
        double_zero(Laplace(0, 1, 4, 1)),
        modulo_bias(Laplace(0, 1, 4, "0.333333")),
        inclusive(Laplace(0, 1, 4, 1)),
    ],
    ids=["scale 1/ε", "scale / √2", "no final clip", "zero counted twice", "modulo bias", "off by one"],
)
def test_broken_laplace_samplers_are_rejected(broken: Sampler) -> None:
    query = Laplace(0, 1, 4, 1)
    assert min(row_p_value(query, cell, broken) for cell in range(query.n_answers)) < LEVEL


@pytest.mark.parametrize(
    "broken",
    [
        modulo_bias(RandomizedResponse(range(10), 1)),
        inclusive(RandomizedResponse(range(10), 1)),
        lambda cell, randbelow: RandomizedResponse(range(10), "1.414214").sample(cell, randbelow),
        lambda cell, randbelow: cell if randbelow(1000) < 632 else randbelow(11),
    ],
    ids=["modulo bias", "off by one", "ε √2 too large", "own cell with 1 - exp(-ε)"],
)
def test_broken_randomized_responses_are_rejected(broken: Sampler) -> None:
    query = RandomizedResponse(range(10), 1)
    assert min(row_p_value(query, cell, broken) for cell in range(query.n_answers)) < LEVEL


@pytest.mark.parametrize("query", [Laplace(0, 1, 2, 1), RandomizedResponse(range(10), 1)], ids=["laplace", "cells"])
def test_an_epsilon_a_tenth_too_large_is_seen(query: Query) -> None:
    """With forty thousand draws: two correct samplers at 1e-7 each, and two that are not."""
    spent_more = {Laplace: Laplace(0, 1, 2, "1.1"), RandomizedResponse: RandomizedResponse(range(10), "1.1")}[
        type(query)
    ]
    assert row_p_value(query, 0, query.sample, draws=40_000) > 1e-7
    assert row_p_value(query, 0, spent_more.sample, draws=40_000) < 1e-7


@pytest.mark.parametrize(("numerator", "denominator"), [(0, 1), (1, 1000), (1, 2), (1, 1), (5, 2), (7, 1)])
def test_bernoulli_exp(numerator: int, denominator: int) -> None:
    """Six tests at 1e-7 each."""
    randbelow = seeded(f"bernoulli {numerator} {denominator}")
    p = math.exp(-numerator / denominator)
    answers = [int(bernoulli_exp(numerator, denominator, randbelow)) for _ in range(20_000)]
    assert p_value([1 - p, p], answers) > 1e-7


@pytest.mark.parametrize(("numerator", "denominator"), [(1, 1), (1, 7), (3, 2), (40, 3)])
def test_discrete_laplace(numerator: int, denominator: int) -> None:
    """Four tests at 1e-7 each, of the noise before it is clipped."""
    randbelow = seeded(f"laplace {numerator} {denominator}")
    alpha, reach = math.exp(-numerator / denominator), 400
    law = [(1 - alpha) / (1 + alpha) * alpha ** abs(z) for z in range(-reach, reach + 1)]
    answers = [discrete_laplace(numerator, denominator, randbelow) + reach for _ in range(20_000)]
    assert p_value(law, answers) > 1e-7
