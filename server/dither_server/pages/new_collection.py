"""The form for a new collection: its fields, and the specification that they describe.

A field has the name of the specification's field, if there is one. `opens_at` and `closes_at` are UTC; `prior_mu` is
the prior of `mu`, such as `norm, loc=0, scale=100`, and `competing_logistic_log` the family `logistic` on the
logarithmic scale, which competes with the collection's own.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, get_args

from dither_client import Transform
from dither_client.mechanisms.calendar_period import PeriodName
from dither_client.posterior.names import distribution_name, mechanism_name
from dither_estimator.design.registry import MECHANISMS, WITH_FAMILY, WITHOUT_FAMILY
from dither_estimator.families import families
from dither_estimator.specification.fields import CATEGORICAL, NONPARAMETRIC
from dither_estimator.specification.specification import SpecificationError
from dither_server.collections.specification import Admission, Visibility
from dither_server.pages.component_form import COMPONENT_TITLES, component_field_of, components_of
from dither_server.pages.goal_fields import GOAL_TITLES, GOALS, goal_of
from dither_server.pages.policy_fields import POLICIES, POLICY_TITLES, policy_of
from dither_server.pages.prior_fields import prior_of
from dither_server.pages.typed_fields import lines_in, number_in, parts_in, share_in, whole_number

__all__ = [
    "CHOICES",
    "COMPETING",
    "COMPONENT_FAMILIES",
    "FIELD",
    "LABELS",
    "TITLES",
    "field_of",
    "named_in",
    "specification_of",
]


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _small(text: str) -> str:
    return f"{text[:1].lower()}{text[1:]}"


CHOICES: Mapping[str, tuple[str, ...]] = {
    "family": (NONPARAMETRIC.name, CATEGORICAL.name, *families),
    "transform": get_args(Transform),
    "mechanism": ("", *MECHANISMS),
    "admission": get_args(Admission),
    "visibility": get_args(Visibility),
    "period": ("", *get_args(PeriodName)),
    "goal_of": tuple(GOALS),
    "policy": tuple(POLICIES),
}
"""The options of the form's lists; an empty one leaves the choice to the server."""

LABELS: Mapping[str, Mapping[str, str]] = {
    "family": {
        family.name: family.label or _capital(distribution_name(family.name, "identity"))
        for family in (NONPARAMETRIC, CATEGORICAL, *families.values())
    },
    "transform": {
        "identity": "By differences, such as temperatures",
        "log": "By ratios: above 0, such as wages",
    },
    "mechanism": {
        WITHOUT_FAMILY: f"{MECHANISMS[WITHOUT_FAMILY].label} (recommended)",
        "": f"As programs get it: {_small(MECHANISMS[WITH_FAMILY].label)}; without a family, "
        f"{_small(MECHANISMS[WITHOUT_FAMILY].label)}",
        **{name: kind.label or _capital(mechanism_name(name)) for name, kind in MECHANISMS.items()},
    },
    "admission": {
        "public": "Anybody with the link",
        "invite": "Whoever has an invitation",
        "gateway": "Members of my app or panel, through a gateway",
    },
    "visibility": {"private": "Analysts with a token", "public": "Anybody with the link"},
    "period": {"": "No: all answers count as one", "day": "By day", "week": "By week", "month": "By month"},
    "goal_of": GOALS,
    "policy": POLICIES,
}
"""What the options are called; the first of each list is the default of the form."""

COMPONENT_FAMILIES = {name: label for name, label in LABELS["family"].items() if name != CATEGORICAL.name}
"""What the families are called that one of several numbers may have."""

TITLES: Mapping[str, str] = {
    "name": "Title shown to respondents",
    "family": "Shape of the distribution",
    "transform": "How values compare",
    "low": "From",
    "high": "to",
    "epsilon": "ε of one answer",
    "mechanism": "What a device answers",
    "respondents": "Expected number of respondents",
    "admission": "Who may answer",
    "visibility": "Who sees the result",
    "max_answers": "Maximum number of answers",
    "keep_answers_days": "Days after which an answer is dropped, and only its count kept",
    "keep_days": "Days after which all of it is removed",
    "opens_at": "Opens at (UTC)",
    "closes_at": "Closes at (UTC)",
    "question": "Question",
    "unit": "Unit",
    "period_of_value": "Period",
    "decimals": "Decimals that may be typed",
    "organisation": "Who asks",
    "contact": "How to reach whoever asks",
    "privacy_url": "Page about privacy",
    "thank_you": "What to say once the answer is sent",
    "pages": "Pages to compare",
    "minimum": "Least possible value",
    "maximum": "Largest possible value",
    "atoms": "Values that many people have exactly",
    "epsilon_choices": "Values of ε that respondents choose from",
    "rho": "ρ of one answer, for Gaussian noise",
    **GOAL_TITLES,
    "misfit_check": "Share of the answers that check whether the family fits",
    "misfit_looks": "Interim looks at the fit, in check answers",
    "discriminate": "Share of the questions that tell the families apart",
    **POLICY_TITLES,
    "levels": "Levels of a question",
    "particles": "Particles",
    "member_cuts": "Where institutions count their members",
    "drop_answers": "Drop answers once they are counted",
    "range": "Rough range of most values",
    "categories": "Categories",
    "groups": "Groups",
    "groups_name": "What the groups are called",
    "components": "Several numbers",
    **COMPONENT_TITLES,
    "period": "Tell answers apart by time",
    "drift": "The distribution may change from one day, week or month to the next",
    "panel": "The same people several times",
    "panel_answers": "Times that each person answers",
    "panel_periods": "within how many days, weeks or months from joining",
    "families": "Competing families",
    "prior": "Prior",
}
"""What the fields are called on the form."""

COMPETING: Mapping[str, tuple[str, Transform]] = {
    f"competing_{family.name}_{transform}": (family.name, transform)
    for family in families.values()
    for transform in family.transforms
}
"""The families that can compete with the collection's own, each with its scale."""

_WORDS = ("question", "unit", "period_of_value", "organisation", "contact", "privacy_url", "thank_you")
_READ: Mapping[str, Callable[[Mapping[str, str]], Any]] = {"goal": goal_of, "policy": policy_of}
"""Fields that take several fields of the form."""
_TEXTS = ("name", *_WORDS, *(name for name in CHOICES if name not in ("goal_of", "policy")), "epsilon", "rho")
_NUMBERS = ("minimum", "maximum")
_TIMES = ("opens_at", "closes_at")
_WHOLE = ("max_answers", "levels", "particles", "decimals", "keep_answers_days", "keep_days")
_SHARES = ("misfit_check", "discriminate")
_OF_A_PANEL = ("panel_answers", "panel_periods")

_OF_EACH_COMPONENT = ("family", "transform")
"""Lists of the form, in which something is always chosen; with several numbers each has its own."""

_FIELDS = (
    *_TEXTS, *GOAL_TITLES, *POLICY_TITLES, *_NUMBERS, *_TIMES, *_WHOLE, *_SHARES,
    "range", "low", "high", "prior", "families", "epsilon_choices",
    "misfit_looks", "member_cuts", "keep_answers", "respondents", "atoms", "categories", "pages",
    "groups", "groups_name", "period", "drift", "panel", *_OF_A_PANEL, "components",
)  # fmt: skip
FIELD = re.compile(rf"\b(?:{'|'.join(sorted(_FIELDS, key=len, reverse=True))})\b")
"""The name of a field in a sentence."""


def field_of(sentence: str, form: Mapping[str, str]) -> str | None:
    """The field that an error message about a form is about: the first that it names, or None."""
    own = component_field_of(sentence, form)
    if own is not None:
        return own
    named = FIELD.search(sentence)
    return named and named[0]


def named_in(sentence: str, form: Mapping[str, str]) -> set[str]:
    """The fields that an error message about a form names; those of one of several numbers, if it is about that."""
    own = re.match(r"component_\d_", component_field_of(sentence, form) or "")
    return {f"{own[0] if own else ''}{name}" for name in FIELD.findall(sentence)}


def specification_of(form: Mapping[str, str]) -> dict[str, Any]:
    """The JSON of the collection that the form's fields describe, for `parse_spec` to validate.

    Raises `SpecificationError` if a numeric field does not hold a number.
    """
    if components := components_of(form):
        form = {name: text for name, text in form.items() if name not in _OF_EACH_COMPONENT}
    spec: dict[str, Any] = {name: form[name] for name in _TEXTS if name in form}
    spec |= {name: found for name, read in _READ.items() if (found := read(form)) is not None}
    if components:
        spec["components"] = [_component(fields) for fields in components]
    if form.get("family") == CATEGORICAL.name:
        spec.pop("mechanism", None)  # of categories there is one
    spec |= {name: f"{form[name]}:00Z" for name in _TIMES if name in form}
    spec |= {name: whole_number(name, form[name]) for name in _WHOLE if name in form}
    spec |= {name: share_in(form[name], f"{name} must be a share such as 0.2") for name in _SHARES if name in form}
    spec |= {name: number_in(form[name], f"{name} must be a number") for name in _NUMBERS if name in form}
    if "atoms" in form:
        spec["atoms"] = [number_in(part, "atoms must be numbers, such as 0, 100") for part in parts_in(form["atoms"])]
    if "categories" in form:
        spec["categories"] = lines_in(form["categories"])
    if "groups" in form:
        spec["groups"] = _groups(form["groups"], form.get("groups_name", "group"))
    if "low" in form or "high" in form:
        spec["range"] = [_end(form, "low"), _end(form, "high")]
    if "epsilon_choices" in form:
        spec["epsilon_choices"] = parts_in(form["epsilon_choices"])
    if "misfit_looks" in form:
        spec["misfit_looks"] = [whole_number("each of misfit_looks", part) for part in parts_in(form["misfit_looks"])]
    if "member_cuts" in form:
        wrong = "member_cuts must be numbers, such as 300, 500, 800"
        spec["member_cuts"] = [number_in(part, wrong) for part in parts_in(form["member_cuts"])]
    if "pages" in form:
        spec["pages"] = [_page(part) for part in parts_in(form["pages"])]
    if "drop_answers" in form:
        spec["keep_answers"] = False
    if "drift" in form:
        spec["drift"] = True
    if any(name in form for name in _OF_A_PANEL):
        spec["panel"] = {name.removeprefix("panel_"): whole_number(name, form.get(name, "")) for name in _OF_A_PANEL}
    if prior := prior_of(form):
        spec["prior"] = prior
    competing = [{"family": family, "transform": scale} for name, (family, scale) in COMPETING.items() if name in form]
    if competing:
        own = {name: spec.pop(name) for name in ("family", "transform", "prior") if name in spec}
        spec["families"] = [own, *competing]
    return spec


def _component(fields: Mapping[str, str]) -> dict[str, Any]:
    """The JSON of one of several numbers. Raises `SpecificationError`."""
    name = fields.get("name", "")
    try:
        return {"name": name, **specification_of({field: text for field, text in fields.items() if field != "name"})}
    except SpecificationError as error:
        raise SpecificationError(f"the component {name}: {error}") from None


def _end(form: Mapping[str, str], name: str) -> float:
    wrong = f"{name} of the range must be a number, such as 100 or -2.5; or leave both empty"
    return number_in(form.get(name, ""), wrong)


def _page(text: str) -> dict[str, str]:
    """The page that a text such as `label` or `label=k3xw8c2nqa` writes, with the collection of its check."""
    page, _, check = (part.strip() for part in text.partition("="))
    return {"page": page, **({"check": check} if check else {})}


def _groups(text: str, name: str) -> dict[str, Any]:
    """The groups that lines such as `north` or `north = 30%` write. Raises `SpecificationError`."""
    written = [line.rpartition("=") if "=" in line else (line, "", "") for line in lines_in(text)]
    labels = [label.strip() for label, _, _ in written]
    shares = [share.strip() for _, _, share in written]
    if not any(shares):
        return {"name": name, "labels": labels}
    wrong = "groups must each have a share of the people, such as north = 30%, or none of them one"
    return {
        "name": name,
        "labels": labels,
        "shares": {label: share_in(share, wrong) for label, share in zip(labels, shares, strict=True)},
    }
