"""A collection's terms, its state and its invitations."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from dither_server.api.messages.common import EXAMPLE_TIME, MAX_COUNT
from dither_server.collections.collection import State
from dither_server.collections.specification import Admission, Visibility
from dither_server.collections.survey import AnswerPage
from dither_server.http.bodies import Body

__all__ = [
    "InvitationsBody",
    "InvitationsReply",
    "InvitationsTally",
    "StateBody",
    "TermsGroups",
    "TermsList",
    "TermsReply",
]

_INVITATION = "w7kq2mzt9hxc4vbn8rdy3jpaef"


class StateBody(Body):
    """The new state; closed is final."""

    state: State = Field(examples=["paused"])


class TermsGroups(BaseModel):
    """Public groups of respondents."""

    name: str = Field(examples=["region"])
    labels: list[str] = Field(examples=[["north", "south"]])
    shares: dict[str, float] | None = Field(
        default=None, description="The share of the whole population in each group; null if they are not known."
    )


class TermsComponent(BaseModel):
    """One of the numbers of each respondent. What was not given is left out."""

    model_config = ConfigDict(extra="allow")

    name: str = Field(examples=["wage"])
    family: str = Field(examples=["normal"])
    transform: Literal["identity", "log"]
    question: str | None = None
    unit: str | None = None
    period_of_value: str | None = None
    decimals: int | None = None
    minimum: float | None = None
    maximum: float | None = None


class TermsPanel(BaseModel):
    """The same people in several periods."""

    answers: int = Field(examples=[2])
    periods: int = Field(examples=[30])


class TermsReply(BaseModel):
    """The terms of a collection, which anyone may read."""

    id: str = Field(examples=["k3xw8c2nqa"])
    name: str = Field(examples=["Weekly wages"])
    question: str | None = Field(description="The words that ask for the value.")
    unit: str | None
    period_of_value: str | None = Field(description="Such as `per week`.")
    decimals: int | None = Field(description="How many decimals may be typed, and are shown; null for any.")
    organisation: str | None
    contact: str | None
    privacy_url: str | None = Field(description="Begins with https.")
    thank_you: str | None = Field(description="What to say once the answer is sent.")
    pages: list[AnswerPage] | None = Field(
        description="The page for respondents, or two of which each visitor sees one; null for `short`."
    )
    family: str = Field(examples=["normal"])
    transform: Literal["identity", "log"]
    epsilon: int | float = Field(examples=[1])
    epsilon_choices: list[int | float] | None = Field(
        description="The values that respondents choose from before they ask for a ticket; null without a choice."
    )
    rho: int | float | None = Field(
        description="ρ of zero-concentrated differential privacy, if the collection states one."
    )
    mechanism: str = Field(examples=["laplace"])
    goal: Any = Field(examples=["all"])
    policy: str = Field(examples=["adaptive"])
    levels: int | None
    member_cuts: list[float] | None = Field(
        description="Where institutions count their members, on the transformed scale; null if they are not asked."
    )
    categories: list[str] | None = Field(
        description="The texts that a value can be, numbered in this order; null where values are numbers."
    )
    minimum: float | None = Field(
        description="The least value that there can be, in the values' own units: devices refuse others."
    )
    maximum: float | None = Field(description="The largest value that there can be: devices refuse others.")
    atoms: list[float] | None = Field(description="Values that many people have exactly; null if none are declared.")
    groups: TermsGroups | None = Field(
        description="The public groups, one of which each respondent names, without noise; null if there are none."
    )
    components: list[TermsComponent] | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="The numbers that each respondent holds, in this order; left out where there is one value.",
    )
    period: Literal["day", "week", "month"] | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="By what answers are told apart: the calendar day, week or month, in UTC, in which the ticket was "
        "issued. Left out without periods.",
    )
    drift: bool | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="Whether the distribution may change from period to period. Left out without periods.",
    )
    panel: TermsPanel | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="In how many periods each person answers, of how many that begin with the one in which they join: "
        "the device draws them by chance, and spends ε for all of them when it joins. Left out where everybody answers "
        "once.",
    )
    range: list[float] | None = Field(description="Roughly the range of most values; null if it was not given.")
    prior: dict[str, Any] | None = Field(description="As it was given; null if it follows from `range`, or is wide.")
    families: list[dict[str, Any]] | None = Field(
        description="Competing families, as they were given; null if there are none."
    )
    state: State = Field(
        description="Also `closed` from `closes_at` on, and at `max_answers` unless institutions may still share."
    )
    answers: int | None = Field(
        description="Stored so far; null for those who may not read a private collection's posterior.", examples=[1204]
    )
    created_at: str = Field(examples=[EXAMPLE_TIME])
    opens_at: str | None
    closes_at: str | None
    max_answers: int | None
    keep_answers: bool = Field(description="Whether answers are kept after they are counted.")
    keep_answers_days: int | None = Field(description="After how many days a single answer is dropped; null for never.")
    keep_days: int | None = Field(description="How many days after its creation everything is removed; null for never.")
    retention: str | None = Field(description="The same in a sentence for respondents; null without a limit.")
    admission: Admission
    visibility: Visibility
    advice: str | None = Field(
        description="What another mechanism would save or cost, or which parameters a fixed question cannot tell."
    )
    notice: str | None = Field(
        description="What respondents must know about a choice of ε, groups, periods, a panel and check questions, or "
        "null."
    )


class TermsList(BaseModel):
    """The collections that the caller may know of, newest first."""

    collections: list[TermsReply]
    next: str | None = Field(default=None, description="Only with `limit`: `after` of the next page, if there is one.")


class InvitationsBody(Body):
    """How many invitations to create."""

    count: int = Field(ge=1, le=MAX_COUNT, examples=[500])


class InvitationsReply(BaseModel):
    """New invitations; their codes are shown only once."""

    invitations: list[str] = Field(examples=[[_INVITATION]])


class InvitationsTally(BaseModel):
    """How many invitations there are."""

    made: int = Field(examples=[500])
    redeemed: int = Field(description="Those that a ticket was issued for.", examples=[312])
