"""Numbers are written for people in one way: to the digits that are known, and with an exponent only far from 1."""

import math
from dataclasses import replace

import pytest

from dither_client.posterior.digits import (
    correlation_numbers,
    finest_decimals,
    population_numbers,
    population_rows,
    rounded,
    summary_numbers,
)
from dither_client.posterior.sentences import population_lines, unit_text
from dither_client.posterior.wire import Bands, DistributionSummary, ParameterSummary


def summary(low: float, middle: float, high: float, sd: float = 0.1) -> ParameterSummary:
    return ParameterSummary(mean=middle, sd=sd, q05=low, q25=low, q50=middle, q75=high, q95=high)


@pytest.mark.parametrize(
    ("number", "digits", "text"),
    [
        (2_836_377.0, 4, "2,836,000"),
        (98_123.0, 2, "98,000"),
        (0.0000217, 2, "0.000022"),
        (8.66e-7, 3, "8.66e-7"),
        (0.5, 3, "0.5"),
        (-0.0, 3, "0"),
        (1234.5, 12, "1,234.5"),
    ],
)
def test_a_number_has_an_exponent_only_far_from_1(number: float, digits: int, text: str) -> None:
    assert rounded(number, digits) == text


def test_parameters_have_the_digits_that_their_band_leaves_sure() -> None:
    assert summary_numbers(summary(2_684_794.4, 2_835_704.2, 2_996_913.1, 98_000.0)) == (
        "2,835,704", "98,000", "2,684,794", "2,684,794", "2,835,704", "2,996,913", "2,996,913",
    )  # fmt: skip
    assert summary_numbers(summary(0.5316, 0.638, 0.7493, 0.065))[:3] == ("0.64", "0.065", "0.53")


def test_what_is_tiny_beside_the_population_is_0() -> None:
    """Just above an atom at 0 a quantile may be a millionth of a cent, which is nothing where half have 36."""
    quantiles = {
        "0.1": summary(0.0, 0.0, 8.66e-7, 2.6e-7),
        "0.5": summary(31.0, 36.0, 42.0),
        "0.9": summary(200, 240, 300),
    }
    assert finest_decimals(each.q50 for each in quantiles.values()) == 4
    assert population_numbers(quantiles, None, ["0"])["quantile_0.1"] == ("0", "0", "0", "0", "0", "0", "0")
    line = (0.1, 0.5, 0.9)
    people = DistributionSummary((0.0, 36.5, 240.0), *[Bands(line, line, line, line, line, line)] * 2)
    assert "e-" not in " ".join(population_lines(quantiles, people, {"0": summary(0.2, 0.25, 0.3)}))
    small = {"0.5": summary(0.8e-5, 1e-5, 1.2e-5)}
    assert population_numbers(small, None)["quantile_0.5"][4] == "0.0000100"


def test_tiny_values_are_told_apart() -> None:
    """After few answers bands are so wide that a median written to their width reads as 0."""
    quantiles = {
        0.1: summary(0.0, 1.39e-6, 5.93e-6),
        0.5: summary(2.98e-7, 3.64e-6, 2.01e-5),
        0.9: summary(1.21e-6, 7.2e-6, 1.05e-3),
    }
    line = (0.1, 0.5, 0.9)
    people = DistributionSummary((0.0, 4e-6, 1e-3), *[Bands(line, line, line, line, line, line)] * 2)
    average = summary(4e-6, 5.1e-6, 6.1e-6)
    assert population_lines(quantiles, people, unit="€", mean_value=average) == [
        "Half of the people have 0.0000036 € or less (90% sure: 3e-7 to 0.000020).",
        "One in ten has 0.0000014 € or less (0 to 0.0000059), and one in ten 0.0000072 € or more (0.0000012 to "
        "0.0010).",
        "The average is 0.0000051 € (0.0000040 to 0.0000061).",
    ]
    numbers = population_numbers({str(level): each for level, each in quantiles.items()}, None)
    assert numbers["quantile_0.9"][2:] == ("0.0000012", "0.0000012", "0.0000072", "0.0010", "0.0010")
    declared = population_lines(quantiles, people, decimals=6)
    assert declared[0] == "Half of the people have 0.000004 or less (90% sure: 0 to 0.000020)."


def test_what_is_nothing_beside_the_population_is_0_without_a_band() -> None:
    """The least number above a bound of 0 is no amount where half have 50."""
    quantiles = {0.1: summary(9.9e-303, 9.9e-303, 9.9e-303), 0.5: summary(45, 50, 55), 0.9: summary(90, 95, 99)}
    line = (0.1, 0.5, 0.9)
    people = DistributionSummary((0.0, 50.5, 99.0), *[Bands(line, line, line, line, line, line)] * 2)
    assert "One in ten has 0 or less (0), and" in population_lines(quantiles, people)[1]
    assert population_rows(quantiles, None)[0] == ("quantile_0.1", "0", "0.1", "0 to 0")


def test_whole_units_are_told_however_large_others_are() -> None:
    """After a few answers on the scale `log` the 90% quantile may be anything."""
    quantiles = {"0.5": summary(0.2, 43.3, 9000.0), "0.9": summary(1e3, 4e11, 2e30)}
    assert population_numbers(quantiles, None)["quantile_0.5"][2:5] == ("0", "0", "43")


def test_a_mean_of_a_few_draws_far_away_is_not_told() -> None:
    """After a few answers on the scale `log` a single draw of many may be the mean."""
    wide = ParameterSummary(mean=5.4e32, sd=1.2e34, q05=0.1, q25=20.0, q50=3273.0, q75=8e6, q95=1.5e16)
    assert population_rows({"0.1": summary(90.0, 100.0, 110.0), "0.5": wide}, wide) == [
        ("quantile_0.1", "100", "0.1", "90 to 110"),
        ("quantile_0.5", "", "", "0 to 15,000,000,000,000,000"),
        ("mean_value", "", "", "0 to 15,000,000,000,000,000"),
    ]


def test_a_correlation_has_no_negative_zero() -> None:
    assert correlation_numbers(summary(-0.204, -0.001, 0.3)) == (
        "0.00",
        "0.10",
        "-0.20",
        "-0.20",
        "0.00",
        "0.30",
        "0.30",
    )


def test_a_unit_in_several_languages_is_written_in_one() -> None:
    assert unit_text({"unit": {"de": "Euro", "en": "euros"}, "period_of_value": {"de": "je Woche"}}) == "euros je Woche"


def test_what_is_known_of_values_in_a_small_unit_is_not_0() -> None:
    mean, sd, low, *_, high = summary_numbers(summary(1.9e-13, 2e-13, 2.1e-13, 6e-15))
    assert (mean, sd, low, high) == ("2e-13", "6e-15", "1.9e-13", "2.1e-13")


def test_a_mean_beside_a_whole_number_that_nearly_all_draws_agree_on_is_told() -> None:
    """That of a few draws very far away is left out."""
    nearly, far = summary(3.0, 3.0, 3.0), summary(3.0, 3.0, 3.0)
    rows = population_rows(
        {"0.25": replace(nearly, mean=2.997, sd=0.095), "0.5": replace(far, mean=1e9, sd=1e10)}, None
    )
    assert rows[0] == ("quantile_0.25", "2.997", "0.095", "3 to 3")
    assert rows[1] == ("quantile_0.5", "", "", "3 to 3")


def test_a_mean_beside_a_single_point_has_the_digits_that_its_sd_leaves_sure() -> None:
    nobody = replace(summary(0.0, 0.0, 0.0), mean=0.000474054217482, sd=0.012)
    rows = population_rows({0.5: summary(0.0, 0.0, 0.0, 0.0)}, nobody)
    assert rows[1] == ("mean_value", "0.000", "0.012", "0 to 0")
    infinite = replace(nobody, mean=1e300, sd=math.inf)
    assert population_numbers({0.5: infinite}, None)["quantile_0.5"][0] == "1e+300"
    rounded_off = replace(summary(0.1, 0.1, 0.1), mean=0.1 + 1e-16, sd=1e-17)
    assert population_numbers({}, rounded_off)["mean_value"][0] == "0.1"
