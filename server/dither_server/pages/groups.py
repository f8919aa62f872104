"""The table of groups on a collection's page: a row for each, with its interval as a line, and small pictures.

All of it is made here, without a script: numbers of groups change slowly, and there may be hundreds.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from dither_client.posterior.digits import population_numbers, rounded
from dither_client.posterior.sentences import zeros_and_ones
from dither_client.posterior.wire import QUANTILES, DistributionSummary, GroupReply, ParameterSummary, PosteriorReply

__all__ = ["GroupRow", "GroupsView", "Picture", "groups_view", "places"]

_WIDTH = 200.0
"""Width of the lines in the table, in the units of its pictures."""
_HEIGHT = 60.0
_PICTURES = 24
"""The most small pictures: those of the groups with the most answers."""
_OUTER = 0.01
"""The share of the whole population beyond either end of the small pictures."""
_TYPICAL = 10.0
"""Intervals wider than so many times the median one do not stretch the axis, and leave it at an end."""


@dataclass(frozen=True)
class GroupRow:
    """A group in the table."""

    label: str
    answers: int
    cells: Sequence[str]
    """Its median as text: mean, sd, and the posterior quantiles at 5, 25, 50, 75 and 95%; or one text a category."""
    line: Sequence[float] = ()
    """The places of the last five of them along the line, within it."""
    own: str | None = None
    """How much of the estimate comes from the group's own answers, in percent; None where each is estimated alone."""


@dataclass(frozen=True)
class Picture:
    """The distribution function of a group, small."""

    label: str
    answers: int
    band: str
    """The points of the 90% band, for SVG."""
    middle: str
    whole: str
    """The points of the distribution function of all groups together."""


@dataclass(frozen=True)
class GroupsView:
    """What the page says of the groups."""

    name: str
    rows: Sequence[GroupRow]
    categories: Sequence[str] = ()
    """The columns, where values are categories."""
    low: str = ""
    high: str = ""
    """The ends of the lines, as text."""
    whole: float | None = None
    """The place of the median of all groups together along the lines."""
    pictures: Sequence[Picture] = ()
    seen: tuple[str, str] = ("", "")
    """The ends of the pictures' axis, as text."""
    pooled: bool = False
    answered: int = 0
    """The number of groups that have answers."""
    of_shares: bool = False
    """Whether people have only 0 or 1, so that each group has the share who have 1 in place of its median."""


def groups_view(posterior: PosteriorReply, terms: Mapping[str, Any]) -> GroupsView | None:
    """What there is to say of the groups; None without groups, or before the first answer."""
    if not posterior.groups or not posterior.answers:
        return None
    name, groups = str(terms["groups"]["name"]), posterior.groups
    answered = sum(each.answers > 0 for each in groups.values())
    pooled = any(group.borrowed for group in groups.values())
    if posterior.categories is not None:
        columns = list(posterior.categories)
        rows = [GroupRow(label, each.answers, _shares(each, columns), own=_own(each)) for label, each in groups.items()]
        return GroupsView(name, rows, columns, pooled=pooled, answered=answered)
    of_shares = zeros_and_ones(posterior.distribution)
    medians = {label: _median(each, of_shares) for label, each in groups.items()}
    low, high = _axis([each for label, each in medians.items() if each and groups[label].answers])
    rows = [_row(label, groups[label], median, (low, high), terms, of_shares) for label, median in medians.items()]
    whole, ends = _median(posterior, of_shares), _seen(posterior, (low, high))
    return GroupsView(
        name,
        rows,
        low=f"{100 * low:.0f}%" if of_shares else _end(low, terms["decimals"]),
        high=f"{100 * high:.0f}%" if of_shares else _end(high, terms["decimals"]),
        whole=None if whole is None else places([whole.q50], (low, high))[0],
        pictures=[] if ends is None else _pictures(posterior, groups, ends),
        seen=("", "") if ends is None else (_end(ends[0], terms["decimals"]), _end(ends[1], terms["decimals"])),
        pooled=pooled,
        answered=answered,
        of_shares=of_shares,
    )


def _median(part: GroupReply | PosteriorReply, of_shares: bool) -> ParameterSummary | None:
    """The median, or the share who have 1."""
    return part.mean_value if of_shares else (part.quantiles or {}).get("0.5")


def _row(
    label: str,
    group: GroupReply,
    median: ParameterSummary | None,
    ends: tuple[float, float],
    terms: Mapping[str, Any],
    of_shares: bool,
) -> GroupRow:
    if median is None:
        return GroupRow(label, group.answers, (), own=_own(group))
    cells = population_numbers({"0.5": median}, None, group.atoms, terms["decimals"])["quantile_0.5"]
    if of_shares:
        cells = ("", "", *(f"{100 * getattr(median, part):.1f}%" for part in QUANTILES))
    levels = [median.q05, median.q25, median.q50, median.q75, median.q95]
    return GroupRow(label, group.answers, cells, places(levels, ends), _own(group))


def _own(group: GroupReply) -> str | None:
    """The least that any coordinate takes from the group's own answers."""
    return None if not group.borrowed else f"{100 * (1 - max(group.borrowed.values())):.0f}%"


def _shares(group: GroupReply, columns: Iterable[str]) -> list[str]:
    found = [(group.categories or {}).get(name) for name in columns]
    return [
        "" if each is None else f"{100 * each.q50:.0f}% ({100 * each.q05:.0f} to {100 * each.q95:.0f})"
        for each in found
    ]


def _axis(medians: Sequence[ParameterSummary]) -> tuple[float, float]:
    """Where the lines begin and end: around the 90% intervals that are not far wider than most."""
    widths = [each.q95 - each.q05 for each in medians]
    typical = [
        each for each, width in zip(medians, widths, strict=True) if width <= _TYPICAL * float(np.median(widths))
    ]
    low, high = min(each.q05 for each in typical), max(each.q95 for each in typical)
    room = 0.03 * (high - low) or abs(low) or 1.0
    return low - room, high + room


def _end(value: float, decimals: int | None) -> str:
    return rounded(value if decimals is None else round(value, decimals), 3)


def places(values: Sequence[float], ends: tuple[float, float]) -> list[float]:
    """Where the values lie along a line between the ends, within it."""
    low, high = ends
    return [round(_WIDTH * min(max((value - low) / (high - low), 0.0), 1.0), 2) for value in values]


def _seen(posterior: PosteriorReply, medians: tuple[float, float]) -> tuple[float, float] | None:
    """Where the pictures begin and end: around nearly all of the whole population, and the lines of the table."""
    whole = posterior.distribution
    if whole is None:
        return None
    heights = np.array(whole.cdf.q50)
    inside = np.flatnonzero((heights > _OUTER) & (heights < 1 - _OUTER))
    if len(inside) < 2:
        return None
    return min(whole.x[inside[0]], medians[0]), max(whole.x[inside[-1]], medians[1])


def _pictures(posterior: PosteriorReply, groups: Mapping[str, GroupReply], ends: tuple[float, float]) -> list[Picture]:
    """The distribution functions of the groups with the most answers, in the groups' order."""
    whole = posterior.distribution
    known = {label: each for label, each in groups.items() if each.distribution is not None and each.answers}
    most = set(sorted(known, key=lambda label: -known[label].answers)[:_PICTURES])
    behind = "" if whole is None else _curve(whole.x, whole.cdf.q50, ends)
    return [
        Picture(label, each.answers, _band(each.distribution, ends), _middle(each.distribution, ends), behind)
        for label, each in known.items()
        if label in most and each.distribution is not None
    ]


def _middle(found: DistributionSummary, ends: tuple[float, float]) -> str:
    return _curve(found.x, found.cdf.q50, ends)


def _band(found: DistributionSummary, ends: tuple[float, float]) -> str:
    there, back = _curve(found.x, found.cdf.q05, ends), _curve(found.x, found.cdf.q95, ends).split()
    return f"{there} {' '.join(reversed(back))}"


def _curve(x: Sequence[float], heights: Sequence[float], ends: tuple[float, float]) -> str:
    """The points of a distribution function within the ends, as SVG writes them."""
    at = np.array(x, dtype=float)
    shown = np.unique(np.clip(at, *ends))
    values = np.interp(shown, at, np.array(heights, dtype=float), left=0.0, right=1.0)
    at_points = places(shown.tolist(), ends)
    thin = [0, *(j + 1 for j, (a, b) in enumerate(pairwise(at_points)) if b > a)]
    return " ".join(f"{at_points[j]:.1f},{_HEIGHT * (1 - values[j]):.1f}" for j in thin)
