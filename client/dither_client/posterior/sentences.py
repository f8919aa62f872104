"""What a posterior, its checks and its comparison of families say, in words for people."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from fractions import Fraction
from statistics import NormalDist

from dither_client.errors import BadResponse
from dither_client.mechanisms.epsilon import epsilon_text, parse_epsilon
from dither_client.posterior.wire import (
    NO_FAMILY,
    QUANTILES,
    DistributionSummary,
    FamilyEvidence,
    GroupReply,
    Misfit,
    ParameterSummary,
    PoisonBound,
)

__all__ = [
    "LEAVE_OUT",
    "REFUSED_LOG_ODDS",
    "comparison_lines",
    "distribution_name",
    "family_name",
    "group_lines",
    "misfit_sentence",
    "poison_lines",
    "population_lines",
    "population_numbers",
    "population_rows",
    "rounded",
    "unit_text",
    "verdict_lines",
]

LEAVE_OUT = "To learn the distribution whatever its shape, leave the family out."
_CHECK_ANSWERS = 4_000
"""At ε = 1 so many check answers find a Gumbel distribution that is taken for a normal one in a third of the runs.

Measured by `python -m benchmarks.misfit`.
"""
_CHECK_SHARES = tuple(NormalDist().cdf(z) for z in (-1.5, -0.3, 0.3, 1.5))
"""The shares of the people below the cuts of check questions."""
_NAMES = {
    ("normal", "log"): "lognormal",
    ("laplace", "identity"): "Laplace",
    ("laplace", "log"): "log-Laplace",
    ("logistic", "log"): "log-logistic",
    ("student_t", "identity"): "Student t",
    ("student_t", "log"): "log Student t",
    ("gumbel", "identity"): "Gumbel",
    ("gumbel", "log"): "log-Gumbel",
    ("weibull", "identity"): "Weibull",
    ("bernoulli", "identity"): "Bernoulli",
    ("poisson", "identity"): "Poisson",
    ("negative_binomial", "identity"): "negative binomial",
}
"""What families are called on each scale, where that is not the name that they have in a specification."""
_MOST_GROUPS = 12
"""The most groups that are listed."""
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


def distribution_name(family: str, transform: str) -> str:
    """A family on its scale as its distribution is called in words: `lognormal`, `log-logistic`, `Poisson`."""
    name, _, degrees = family.partition(":")
    called = _NAMES.get((name, transform), name)
    return f"{called} with {degrees} degrees of freedom" if degrees else called


def misfit_sentence(misfit: Misfit, epsilons: Collection[Fraction] | Collection[str] = ()) -> str:
    """What the check has found, for people: never that a family fits, which no look can show.

    `epsilons` are those of the collection's answers; the smallest says what the check could find. Raises `BadResponse`
    where it contradicts itself.
    """
    family, made, following = misfit.family, len(misfit.looks), misfit.next_look
    if misfit.alarm:
        first = next((look for look in misfit.looks if look.p_value <= look.alpha), None)
        if first is None:
            raise BadResponse("the server's misfit check has an alarm that no look gave")
        return (
            f"The answers do not look {family}: p = {first.p_value:.3f} at {first.check_answers:,} check "
            f"answers, where {first.alpha:.2g} or less is an alarm."
        )
    if not made and following is not None:
        return f"Whether the family {family} fits is first checked at {following:,} check answers."
    until = "" if following is None else f" (the next look is at {following:,} check answers)"
    return (
        f"No misfit of the family {family} was found in {made} look{'' if made == 1 else 's'}{until}; "
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
    if mean_value is not None and _yes_or_no(distribution):
        low, middle, high = (f"{100 * share:.1f}" for share in (mean_value.q05, mean_value.q50, mean_value.q95))
        return [f"{middle}% have 1 (90% sure: {low} to {high}%).", *shares]
    lines = _quantile_lines(quantiles, distribution, exactly, of, decimals)
    if lines and mean_value is not None:
        average, between = _between(mean_value, _MOST_DIGITS if decimals is None else decimals, set())
        lines.append(f"The average is {average}{of} ({between}).")
    return [*lines, *people, *shares]


def _quantile_lines(
    quantiles: Mapping[str, ParameterSummary] | Mapping[float, ParameterSummary] | None,
    distribution: DistributionSummary | None,
    atoms: Set[float],
    of: str,
    decimals: int | None,
) -> list[str]:
    """None where people have only 0 or 1."""
    by_level = {float(level): summary for level, summary in (quantiles or {}).items()}
    if distribution is None or _yes_or_no(distribution) or not {0.1, 0.5, 0.9} <= by_level.keys():
        return []
    whole = all(round(x, _MOST_DIGITS).is_integer() for x in distribution.x)
    digits = 0 if whole else _MOST_DIGITS if decimals is None else decimals
    tenth, half, most = (_between(by_level[level], digits, atoms) for level in (0.1, 0.5, 0.9))
    return [
        f"Half of the people have {half[0]}{of} or less (90% sure: {half[1]}).",
        f"One in ten has {tenth[0]}{of} or less ({tenth[1]}), and one in ten {most[0]}{of} or more ({most[1]}).",
    ]


def _yes_or_no(distribution: DistributionSummary | None) -> bool:
    """Whether people have only 0 or 1."""
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


def group_lines(groups: Mapping[str, GroupReply], decimals: int | None = None) -> list[str]:
    """What there is to say of each group: its median, or its parameters, or the shares of its categories."""
    shown = list(groups.items())[:_MOST_GROUPS]
    lines = [f"{label}: {_group_text(group, decimals)}" for label, group in shown]
    rest = len(groups) - len(shown)
    return [*lines, *([f"and {rest:,} more groups"] if rest else [])]


def _group_text(group: GroupReply, decimals: int | None) -> str:
    middle = (group.quantiles or {}).get("0.5")
    if middle is not None:
        rows = population_rows({"0.5": middle}, None, group.atoms, decimals)
        found = [f"median {mean} (90%: {interval})" for _, mean, _, interval in rows]
    else:
        found = [
            f"{name} {rounded(each.mean, 4)} (90%: {rounded(each.q05, 4)} to {rounded(each.q95, 4)})"
            for name, each in (group.posterior or group.categories or {}).items()
        ]
    return ", ".join([*found, f"{group.answers:,} answer{'' if group.answers == 1 else 's'}"])


def unit_text(survey: Mapping[str, object]) -> str:
    """The unit and the period of a value in a collection's terms, such as `€ per week`; empty without either."""
    return " ".join(str(survey[name]) for name in ("unit", "period_of_value") if survey.get(name))


def poison_lines(poison: PoisonBound) -> list[str]:
    """What a bound means, in a sentence; none without parameters."""
    if not poison.shift:
        return []
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
