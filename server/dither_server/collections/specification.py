"""The JSON that creates a collection: each field, what it may be, and what it is when left out.

The statistical fields are described here and judged by `Specification.from_json`.
"""

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from dither_client.mechanisms.member_counts import MAX_CUTS
from dither_estimator.design.mechanism import MechanismDesign
from dither_estimator.design.registry import MECHANISMS
from dither_estimator.specification.rivals import MAX_FAMILIES
from dither_estimator.specification.specification import EXACT_FIELDS, Specification
from dither_server.errors import InvalidBody
from dither_server.http.bodies import with_floats
from dither_server.http.problems import invalid

__all__ = ["Admission", "CollectionSpec", "Visibility", "parse_spec"]

Admission = Literal["public", "invite", "gateway"]
Visibility = Literal["private", "public"]


def _name(value: str) -> str:
    if not value.isprintable() or not value.strip():
        raise ValueError("the name must be printable text")
    return value


def _text(value: object) -> object:
    if value is not None and not isinstance(value, str):
        raise ValueError("a time is a text such as 2026-01-01T00:00:00Z")
    return value


_Time = Annotated[AwareDatetime | None, BeforeValidator(_text)]


def _known(description: str, *examples: Any, **schema: Any) -> Any:
    """A field that the estimator judges: documented here, passed on as it came."""

    def describe(field: dict[str, Any]) -> None:
        del field["default"]
        field.update(schema)

    return Field(default=None, description=description, examples=list(examples), json_schema_extra=describe)


def _listed(kinds: Iterable[MechanismDesign]) -> str:
    return " or ".join(f"`{kind.name}`" for kind in kinds)


_WITH_LEVELS = [kind for kind in MECHANISMS.values() if kind.most_levels is not None]
_LEVELS = (
    f"Levels of {_listed(kind for kind in _WITH_LEVELS if kind.on_intervals)}, cells less one of "
    f"{_listed(kind for kind in _WITH_LEVELS if not kind.on_intervals)}; the design chooses if left out, as it must "
    f"for {_listed(kind for kind in MECHANISMS.values() if kind.most_levels is None)}."
)


class CollectionSpec(BaseModel):
    """A collection to be made: at least `name`, `family` or `families`, and `epsilon` or, of `gaussian`, `rho`."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "name": "Weekly wages",
                    "family": "normal",
                    "transform": "log",
                    "range": [100, 2000],
                    "epsilon": 1,
                    "max_answers": 30000,
                }
            ],
            "required": ["name"],
            "allOf": [
                {"oneOf": [{"required": ["epsilon"]}, {"required": ["rho"]}]},
                {"anyOf": [{"required": ["family"]}, {"required": ["families"]}]},
            ],
        },
    )

    name: Annotated[str, AfterValidator(_name)] = Field(
        min_length=1, max_length=200, description="What the collection is about, for people.", examples=["Weekly wages"]
    )
    family: Any = _known("The family of distributions.", "normal", type="string")
    epsilon: Any = _known(
        "ε of one answer: above 0, at most 50, at most six decimals. A string is read as the decimal it writes.",
        1,
        "0.5",
        anyOf=[{"type": "number", "exclusiveMinimum": 0, "maximum": 50}, {"type": "string"}],
    )
    epsilon_choices: Any = _known(
        "The ε that each respondent may choose from before asking for a ticket, `epsilon` among them: at most 16. The "
        "posterior is exact only if nobody's choice depends on the value. `epsilon` alone if left out.",
        [0.5, 1, 2],
        type="array",
        items={"anyOf": [{"type": "number", "exclusiveMinimum": 0, "maximum": 50}, {"type": "string"}]},
        minItems=1,
        maxItems=16,
    )
    rho: Any = _known(
        "ρ of zero-concentrated privacy of one answer of `gaussian`, instead of ε: above 0, at most six decimals.",
        0.5,
        anyOf=[{"type": "number", "exclusiveMinimum": 0, "maximum": 50}, {"type": "string"}, {"type": "null"}],
    )
    transform: Any = _known(
        "The scale on which the family holds; `log` is the natural logarithm.",
        "log",
        type="string",
        enum=["identity", "log"],
        default="identity",
    )
    prior: Any = _known(
        "A distribution of `scipy.stats` for each parameter; wide ones if left out.",
        {
            "mu": {"dist": "norm", "loc": 0, "scale": 100},
            "sigma": {"dist": "invgamma", "a": 1, "scale": 1, "of": "variance"},
        },
        type="object",
    )
    range: Any = _known(
        "A rough guess, in the values' own units, of where most people lie; the prior follows from it.",
        [100, 2000],
        type="array",
        items={"type": "number"},
        minItems=2,
        maxItems=2,
    )
    goal: Any = _known(
        "What to learn: `all`, one parameter, or weights.",
        "all",
        {"mu": 1, "sigma": 2},
        anyOf=[{"type": "string"}, {"type": "object", "additionalProperties": {"type": "number"}}],
        default="all",
    )
    policy: Any = _known(
        "How the next question is chosen: `adaptive`, `thompson` or `fixed:LOW:HIGH`.",
        "adaptive",
        type="string",
        default="adaptive",
    )
    mechanism: Any = _known(
        "How answers are made private.",
        "laplace",
        type="string",
        enum=list(MECHANISMS),
        default="laplace",
    )
    levels: Any = _known(
        _LEVELS,
        1,
        anyOf=[{"type": "integer", "minimum": 1, "maximum": 1023}, {"type": "null"}],
    )
    particles: Any = _known(
        "Size of the particle system.", 1000, type="integer", minimum=100, maximum=1_000_000, default=1000
    )
    misfit_check: Any = _known(
        "Whether some respondents get check questions, whose answers are never learnt; or their share.",
        True,
        0.2,
        anyOf=[{"type": "boolean"}, {"type": "number", "exclusiveMinimum": 0, "maximum": 0.5}],
        default=False,
    )
    misfit_looks: Any = _known(
        "The numbers of check answers at which the fit is checked.",
        [500, 5000, 50000],
        type="array",
        items={"type": "integer", "minimum": 1},
        minItems=1,
        maxItems=20,
        default=[500, 5000, 50000],
    )
    families: Any = _known(
        "Families to compare, instead of `family`, `transform` and `prior`. The first one's posterior chooses the "
        "questions; a prior that is left out agrees with the first one's.",
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
        "The share of the questions that are chosen to tell `families` apart; 0.3 if left out.",
        0.3,
        type="number",
        minimum=0,
        maximum=1,
    )
    member_cuts: Any = _known(
        "Where institutions count their members, in the values' own units: an institution deals its members into a "
        "group for each cut and shares how many of each lie above, with noise. Institutions are not asked if left out.",
        [300, 500, 800],
        type="array",
        items={"type": "number"},
        minItems=1,
        maxItems=MAX_CUTS,
    )
    opens_at: _Time = Field(default=None, description="No tickets before this time.", examples=["2026-01-01T00:00:00Z"])
    closes_at: _Time = Field(
        default=None, description="No answers from this time on.", examples=["2027-01-01T00:00:00Z"]
    )
    max_answers: int | None = Field(
        default=None, ge=1, le=2**62, strict=True, description="No answers beyond these.", examples=[30000]
    )
    admission: Admission = Field(
        default="public",
        description="Who gets tickets: anyone, those with an invitation, which is worth one, or those who come through "
        "a gateway with its token.",
    )
    keep_answers: bool = Field(
        default=True,
        strict=True,
        description="Whether answers are kept after they are counted. If not, only the counts and the spent tickets "
        "are, and a ticket's repetition gets its receipt whatever answer it brings.",
    )
    visibility: Visibility = Field(default="private", description="Who reads the posterior: analysts, or anyone.")

    @model_validator(mode="after")
    def _closes_after_it_opens(self) -> "CollectionSpec":
        if self.opens_at and self.closes_at and self.opens_at >= self.closes_at:
            raise ValueError("closes_at must be later than opens_at")
        return self


def parse_spec(data: Any) -> tuple[CollectionSpec, Specification]:
    """A collection's JSON as its service part and its statistical part.

    Raises `InvalidBody` or the estimator's `SpecificationError`.
    """
    if not isinstance(data, dict):
        raise InvalidBody("The body must be a JSON object.")
    try:
        service = CollectionSpec.model_validate(data)
    except ValidationError as error:
        raise invalid(error, CollectionSpec) from None
    statistics = {name: value if name in EXACT_FIELDS else with_floats(value) for name, value in data.items()}
    return service, Specification.from_json(statistics)
