"""Quantiles and shares read off the points of a distribution, against the normal posterior that they come from."""

import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dither_client.posterior.digits import population_rows
from dither_client.posterior.names import distribution_name
from dither_client.posterior.particles import Particles
from dither_client.posterior.population import quantile_at, share_at
from dither_client.posterior.posterior import Posterior
from dither_client.posterior.sentences import category_lines, population_lines
from dither_client.posterior.wire import QUANTILES, Bands, DistributionSummary, ParameterSummary


def posterior() -> Posterior:
    return Posterior("wages", {}, [], 0, 1.0, None, "", lambda: Particles((), (), ()))


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


def test_beyond_the_points_a_share_is_bounded_by_that_of_the_outermost() -> None:
    """Those are 15 and 85."""
    known = replace(posterior(), distribution=DISTRIBUTION)
    for x in (85.1, 120, 1e9):
        found, above = known.cdf(x), known.share_above(x)
        assert (found.interval(0.9), found.interval(0.5)) == ((bands().q05[-1], 1), (bands().q25[-1], 1))
        assert above.interval(0.9) == (0, 1 - bands().q05[-1])
        assert above.interval(0.9)[1] > stats.norm.sf(x, CENTRE, SCALE)
        assert (found.mean, above.mean) == pytest.approx((bands().mean[-1], 1 - bands().mean[-1]))
    for x in (14.9, 0, -1e9):
        assert (known.cdf(x).interval(0.9), known.cdf(x).interval(0.5)) == ((0, bands().q95[0]), (0, bands().q75[0]))
        assert known.share_above(x).interval(0.9) == (1 - bands().q95[0], 1)
        assert known.cdf(x).mean == bands().mean[0]
    assert [known.cdf(x).mean for x in (15, 85)] == [bands().mean[0], bands().mean[-1]]
    assert [known.cdf(x).interval(0.9) for x in (-math.inf, math.inf)] == [(0, 0), (1, 1)]


def test_a_share_that_the_goal_names_is_exact_beyond_the_points() -> None:
    named = ParameterSummary(3e-5, 1e-5, 1e-5, 2e-5, 3e-5, 4e-5, 5e-5)
    known = replace(posterior(), distribution=DISTRIBUTION, above={100.0: named})
    assert known.share_above(100) == named
    assert known.share_above(101).mean == pytest.approx(1 - bands().mean[-1])


def test_where_nobody_is_beyond_the_points_a_share_is_exact() -> None:
    """The points of people between bounds of 20 and 80, at which there may be some."""
    at_bounds = DistributionSummary(
        (math.nextafter(20, 0), 20.0, math.nextafter(80, 0), 80.0), *[Bands(*[(0.0, 0.1, 0.95, 1.0)] * 6)] * 2
    )
    assert [share_at(at_bounds, x) for x in (-1e9, 19.9)] == [ParameterSummary(0, 0, *[0.0] * 5)] * 2
    assert [share_at(at_bounds, x) for x in (80.1, 1e9)] == [ParameterSummary(1, 0, *[1.0] * 5)] * 2


def test_a_quantile_beyond_the_points_is_refused() -> None:
    with pytest.raises(ValueError, match="as the collection's goal"):
        quantile_at(DISTRIBUTION, 1e-4)


@pytest.mark.parametrize("level", [0, 1, -0.1, float("nan")])
def test_the_level_of_an_interval_is_a_share(level: float) -> None:
    with pytest.raises(ValueError, match="above 0 and below 1"):
        ParameterSummary(0, 1, -1.6, -0.7, 0, 0.7, 1.6).interval(level)


def test_a_family_is_called_what_its_distribution_is() -> None:
    assert [distribution_name("normal", scale) for scale in ("identity", "log")] == ["normal", "lognormal"]
    assert distribution_name("student_t:4", "log") == "log Student t with 4 degrees of freedom"
    assert distribution_name("gamma", "identity") == "gamma"


def test_the_sentences_round_to_what_is_known() -> None:
    quantiles = {level: quantile_at(DISTRIBUTION, level) for level in (0.1, 0.5, 0.9)}
    half, tails, _ = population_lines(quantiles, DISTRIBUTION)
    assert half == "Half of the people have 50.0 or less (90% sure: 48.7 to 51.3)."
    assert tails.startswith("One in ten has 37.2 or less (35.9 to 38.5)")
    whole = replace(DISTRIBUTION, x=tuple(map(float, range(129))))
    assert population_lines(quantiles, whole)[0] == "Half of the people have 50 or less (90% sure: 49 to 51)."
    share = {1000.0: ParameterSummary(0.0712, 0.01, 0.055, 0.064, 0.071, 0.078, 0.088)}
    assert population_lines({}, None, above=share) == ["7.1% have more than 1,000 (90% sure: 5.5 to 8.8%)."]
    assert population_lines(quantiles, DISTRIBUTION, above=share)[3:] == population_lines({}, None, above=share)
    average = ParameterSummary(52.04, 1.0, 50.3, 51.4, 52.0, 52.6, 53.7)
    assert population_lines(quantiles, DISTRIBUTION, unit="€", mean_value=average)[2:] == [
        "The average is 52.0 € (50.3 to 53.7)."
    ]
    told = population_lines(quantiles, DISTRIBUTION, decimals=0, mean_value=average)
    assert told[0].startswith("Half of the people have 50 or less")
    assert told[2] == "The average is 52.0 (50.3 to 53.7)."  # of whole numbers, but none itself
    rows = {row[0]: row[1:] for row in population_rows(quantiles, average, decimals=0)}
    assert rows["quantile_0.5"][0] == "50"
    assert rows["mean_value"] == ("52.0", "1", "50.3 to 53.7")
    yes_or_no = replace(DISTRIBUTION, x=(0.0, 1.0))
    assert population_lines(quantiles, yes_or_no) == population_lines({}, DISTRIBUTION) == []


def test_where_there_is_no_average_it_is_said_why() -> None:
    """Not of zeros and ones, and where nothing is told of quantiles either."""
    quantiles = {level: quantile_at(DISTRIBUTION, level) for level in (0.1, 0.5, 0.9)}
    untold = "The average is not told: it rests on the few lowest or highest values, of which answers say little, or "
    assert population_lines(quantiles, DISTRIBUTION)[2:] == [f"{untold}does not exist."]
    known = replace(posterior(), answers=300, quantiles=quantiles, distribution=DISTRIBUTION)
    assert untold in known.text()
    average = ParameterSummary(52.04, 1.0, 50.3, 51.4, 52.0, 52.6, 53.7)
    assert untold not in replace(known, mean_value=average).text()
    assert untold not in replace(known, distribution=None).text()


def test_of_many_atoms_the_most_frequent_are_told_in_the_order_of_their_values() -> None:
    shares = {"1": 0.02, "2": 0.05, "3": 0.01, "4": 0.04}
    atoms = {atom: ParameterSummary(x, 0.01, x - 0.01, x, x, x, x + 0.01) for atom, x in shares.items()}
    lines = population_lines({}, None, atoms, most_atoms=2)
    assert lines == ["5.0% have exactly 2 (4.0 to 6.0%).", "4.0% have exactly 4 (3.0 to 5.0%)."]
    assert len(population_lines({}, None, atoms)) == 4


def test_where_nearly_everybody_has_0_there_is_more_than_a_yes_or_no() -> None:
    """The points of people from 0 on who all have 0, as a collection without a family has them."""
    everybody = DistributionSummary((math.nextafter(0, -1), 0.0), *[Bands(*[(0.0, 0.99)] * 6)] * 2)
    zero = ParameterSummary(0, 0, *[0.0] * 5)
    quantiles = dict.fromkeys((0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95), zero)
    assert population_lines(quantiles, everybody, unit="€", mean_value=zero) == [
        "Nearly everybody has 0 € (90% sure: nine in ten or more).",
        "The average is 0 € (0).",
    ]
    known = replace(posterior(), answers=300, quantiles=quantiles, distribution=everybody, mean_value=zero)
    told = known.text()
    assert "Half have at most" in told
    assert "have 1" not in told


ATOM = 450.5
LEFT, AT = 0.18, 0.5
"""Below the atom and with it."""


def with_a_jump() -> DistributionSummary:
    """Uniform on 400 to 500, but 32% have `ATOM`; the band is two hundredths to either side, between 0 and 1."""
    x = (400.0, 449.0, math.nextafter(ATOM, 0), ATOM, 452.0, 500.0)
    below = (0.0, 0.175, LEFT, AT, 0.52, 1.0)
    off = dict(zip(QUANTILES, (-0.02, -0.01, 0.0, 0.01, 0.02), strict=True))
    cdf = Bands(below, **{name: tuple(min(max(y + by, 0), 1) for y in below) for name, by in off.items()})
    return DistributionSummary(x, cdf, cdf)


def test_a_curve_jumps_at_an_atom() -> None:
    jump = with_a_jump()
    assert share_at(jump, 449).mean == 0.175
    assert share_at(jump, 450.4999).mean == pytest.approx(LEFT, abs=1e-5)
    assert share_at(jump, ATOM).mean == AT
    assert quantile_at(jump, 0.3) == ParameterSummary(ATOM, 0, *[ATOM] * 5)
    near = quantile_at(jump, 0.165)
    assert near.q05 <= near.mean <= near.q95 == ATOM
    assert share_at(jump, -1e9).interval(0.9) == (0, jump.cdf.q95[0])
    first = DistributionSummary((0.0, 10.0), *[Bands(*[(0.24, 1.0)] * 6)] * 2)
    assert [share_at(first, x, [0]).mean for x in (-1, 0, 5)] == [0, 0.24, pytest.approx(0.62)]
    assert quantile_at(first, 0.1, [0]).mean == 0
    with pytest.raises(ValueError, match="too uncertain"):
        quantile_at(first, 0.1)
    assert (share_at(jump, float("inf")).q05, share_at(jump, float("-inf")).q95) == (1, 0)


def test_integers_have_steps() -> None:
    cdf = Bands(*[(0.25, 0.75, 1.0)] * 6)
    whole = DistributionSummary((2.0, 3.0, 4.0), cdf, cdf)
    assert [share_at(whole, x).mean for x in (2, 2.99, 3.5, 4.5, 9)] == [0.25, 0.25, 0.75, 1, 1]
    assert [quantile_at(whole, level).mean for level in (0.25, 0.26, 0.75, 0.76)] == [2, 3, 3, 4]


def test_below_the_first_of_integers_may_be_people_down_to_0() -> None:
    cdf = Bands(*[(0.001, 0.9, 0.999)] * 6)
    counts = DistributionSummary((14.0, 15.0, 16.0), cdf, cdf)
    for x in (0, 13, 13.9):
        assert share_at(counts, x).interval(0.9) == (0, 0.001)
        assert share_at(counts, x).q50 == 0.001
    assert share_at(counts, -0.5) == ParameterSummary(0, 0, *[0.0] * 5)
    assert [share_at(counts, x).mean for x in (14, 16, 16.9)] == [0.001, 0.999, 0.999]
    assert share_at(counts, 17).interval(0.9) == (0.999, 1)
    with pytest.raises(ValueError, match="as the collection's goal"):
        quantile_at(counts, 0.0001)
    from_0 = replace(counts, x=(0.0, 1.0, 2.0))
    assert quantile_at(from_0, 0.0001).mean == 0
    assert share_at(from_0, -0.5).q95 == 0


def test_what_is_no_number_is_refused_in_a_sentence() -> None:
    known = replace(posterior(), distribution=with_a_jump())
    with pytest.raises(TypeError, match=r"^the level of a quantile must be a number, not str$"):
        known.quantile("x")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^the value must be a number, not NoneType$"):
        known.cdf(None)  # type: ignore[arg-type]
    for read in (known.cdf, known.share_above):
        with pytest.raises(ValueError, match="NaN: give a number"):
            read(float("nan"))
    assert known.share_above(-math.inf).mean == 1
    numbers: list[Any] = [Decimal("0.3"), np.float32(0.3), Fraction(3, 10)]
    assert {known.quantile(number).mean for number in numbers} == {ATOM}


def test_the_most_frequent_categories_are_told_in_a_sentence() -> None:
    def share(middle: float) -> ParameterSummary:
        return ParameterSummary(middle, 0.01, middle - 0.05, middle - 0.01, middle, middle + 0.01, middle + 0.05)

    shares = {"never": share(0.4), "daily": share(0.05), "weekly": share(0.45), "monthly": share(0.1)}
    assert category_lines(shares) == [
        "Most frequent is “weekly”, with 45.0% of the people (90% sure: 40.0 to 50.0%), then “never” with 40.0% "
        "(35.0 to 45.0%) and “monthly” with 10.0% (5.0 to 15.0%)."
    ]
    assert category_lines({"yes": share(0.4)}) == [
        "Most frequent is “yes”, with 40.0% of the people (90% sure: 35.0 to 45.0%)."
    ]
    assert category_lines(None) == []


def test_categories_have_no_quantiles() -> None:
    chosen = replace(posterior(), categories={"never": ParameterSummary(0.5, 0.1, 0.3, 0.4, 0.5, 0.6, 0.7)})
    for read in (chosen.quantile, chosen.cdf, chosen.share_above):
        with pytest.raises(ValueError, match=r"^the answers are categories.*: see `categories`$"):
            read(0.3)


def summary_of(middle: float, half_width: float) -> ParameterSummary:
    return ParameterSummary(middle, half_width, *(middle + by * half_width for by in (-1, -0.4, 0, 0.4, 1)))


def test_the_sentences_write_no_value_as_another() -> None:
    """An atom is itself, whatever is known; what has no band has all its digits; tiny numbers are not 0."""
    jump = with_a_jump()
    half = "Half of the people have {} or less (90% sure: {})."
    for summary, atoms, value, band in [
        (summary_of(ATOM, 0), {}, "450.5", "450.5"),
        (
            ParameterSummary(460, 20, 440.2, 450.5, 450.5, 470, 490),
            {"450.5": summary_of(0.3, 0.1)},
            "450.5",
            "440 to 490",
        ),
        (summary_of(2e-20, 1e-20), {}, "2e-20", "1e-20 to 3e-20"),
        (summary_of(2e-20, 2e-20), {}, "2e-20", "0 to 4e-20"),
        (summary_of(5e-12, 5e-12 - 1e-20), {}, "5e-12", "1e-20 to 1e-11"),
    ]:
        lines = population_lines({0.1: summary, 0.5: summary, 0.9: summary}, jump, atoms)
        assert lines[0] == half.format(value, band)
    two = replace(jump, x=(0.0, math.nextafter(1, 0), 1.0))
    shares = {0.0: summary_of(0.3, 0.1), 450.125: summary_of(0.3, 0.1)}
    assert population_lines(dict.fromkeys((0.1, 0.5, 0.9), summary_of(1, 0)), two, shares) == [
        "30.0% have exactly 0 (20.0 to 40.0%).",
        "30.0% have exactly 450.125 (20.0 to 40.0%).",
    ]
