"""The form for a new collection: its specification, and advice while it is filled in."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any, get_args

import numpy as np

from dither_client.epsilon import epsilon_text
from dither_client.queries import MAX_EPSILON
from dither_estimator.design import Mechanism, optimal_design
from dither_estimator.design_advice import advice
from dither_estimator.families import families
from dither_estimator.plan import MAX_RESPONDENTS, precision_of_answers, precision_of_values
from dither_estimator.specification import Specification, SpecificationError

__all__ = ["CHOICES", "Advice", "advise", "specification_of"]

CHOICES: Mapping[str, tuple[str, ...]] = {
    "family": tuple(families),
    "transform": ("identity", "log"),
    "mechanism": get_args(Mechanism),
    "admission": ("public", "invite", "gateway"),
    "visibility": ("private", "public"),
}
"""What the form's lists offer."""

_TEXTS = ("name", *CHOICES, "goal")
_TIMES = ("opens_at", "closes_at")
_DRAWS = 2_000
_DEFAULT_RESPONDENTS = 1_000


@dataclass(frozen=True)
class Advice:
    """What a collection like this would come to, if the population lies in the middle of the prior."""

    guess: Mapping[str, float]
    """That population."""
    respondents: int
    rows: tuple[tuple[str, Mapping[str, float | None], float], ...]
    """ε, the posterior sd of each parameter, and how many times as many people it takes as without privacy."""
    efficiency: float
    """The share of these respondents that the best mechanism of any kind would need."""
    mechanism: str | None
    """What another mechanism would save or cost."""


def specification_of(form: Mapping[str, str]) -> dict[str, Any]:
    """The JSON of the collection that the form's fields describe, which `parse_spec` judges.

    Raises `SpecificationError` for what is no number.
    """
    spec: dict[str, Any] = {name: form[name] for name in _TEXTS if name in form}
    spec |= {name: f"{form[name]}:00Z" for name in _TIMES if name in form}
    if "epsilon" in form:
        spec["epsilon"] = form["epsilon"]
    if "low" in form or "high" in form:
        spec["range"] = [_number(form, "low"), _number(form, "high")]
    if "max_answers" in form:
        spec["max_answers"] = _whole(form, "max_answers")
    if "misfit_check" in form:
        spec["misfit_check"] = True
    if "drop_answers" in form:
        spec["keep_answers"] = False
    return spec


def advise(form: Mapping[str, str]) -> Advice:
    """The advice. Raises `SpecificationError` or `DesignError`, whose sentences name the fix."""
    fields = specification_of({"name": "unnamed"} | dict(form))
    specification = Specification.from_json(fields)
    respondents = _whole(form, "respondents") if "respondents" in form else _DEFAULT_RESPONDENTS
    if not 1 <= respondents <= MAX_RESPONDENTS:
        raise SpecificationError(f"respondents must be from 1 to {MAX_RESPONDENTS:,}")
    family = specification.family
    draws = specification.prior.sample(np.random.default_rng(0), _DRAWS)
    theta = family.constrain(np.median(draws, axis=0)[np.newaxis])[0]
    without = precision_of_values(family, theta)
    rows = []
    for epsilon in _around(specification.epsilon):
        sds = precision_of_answers(_at(specification, epsilon), theta).sd(respondents)
        known = {name: sd for name, sd in sds.items() if sd is not None}
        price = respondents / without.respondents(known) if known else float("nan")
        rows.append((epsilon_text(epsilon), sds, price))
    design = optimal_design(
        family, theta, specification.mechanism, specification.epsilon, specification.goal, specification.levels
    )
    return Advice(
        guess=dict(zip(family.names, theta.tolist(), strict=True)),
        respondents=respondents,
        rows=tuple(rows),
        efficiency=design.efficiency,
        mechanism=advice(design),
    )


def _around(epsilon: Fraction) -> tuple[Fraction, ...]:
    """ε, a half and the double of it, as far as they have six decimals and are allowed."""
    return tuple(e for e in (epsilon / 2, epsilon, 2 * epsilon) if e <= MAX_EPSILON and (e * 10**6).denominator == 1)


def _at(specification: Specification, epsilon: Fraction) -> Specification:
    return replace(specification, epsilon=epsilon, epsilon_choices=(epsilon,))


def _number(form: Mapping[str, str], name: str) -> float:
    try:
        return float(Decimal(form[name]))
    except (KeyError, InvalidOperation, OverflowError):
        raise SpecificationError(
            f"{name} of the range must be a number, such as 100 or -2.5; or leave both out"
        ) from None


def _whole(form: Mapping[str, str], name: str) -> int:
    if not (form[name].isascii() and form[name].isdigit() and len(form[name]) < 20):
        raise SpecificationError(f"{name} must be a whole number")
    return int(form[name])
