"""What the terms of a collection say of its statistics, in fields and in sentences for respondents and admins."""

from threading import Lock
from typing import Any

from dither_client.mechanisms.epsilon import json_epsilon, listed
from dither_estimator.design.advice import advice
from dither_estimator.design.design import optimal_design
from dither_estimator.specification.caution import caution
from dither_estimator.specification.specification import Specification
from dither_server.collections.specification import CollectionSpec
from dither_server.http.bodies import with_floats

__all__ = ["design_advice", "notice", "statistical_terms"]

_ONE_AT_A_TIME = Lock()
"""The first of many who read a collection's terms has its designs computed, which are kept for the others."""


def design_advice(specification: Specification) -> str | None:
    """One line on what another mechanism would save or cost, or on what a fixed question leaves unknown.

    None if no design chooses the questions and the fixed one tells all parameters. Takes a moment.
    """
    if specification.policy.name == "fixed" or not specification.parametric:
        return caution(specification)
    with _ONE_AT_A_TIME:
        return advice(
            optimal_design(
                specification.family,
                specification.family.standard,
                specification.mechanism,
                specification.epsilon,
                specification.standard_goal,
                specification.levels,
                rho=specification.rho,
            )
        )


def notice(specification: Specification) -> str | None:
    """What respondents must know about a choice of ε, groups, periods, a panel and check questions, or None."""
    sentences = []
    if len(choices := specification.epsilon_choices) > 1:
        sentences.append(
            f"You choose ε, one of {listed(choices)}, before you see the question. Your choice is sent without "
            "noise, so it must not depend on your value: otherwise it reveals something about the value, "
            "and the result is wrong."
        )
    if (groups := specification.groups) is not None:
        sentences.append(
            f"You say which {groups.name} you belong to. It is sent without noise: whoever runs the collection learns "
            "it, but not your value."
        )
    if (period := specification.period) is not None:
        sentences.append(f"Your answer is counted with those of the {period.name} in which you ask for the question.")
    if (panel := specification.panel) is not None:
        sentences.append(f"{panel.sentence} {panel.cost(specification.epsilon)}")
    if (check := specification.misfit_check) is not None:
        sentences.append(
            f"A random share of {check.share:.3g} of the questions checks whether the family fits; their answers have "
            "the same noise and cost the same ε, and are not used for the estimate while the collection runs."
        )
    return " ".join(sentences) or None


def statistical_terms(service: CollectionSpec, specification: Specification) -> dict[str, Any]:
    """The fields of the terms that say what is asked and how it is estimated, ready for JSON."""
    choices = specification.epsilon_choices
    rho = specification.largest_rho
    return {
        "family": specification.family.name,
        "transform": specification.transform,
        "epsilon": json_epsilon(specification.epsilon),
        "epsilon_choices": [json_epsilon(epsilon) for epsilon in choices] if len(choices) > 1 else None,
        "rho": None if rho is None else json_epsilon(rho),
        "mechanism": specification.mechanism,
        "goal": with_floats(service.goal or _default_goal(specification)),
        "policy": service.policy or "adaptive",
        "levels": specification.levels,
        "member_cuts": None if specification.member_cuts is None else list(specification.member_cuts),
        "categories": list(specification.categories) or None,
        "minimum": specification.support.minimum,
        "maximum": specification.support.maximum,
        "atoms": list(specification.support.atoms) or None,
        "groups": None if specification.groups is None else specification.groups.to_json(),
        **({} if specification.period is None else _over_time(specification)),
        **({"components": _components(service, specification)} if specification.components else {}),
        **{name: with_floats(getattr(service, name)) for name in ("range", "prior", "families")},
    }


def _components(service: CollectionSpec, specification: Specification) -> list[dict[str, Any]]:
    """What the terms say of each component; what was not given is left out, but for its scale."""
    said = []
    for given, each in zip(service.components, specification.components, strict=True):
        support = each.specification.support
        bounds = {"minimum": support.minimum, "maximum": support.maximum}
        known = {
            name: value for name, value in given.items() if value is not None and name not in ("transform", *bounds)
        }
        found = {**known, "family": each.specification.family.name, "transform": each.specification.transform}
        said.append(with_floats({**found, **{name: value for name, value in bounds.items() if value is not None}}))
    return said


def _over_time(specification: Specification) -> dict[str, Any]:
    assert specification.period is not None
    panel = specification.panel
    each = {} if panel is None else {"panel": {"answers": panel.answers, "periods": panel.periods}}
    return {"period": specification.period.name, "drift": specification.drift, **each}


def _default_goal(specification: Specification) -> str:
    if specification.categories:
        return "categories"
    if specification.components:
        return "components"
    return "distribution" if specification.nonparametric else "all"
