"""The findings in words for people who are not statisticians."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dither_client.mechanisms.epsilon import epsilon_text
from dither_client.posterior.sentences import (
    LEAVE_OUT,
    misfit_sentence,
    poison_lines,
    population_lines,
    population_numbers,
    unit_text,
    verdict_lines,
)
from dither_client.posterior.wire import Misfit, PosteriorReply
from dither_estimator.specification.specification import Specification

__all__ = ["Findings", "citation", "find", "privacy_sentences", "roles", "shown_numbers"]

_ROLES = {
    ("mu", "identity"): "the middle of the population",
    ("mu", "log"): "the middle of the population, as a logarithm",
    ("sigma", "identity"): "the spread of the population",
    ("sigma", "log"): "the spread of the population, as a logarithm",
}
_SHOWN_QUANTILES = {
    "quantile_0.1": "a tenth of the people have this or less",
    "quantile_0.5": "half of the people have this or less",
    "quantile_0.9": "a tenth of the people have this or more",
}
"""What is shown over time without a family, and its meaning."""
_SUFFICIENT_ESS = 400
"""An effective sample size at which the Monte Carlo error is a twentieth of the posterior sd."""


_NO_FAMILY = (
    "No family is assumed: the distribution may have any shape that is fairly smooth, apart from the atoms that were "
    "declared. Values that many people have and that nobody declared are spread out over their neighbours."
)

_REFUSED = f"The answers refuse this family: what is said about the population may be far off. {LEAVE_OUT}"

_CATEGORIES = (
    "Nothing is assumed but that each person has one of the categories. Before any answer every share is possible, and "
    "it is likely that a few of many categories have most of the people."
)
_COMPARED = {
    False: "It is compared with a few thresholds",
    True: "The group of categories that it belongs to is looked up",
}
"""What happens to a value on the device, by whether it is a category."""


@dataclass(frozen=True)
class Findings:
    """The sentences beside the numbers."""

    population: Sequence[str]
    """Quantiles of the population, in the values' own units."""
    numbers: Mapping[str, Sequence[str]]
    """The mean, the sd and the quantiles of the posterior of each of these quantiles, and of the population's mean."""
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


def find(specification: Specification, survey: Mapping[str, Any], posterior: PosteriorReply) -> Findings:
    """The findings of a posterior that describes its population, in the unit that the `survey` asks in."""
    misfit = posterior.misfit
    return Findings(
        population=_population(survey, posterior),
        numbers=population_numbers(posterior.quantiles, posterior.mean_value, posterior.atoms, survey["decimals"]),
        roles=roles(specification),
        accuracy=_accuracy(posterior.ess, posterior.particles),
        fit=_unassumed(specification) or (_REFUSED if _refused(specification, posterior) else _fit(misfit)),
        alarm=(misfit is not None and misfit.alarm) or _refused(specification, posterior),
        contamination=poison_lines(posterior.poison),
        verdict=[] if posterior.verdict is None else verdict_lines(posterior.families or (), posterior.verdict),
        competing=bool(specification.rivals),
    )


def _refused(specification: Specification, posterior: PosteriorReply) -> bool:
    """Whether the answers refuse the one family that was named, beside none."""
    return specification.parametric and not specification.rivals and bool(posterior.families)


def _unassumed(specification: Specification) -> str | None:
    """What holds without a family; None with one."""
    if specification.categories:
        return _CATEGORIES
    return _NO_FAMILY if specification.nonparametric else None


def roles(specification: Specification) -> Mapping[str, str]:
    """The meaning of each parameter that can be explained in a line."""
    if specification.nonparametric:
        return _SHOWN_QUANTILES
    names, transform = specification.family.names, specification.transform
    return {name: _ROLES[name, transform] for name in names if (name, transform) in _ROLES}


def shown_numbers(specification: Specification) -> tuple[str, ...]:
    """The names of the numbers that are shown over time: the parameters, or some quantiles."""
    return tuple(_SHOWN_QUANTILES) if specification.nonparametric else specification.family.names


def citation(terms: Mapping[str, Any], posterior: PosteriorReply) -> str:
    """A sentence to cite: the estimates, the number of answers, the privacy, the collection and the date."""
    quantiles = {f"quantile {level}": summary for level, summary in (posterior.quantiles or {}).items()}
    found = ", ".join(
        f"{name} = {summary.q50:.4g} (90% interval {summary.q05:.4g} to {summary.q95:.4g})"
        for name, summary in (posterior.posterior or posterior.categories or quantiles).items()
    )
    scale = " of the natural logarithm" if terms["transform"] == "log" else ""
    law = f"a {terms['family']} distribution{scale}" if posterior.posterior else "a distribution of any shape"
    if unit := unit_text(terms):
        law += f" of values in {unit}"
    if posterior.categories is not None:
        law = "shares"
    return (
        f"{terms['name']}: {found}; posterior medians of {law}, "
        f"from {posterior.answers:,} answers under ε-local differential privacy "
        f"(ε = {', '.join(posterior.answers_by_epsilon)}, mechanism {terms['mechanism']}), "
        f"Dither collection {terms['id']}, {posterior.updated_at[:10]}."
    )


def privacy_sentences(specification: Specification, terms: Mapping[str, Any]) -> list[str]:
    """The terms as a respondent reads them."""
    epsilon = specification.epsilon
    odds = math.exp(epsilon)
    sentences = [
        f"Your value stays on your device. {_COMPARED[bool(specification.categories)]} there, noise is added, and one "
        "answer is sent.",
        f"The answer costs ε = {epsilon_text(epsilon)}: whatever it is, it is at most {odds:,.3g} times as likely for "
        "you as for anyone else. You can answer once.",
    ]
    if terms["notice"] is not None:
        sentences.append(terms["notice"])
    sentences.append(
        "Each answer is kept with its noise, its question and its time, and without a name."
        if terms["keep_answers"]
        else "Answers are counted and then dropped."
    )
    sentences.append(
        "The result is public."
        if terms["visibility"] == "public"
        else "Only the analysts of this collection see the result."
    )
    return sentences


def _population(survey: Mapping[str, Any], posterior: PosteriorReply) -> list[str]:
    if not posterior.answers:
        return []
    return population_lines(
        posterior.quantiles,
        posterior.distribution,
        posterior.atoms,
        posterior.above,
        unit_text(survey),
        survey["decimals"],
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


def _fit(misfit: Misfit | None) -> str:
    if misfit is None:
        return (
            "Whether this family fits the population was not checked: the collection has no goodness-of-fit check. "
            f"{LEAVE_OUT}"
        )
    sentence = misfit_sentence(misfit)
    if not misfit.alarm:
        return sentence
    return (
        f"{sentence} Do not rely on the numbers until you know why: another family may fit, or who answers may "
        "depend on the value."
    )
