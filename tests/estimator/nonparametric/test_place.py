"""Atoms as long as the place of the other values is sought, against quadrature over all that is unknown."""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from benchmarks.any_distribution import answers, learner_on
from dither_client import RandomizedResponse
from dither_estimator.families import FloatArray
from dither_estimator.likelihood.counts import Counts
from dither_estimator.nonparametric import place, tiles
from dither_estimator.nonparametric.deviations import BINS
from dither_estimator.nonparametric.place import find_place
from dither_estimator.nonparametric.posterior import estimate_distribution
from dither_estimator.nonparametric.support import ANYWHERE, Support

AT_ZERO = Support(atoms=(0.0,))
BEFORE_ZERO = math.nextafter(0.0, -math.inf)
CUTS = (-1.5, BEFORE_ZERO, 0.0, 1.5)
LEVELS = np.array([0.05, 0.25, 0.5, 0.75, 0.95])


def thresholds(below: Sequence[float], people: int, epsilon: Fraction) -> Counts:
    """As many answers as are expected where these shares of the people are at or below each of `CUTS`."""
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    lows = [round(people * (share * truth + (1 - share) * (1 - truth))) for share in below]
    return {
        RandomizedResponse((cut,), epsilon): np.array([low, people - low]) for cut, low in zip(CUTS, lows, strict=True)
    }


def by_quadrature(counts: Counts) -> FloatArray:
    """Quantiles of the share of people at 0, at `LEVELS`: by the trapezoidal rule in place, log scale and log odds."""
    places, log_scales = np.linspace(-40.0, 40.0, 401), np.linspace(-25.0, 25.0, 126)
    logits = np.linspace(-10.0, 10.0, 201)
    place, log_scale = (grid[..., np.newaxis] for grid in np.meshgrid(places, log_scales))
    share = 1 / (1 + np.exp(-logits))
    height = -1.5 * (np.log1p((place / 5) ** 2 / 2) + np.log1p(((log_scale - 1) / 4) ** 2 / 2)) - logits**2 / 8
    for query, row in counts.items():
        z = ((query.edges[0] - np.sinh(place)) / np.exp(log_scale)).clip(-1e100, 1e100)
        cdf = 0.5 + 0.5 * z / np.sqrt(2 + z * z)
        low = share * (query.edges[0] >= 0) + (1 - share) * cdf
        low = low * query.channel()[0][0] + (1 - low) * query.channel()[1][0]
        height = height + row[0] * np.log(low) + row[1] * np.log(1 - low)
    weights = np.exp(height - height.max()).sum(axis=(0, 1))
    return np.interp(LEVELS, (np.cumsum(weights) - weights / 2) / weights.sum(), share)


@pytest.mark.parametrize(
    ("below", "people", "epsilon"),
    [
        ((0.0, 0.0, 1.0, 1.0), 15, Fraction(1, 2)),
        ((0.05, 0.1, 0.9, 0.95), 60, Fraction(1)),
        ((0.05, 0.45, 0.55, 0.95), 60, Fraction(1)),
    ],
    ids=["everybody at it", "most", "few"],
)
def test_shares_of_an_atom_are_those_of_quadrature(below: Sequence[float], people: int, epsilon: Fraction) -> None:
    """Whether people are at an atom or close to it is not known apart from where the others are.

    From seed to seed quantiles differ by 0.015, and by 0.05 from those of quadrature; by 0.08 less than once in a
    million times. If the two are taken apart, the first case says 0.45 for 0.125, and the others are off by 0.11.
    """
    counts = thresholds(below, people, epsilon)
    place = find_place(counts, AT_ZERO)
    masses = place.masses(np.random.default_rng(7), place.base(), BINS, 4_000)
    assert np.quantile(masses[:, BINS], LEVELS) == pytest.approx(by_quadrature(counts), abs=0.08)


def asked_at_all_orders(unit: float, powers: range) -> Counts:
    """As many answers as are expected of N(u, (0.3 u)²) at these powers of ten and about u."""
    far = [sign * 10.0**power for power in powers for sign in (-1, 1)]
    near = (unit * np.linspace(-1.5, 3.5, 61)).tolist()
    truth = math.e / (1 + math.e)
    shares = {cut: stats.norm.cdf(cut, unit, 0.3 * unit) for cut in (*far, *near)}
    lows = {cut: round(40 * (share * truth + (1 - share) * (1 - truth))) for cut, share in shares.items()}
    return {RandomizedResponse((cut,), 1): np.array([low, 40 - low]) for cut, low in lows.items()}


@pytest.mark.parametrize("unit", [1e-6, 1e-9, 1e-12, 1e-30])
def test_a_population_of_tiny_numbers_is_found(unit: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """People are N(u, (0.3 u)²), and are asked at all orders of magnitude: within a tenth of u and half of the scale.

    Where the only tiles of such scales are those of all down to nothing, everybody is taken to have one number.
    """
    counts = asked_at_all_orders(unit, range(math.ceil(math.log10(unit)) + 1, 8))
    location, log_scale = find_place(counts, ANYWHERE).middle
    assert location / unit == pytest.approx(1, abs=0.1)
    assert math.exp(log_scale) / unit == pytest.approx(0.2, rel=0.5)
    monkeypatch.setattr(tiles, "_tiny_scales", lambda prior, asked: np.empty(0))
    assert math.exp(find_place(counts, ANYWHERE).middle[1]) / unit < 0.01


@pytest.mark.parametrize("unit", [1e11, 1e13, 1e18])
def test_a_population_of_huge_numbers_is_found(unit: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same above. Where all larger scales are one row of tiles its likelihood is that of its middle, e^131."""
    counts = asked_at_all_orders(unit, range(-3, math.ceil(math.log10(unit)) + 2))
    location, log_scale = find_place(counts, ANYWHERE).middle
    assert location / unit == pytest.approx(1, abs=0.1)
    assert math.exp(log_scale) / unit == pytest.approx(0.2, rel=0.5)
    monkeypatch.setattr(tiles, "_huge_scales", lambda prior, asked: np.empty(0))
    assert not 0.1 < math.exp(find_place(counts, ANYWHERE).middle[1]) / unit < 0.3


def first_answers(rng: np.random.Generator, people: FloatArray, support: Support) -> Counts:
    """Answers at ε = 1 of people who are asked as a collection asks."""
    learner = learner_on(support, "1", 1)
    while learner.answers < len(people):
        queries = learner.pool()
        learner.learn_counts(answers(rng, queries, people[learner.answers : int(learner.renew_at)]))
    return learner.counts


@pytest.mark.parametrize("broken", [False, True])
def test_a_place_far_from_a_bound_is_looked_at_closely(broken: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A minimum of -10,000 beside N(5, 2²): after ten rounds of halving tiles may still be too wide."""
    if broken:
        monkeypatch.setattr(place, "_MAX_ROUNDS", 10)
    rng, support, x = np.random.default_rng(14), Support(minimum=-1e4), np.linspace(2, 8, 13)
    found = estimate_distribution(rng, first_answers(rng, rng.normal(5, 2, 1_500), support), support)
    assert (np.abs(found.cdf(x).mean - stats.norm(5, 2).cdf(x)).max() > 0.2) == broken


def test_what_answers_do_not_tell_of_a_bound_is_as_unknown_as_before() -> None:
    """As long as they tell next to nothing, the share of the people at it has its prior, however many there are."""
    support, rng = Support(minimum=0.0), np.random.default_rng(1)
    inverse = np.linalg.inv(support.log_odds_root)
    for people in (0, 100, 270):
        values = np.where(rng.random(people) < 0.3, 0.0, rng.lognormal(4, 1, people))
        assert find_place(first_answers(rng, values, support), support).precision == pytest.approx(inverse.T @ inverse)
