"""The findings in words for people who are not statisticians."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dither_client.mechanisms.epsilon import by_epsilon_lines
from dither_client.posterior.digits import correlation_numbers, population_numbers, summary_numbers
from dither_client.posterior.names import SHARES_LEAN, a_distribution, distribution_name, mechanism_name, period_name
from dither_client.posterior.sentences import (
    LEAVE_OUT,
    ONLY_ASSUMED,
    basis_sentence,
    can_leave_out,
    category_lines,
    misfit_sentence,
    poison_lines,
    population_lines,
    unit_text,
    verdict_lines,
    whole_numbers,
    zeros_and_ones,
)
from dither_client.posterior.wire import ComponentReply, ParameterSummary, PosteriorReply
from dither_estimator.specification.specification import Specification
from dither_server.pages.atoms import MOST_TOLD, atom_numbers, percents
from dither_server.pages.charts import MEDIAN, has_median
from dither_server.pages.privacy import panel_cost

__all__ = [
    "Findings",
    "basis",
    "citation",
    "component_units",
    "find",
    "roles",
    "shape_of",
    "shown_numbers",
]

_ROLES = {
    ("mu", "identity"): "the middle of the population",
    ("mu", "log"): "the middle of the population, as a logarithm",
    ("sigma", "identity"): "the spread of the population",
    ("sigma", "log"): "the spread of the population, as a logarithm",
}
_SHOWN_QUANTILES = ("quantile_0.1", MEDIAN, "quantile_0.9")
"""What is shown over time without a family."""
_CITED = {
    MEDIAN: "median",
    "quantile_0.1": "10% quantile",
    "quantile_0.9": "90% quantile",
    "mean_value": "mean",
}
_SUFFICIENT_ESS = 400
"""An effective sample size at which the Monte Carlo error is a twentieth of the posterior sd."""


_NO_FAMILY = (
    "No family is assumed: the distribution may have any shape that is fairly smooth. Values that many people have "
    "exactly are spread out over their neighbours, unless they were declared as atoms or are told of one by one."
)

_CATEGORIES = (
    f"Each person is taken to have one of the categories. {SHARES_LEAN} Before any answer every share is possible; of "
    "many categories it is likely that a third have most of the people."
)

_COMPONENTS = (
    "Each number is taken to have the family that is named for it, or a distribution of any fairly smooth shape, and "
    "numbers to go together as normal ones do (a Gaussian copula). Where they go together otherwise, as in a U, the "
    "correlation is that of the nearest such model. None of this was checked."
)


@dataclass(frozen=True)
class Findings:
    """The sentences beside the numbers."""

    population: Sequence[str]
    """Quantiles of the population, in the values' own units."""
    components: Mapping[str, Sequence[str]]
    """The same of each of several numbers, by its name."""
    numbers: Mapping[str, Sequence[str]]
    """The mean, the sd and the quantiles of the posterior of each of these quantiles, and of the population's mean."""
    basis: str
    """What all this rests on."""
    by_epsilon: Sequence[str]
    """How many answered at each ε, where they chose among several."""
    roles: Mapping[str, str]
    """The meaning of each parameter, from `roles`."""
    accuracy: str
    """Whether the effective sample size is large enough."""
    fit: str
    """What the goodness-of-fit check has found."""
    alarm: bool
    """Whether that check has raised an alarm, or the answers refuse the family."""
    contamination: Sequence[str]
    verdict: Sequence[str]
    """Which of the families that are compared the answers refuse, and which is preferred; empty if none are."""
    competing: bool
    """Whether several families were named, and only these are compared."""


def find(
    specification: Specification,
    survey: Mapping[str, Any],
    posterior: PosteriorReply,
    components: Sequence[Mapping[str, Any]] = (),
) -> Findings:
    """The findings of a posterior that describes its population, in the unit that the `survey` asks in.

    `components` are those of the terms.
    """
    misfit = posterior.misfit
    return Findings(
        population=_population(survey, posterior),
        components=_component_populations(posterior, components),
        numbers={}
        if specification.family.values == "yes-no"
        else population_numbers(posterior.quantiles, posterior.mean_value, posterior.atoms, survey["decimals"])
        | atom_numbers(posterior.atoms)
        or _component_numbers(posterior, components),
        basis=basis(specification, posterior),
        by_epsilon=by_epsilon_lines(posterior.answers_by_epsilon),
        roles=roles(specification),
        accuracy=_accuracy(posterior.ess, posterior.particles),
        fit=_unassumed(specification)
        or (_refusal if _refused(specification, posterior) else _fit)(specification, posterior),
        alarm=(misfit is not None and misfit.alarm) or _refused(specification, posterior),
        contamination=poison_lines(posterior.poison, has_median(specification)) if posterior.answers else [],
        verdict=[]
        if posterior.verdict is None
        else verdict_lines(posterior.families or (), posterior.verdict, atoms=bool(specification.support.atoms)),
        competing=bool(specification.rivals),
    )


def _refused(specification: Specification, posterior: PosteriorReply) -> bool:
    """Whether the answers refuse the one family that was named, beside none."""
    return specification.parametric and not specification.rivals and bool(posterior.families)


def _unassumed(specification: Specification) -> str | None:
    """What holds without a family; None with one."""
    if specification.categories:
        return _CATEGORIES
    if specification.components:
        return _COMPONENTS
    if not specification.nonparametric:
        return None
    decimals = specification.support.decimals
    if decimals is None:
        return _NO_FAMILY
    most = f"have at most {decimals} decimal{'' if decimals == 1 else 's'}" if decimals else "be whole"
    return f"{_NO_FAMILY} All values are taken to {most}."


def basis(specification: Specification, posterior: PosteriorReply) -> str:
    """What is assumed of the population, and how many answers were learnt."""
    if not (posterior.answers or posterior.members):
        return ONLY_ASSUMED
    return basis_sentence(
        (specification.family.name, specification.transform),
        posterior,
        _latest(specification, posterior),
        None if specification.groups is None else specification.groups.shares is not None,
    )


def _latest(specification: Specification, posterior: PosteriorReply) -> tuple[str, str] | None:
    """The kind of period and the label of the newest, which the population is of; None without drift."""
    period = specification.period
    if period is None or not specification.drift or not posterior.periods:
        return None
    return period.name, list(posterior.periods)[-1]


def _parts(posterior: PosteriorReply) -> Mapping[str, ComponentReply]:
    return posterior.components or {}


def _component_populations(posterior: PosteriorReply, components: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """What the people have of each of several numbers, in sentences; nothing before the first answer."""
    asked = {each["name"]: each for each in components}
    return {
        name: population_lines(
            part.quantiles,
            part.distribution,
            part.atoms,
            part.above,
            unit_text(asked.get(name, {})),
            asked.get(name, {}).get("decimals"),
            part.mean_value,
        )
        for name, part in (_parts(posterior) if posterior.answers else {}).items()
    }


def _component_numbers(
    posterior: PosteriorReply, components: Sequence[Mapping[str, Any]]
) -> dict[str, tuple[str, ...]]:
    """The median of each of several numbers as `population_numbers` writes it; of a yes or no, the share who have 1."""
    decimals = {each["name"]: each.get("decimals") for each in components}
    found = {}
    for name, part in _parts(posterior).items():
        if zeros_and_ones(part.distribution) and (share := part.mean_value) is not None:
            found[f"{name}: share who have 1"] = percents(share)
        elif (median := (part.quantiles or {}).get("0.5")) is not None:
            most = 0 if whole_numbers(part.distribution) else decimals.get(name)
            numbers = population_numbers({"0.5": median}, None, part.atoms, most)
            found[_median_name(name)] = numbers[MEDIAN]
    return found


def component_units(components: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The unit of each component that has one, by the name of its row in the table of numbers."""
    return {_median_name(each["name"]): unit for each in components if (unit := unit_text(each))}


def _median_name(component: str) -> str:
    """What the median of one of several numbers is called."""
    return f"{component}: half have at most"


def roles(specification: Specification) -> Mapping[str, str]:
    """The meaning of each parameter that can be explained in a line."""
    names, transform = specification.family.names, specification.transform
    return {name: _ROLES[name, transform] for name in names if (name, transform) in _ROLES}


def shown_numbers(specification: Specification) -> tuple[str, ...]:
    """The names of the numbers that are shown over time: quantiles where they are known, and the parameters.

    Of several numbers, the median of the one that is chosen.
    """
    if specification.components:
        return (MEDIAN,)
    if specification.nonparametric or (specification.parametric and specification.groups is not None):
        return _SHOWN_QUANTILES
    return (*((MEDIAN,) if has_median(specification) else ()), *specification.family.names)


def citation(specification: Specification, terms: Mapping[str, Any], posterior: PosteriorReply) -> str:
    """A sentence to cite: the estimates, the number of answers, the privacy, the collection and the date.

    Numbers are those of the population, in the values' own units; of a yes or no, the share who have 1. With drift it
    names the period that they are of.
    """
    found = ", ".join(_estimates(specification, terms, posterior))
    about, learnt = terms["name"], _answers_and_members(posterior)
    if (latest := _latest(specification, posterior)) is not None:
        kind, label = latest
        own = (posterior.periods or {})[label].answers
        about, learnt = (
            f"{about}, {period_name(kind, label)}",
            f"{learnt} of all {kind}s, {own:,} of them of this {kind},",
        )
    cost = panel_cost(specification) or f"ε = {', '.join(posterior.answers_by_epsilon)}"
    return (
        f"{about}: {found}; posterior medians of {_estimated(specification, posterior)}, "
        f"from {learnt} under ε-local differential privacy ({cost}, {mechanism_name(terms['mechanism'])} mechanism), "
        f"Dither collection {terms['id']}, {posterior.updated_at[:10]}."
    )


def _answers_and_members(posterior: PosteriorReply) -> str:
    members = f"noisy counts of {posterior.members:,} members of institutions" if posterior.members else ""
    plural = "" if posterior.answers == 1 else "s"
    answers = f"{posterior.answers:,} answer{plural}" if posterior.answers or not members else ""
    return " and ".join(filter(None, (answers, members)))


def _estimates(specification: Specification, terms: Mapping[str, Any], posterior: PosteriorReply) -> Sequence[str]:
    """The estimates to cite: of shares, of several numbers, of a yes or no, of quantiles, or else of parameters."""
    if posterior.categories is not None:
        return [f"“{name}” {_cited_share(share)}" for name, share in posterior.categories.items()]
    if posterior.components is not None:
        units = component_units(terms["components"])
        numbers = _component_numbers(posterior, terms["components"])
        correlations = (posterior.correlations or {}).items()
        return [
            *(f"{_cited(name)} {_cited_cells(cells, units.get(name, ''))}" for name, cells in numbers.items()),
            *(
                f"correlation of {' and '.join(pair.split(','))} {_cited_cells(correlation_numbers(each))}"
                for pair, each in correlations
            ),
        ]
    if specification.family.values == "yes-no" and (share := posterior.mean_value) is not None:
        return [_cited_share(share, " have 1")]
    known = population_numbers(posterior.quantiles, posterior.mean_value, posterior.atoms, terms["decimals"])
    quantiles = [
        f"{what} {_cited_cells(known[name], unit_text(terms))}" for name, what in _CITED.items() if name in known
    ]
    return quantiles or [
        f"{name} {_cited_cells(summary_numbers(summary))}" for name, summary in posterior.posterior.items()
    ]


def _cited_cells(cells: Sequence[str], unit: str = "") -> str:
    """The median and the 90% interval of a number whose mean, sd and quantiles are written."""
    _, _, low, _, median, _, high = cells
    return f"{median}{unit and f' {unit}'} (90% interval {low} to {high})"


def _cited_share(share: ParameterSummary, who: str = "") -> str:
    return f"{100 * share.q50:.1f}%{who} (90% interval {100 * share.q05:.1f} to {100 * share.q95:.1f}%)"


def _cited(number: str) -> str:
    """What one of `_component_numbers` is called in a sentence."""
    return number.replace(": half have at most", " median").replace(":", ",")


def _estimated(specification: Specification, posterior: PosteriorReply) -> str:
    """What the posterior is of: the family that is assumed of the values, or of those of each group, if any is."""
    if posterior.categories is not None:
        return "shares"
    if posterior.components is not None:
        return "several numbers under a Gaussian copula"
    if specification.nonparametric:
        return "a distribution of any shape"
    assumed = a_distribution(specification.family.name, specification.transform)
    if specification.groups is not None:
        return f"{assumed} in each group"
    return f"{assumed} in each {specification.period.name}" if specification.period and specification.drift else assumed


def shape_of(specification: Specification) -> str:
    """What is known of a collection's distribution beforehand, for tables: `any shape`, `lognormal`."""
    return specification.family.shape or distribution_name(specification.family.name, specification.transform)


def _population(survey: Mapping[str, Any], posterior: PosteriorReply) -> list[str]:
    if not posterior.answers:
        return []
    if posterior.categories is not None:
        return category_lines(posterior.categories)
    return population_lines(
        posterior.quantiles,
        posterior.distribution,
        posterior.atoms,
        posterior.above,
        unit_text(survey),
        survey["decimals"],
        posterior.mean_value,
        MOST_TOLD,
    )


def _accuracy(ess: float, particles: int) -> str:
    error = 1 / math.sqrt(max(ess, 1.0))
    size = f"The effective sample size is {ess:,.0f} of {particles:,} particles: "
    if ess >= _SUFFICIENT_ESS:
        return f"{size}good. The computation adds an error of about {error:.0%} of the sd."
    return (
        f"{size}low. The computation adds an error of about {error:.0%} of the sd; a collection with more particles "
        "would have less."
    )


def _refusal(specification: Specification, posterior: PosteriorReply) -> str:
    """That the answers refuse the family, and what to do, or what else may be why."""
    test = posterior.drift_test
    if test is not None and test.alarm:
        return (
            "The answers refuse one distribution of this family for all periods, perhaps because it changed over time: "
            "what is said about the population may be far off."
        )
    return f"The answers refuse this family: what is said about the population may be far off.{_advice(specification)}"


def _advice(specification: Specification) -> str:
    """How to learn the distribution without a family, after a blank; empty where that is refused."""
    fields = {"period": specification.period, "member_cuts": specification.member_cuts}
    return f" {LEAVE_OUT}" if can_leave_out(fields) else ""


def _fit(specification: Specification, posterior: PosteriorReply) -> str:
    misfit = posterior.misfit
    if misfit is None and specification.family.values == "yes-no":
        return "Every population of zeros and ones has a Bernoulli distribution: nothing is assumed of it."
    advice = _advice(specification)
    if misfit is None:
        return (
            "Whether this family fits the population was not checked: the collection has no goodness-of-fit check."
            f"{advice}"
        )
    sentence = misfit_sentence(misfit, posterior.answers_by_epsilon, advise=bool(advice))
    if not misfit.alarm:
        return sentence
    return (
        f"{sentence} Do not rely on the numbers until you know why: another family may fit, or who answers may "
        "depend on the value."
    )
