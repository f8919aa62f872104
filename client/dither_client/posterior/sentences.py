"""What a posterior, its checks and its comparison of families say, in words for people."""

import math
from collections.abc import Collection, Mapping, Sequence, Set
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING

from dither_client.errors import BadResponse
from dither_client.mechanisms.epsilon import epsilon_text, parse_epsilon
from dither_client.posterior.digits import MOST_DIGITS, finest_decimals, largest_number, median_and_band, rounded
from dither_client.posterior.names import (
    UNASSUMED,
    a_distribution,
    answers_text,
    assumption,
    distribution_name,
    period_name,
    what_was_learnt,
)
from dither_client.posterior.wire import (
    NO_FAMILY,
    DistributionSummary,
    FamilyEvidence,
    Misfit,
    ParameterSummary,
    PoisonBound,
    PosteriorReply,
)

if TYPE_CHECKING:
    from dither_client.posterior.posterior import Posterior

__all__ = [
    "CANNOT_TELL",
    "LEAVE_OUT",
    "NOT_COMPARED",
    "ONLY_ASSUMED",
    "REFUSED_LOG_ODDS",
    "basis_sentence",
    "can_leave_out",
    "category_lines",
    "comparison_lines",
    "evidence_text",
    "family_name",
    "few_answers_sentence",
    "misfit_sentence",
    "narrow_goal",
    "narrow_goal_sentence",
    "only_zeros_and_ones",
    "poison_lines",
    "population_lines",
    "title_with_unit",
    "unit_text",
    "verdict_lines",
    "whole_numbers",
    "zeros_and_ones",
]

LEAVE_OUT = "To learn the distribution whatever its shape, leave the family out."
ONLY_ASSUMED = "Before any answer this is only what was assumed."
_NO_AVERAGE = (
    "The average is not told: it rests on the few lowest or highest values, of which answers say little, or does not "
    "exist."
)
_CHECK_ANSWERS = 4_000
"""At ε = 1 so many check answers find a Gumbel distribution that is taken for a normal one in a third of the runs.

Measured by `python -m benchmarks.misfit`.
"""
_CHECK_SHARES = tuple(NormalDist().cdf(z) for z in (-1.5, -0.3, 0.3, 1.5))
"""The shares of the people below the cuts of check questions."""
_NEARLY_ALL = {0.05, 0.95}
"""The levels between whose quantiles nine in ten people lie."""
_MOST_CATEGORIES = 3
"""The most categories that are told in a sentence."""
_ENOUGH_ALONE, _ENOUGH_WITH_ATOMS = 500, 5_000
"""How many answers are enough of each group that is estimated alone, on average, without and with declared atoms."""
_APART = (
    "under a family nobody has exactly one of the declared values, so none has a part in what is said of the people"
)
CANNOT_TELL = "cannot tell yet"
"""The verdict while several families, or some and none, explain the answers about equally well."""
NOT_COMPARED = "not compared"
"""The verdict, without any family, where people have so few different values that no family describes them."""
REFUSED_LOG_ODDS = math.log(100)
"""A family whose log evidence is lower than that of none by more than this is refused."""


def basis_sentence(
    distribution: tuple[str, str],
    posterior: "PosteriorReply | Posterior",
    latest: tuple[str, str] | None = None,
    declared: bool | None = None,
) -> str:
    """What a posterior rests on: how many answers were learnt, and what is assumed of the population.

    `distribution` is a family and the scale on which it holds. With `latest`, a kind of calendar period and the label
    of the newest, the distribution drifts, and the population is that of this period. `declared` says of groups whether
    the shares by which the whole population is made of them were declared.
    """
    learnt = what_was_learnt(posterior.answers, posterior.answers_by_epsilon, posterior.members)
    if posterior.components:
        alone = " and ".join(f"{part.answers:,} about {name} alone" for name, part in posterior.components.items())
        return (
            f"This rests on {learnt}, of which {alone}, and the others about how numbers go together. It holds if they "
            "go together as normal numbers do."
        )
    if latest is not None:
        period, label = latest
        own = posterior.periods[label].answers if posterior.periods else 0
        return (
            f"This is about {period_name(period, label)}, which has {answers_text(own)}. It rests on {learnt} of all "
            f"{period}s, of which earlier ones count for less, and holds if the values of each {period} follow "
            f"{a_distribution(*distribution)}."
        )
    of_each = " in each group" if posterior.groups else ""
    assumed = assumption(*distribution).replace("the values", f"the values{of_each}")
    told = f"This rests on {learnt}" + (f", and holds if {assumed}." if assumed else UNASSUMED[distribution[0]])
    if not posterior.groups or declared is None:
        return told
    told = f"{told} Each group counts by its {'declared share of the population' if declared else 'number of answers'}."
    return " ".join(filter(None, [told, few_answers_sentence(posterior, declared)]))


def few_answers_sentence(posterior: "PosteriorReply | Posterior", declared: bool) -> str:
    """What is told as too certain of all groups together, where each is estimated alone and has few answers; or empty.

    What is expected of a group before its answers is then in the results of each, and their mean is as wrong, but more
    certain. `declared` as for `basis_sentence`: groups without answers count only by declared shares.
    """
    groups = [each for each in (posterior.groups or {}).values() if declared or each.answers]
    enough = _ENOUGH_WITH_ATOMS if posterior.atoms else _ENOUGH_ALONE
    pooled = any(each.borrowed is not None for each in groups)
    if pooled or len(groups) < 2 or posterior.answers >= enough * len(groups):
        return ""
    shares = ", and shares of declared values," if posterior.atoms else ""
    return (
        f"Groups have few answers: of all of them together the lowest and highest values{shares} are told as more "
        "certain than they are. Fewer groups, a family or no groups avoid that."
    )


def narrow_goal_sentence(levels: Sequence[float], values: Sequence[float], unit: str) -> str:
    """Where bands may be too narrow because a goal without a family asks for quantiles or shares alone."""
    asked = [f"what {rounded(100 * level, 6)}% have at most" for level in levels]
    asked += [f"the share above {rounded(value, 12)}{f' {unit}' if unit else ''}" for value in values]
    return (
        f"Most questions were about {' and '.join(asked)}, the goal. Elsewhere bands may be far too narrow, above all "
        "where groups of people lie far apart."
    )


def narrow_goal(terms: Mapping[str, object]) -> str:
    """That sentence for a collection with these terms; empty if its goal is no such one."""
    goal = terms.get("goal")
    if terms.get("family") != NO_FAMILY or not isinstance(goal, Mapping) or goal.get("distribution"):
        return ""
    levels, values = ([float(number) for number in goal.get(name) or ()] for name in ("quantiles", "above"))
    return narrow_goal_sentence(levels, values, unit_text(terms))


def can_leave_out(terms: Mapping[str, object]) -> bool:
    """Whether a collection with these terms could do without its family: periods and counts of members need one."""
    return terms.get("period") is None and terms.get("member_cuts") is None


def comparison_lines(families: Sequence[FamilyEvidence], verdict: str, *, atoms: bool = False) -> list[str]:
    """A line for each family, and then the verdict; `atoms` as for `verdict_lines`."""
    rows = [
        f"{family_name(each)}: log evidence {evidence_text(each)}, probability {each.probability:.4f}"
        for each in families
    ]
    return [*rows, *verdict_lines(families, verdict, atoms=atoms)]


def verdict_lines(families: Sequence[FamilyEvidence], verdict: str, *, atoms: bool = False) -> list[str]:
    """Which families the answers refuse beside none, and which holds; or why none are compared.

    With `atoms` values are declared that many people have exactly, so that no family has a part in the results.
    """
    if verdict == NOT_COMPARED:
        return [f"which family holds: {verdict}, for people have too few different values"]
    if not families:
        return [f"which family holds: {verdict}, for there are too few answers to compare families"]
    none = max((each.log_evidence for each in families if each.family == NO_FAMILY), default=-math.inf)
    left = [family_name(each) for each in families if each.log_evidence >= none - REFUSED_LOG_ODDS]
    refused = [name for each in families if (name := family_name(each)) not in left]
    names = {_in_verdict(each): family_name(each) for each in families}
    found = [f"which family holds: {names.get(verdict, verdict)}"]
    if refused and verdict == CANNOT_TELL and len(left) > 1:
        found = [f"between {', '.join(left[:-1])} and {left[-1]}: {verdict}"]
    if refused:
        likelier = "they are at least 100 times as likely without a family"
        found.insert(0, f"the answers refuse {', '.join(refused)}: {likelier}")
    if atoms and len(left) > 1:
        found.append(_APART)
    return found


def evidence_text(each: FamilyEvidence) -> str:
    """The log evidence with its Monte Carlo error, if it has one."""
    return f"{each.log_evidence:.2f}" + (f" ± {each.mc_error:.2f}" if each.mc_error else "")


def _in_verdict(each: FamilyEvidence) -> str:
    """What the server's verdict calls a family."""
    return f"{each.family} with transform {each.transform}" + (f", of {each.of}" if each.of else "")


def family_name(each: FamilyEvidence) -> str:
    """A family as an analyst reads it: `lognormal`, or `gamma of the distance above 100`."""
    name = "no family" if each.family == NO_FAMILY else distribution_name(each.family, each.transform)
    return f"{name} of {each.of}" if each.of else name


def misfit_sentence(
    misfit: Misfit, epsilons: Collection[Fraction] | Collection[str] = (), *, advise: bool = True
) -> str:
    """What the check has found, for people: never that a family fits, which no look can show.

    `epsilons` are those of the collection's answers; the smallest says what the check could find. With `advise`, also
    how to do without a family. Raises `BadResponse` where it contradicts itself.
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
        f"{_gross_ones(epsilons)}.{f' {LEAVE_OUT}' if advise else ''}"
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
    most_atoms: int | None = None,
) -> list[str]:
    """What the people have, in sentences, from summaries by level, atom and value; none that quantiles do not say.

    Values have the `unit`, if it is not empty, and at most so many `decimals`, unless that is None. Without
    `mean_value` a sentence says why there is no average. Of the atoms at most `most_atoms` are told of, those that most
    people have, unless that is None.
    """
    of = f" {unit}" if unit else ""
    shares = [
        f"{100 * share.q50:.1f}% have more than {rounded(float(value), 12)}{of} (90% sure: {100 * share.q05:.1f} to "
        f"{100 * share.q95:.1f}%)."
        for value, share in (above or {}).items()
    ]
    at = {float(atom): share for atom, share in (atoms or {}).items()}
    frequent = sorted(at, key=lambda atom: -at[atom].q50)[:most_atoms]
    people = [
        f"{100 * share.q50:.1f}% have exactly {rounded(atom, 12)}{of} "
        f"({100 * share.q05:.1f} to {100 * share.q95:.1f}%)."
        for atom, share in at.items()
        if atom in frequent
    ]
    if mean_value is not None and zeros_and_ones(distribution):
        low, middle, high = (f"{100 * share:.1f}" for share in (mean_value.q05, mean_value.q50, mean_value.q95))
        return [f"{middle}% have 1 (90% sure: {low} to {high}%).", *shares]
    finest = finest_decimals(each.q50 for each in (quantiles or {}).values())
    lines = _quantile_lines(quantiles, distribution, at.keys(), of, finest if decimals is None else decimals)
    average = _NO_AVERAGE
    if mean_value is not None:
        middle, between = median_and_band(mean_value, finest, set(), largest_number((quantiles or {}).values()))
        average = f"The average is {middle}{of} ({between})."
    return [*lines, *([average] if lines else []), *people, *shares]


def category_lines(categories: Mapping[str, ParameterSummary] | None) -> list[str]:
    """Which categories are the most frequent, in a sentence; none where values are no categories."""
    found = sorted((categories or {}).items(), key=lambda each: -each[1].q50)[:_MOST_CATEGORIES]
    told = [
        (f"“{name}”", f"{100 * share.q50:.1f}%", f"{100 * share.q05:.1f} to {100 * share.q95:.1f}%")
        for name, share in found
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
    most: int,
) -> list[str]:
    """Sentences about quantiles of the population; None where people have only 0 or 1."""
    by_level = {float(level): summary for level, summary in (quantiles or {}).items()}
    if distribution is None or zeros_and_ones(distribution) or not {0.1, 0.5, 0.9} <= by_level.keys():
        return []
    digits = 0 if whole_numbers(distribution) else most
    largest = largest_number(by_level.values())
    written = {level: median_and_band(each, digits, atoms, largest) for level, each in by_level.items()}
    tenth, half, highest = (written[level] for level in (0.1, 0.5, 0.9))
    if half[0] == half[1] and all(written.get(level) == half for level in _NEARLY_ALL):
        return [f"Nearly everybody has {half[0]}{of} (90% sure: nine in ten or more)."]
    return [
        f"Half of the people have {half[0]}{of} or less (90% sure: {half[1]}).",
        f"One in ten has {tenth[0]}{of} or less ({tenth[1]}), and one in ten {highest[0]}{of} or more ({highest[1]}).",
    ]


def whole_numbers(distribution: DistributionSummary | None) -> bool:
    """Whether people have only whole numbers."""
    return distribution is not None and all(round(x, MOST_DIGITS).is_integer() for x in distribution.x)


def zeros_and_ones(distribution: DistributionSummary | None) -> bool:
    """Whether people have 0 or 1, so that quantiles say nothing; not where the distribution has one of them alone."""
    return distribution is not None and {round(x, MOST_DIGITS) for x in distribution.x} == {0.0, 1.0}


def only_zeros_and_ones(distribution: DistributionSummary) -> bool:
    """Whether people have 0, 1 or either, so that there is nothing to draw of their distribution."""
    return {round(x, MOST_DIGITS) for x in distribution.x} <= {0.0, 1.0}


def unit_text(survey: Mapping[str, object]) -> str:
    """The unit and the period of a value in a collection's terms, such as `€ per week`; empty without either."""
    given = (survey.get(name) for name in ("unit", "period_of_value"))
    words = (each.get("en") or next(iter(each.values())) if isinstance(each, Mapping) else each for each in given)
    return " ".join(str(each) for each in words if each)


def title_with_unit(component: Mapping[str, object]) -> str:
    """The title of an axis of one of several numbers, as the terms have it: `wage, € per week`."""
    return ", ".join(filter(None, (str(component["name"]), unit_text(component))))


def poison_lines(poison: PoisonBound, log_median: bool = False) -> list[str]:
    """What a bound means, in a sentence; none without parameters.

    With `log_median`, `mu` is the logarithm of the population's median, and the bound that of the median.
    """
    if not poison.shift:
        return []
    if log_median:
        shift = poison.shift["mu"]
        amount = "any amount" if shift is None or shift > 1 else f"{rounded(100 * math.expm1(shift), 2)}%"
        return [f"If {100 * poison.share:g}% of the answers were adversarial, the median could be off by {amount}."]
    amounts = [
        f"{name} {'by' if i else 'could be off by'} {_amount(x)}" for i, (name, x) in enumerate(poison.shift.items())
    ]
    listed = " and ".join([", ".join(amounts[:-1]), amounts[-1]] if len(amounts) > 1 else amounts)
    return [f"If {100 * poison.share:g}% of the answers were adversarial, {listed}."]


def _amount(bound: float | None) -> str:
    """Two digits, without an exponent up to a million."""
    return "any amount" if bound is None else rounded(bound, 2)
