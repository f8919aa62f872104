"""What has been learnt, in words for people who are not statisticians."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dither_client.mechanisms.epsilon import epsilon_text
from dither_client.posterior.comparison import comparison_lines
from dither_client.posterior.misfit import misfit_sentence
from dither_client.posterior.posterior import poison_sentence
from dither_client.posterior.wire import Misfit, PosteriorReply
from dither_estimator.learning.curves import population_quantiles
from dither_estimator.specification.specification import Specification
from dither_server.owner.collection_learner import Particles

__all__ = ["Findings", "citation", "find", "privacy_sentences", "roles"]

_PROBABILITIES = (0.1, 0.5, 0.9)
_ROLES = {
    ("mu", "identity"): "where the middle of the population is",
    ("mu", "log"): "where the middle is, as a logarithm",
    ("sigma", "identity"): "how far people lie apart",
    ("sigma", "log"): "how far people lie apart, as a logarithm",
}
_MANY = 400
"""Effective samples that leave an error of a twentieth of an sd."""


@dataclass(frozen=True)
class Findings:
    """The words beside the numbers."""

    population: Sequence[str]
    """What the numbers say of the people, in the values' own units."""
    roles: Mapping[str, str]
    """As `roles` has them."""
    accuracy: str
    """Whether the computation is good enough, by its effective sample size."""
    fit: str
    """Whether the family seems to hold."""
    alarm: bool
    """Whether it seems not to."""
    poison: str
    verdict: str | None
    """Which of several families holds; None where one alone is fitted."""


def find(specification: Specification, posterior: PosteriorReply, particles: Particles) -> Findings:
    """The findings of a posterior and its particles."""
    misfit = posterior.misfit
    return Findings(
        population=_population(specification, particles) if posterior.answers else [],
        roles=roles(specification),
        accuracy=_accuracy(posterior.ess, posterior.particles),
        fit=_fit(misfit),
        alarm=misfit is not None and misfit.alarm,
        poison=poison_sentence(posterior.poison),
        verdict=None if posterior.verdict is None else comparison_lines([], posterior.verdict)[0],
    )


def roles(specification: Specification) -> Mapping[str, str]:
    """What each parameter means, where that can be said in a line."""
    names, transform = specification.family.names, specification.transform
    return {name: _ROLES[name, transform] for name in names if (name, transform) in _ROLES}


def citation(terms: Mapping[str, Any], posterior: PosteriorReply) -> str:
    """One sentence that can be cited: what was found, from how many, how private, by what, when."""
    found = ", ".join(
        f"{name} = {summary.q50:.4g} (90% interval {summary.q05:.4g} to {summary.q95:.4g})"
        for name, summary in posterior.posterior.items()
    )
    scale = " of the natural logarithm" if terms["transform"] == "log" else ""
    return (
        f"{terms['name']}: {found}; posterior medians of a {terms['family']} distribution{scale}, "
        f"from {posterior.answers:,} answers under ε-local differential privacy "
        f"(ε = {', '.join(posterior.answers_by_epsilon)}, mechanism {terms['mechanism']}), "
        f"Dither collection {terms['id']}, {posterior.updated_at[:10]}."
    )


def privacy_sentences(specification: Specification, terms: Mapping[str, Any]) -> list[str]:
    """The terms as a respondent reads them."""
    epsilon = specification.epsilon
    odds = math.exp(epsilon)
    sentences = [
        "Your value stays on your device. It is compared with a few thresholds there, noise is added, and one answer "
        "is sent.",
        f"The answer costs ε = {epsilon_text(epsilon)}: whatever it is, it is at most {odds:,.3g} times as likely for "
        "you as for anyone else. You can answer once.",
    ]
    if terms["notice"] is not None:
        sentences.append(terms["notice"])
    sentences.append(
        "Answers are kept, each with its noise, its question and its time, and without a name."
        if terms["keep_answers"]
        else "Answers are counted and then dropped."
    )
    sentences.append(
        "The result is public."
        if terms["visibility"] == "public"
        else "The result is for the analysts of this collection."
    )
    return sentences


def _population(specification: Specification, particles: Particles) -> list[str]:
    rows = population_quantiles(
        specification.family, specification.transform, *particles, np.array(_PROBABILITIES)
    ).tolist()
    if not np.isfinite(rows).all() or specification.family.name == "bernoulli":
        return []
    tenth, half, most = ([_rounded(x, row, specification.family.discrete) for x in row] for row in rows)
    return [
        f"Half of the people have {half[1]} or less (90% sure: {_between(half)}).",
        f"One in ten has {tenth[1]} or less ({_between(tenth)}), and one in ten {most[1]} or more ({_between(most)}).",
    ]


def _between(band: Sequence[str]) -> str:
    return band[0] if band[0] == band[2] else f"{band[0]} to {band[2]}"


def _rounded(x: float, band: Sequence[float], whole: bool) -> str:
    """With two digits of the band's width, and no fewer than there are before the point."""
    width = band[2] - band[0]
    digits = 0 if whole or width <= 0 else max(0, 1 - math.floor(math.log10(width)))
    text = f"{x:,.{min(digits, 12)}f}" if abs(x) < 1e12 else f"{x:.4g}"
    return text if text.strip("-0.,") else text.removeprefix("-")


def _accuracy(ess: float, particles: int) -> str:
    error = 1 / math.sqrt(max(ess, 1.0))
    rests = f"The computation stands on {ess:,.0f} effective samples of {particles:,}: "
    if ess >= _MANY:
        return f"{rests}good. It blurs the numbers by about {error:.0%} of their own uncertainty."
    return (
        f"{rests}coarse. It blurs the numbers by about {error:.0%} of their own uncertainty; a collection with more "
        "particles would be sharper."
    )


def _fit(misfit: Misfit | None) -> str:
    if misfit is None:
        return "Whether this kind of curve fits the population was not checked: the collection has no misfit check."
    sentence = misfit_sentence(misfit)
    if not misfit.alarm:
        return sentence
    return (
        f"{sentence} Do not rely on the numbers before you know why: another kind of curve may hold, or who answers "
        "may depend on the value."
    )
