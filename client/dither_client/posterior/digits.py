"""Numbers of a posterior to the digits that are known: those which the width of their band leaves sure."""

import math
from collections.abc import Iterable, Mapping, Set

from dither_client.posterior.wire import QUANTILES, ParameterSummary

__all__ = ["MOST_DIGITS", "median_and_band", "population_numbers", "population_rows", "rounded"]

MOST_DIGITS = 12
"""The most decimals of a quantile."""
_SHORT = 6
"""With more decimals, what would be rounded to 0 is written with an exponent."""


def population_rows(
    quantiles: Mapping[str, ParameterSummary] | Mapping[float, ParameterSummary] | None,
    mean_value: ParameterSummary | None,
    atoms: Iterable[float] | Iterable[str] | None = None,
    decimals: int | None = None,
) -> list[tuple[str, str, str, str]]:
    """A row for each quantile and for the population's mean: its name, posterior mean, sd and central 90%.

    They have the digits that are known, at most so many `decimals`, unless that is None.
    """
    found = population_numbers(quantiles, mean_value, atoms, decimals)
    return [(name, mean, sd, f"{low} to {high}") for name, (mean, sd, low, *_, high) in found.items()]


def population_numbers(
    quantiles: Mapping[str, ParameterSummary] | Mapping[float, ParameterSummary] | None,
    mean_value: ParameterSummary | None,
    atoms: Iterable[float] | Iterable[str] | None = None,
    decimals: int | None = None,
) -> dict[str, tuple[str, ...]]:
    """The mean, the sd and the quantiles of what `population_rows` names, written as they are there."""
    named = {f"quantile_{float(level):g}": summary for level, summary in (quantiles or {}).items()}
    if mean_value is not None:
        named["mean_value"] = mean_value
    exactly, most = {float(atom) for atom in atoms or ()}, MOST_DIGITS if decimals is None else decimals
    return {
        name: (
            _in_band(each.mean, each, most, exactly),
            rounded(each.sd, 2),
            *(_in_band(getattr(each, part), each, 0 if _whole(each) else most, exactly) for part in QUANTILES),
        )
        for name, each in named.items()
    }


def _whole(summary: ParameterSummary) -> bool:
    """Whether it is of a whole number."""
    return all(float(getattr(summary, part)).is_integer() for part in QUANTILES)


def median_and_band(quantile: ParameterSummary, most: int, atoms: Set[float]) -> tuple[str, str]:
    """A quantile's median, and its central 90%."""
    low, middle, high = (_in_band(x, quantile, most, atoms) for x in (quantile.q05, quantile.q50, quantile.q95))
    return middle, low if low == high else f"{low} to {high}"


def _in_band(x: float, quantile: ParameterSummary, most: int, atoms: Set[float]) -> str:
    """`x` to two significant digits of the band's width, never coarser than to whole units, with `most` decimals.

    An atom, or what has no band, is shown as it is. What would need more than `MOST_DIGITS` decimals has an exponent.
    """
    width = quantile.q95 - quantile.q05
    if x in atoms or width <= 0:
        return f"{x:,.12g}"
    digits = max(0, 1 - math.floor(math.log10(width)))
    if abs(x) >= 1e12 or digits > MOST_DIGITS == most:
        return f"{x:.4g}"
    text = f"{x:,.{min(digits, most)}f}"
    if text.strip("-0.,"):
        return text
    return f"{x:.4g}" if digits > _SHORT and most == MOST_DIGITS else text.removeprefix("-")


def rounded(number: float, digits: int) -> str:
    """The number to so many digits, with an exponent only where there would be many zeros."""
    return f"{float(f'{number:.{digits}g}'):g}"
