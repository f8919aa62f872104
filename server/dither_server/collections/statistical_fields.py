"""The fields of a collection that say what is learnt, and from which answers.

They are only described here: every value is passed on unchanged to the estimator, where `Specification.from_json` reads
it.
"""

from collections.abc import Iterable
from typing import Any

from pydantic import Field

from dither_client.mechanisms.components import MAX_COMPONENTS
from dither_client.mechanisms.grouped_randomized_response import MAX_CATEGORIES
from dither_client.mechanisms.groups import MAX_GROUPS
from dither_client.mechanisms.member_counts import MAX_CUTS
from dither_client.mechanisms.panel import MAX_PANEL
from dither_estimator.design.goal import MAX_NAMED
from dither_estimator.design.mechanism import MechanismDesign
from dither_estimator.design.registry import MECHANISMS
from dither_estimator.specification.competing_families import MAX_FAMILIES
from dither_estimator.specification.fields import MAX_ATOMS, MAX_CATEGORY
from dither_server.collections.survey import Survey

__all__ = ["StatisticalFields"]


def _known(description: str, *examples: Any, **schema: Any) -> Any:
    """A field that the estimator validates: documented here, and passed on unchanged."""

    def describe(field: dict[str, Any]) -> None:
        del field["default"]
        field.update(schema)

    return Field(default=None, description=description, examples=list(examples), json_schema_extra=describe)


def _listed(kinds: Iterable[MechanismDesign]) -> str:
    return " or ".join(f"`{kind.name}`" for kind in kinds)


_WITH_LEVELS = [kind for kind in MECHANISMS.values() if kind.most_levels is not None]
_LEVELS = (
    f"The levels of {_listed(kind for kind in _WITH_LEVELS if kind.on_intervals)}, or the number of cells less one of "
    f"{_listed(kind for kind in _WITH_LEVELS if not kind.on_intervals)}. By default the design chooses, as it always "
    f"does for {_listed(kind for kind in MECHANISMS.values() if kind.most_levels is None)}."
)


_WEIGHTED: dict[str, Any] = {
    "anyOf": [
        {"type": "array", "items": {"type": "number"}, "minItems": 1, "maxItems": MAX_NAMED},
        {"type": "object", "additionalProperties": {"type": "number"}, "minProperties": 1, "maxProperties": MAX_NAMED},
    ]
}


class StatisticalFields(Survey):
    """What respondents are told, and what the statistics use; `CollectionSpec` adds what the service does."""

    family: Any = _known(
        "The family of distributions. By default `nonparametric`: the distribution itself, whatever its shape; "
        "`categorical` for the shares of `categories`.",
        "normal",
        type="string",
        default="nonparametric",
    )
    epsilon: Any = _known(
        "ε of one answer: above 0, at most 50, at most six decimals. A string is read as a decimal.",
        1,
        "0.5",
        anyOf=[{"type": "number", "exclusiveMinimum": 0, "maximum": 50}, {"type": "string"}],
    )
    epsilon_choices: Any = _known(
        "The values of ε that each respondent may choose from before asking for a ticket: at most 16, including "
        "`epsilon`. The posterior is exact only if nobody's choice depends on the value. By default only `epsilon`.",
        [0.5, 1, 2],
        type="array",
        items={"anyOf": [{"type": "number", "exclusiveMinimum": 0, "maximum": 50}, {"type": "string"}]},
        minItems=1,
        maxItems=16,
    )
    rho: Any = _known(
        "ρ of zero-concentrated differential privacy of one answer, for `gaussian`, instead of ε: above 0, at most six "
        "decimals.",
        0.5,
        anyOf=[{"type": "number", "exclusiveMinimum": 0, "maximum": 50}, {"type": "string"}, {"type": "null"}],
    )
    transform: Any = _known(
        "The scale on which the family holds; `log` is the natural logarithm. Without a family, `log` says that values "
        "are above 0.",
        "log",
        type="string",
        enum=["identity", "log"],
        default="identity",
    )
    prior: Any = _known(
        "A distribution of `scipy.stats` for each parameter; wide ones by default.",
        {
            "mu": {"dist": "norm", "loc": 0, "scale": 100},
            "sigma": {"dist": "invgamma", "a": 1, "scale": 1, "of": "variance"},
        },
        type="object",
    )
    range: Any = _known(
        "A rough guess, in the values' own units, of the range of most values; the prior follows from it.",
        [100, 2000],
        type="array",
        items={"type": "number"},
        minItems=2,
        maxItems=2,
    )
    minimum: Any = _known(
        "The least value that there can be: devices refuse values below. Without a family and with `transform` `log`, "
        "0 by default.",
        0,
        type="number",
    )
    maximum: Any = _known("The largest value that there can be: devices refuse values above.", 100_000, type="number")
    atoms: Any = _known(
        "Values that many people have exactly, such as 0, without a family.",
        [0],
        type="array",
        items={"type": "number"},
        maxItems=MAX_ATOMS,
    )
    categories: Any = _known(
        "With the family `categorical`: the texts of the categories, of which each person has one. Their shares are "
        "learnt; they need no order.",
        ["never", "monthly", "daily"],
        type="array",
        items={"type": "string", "minLength": 1, "maxLength": MAX_CATEGORY},
        minItems=2,
        maxItems=MAX_CATEGORIES,
    )
    goal: Any = _known(
        "What to learn: `all`, one parameter, or weights of parameters; with any family or none, `distribution`, "
        "`quantiles`, the shares of the people `above` values in their own units, or these together, each a list or "
        "with a weight for each. By default `all`; without a family, `distribution`, and of categories, "
        "`categories`.",
        "all",
        {"mu": 1, "sigma": 2},
        {"quantiles": [0.1, 0.5, 0.9]},
        {"above": [1000]},
        {"quantiles": {"0.5": 1, "0.9": 2}, "above": [1000]},
        anyOf=[
            {"type": "string"},
            {"type": "object", "additionalProperties": {"type": "number"}},
            {
                "type": "object",
                "properties": {"quantiles": _WEIGHTED, "above": _WEIGHTED, "distribution": {"type": "number"}},
                "additionalProperties": False,
            },
        ],
    )
    policy: Any = _known(
        "How the next question is chosen: `adaptive`, `thompson` or `fixed:LOW:HIGH`.",
        "adaptive",
        type="string",
        default="adaptive",
    )
    mechanism: Any = _known(
        "The privacy mechanism: `laplace` by default; without a family, `randomized_response`.",
        "laplace",
        type="string",
        enum=list(MECHANISMS),
    )
    levels: Any = _known(
        _LEVELS,
        1,
        anyOf=[{"type": "integer", "minimum": 1, "maximum": 1023}, {"type": "null"}],
    )
    particles: Any = _known(
        "The number of particles.", 1000, type="integer", minimum=100, maximum=1_000_000, default=1000
    )
    misfit_check: Any = _known(
        "Whether some respondents get check questions, whose answers are never learnt; or the share that does.",
        True,
        0.2,
        anyOf=[{"type": "boolean"}, {"type": "number", "exclusiveMinimum": 0, "maximum": 0.5}],
        default=False,
    )
    misfit_looks: Any = _known(
        "The numbers of check answers at which the goodness of fit is tested.",
        [500, 5000, 50000],
        type="array",
        items={"type": "integer", "minimum": 1},
        minItems=1,
        maxItems=20,
        default=[500, 5000, 50000],
    )
    families: Any = _known(
        "Competing families, instead of `family`, `transform` and `prior`. The first one's posterior chooses the "
        "questions; a prior that is left out is matched to the first one's.",
        [{"family": "normal", "transform": "log"}, {"family": "normal"}],
        type="array",
        items={
            "type": "object",
            "properties": {
                "family": {"type": "string"},
                "transform": {"type": "string", "enum": ["identity", "log"]},
                "prior": {"type": "object"},
            },
            "required": ["family"],
            "additionalProperties": False,
        },
        minItems=2,
        maxItems=MAX_FAMILIES,
    )
    discriminate: Any = _known(
        "The share of the questions that are chosen to tell `families` apart; 0.3 by default.",
        0.3,
        type="number",
        minimum=0,
        maximum=1,
    )
    member_cuts: Any = _known(
        "Where institutions count their members, in the values' own units: an institution splits its members into a "
        "group for each cut and shares how many of each lie above it, with noise. By default they are not asked.",
        [300, 500, 800],
        type="array",
        items={"type": "number"},
        minItems=1,
        maxItems=MAX_CUTS,
    )
    groups: Any = _known(
        "Public groups, one of which each respondent names, without noise: what they are called, their labels, and the "
        "share of the whole population in each, if known. Each has a posterior of its own, which leans on the others "
        "while its answers are few.",
        {"name": "region", "labels": ["north", "south"], "shares": {"north": 0.4, "south": 0.6}},
        type="object",
        properties={
            "name": {"type": "string"},
            "labels": {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": MAX_GROUPS},
            "shares": {"type": "object", "additionalProperties": {"type": "number"}},
        },
        required=["name", "labels"],
        additionalProperties=False,
    )
    period: Any = _known(
        "Tells answers apart by the calendar day, week or month, in UTC, in which their question was asked. It needs a "
        "family; without `drift`, a test says whether the distribution changed.",
        "week",
        type="string",
        enum=["day", "week", "month"],
    )
    drift: Any = _known(
        "Whether the distribution may change from period to period. Its parameters then follow a random walk whose "
        "scale is learnt, and the posterior is that of the latest period. Needs `period`.",
        True,
        type="boolean",
        default=False,
    )
    panel: Any = _known(
        "Whether the same people answer in several periods: each person's device draws, when it joins, in which "
        "`answers` of the next `periods` it answers, and spends ε for all of them at once. By default everybody "
        "answers once. Needs `period`; not with `epsilon_choices`, `opens_at` or `admission` `invite`.",
        {"answers": 2, "periods": 30},
        type="object",
        properties={
            "answers": {"type": "integer", "minimum": 1},
            "periods": {"type": "integer", "minimum": 2, "maximum": MAX_PANEL},
        },
        required=["answers", "periods"],
        additionalProperties=False,
    )
    components: Any = _known(
        "Several numbers that each respondent holds, 2 to 8. Everybody is asked one question, about one of them or "
        "about how two or three go together. Each component has a name and its own `family`, `transform`, `range` or "
        "`prior`, `minimum`, `maximum`, `atoms`, `goal`, `question`, `unit`, `period_of_value` and `decimals`, which "
        "the collection then has not. Its words are texts, or a text for each of some languages.",
        [
            {"name": "wage", "family": "normal", "transform": "log", "range": [100, 2000], "unit": "€"},
            {"name": "age", "minimum": 0, "maximum": 120},
        ],
        type="array",
        items={"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
        minItems=2,
        maxItems=MAX_COMPONENTS,
    )
