"""Quantiles and shares read off the points of a distribution, against the normal posterior that they come from."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from dither_client.posterior.population import quantile_at, share_at
from dither_client.posterior.sentences import population_lines
from dither_client.posterior.wire import QUANTILES, Bands, DistributionSummary, ParameterSummary

CENTRE, SCALE, SD = 50.0, 10.0, 0.8
"""N(μ, `SCALE`²), where μ is N(`CENTRE`, `SD`²)."""
X = np.linspace(15, 85, 129)


def bands() -> Bands:
    quantiles = {
        name: tuple(stats.norm.cdf(X, CENTRE - SD * stats.norm.ppf(level), SCALE)) for name, level in QUANTILES.items()
    }
    return Bands(tuple(stats.norm.cdf(X, CENTRE, np.hypot(SCALE, SD))), **quantiles)


DISTRIBUTION = DistributionSummary(tuple(X), bands(), bands())


@pytest.mark.parametrize("level", [0.02, 0.1, 0.37, 0.5, 0.9])
def test_a_quantile_has_the_posterior_of_the_distribution_inverted(level: float) -> None:
    found = quantile_at(DISTRIBUTION, level)
    exact = CENTRE + SCALE * stats.norm.ppf(level)
    assert found.q50 == pytest.approx(exact, abs=0.05)
    assert found.sd == pytest.approx(SD, rel=0.02)
    assert found.interval(0.9) == pytest.approx((exact - 1.645 * SD, exact + 1.645 * SD), abs=0.05)
    assert found.interval(0.8) == pytest.approx((exact - 1.282 * SD, exact + 1.282 * SD), abs=0.1)


@pytest.mark.parametrize("x", [30.0, 50.0, 61.3])
def test_a_share_has_the_posterior_at_the_point(x: float) -> None:
    found = share_at(DISTRIBUTION, x)
    assert found.q50 == pytest.approx(stats.norm.cdf(x, CENTRE, SCALE), abs=1e-3)
    assert found.q95 == pytest.approx(stats.norm.cdf(x + 1.645 * SD, CENTRE, SCALE), abs=1e-3)


def test_beyond_the_points_a_share_is_that_of_the_outermost() -> None:
    assert share_at(DISTRIBUTION, -1e9).mean == DISTRIBUTION.cdf.mean[0]
    assert share_at(DISTRIBUTION, 1e9).mean == DISTRIBUTION.cdf.mean[-1]


def test_a_quantile_beyond_the_points_is_refused() -> None:
    with pytest.raises(ValueError, match="as the collection's goal"):
        quantile_at(DISTRIBUTION, 1e-4)


@pytest.mark.parametrize("level", [0, 1, -0.1, float("nan")])
def test_the_level_of_an_interval_is_a_share(level: float) -> None:
    with pytest.raises(ValueError, match="above 0 and below 1"):
        ParameterSummary(0, 1, -1.6, -0.7, 0, 0.7, 1.6).interval(level)


def test_the_sentences_round_to_what_is_known() -> None:
    quantiles = {level: quantile_at(DISTRIBUTION, level) for level in (0.1, 0.5, 0.9)}
    half, tails = population_lines(quantiles, DISTRIBUTION)
    assert half == "Half of the people have 50.0 or less (90% sure: 48.7 to 51.3)."
    assert tails.startswith("One in ten has 37.2 or less (35.9 to 38.5)")
    whole = replace(DISTRIBUTION, x=tuple(map(float, range(129))))
    assert population_lines(quantiles, whole)[0] == "Half of the people have 50 or less (90% sure: 49 to 51)."
    share = {1000.0: ParameterSummary(0.0712, 0.01, 0.055, 0.064, 0.071, 0.078, 0.088)}
    assert population_lines({}, None, above=share) == ["7.1% have more than 1,000 (90% sure: 5.5 to 8.8%)."]
    assert population_lines(quantiles, DISTRIBUTION, above=share)[2:] == population_lines({}, None, above=share)
    yes_or_no = replace(DISTRIBUTION, x=(0.0, 1.0))
    assert population_lines(quantiles, yes_or_no) == population_lines({}, DISTRIBUTION) == []
