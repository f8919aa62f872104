"""Advice on a collection before it is created, by `plan` and `design`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dither_client import DitherError
from dither_client.mechanisms.epsilon import epsilon_text
from dither_client.mechanisms.query import MAX_EPSILON
from dither_client.posterior.digits import rounded
from dither_estimator.design.advice import advice
from dither_estimator.design.design import DesignError, NothingThere, optimal_design
from dither_estimator.families import FloatArray
from dither_estimator.planning.precision import (
    MAX_RESPONDENTS,
    precise_names,
    precision_of_answers,
    precision_of_values,
)
from dither_estimator.specification.contradictions import new_specification
from dither_estimator.specification.fields import epsilon_of
from dither_estimator.specification.specification import Specification, SpecificationError
from dither_server.pages.charts import has_median
from dither_server.pages.new_collection import specification_of
from dither_server.pages.typed_fields import whole_number

__all__ = ["Advice", "advise", "respondents_of"]

_MEANINGS = {"mu": "middle (mu)", "sigma": "spread (sigma)"}
_MEDIANS = {"mu": "median", "sigma": "spread"}
"""What the parameters of a logarithm are in the values' own units, where their precision is a share."""
_DEFAULT_RESPONDENTS = 1_000


@dataclass(frozen=True)
class Advice:
    """The precision to expect of a collection, if the population lies in the middle of the prior."""

    guess: Mapping[str, float]
    """The parameters of that population."""
    population: str
    """What people have in it, in the values' own units."""
    respondents: int
    symbol: str
    """The budget that each row begins with: ε or ρ."""
    rows: tuple[tuple[str, Mapping[str, float | None], float], ...]
    """ε or ρ, the posterior sd of each of `names`, and the respondents needed per respondent without privacy."""
    names: tuple[str, ...]
    """The parameters, and what else the goal asks for; quantiles are in the values' own units."""
    columns: tuple[str, ...]
    """What these are called."""
    relative: Mapping[str, float]
    """How large those are whose precision is shown as a share."""
    efficiency: float
    """The share of these respondents that the best mechanism of any kind would need."""
    mechanism: str | None
    """What another mechanism would save or cost."""
    notes: tuple[str, ...]
    """Further assumptions behind the numbers."""


_NO_FAMILY = (
    "without a family the precision depends on the shape, which nobody knows yet, so the following holds for ε = 1, "
    "1,000 people, the goal distribution and the default mechanism, whatever is entered: they leave at most about "
    "± 0.1 (90% sure) on the share of the people at or below any value; four times as many people leave half of that, "
    "and so does ε = 2, while ε = 0.5 leaves about twice as much; dither plan simulates other cases"
)

_SHARES = (
    "the precision of shares depends on them, which nobody knows yet: 1,000 answers at ε = 1 leave at most about ± 0.1 "
    "(90% sure) on the share of each category, and four times as many half of that"
)


def advise(form: Mapping[str, str]) -> Advice:
    """The advice for a form. Raises `SpecificationError` or `DesignError`, whose messages name the fix."""
    asked = specification_of({"name": "unnamed"} | dict(form))
    spec = new_specification(asked)
    respondents = respondents_of(form)
    if spec.categories:
        raise DesignError(_SHARES)
    if spec.nonparametric:
        raise DesignError(_NO_FAMILY)
    first = asked["families"][0] if "families" in asked else asked
    bounded = bool(np.isfinite(spec.family.support).all())
    if not bounded and not {"range", "goal"} & asked.keys() and "prior" not in first:
        raise DesignError("give the rough range of most values: the advice is about a population in its middle")
    try:
        return _advice(spec, respondents)
    except NothingThere:
        raise NothingThere("give a range, or a prior, in whose middle the value may lie") from None


def respondents_of(form: Mapping[str, str]) -> int:
    """How many people the form expects. Raises `SpecificationError`."""
    respondents = _DEFAULT_RESPONDENTS
    if "respondents" in form:
        respondents = whole_number("respondents", form["respondents"])
    if not 1 <= respondents <= MAX_RESPONDENTS:
        raise SpecificationError(f"respondents must be from 1 to {MAX_RESPONDENTS:,}")
    return respondents


def _advice(spec: Specification, respondents: int) -> Advice:
    family = spec.family
    theta = np.concatenate([part.quantiles(np.array([0.5])) for part in spec.prior.parts])
    without = precision_of_values(family, theta, spec.goal, spec.transform)
    learnt = respondents if spec.misfit_check is None else round(respondents * (1 - spec.misfit_check.share))
    rows = []
    for budget, other in _around(spec):
        sds = precision_of_answers(other, theta).sd(learnt)
        wanted = precise_names(spec)[0 if spec.goal.of_parameters else len(family.names) :]
        known = {name: sd for name in wanted if (sd := sds[name]) is not None}
        price = respondents / without.respondents(known) if known else float("nan")
        rows.append((epsilon_text(budget), sds, price))
    design = optimal_design(family, theta, spec.mechanism, spec.epsilon, spec.goal, spec.levels, rho=spec.rho)
    return Advice(
        guess=dict(zip(family.names, theta.tolist(), strict=True)),
        population=_population(spec, theta),
        respondents=respondents,
        symbol="ε" if spec.rho is None else "ρ",
        rows=tuple(rows),
        names=precise_names(spec),
        columns=tuple(_column(spec, name) for name in precise_names(spec)),
        relative={"mu": 1.0, "sigma": float(theta[1])} if has_median(spec) else {},
        efficiency=design.efficiency,
        mechanism=advice(design),
        notes=(*_notes(spec, learnt), *_notes_on_a_panel(spec, respondents)),
    )


def _population(spec: Specification, theta: FloatArray) -> str:
    """The middle and the tenths of a member; of a yes or no, the share who say yes."""
    if spec.family.values == "yes-no":
        return f"{rounded(100 * theta[0], 3)}% of the people have 1"
    found = spec.family.quantiles(theta[np.newaxis], np.array([0.1, 0.5, 0.9]))[0]
    low, middle, high = (rounded(x, 3) for x in (np.exp(found) if spec.transform == "log" else found))
    return f"half of the people have {middle} or less, one in ten {low} or less, and one in ten {high} or more"


def _column(spec: Specification, name: str) -> str:
    if has_median(spec) and name in _MEDIANS:
        return _MEDIANS[name]
    kind, _, number = name.partition("_")
    if kind == "quantile":
        return f"what {100 * float(number):.10g}% have at most"
    return f"share above {rounded(float(number), 12)}" if kind == "above" else _MEANINGS.get(name, name)


def _around(spec: Specification) -> Iterator[tuple[Fraction, Specification]]:
    """The collection at each ε that may be chosen; without a choice, at half its ε or ρ, at that, and at twice that.

    Those that need more than six decimals, or are not allowed, are left out.
    """
    if len(spec.epsilon_choices) > 1:
        yield from ((epsilon, _at(spec, epsilon)) for epsilon in spec.epsilon_choices)
        return
    given = spec.rho or spec.epsilon
    for budget in (given / 2, given, 2 * given):
        if (budget * 10**6).denominator != 1:
            continue
        if spec.rho is None and budget <= MAX_EPSILON:
            yield budget, _at(spec, budget)
        elif spec.rho is not None:
            try:
                epsilon = epsilon_of(spec.mechanism, budget, spec.levels)
            except (SpecificationError, DitherError):
                continue
            yield budget, replace(_at(spec, epsilon), rho=budget)


def _at(spec: Specification, epsilon: Fraction) -> Specification:
    return replace(spec, epsilon=epsilon, epsilon_choices=(epsilon,))


def _notes(spec: Specification, learnt: int) -> Iterator[str]:
    if spec.rho is not None:
        yield f"At this ρ no answer costs more than ε = {epsilon_text(spec.epsilon)}, as respondents are told."
    if len(spec.epsilon_choices) > 1:
        yield "Each row shows what to expect if everybody chose that ε."
    if spec.misfit_check is not None:
        yield (
            f"{_percent(spec.misfit_check.share)} of the answers check whether the family fits; "
            f"the parameters are learnt from the other {learnt:,}."
        )
    if spec.rivals:
        yield (
            f"{_percent(spec.discriminate)} of the questions are there to tell the {len(spec.rivals) + 1} families "
            "apart. They are counted here as if they said nothing about the parameters, so expect slightly better."
        )
    if spec.period is not None:
        yield (
            f"This is the precision of all respondents together, if nothing changes. That of one {spec.period.name} "
            f"lies between it and the precision of that {spec.period.name}'s respondents alone."
        )
    if spec.policy.name == "thompson":
        yield "The numbers hold for the policy adaptive; thompson needs more people at first."
    if spec.member_cuts is not None:
        yield "The counts that institutions share are not included: they improve on this."


def _notes_on_a_panel(spec: Specification, people: int) -> Iterator[str]:
    panel = spec.panel
    if panel is None:
        return
    times = "once" if panel.answers == 1 else f"{panel.answers:,} times"
    answers = max(1, round(people * panel.answers / panel.periods))
    yield (
        f"Each person answers {times} within {panel.periods:,} {panel.period.name}s, and spends "
        f"ε = {epsilon_text(panel.answers * spec.epsilon)} in all, when joining. If all join together, each "
        f"{panel.period.name} has about {answers:,} {'answer' if answers == 1 else 'answers'}."
    )
    if panel.answers > 1:
        yield (
            "The table counts one answer of each person. The others add to that, "
            "but less where the values of one person are alike."
        )


def _percent(share: float) -> str:
    return f"{rounded(100 * share, 3)}%"
