"""What a posterior, its checks and its comparison of families say, in words for people."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from fractions import Fraction
from statistics import NormalDist

from dither_client.errors import BadResponse
from dither_client.mechanisms.epsilon import epsilon_text, parse_epsilon
from dither_client.posterior.names import a_distribution, distribution_name
from dither_client.posterior.wire import (
    NO_FAMILY,
    QUANTILES,
    ComponentReply,
    DistributionSummary,
    DriftTest,
    FamilyEvidence,
    GroupReply,
    Misfit,
    ParameterSummary,
    PeriodReply,
    PoisonBound,
)

__all__ = [
    "LEAVE_OUT",
    "REFUSED_LOG_ODDS",
    "category_lines",
    "comparison_lines",
    "component_lines",
    "drift_sentence",
    "family_name",
    "group_lines",
    "misfit_sentence",
    "period_lines",
    "poison_lines",
    "population_lines",
    "population_numbers",
    "population_rows",
    "rounded",
    "unit_text",
    "verdict_lines",
    "zeros_and_ones",
]

LEAVE_OUT = "To learn the distribution whatever its shape, leave the family out."
_MOST_NATS = 14.0
"""Evidence above a million to one is said to be that."""
_CHECK_ANSWERS = 4_000
"""At ε = 1 so many check answers find a Gumbel distribution that is taken for a normal one in a third of the runs.

Measured by `python -m benchmarks.misfit`.
"""
_CHECK_SHARES = tuple(NormalDist().cdf(z) for z in (-1.5, -0.3, 0.3, 1.5))
"""The shares of the people below the cuts of check questions."""
_MOST_CATEGORIES = 3
"""The most categories that are told in a sentence."""
_MOST_GROUPS = 12
"""The most groups that are listed."""
_MOST_PERIODS = 12
"""The most periods that are listed."""
_MOST_DIGITS = 12
"""The most decimals of a quantile."""
_SHORT = 6
"""With more decimals, what would be rounded to 0 is written with an exponent."""
REFUSED_LOG_ODDS = math.log(100)
"""A family whose log evidence is lower than that of none by more than this is refused."""


def comparison_lines(families: Sequence[FamilyEvidence], verdict: str) -> list[str]:
    """A line for each family, and then the verdict."""
    rows = [
        f"{family_name(each)}: log evidence {each.log_evidence:.2f} ± {each.mc_error:.2f}, "
        f"probability {each.probability:.4f}"
        for each in families
    ]
    return [*rows, *verdict_lines(families, verdict)]


def verdict_lines(families: Sequence[FamilyEvidence], verdict: str) -> list[str]:
    """Which families the answers refuse beside none, and which holds; or that it is too early to compare any."""
    if not families:
        return [f"which family holds: {verdict}, for there are too few answers to compare families"]
    none = max((each.log_evidence for each in families if each.family == NO_FAMILY), default=-math.inf)
    refused = [family_name(each) for each in families if each.log_evidence < none - REFUSED_LOG_ODDS]
    refusal = f"the answers refuse {', '.join(refused)}: they are at least 100 times as likely without a family"
    names = {_in_verdict(each): family_name(each) for each in families}
    return [*([refusal] if refused else []), f"which family holds: {names.get(verdict, verdict)}"]


def _in_verdict(each: FamilyEvidence) -> str:
    """What the server's verdict calls a family."""
    return f"{each.family} with transform {each.transform}" + (f", of {each.of}" if each.of else "")


def family_name(each: FamilyEvidence) -> str:
    """A family as an analyst reads it: `lognormal`, or `gamma of the distance above 100`."""
    name = "no family" if each.family == NO_FAMILY else distribution_name(each.family, each.transform)
    return f"{name} of {each.of}" if each.of else name


def misfit_sentence(misfit: Misfit, epsilons: Collection[Fraction] | Collection[str] = ()) -> str:
    """What the check has found, for people: never that a family fits, which no look can show.

    `epsilons` are those of the collection's answers; the smallest says what the check could find. Raises `BadResponse`
    where it contradicts itself.
    """
    name = distribution_name(misfit.family, misfit.transform)
    distribution = a_distribution(misfit.family, misfit.transform)
    made, following = len(misfit.looks), misfit.next_look
    if misfit.alarm:
        first = next((look for look in misfit.looks if look.p_value <= look.alpha), None)
        if first is None:
            raise BadResponse("the server's misfit check has an alarm that no look gave")
        return (
            f"The answers do not look {name}: p = {first.p_value:.3f} at {first.check_answers:,} check "
            f"answers, where {first.alpha:.2g} or less is an alarm."
        )
    if not made and following is not None:
        return f"Whether {distribution} fits is first checked at {following:,} check answers."
    until = "" if following is None else f" (the next look is at {following:,} check answers)"
    return (
        f"No misfit of {distribution} was found in {made} look{'' if made == 1 else 's'}{until}; "
        f"{_gross_ones(epsilons)}. {LEAVE_OUT}"
    )


def _gross_ones(epsilons: Collection[Fraction] | Collection[str]) -> str:
    """What size of misfit would have shown, at the smallest of these ε."""
    if not epsilons:
        return "only gross ones would show at a small ε"
    epsilon = min(map(parse_epsilon, epsilons))
    needed = float(f"{_CHECK_ANSWERS * _check_information(1.0) / _check_information(float(epsilon)):.2g}")
    return (
        f"only gross ones would show: at ε = {epsilon_text(epsilon)} it takes about {needed:,.0f} check answers to "
        "find a Gumbel distribution that is taken for a normal one in about a third of the runs"
    )


def _check_information(epsilon: float) -> float:
    """The Fisher information of a check answer about the share below its cut, summed over the cuts.

    With t = tanh(ε/2), the answer to a cut with the share p below is 1 with the probability 1/2 + (p - 1/2) t, which
    tells 4 t² / (1 - (2 p - 1)² t²) of p.
    """
    squared = math.tanh(epsilon / 2) ** 2
    return sum(4 * squared / (1 - (2 * share - 1) ** 2 * squared) for share in _CHECK_SHARES)


def population_lines(
    quantiles: Mapping[str, ParameterSummary] | Mapping[float, ParameterSummary] | None,
    distribution: DistributionSummary | None,
    atoms: Mapping[str, ParameterSummary] | Mapping[float, ParameterSummary] | None = None,
    above: Mapping[str, ParameterSummary] | Mapping[float, ParameterSummary] | None = None,
    unit: str = "",
    decimals: int | None = None,
    mean_value: ParameterSummary | None = None,
) -> list[str]:
    """What the people have, in sentences, from summaries by level, atom and value; none that quantiles do not say.

    Values have the `unit`, if it is not empty, and at most so many `decimals`, unless that is None.
    """
    of = f" {unit}" if unit else ""
    shares = [
        f"{100 * share.q50:.1f}% have more than {float(value):,.12g}{of} (90% sure: {100 * share.q05:.1f} to "
        f"{100 * share.q95:.1f}%)."
        for value, share in (above or {}).items()
    ]
    people = [
        f"{100 * share.q50:.1f}% have exactly {float(atom):,.12g}{of} "
        f"({100 * share.q05:.1f} to {100 * share.q95:.1f}%)."
        for atom, share in (atoms or {}).items()
    ]
    exactly = {float(atom) for atom in atoms or {}}
    if mean_value is not None and zeros_and_ones(distribution):
        low, middle, high = (f"{100 * share:.1f}" for share in (mean_value.q05, mean_value.q50, mean_value.q95))
        return [f"{middle}% have 1 (90% sure: {low} to {high}%).", *shares]
    lines = _quantile_lines(quantiles, distribution, exactly, of, decimals)
    if lines and mean_value is not None:
        average, between = _between(mean_value, _MOST_DIGITS if decimals is None else decimals, set())
        lines.append(f"The average is {average}{of} ({between}).")
    return [*lines, *people, *shares]


def category_lines(categories: Mapping[str, ParameterSummary] | None) -> list[str]:
    """Which categories are the most frequent, in a sentence; none where values are no categories."""
    found = sorted((categories or {}).items(), key=lambda each: -each[1].q50)[:_MOST_CATEGORIES]
    told = [
        (name, f"{100 * share.q50:.1f}%", f"{100 * share.q05:.1f} to {100 * share.q95:.1f}%") for name, share in found
    ]
    then = " and ".join(f"{name} with {share} ({between})" for name, share, between in told[1:])
    return [
        f"Most frequent is {name}, with {share} of the people (90% sure: {between}){', then ' if then else ''}{then}."
        for name, share, between in told[:1]
    ]


def _quantile_lines(
    quantiles: Mapping[str, ParameterSummary] | Mapping[float, ParameterSummary] | None,
    distribution: DistributionSummary | None,
    atoms: Set[float],
    of: str,
    decimals: int | None,
) -> list[str]:
    """Sentences about quantiles of the population; None where people have only 0 or 1."""
    by_level = {float(level): summary for level, summary in (quantiles or {}).items()}
    if distribution is None or zeros_and_ones(distribution) or not {0.1, 0.5, 0.9} <= by_level.keys():
        return []
    whole = all(round(x, _MOST_DIGITS).is_integer() for x in distribution.x)
    digits = 0 if whole else _MOST_DIGITS if decimals is None else decimals
    tenth, half, most = (_between(by_level[level], digits, atoms) for level in (0.1, 0.5, 0.9))
    return [
        f"Half of the people have {half[0]}{of} or less (90% sure: {half[1]}).",
        f"One in ten has {tenth[0]}{of} or less ({tenth[1]}), and one in ten {most[0]}{of} or more ({most[1]}).",
    ]


def zeros_and_ones(distribution: DistributionSummary | None) -> bool:
    """Whether people have only 0 or 1, so that quantiles say nothing."""
    return distribution is not None and {round(x, _MOST_DIGITS) for x in distribution.x} <= {0.0, 1.0}


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
    exactly, most = {float(atom) for atom in atoms or ()}, _MOST_DIGITS if decimals is None else decimals
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


def period_lines(
    periods: Mapping[str, PeriodReply],
    test: DriftTest | None,
    distribution: DistributionSummary | None = None,
    decimals: int | None = None,
) -> list[str]:
    """What there is to say of calendar periods: how many there are, the newest of them, and whether anything changed.

    A period has its median, at most with so many `decimals`; where people have only 0 or 1, as the whole population's
    `distribution` tells, the share who have 1.
    """
    if not periods:
        return []
    labels, newest = list(periods), list(periods.items())[-_MOST_PERIODS:]
    earlier = "" if len(newest) == len(labels) else f", the last {len(newest)}"
    lines = [
        f"periods: {len(labels)}, from {labels[0]} to {labels[-1]}{earlier}:",
        *(f"  {label}: {_period_text(each, zeros_and_ones(distribution), decimals)}" for label, each in newest),
    ]
    return lines if test is None else [*lines, drift_sentence(test)]


def _period_text(period: PeriodReply, of_shares: bool, decimals: int | None) -> str:
    return ", ".join([*_middle_text(period, None, of_shares, decimals), _answers_text(period.answers)])


def _middle_text(
    part: PeriodReply | GroupReply | ComponentReply,
    atoms: Iterable[str] | None,
    of_shares: bool,
    decimals: int | None,
) -> list[str]:
    """The median of a part of the population, or the share who have 1; empty where it has neither."""
    if of_shares and (share := part.mean_value) is not None:
        return [f"{100 * share.q50:.1f}% have 1 (90%: {100 * share.q05:.1f} to {100 * share.q95:.1f}%)"]
    middle = (part.quantiles or {}).get("0.5")
    rows = [] if middle is None or of_shares else population_rows({"0.5": middle}, None, atoms, decimals)
    return [f"median {median} (90%: {interval})" for _, median, _, interval in rows]


def _answers_text(answers: int) -> str:
    return f"{answers:,} answer{'' if answers == 1 else 's'}"


def drift_sentence(test: DriftTest) -> str:
    """What the test of drift has found."""
    if test.alarm and test.highest >= test.threshold:
        return (
            f"the distribution changed: by the end of {test.period} the evidence for drift was {_odds(test.highest)} "
            f"to 1, and within a year of weeks it reaches {_odds(test.threshold)} to 1 in at most "
            f"{'5' if test.change is None else '2.5'}% of collections that do not change"
        )
    if test.alarm and test.change is not None and test.change_threshold is not None:
        return (
            f"the distribution changed: {test.change_period}, or it and the period before, lie {test.change:.1f} "
            f"standard errors away from all before, and within a year of weeks {test.change_threshold:.1f} are reached "
            "in at most 2.5% of collections that do not change"
        )
    return "no sign that the distribution changed from period to period"


def _odds(nats: float) -> str:
    return "more than a million" if nats > _MOST_NATS else f"{float(f'{math.exp(nats):.2g}'):,.10g}"


_ALONE = (
    "each group rests on its own answers alone: groups borrow from each other through the parameters of a family, and "
    "here there is none"
)


def group_lines(
    groups: Mapping[str, GroupReply], distribution: DistributionSummary | None = None, decimals: int | None = None
) -> list[str]:
    """What there is to say of each group: its median, or its parameters, or the shares of its categories.

    Where people have only 0 or 1, as the whole population's `distribution` tells, the share who have 1.
    """
    shown = list(groups.items())[:_MOST_GROUPS]
    lines = [f"{label}: {_group_text(group, zeros_and_ones(distribution), decimals)}" for label, group in shown]
    rest = len(groups) - len(shown)
    alone = bool(groups) and all(group.borrowed is None for group in groups.values())
    return [*lines, *([f"and {rest:,} more groups"] if rest else []), *([_ALONE] if alone else [])]


def component_lines(
    components: Mapping[str, ComponentReply], correlations: Mapping[str, ParameterSummary]
) -> list[str]:
    """What there is to say of each component, and the correlation of each two."""
    return [
        *(
            f"{name}: {_group_text(part, zeros_and_ones(part.distribution), None)} about it alone"
            for name, part in components.items()
        ),
        *(
            f"correlation of {' and '.join(pair.split(','))}: {each.mean:.2f} ± {each.sd:.2f} "
            f"(90%: {each.q05:.2f} to {each.q95:.2f})"
            for pair, each in correlations.items()
        ),
    ]


def _group_text(group: GroupReply | ComponentReply, of_shares: bool, decimals: int | None) -> str:
    categories = {} if isinstance(group, ComponentReply) else group.categories
    found = _middle_text(group, group.atoms, of_shares, decimals) or [
        f"{name} {rounded(each.mean, 4)} (90%: {rounded(each.q05, 4)} to {rounded(each.q95, 4)})"
        for name, each in (group.posterior or categories or {}).items()
    ]
    return ", ".join([*found, _answers_text(group.answers)])


def unit_text(survey: Mapping[str, object]) -> str:
    """The unit and the period of a value in a collection's terms, such as `€ per week`; empty without either."""
    return " ".join(str(survey[name]) for name in ("unit", "period_of_value") if survey.get(name))


def poison_lines(poison: PoisonBound, log_median: bool = False) -> list[str]:
    """What a bound means, in a sentence; none without parameters.

    With `log_median`, `mu` is the logarithm of the population's median, and the bound that of the median.
    """
    if not poison.shift:
        return []
    if log_median:
        shift = poison.shift["mu"]
        amount = "any amount" if shift is None or shift > 1 else f"{100 * math.expm1(shift):.2g}%"
        return [f"If {100 * poison.share:g}% of the answers were adversarial, the median could be off by {amount}."]
    amounts = [
        f"{name} {'by' if i else 'could be off by'} {_amount(x)}" for i, (name, x) in enumerate(poison.shift.items())
    ]
    listed = " and ".join([", ".join(amounts[:-1]), amounts[-1]] if len(amounts) > 1 else amounts)
    return [f"If {100 * poison.share:g}% of the answers were adversarial, {listed}."]


def _between(quantile: ParameterSummary, most: int, atoms: Set[float]) -> tuple[str, str]:
    """A quantile's median, and its central 90%."""
    low, middle, high = (_in_band(x, quantile, most, atoms) for x in (quantile.q05, quantile.q50, quantile.q95))
    return middle, low if low == high else f"{low} to {high}"


def _in_band(x: float, quantile: ParameterSummary, most: int, atoms: Set[float]) -> str:
    """`x` to two significant digits of the band's width, never coarser than to whole units, with `most` decimals.

    An atom, or what has no band, is shown as it is. What would need more than `_MOST_DIGITS` decimals has an exponent.
    """
    width = quantile.q95 - quantile.q05
    if x in atoms or width <= 0:
        return f"{x:,.12g}"
    digits = max(0, 1 - math.floor(math.log10(width)))
    if abs(x) >= 1e12 or digits > _MOST_DIGITS == most:
        return f"{x:.4g}"
    text = f"{x:,.{min(digits, most)}f}"
    if text.strip("-0.,"):
        return text
    return f"{x:.4g}" if digits > _SHORT and most == _MOST_DIGITS else text.removeprefix("-")


def _amount(bound: float | None) -> str:
    """Two digits, without an exponent up to a million."""
    return "any amount" if bound is None else rounded(bound, 2)


def rounded(number: float, digits: int) -> str:
    """The number to so many digits, with an exponent only where there would be many zeros."""
    return f"{float(f'{number:.{digits}g}'):g}"
