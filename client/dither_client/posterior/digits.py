"""Numbers of a posterior to the digits that are known: those which the width of their band leaves sure."""

import math
from collections.abc import Iterable, Mapping, Set

from dither_client.posterior.wire import QUANTILES, ParameterSummary
from dither_client.typed_numbers import written

__all__ = [
    "MOST_DIGITS",
    "correlation_numbers",
    "finest_decimals",
    "largest_number",
    "median_and_band",
    "population_numbers",
    "population_rows",
    "rounded",
    "shortened",
    "summary_numbers",
]

_MEAN = "mean_value"
MOST_DIGITS = 12
"""The most decimals of a quantile."""
_ORDERS = 6
"""A number that is smaller than the largest quantile by more orders of magnitude than this is shown as 0."""
_NOTHING = 1e-9
"""A number of a population that is this part of its largest number, and of 1, or less is shown as 0."""
_SAME = 1e-11
"""Two numbers that differ by this part of them, or less, are the same: a mean of equal draws is rounded."""
_TINY = 1e-3
"""Where all numbers of a population are smaller than this, each has at least two significant digits."""


def population_rows(
    quantiles: Mapping[str, ParameterSummary] | Mapping[float, ParameterSummary] | None,
    mean_value: ParameterSummary | None,
    atoms: Iterable[float] | Iterable[str] | None = None,
    decimals: int | None = None,
) -> list[tuple[str, str, str, str]]:
    """A row for each quantile and for the population's mean: its name, posterior mean, sd and central 90%.

    They have the digits that are known; quantiles at most so many `decimals`, unless that is None. A mean that lies
    outside the central 90% is that of a few draws very far away, and is left out with its sd.
    """
    found = population_numbers(quantiles, mean_value, atoms, decimals)
    named = _named(quantiles, mean_value)
    return [
        (name, *((mean, sd) if _in_middle(named[name], decimals) else ("", "")), f"{low} to {high}")
        for name, (mean, sd, low, *_, high) in found.items()
    ]


def _in_middle(summary: ParameterSummary, decimals: int | None) -> bool:
    """Whether the mean lies in the central 90%, or as near to it as two values of so many `decimals`."""
    unit = float(_whole(summary)) if decimals is None else 10.0**-decimals
    return summary.q05 - unit <= summary.mean <= summary.q95 + unit


def population_numbers(
    quantiles: Mapping[str, ParameterSummary] | Mapping[float, ParameterSummary] | None,
    mean_value: ParameterSummary | None,
    atoms: Iterable[float] | Iterable[str] | None = None,
    decimals: int | None = None,
) -> dict[str, tuple[str, ...]]:
    """The mean, the sd and the quantiles of what `population_rows` names, written as they are there."""
    named = _named(quantiles, mean_value)
    finest = finest_decimals(each.q50 for name, each in named.items() if name != _MEAN)
    exactly, most = {float(atom) for atom in atoms or ()}, finest if decimals is None else decimals
    largest = largest_number((quantiles or {}).values())
    return {
        name: summary_numbers(each, finest if name == _MEAN else most, exactly, finest, largest)
        for name, each in named.items()
    }


def _named(
    quantiles: Mapping[str, ParameterSummary] | Mapping[float, ParameterSummary] | None,
    mean_value: ParameterSummary | None,
) -> dict[str, ParameterSummary]:
    named = {f"quantile_{float(level):g}": summary for level, summary in (quantiles or {}).items()}
    return named if mean_value is None else named | {_MEAN: mean_value}


def summary_numbers(
    summary: ParameterSummary,
    most: int = MOST_DIGITS,
    atoms: Set[float] = frozenset(),
    most_of_sd: int = MOST_DIGITS,
    largest: float = 0.0,
) -> tuple[str, ...]:
    """The mean, the sd and the quantiles of a number, with so many decimals at most; atoms are written as they are.

    `largest` is the `largest_number` of the population, 0 for what is no number of a population.
    """
    of_median = 0 if _whole(summary) else most
    return (
        _in_band(summary.mean, summary, most, atoms, largest),
        rounded(shortened(summary.sd, most_of_sd), 2),
        *(_in_band(getattr(summary, part), summary, of_median, atoms, largest) for part in QUANTILES),
    )


def correlation_numbers(correlation: ParameterSummary) -> tuple[str, ...]:
    """The mean, the sd and the quantiles of a correlation, to the hundredth."""
    return tuple(
        text if text.strip("-0.") else text.removeprefix("-")
        for part in ("mean", "sd", *QUANTILES)
        for text in [f"{getattr(correlation, part):.2f}"]
    )


def finest_decimals(quantiles: Iterable[float]) -> int:
    """The decimals of the smallest difference that is told of a population with these quantiles."""
    largest = max(map(abs, quantiles), default=0.0)
    if not 0 < largest < math.inf:
        return MOST_DIGITS
    return min(max(_ORDERS - math.floor(math.log10(largest)), 0), MOST_DIGITS)


def largest_number(quantiles: Iterable[ParameterSummary]) -> float:
    """The size of the largest median of a population's quantiles, by which others are tiny or nothing; 0 for none."""
    return max((abs(each.q50) for each in quantiles), default=0.0)


def _whole(summary: ParameterSummary) -> bool:
    """Whether all quantiles are whole numbers."""
    return all(float(getattr(summary, part)).is_integer() for part in QUANTILES)


def median_and_band(quantile: ParameterSummary, most: int, atoms: Set[float], largest: float = 0.0) -> tuple[str, str]:
    """A quantile's median, and its central 90%, in a population with this `largest_number`."""
    shown = (quantile.q05, quantile.q50, quantile.q95)
    low, middle, high = (_in_band(x, quantile, most, atoms, largest) for x in shown)
    return middle, low if low == high else f"{low} to {high}"


def _in_band(x: float, quantile: ParameterSummary, most: int, atoms: Set[float], largest: float) -> str:
    """`x` to two significant digits of the band's width, never coarser than to whole units, with `most` decimals.

    An atom, or what has no band, is shown as it is; the band of a mean beside a band of one point is the sd. What would
    need more than `MOST_DIGITS` decimals has an exponent. Of a population, what is nothing beside the `largest` is 0;
    where that is tiny, `x` has two significant digits.
    """
    width = quantile.q95 - quantile.q05
    if not math.isclose(x, quantile.q50, rel_tol=_SAME):
        width = width or quantile.sd
    if x not in atoms and abs(x) <= _NOTHING * min(largest, 1.0):
        return "0"
    if x in atoms or not 0 < width < math.inf:
        return rounded(x, 12)
    digits = max(0, 1 - math.floor(math.log10(width)))
    if abs(x) >= 1e12 or digits > MOST_DIGITS == most:
        return rounded(x, 4)
    text = f"{x:,.{min(digits, most)}f}"
    if digits <= most and 0 < largest < _TINY and len(text.lstrip("-0.,")) < 2:
        return rounded(shortened(x, most), 2)
    if text.strip("-0.,"):
        return text
    return "0" if digits > most else text.removeprefix("-")


def shortened(number: float, decimals: int) -> float:
    """The number with so many decimals, unless they are the most: smaller ones have an exponent."""
    return number if decimals >= MOST_DIGITS else round(number, decimals)


def rounded(number: float, digits: int) -> str:
    """Writes a number with so many significant digits, as people read it: with an exponent only far from 1."""
    return written(float(f"{number:.{digits}g}"))
