"""The JSON that creates a collection: the fields of the service, their constraints and their defaults.

What people are told is in `Survey`. What is learnt is in `StatisticalFields`, and `Specification.from_json` validates
it.
"""

from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from dither_estimator.specification.contradictions import refuse_contradictions, refuse_slow_priors
from dither_estimator.specification.specification import EXACT_FIELDS, Specification
from dither_server.collections.retention import MAX_DAYS, MIN_ANSWER_DAYS
from dither_server.collections.statistical_fields import StatisticalFields
from dither_server.collections.survey import ValueWords
from dither_server.errors import InvalidBody
from dither_server.http.bodies import with_floats
from dither_server.http.problems import invalid

__all__ = ["Admission", "CollectionSpec", "Visibility", "parse_new_spec", "parse_spec"]

_OTHER_NAME = "retention_days"
"""Another name of `keep_answers_days`."""

Admission = Literal["public", "invite", "gateway"]
Visibility = Literal["private", "public"]


def _text(value: object) -> object:
    if value is not None and not isinstance(value, str):
        raise ValueError("a time is a text such as 2026-01-01T00:00:00Z")
    return value


_Time = Annotated[AwareDatetime | None, BeforeValidator(_text)]


_EXAMPLE = {
    "name": "Weekly wages",
    "family": "normal",
    "transform": "log",
    "range": [100, 2000],
    "epsilon": 1,
    "max_answers": 30000,
}


def _complete(schema: dict[str, Any]) -> None:
    """Adds to the JSON schema what the fields alone do not say."""
    schema |= {
        "examples": [_EXAMPLE],
        "required": ["name"],
        "oneOf": [{"required": ["epsilon"]}, {"required": ["rho"]}],
    }
    fields = schema["properties"]
    fields[_OTHER_NAME] = fields["keep_answers_days"] | {"description": "Another name of `keep_answers_days`."}


class CollectionSpec(StatisticalFields):
    """A collection to create: at least `name`, and `epsilon` or, for `gaussian`, `rho`."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=_complete)

    opens_at: _Time = Field(
        default=None,
        description="No tickets are issued before this time, from 1970 to 9998.",
        examples=["2026-01-01T00:00:00Z"],
    )
    closes_at: _Time = Field(
        default=None,
        description="No answers are accepted from this time on, which must be to come and before 9999.",
        examples=["2036-01-01T00:00:00Z"],
    )
    max_answers: int | None = Field(
        default=None,
        ge=1,
        le=2**62,
        strict=True,
        description="The number of answers after which no more are accepted.",
        examples=[30000],
    )
    admission: Admission = Field(
        default="public",
        description="Who gets tickets: anyone, people with an invitation, which is good for one, or people who come "
        "through a gateway with its token.",
    )
    keep_answers: bool = Field(
        default=True,
        strict=True,
        description="Whether answers are kept after they are counted. If not, only the counts and the used tickets "
        "are, and a ticket that is sent again gets its receipt whatever the answer.",
    )
    keep_answers_days: Annotated[int, Field(ge=MIN_ANSWER_DAYS, le=MAX_DAYS, strict=True)] | None = Field(
        default=None,
        description="After how many days a single answer is dropped; its count stays, and the result is the same. By "
        "default answers are kept for as long as the collection. It may also be called `retention_days`.",
        examples=[30],
    )
    keep_days: Annotated[int, Field(ge=MIN_ANSWER_DAYS, le=MAX_DAYS, strict=True)] | None = Field(
        default=None,
        description="How many days after its creation the collection is removed for good, with everything in it. By "
        "default it is kept until somebody deletes it.",
        examples=[365],
    )
    visibility: Visibility = Field(default="private", description="Who may read the posterior: analysts, or anyone.")

    @model_validator(mode="after")
    def _closes_after_it_opens(self) -> "CollectionSpec":
        if self.opens_at and self.closes_at and self.opens_at >= self.closes_at:
            raise ValueError("closes_at must be later than opens_at")
        return self

    @model_validator(mode="after")
    def _lets_a_panel_begin_when_people_join(self) -> "CollectionSpec":
        if self.panel is not None and self.opens_at is not None:
            raise ValueError("opens_at cannot go with panel, whose periods begin when people join: pause it until then")
        if self.panel is not None and self.admission == "invite":
            raise ValueError("admission cannot be invite with panel: an invitation is good for one answer")
        return self

    @model_validator(mode="after")
    def _keeps_for_a_time_that_there_is(self) -> "CollectionSpec":
        if self.keep_answers_days is not None and not self.keep_answers:
            raise ValueError("keep_answers_days must be left out where keep_answers is false: no answer is kept")
        if (
            self.keep_answers_days is not None
            and self.keep_days is not None
            and self.keep_answers_days > self.keep_days
        ):
            raise ValueError("keep_answers_days must be at most keep_days, when everything is removed")
        return self


def parse_new_spec(data: Any) -> tuple[CollectionSpec, Specification]:
    """As `parse_spec`, of a collection that is created: what contradicts itself is refused, too."""
    refuse_slow_priors(data)
    service, specification = parse_spec(data)
    refuse_contradictions(specification, data)
    return service, specification


def parse_spec(data: Any) -> tuple[CollectionSpec, Specification]:
    """Splits a collection's JSON into its service part and its statistical part.

    Raises `InvalidBody` or the estimator's `SpecificationError`.
    """
    if not isinstance(data, dict):
        raise InvalidBody("The body must be a JSON object.")
    if _OTHER_NAME in data:
        data = {"keep_answers_days": data[_OTHER_NAME], **data}
        if data["keep_answers_days"] != data.pop(_OTHER_NAME):
            raise InvalidBody(f"keep_answers_days: The same is called {_OTHER_NAME}, too: leave one of them out.")
    try:
        service = CollectionSpec.model_validate(data)
    except ValidationError as error:
        raise invalid(error, CollectionSpec) from None
    statistics = {name: value if name in EXACT_FIELDS else with_floats(value) for name, value in data.items()}
    specification = Specification.from_json(statistics)
    for component in service.components or ():
        try:
            ValueWords.model_validate(component)
        except ValidationError as error:
            refused = invalid(error, ValueWords)
            raise InvalidBody(f"the component {component['name']}: {refused}") from None
    return service, specification
