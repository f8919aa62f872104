"""What a posterior says of the parts of a population: its groups, its calendar periods, its components."""

import math
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from dither_client.posterior.digits import correlation_numbers, population_numbers, rounded, summary_numbers
from dither_client.posterior.names import UNASSUMED, answers_text, assumption, what_was_learnt
from dither_client.posterior.sentences import ONLY_ASSUMED, unit_text, zeros_and_ones
from dither_client.posterior.wire import (
    ComponentReply,
    DistributionSummary,
    DriftTest,
    GroupReply,
    ParameterSummary,
    PeriodReply,
)

if TYPE_CHECKING:
    from dither_client.posterior.posterior import Posterior

__all__ = ["component_lines", "drift_sentence", "group_lines", "part_basis", "period_lines"]

_MOST_NATS = 14.0
"""The most evidence that is told, in nats: about a million to one."""
_MOST_GROUPS = 12
"""The most groups that are listed."""
_MOST_PERIODS = 12
"""The most periods that are listed."""
_ALONE = (
    "each group rests on its own answers alone: groups borrow from each other through a family's parameters or through "
    "shares of categories, and here there are neither"
)


def part_basis(found: "Posterior", label: str) -> str:
    """What the numbers of one group or period rest on, as a sentence; empty where nobody says the family.

    It is the same for all of them, unless groups are estimated alone. Raises `KeyError` for a label that no group has.
    """
    alone = bool(found.groups) and found.groups[label].borrowed is None
    answers = found.groups[label].answers if alone else found.answers
    if not answers or not found.family:
        return "" if answers else ONLY_ASSUMED
    kind, place = ("group", "in") if found.groups else (str(found.terms.get("period", "period")), "of")
    learnt = (
        f"{what_was_learnt(answers)} of this group alone"
        if alone
        else f"{what_was_learnt(answers, found.answers_by_epsilon)} of all {kind}s, which borrow from each other"
    )
    assumed = assumption(found.family, found.transform).replace("the values", f"the values {place} each {kind}")
    return f"This rests on {learnt}" + (f", and holds if {assumed}." if assumed else UNASSUMED[found.family])


def period_lines(
    periods: Mapping[str, PeriodReply],
    test: DriftTest | None,
    distribution: DistributionSummary | None = None,
    unit: str = "",
    decimals: int | None = None,
) -> list[str]:
    """What there is to say of calendar periods: how many there are, the newest of them, and whether anything changed.

    A period has its median in the `unit`, at most with so many `decimals`; where people have only 0 or 1, as the whole
    population's `distribution` tells, the share who have 1.
    """
    if not periods:
        return []
    labels, newest = list(periods), list(periods.items())[-_MOST_PERIODS:]
    if len(labels) == 1:
        return [f"period {labels[0]}: {_period_text(periods[labels[0]], zeros_and_ones(distribution), unit, decimals)}"]
    earlier = "" if len(newest) == len(labels) else f", the last {len(newest)}"
    lines = [
        f"periods: {len(labels)}, from {labels[0]} to {labels[-1]}{earlier}:",
        *(f"  {label}: {_period_text(each, zeros_and_ones(distribution), unit, decimals)}" for label, each in newest),
    ]
    return lines if test is None else [*lines, drift_sentence(test)]


def _period_text(period: PeriodReply, of_shares: bool, unit: str, decimals: int | None) -> str:
    return ", ".join([*_middle_text(period, None, of_shares, unit, decimals), answers_text(period.answers)])


def _middle_text(
    part: PeriodReply | GroupReply | ComponentReply,
    atoms: Iterable[str] | None,
    of_shares: bool,
    unit: str,
    decimals: int | None,
) -> list[str]:
    """The median of a part of the population, or the share who have 1; empty where it has neither."""
    if of_shares and (share := part.mean_value) is not None:
        return [f"{100 * share.q50:.1f}% have 1 (90%: {100 * share.q05:.1f} to {100 * share.q95:.1f}%)"]
    middle = (part.quantiles or {}).get("0.5")
    if middle is None or of_shares:
        return []
    _, _, low, _, median, _, high = population_numbers({"0.5": middle}, None, atoms, decimals)["quantile_0.5"]
    return [f"median {median}{f' {unit}' if unit else ''} (90%: {low} to {high})"]


def drift_sentence(test: DriftTest) -> str:
    """What the test of drift has found."""
    if test.alarm and test.highest >= test.threshold:
        return (
            f"the distribution changed: by the end of {test.period} the evidence for drift was {_odds(test.highest)} "
            f"to 1, and within 52 periods it reaches {_odds(test.threshold)} to 1 in at most "
            f"{'5' if test.change is None else '4'}% of collections that do not change"
        )
    if test.alarm and test.change is not None and test.change_threshold is not None:
        return (
            f"the distribution changed: {test.change_period}, or the two or four periods up to it, lie "
            f"{test.change:.1f} standard errors away from all before, and within 52 periods "
            f"{test.change_threshold:.1f} are reached in at most 4% of collections that do not change"
        )
    return "no sign that the distribution changed from period to period"


def _odds(nats: float) -> str:
    return "more than a million" if nats > _MOST_NATS else rounded(math.exp(nats), 2)


def group_lines(
    groups: Mapping[str, GroupReply],
    distribution: DistributionSummary | None = None,
    unit: str = "",
    decimals: int | None = None,
    truths: Mapping[str, str] = MappingProxyType({}),
) -> list[str]:
    """What there is to say of each group: its median, or its parameters, or the shares of its categories.

    Values have the `unit` and at most so many `decimals`. Where people have only 0 or 1, as the whole population's
    `distribution` tells, the share who have 1. In a simulation some groups have `truths`, by their labels.
    """
    shown = list(groups.items())[:_MOST_GROUPS]
    of_shares = zeros_and_ones(distribution)
    lines = [
        f"{label}: {_group_text(group, of_shares, unit, decimals)}"
        f"{f', truth {truths[label]}' if label in truths else ''}"
        for label, group in shown
    ]
    rest = len(groups) - len(shown)
    alone = bool(groups) and all(group.borrowed is None for group in groups.values())
    return [*lines, *([f"and {rest:,} more groups"] if rest else []), *([_ALONE] if alone else [])]


def component_lines(
    components: Mapping[str, ComponentReply],
    correlations: Mapping[str, ParameterSummary],
    asked: Sequence[Mapping[str, Any]] = (),
) -> list[str]:
    """What there is to say of each component, and the correlation of each two.

    `asked` are the components of the terms: their units and decimals are those of the values.
    """
    units = {each["name"]: (unit_text(each), each.get("decimals")) for each in asked}
    return [
        *(
            f"{name}: {_group_text(part, zeros_and_ones(part.distribution), unit, decimals)} about it alone"
            for name, part in components.items()
            for unit, decimals in [units.get(name, ("", None))]
        ),
        *(
            f"correlation of {' and '.join(pair.split(','))}: {mean} ± {sd} (90%: {low} to {high})"
            for pair, each in correlations.items()
            for mean, sd, low, *_, high in [correlation_numbers(each)]
        ),
    ]


def _group_text(group: GroupReply | ComponentReply, of_shares: bool, unit: str, decimals: int | None) -> str:
    categories = {} if isinstance(group, ComponentReply) else group.categories
    found = _middle_text(group, group.atoms, of_shares, unit, decimals) or [
        f"{name} {mean} (90%: {low} to {high})"
        for name, each in (group.posterior or categories or {}).items()
        for mean, _, low, *_, high in [summary_numbers(each)]
    ]
    return ", ".join([*found, answers_text(group.answers)])
