"""A collection's terms, its state, its invitations."""

from typing import Any, Literal

from pydantic import BaseModel, Field

from dither_server.api.messages.common import EXAMPLE_TIME, MAX_COUNT
from dither_server.collections.collections import State
from dither_server.collections.specification import Admission, Visibility
from dither_server.http.bodies import Body

__all__ = ["InvitationsBody", "InvitationsReply", "InvitationsTally", "StateBody", "TermsList", "TermsReply"]

_INVITATION = "w7kq2mzt9hxc4vbn8rdy3jpaef"


class StateBody(Body):
    """The state to be in; closed is final."""

    state: State = Field(examples=["paused"])


class TermsReply(BaseModel):
    """What anyone may know of a collection."""

    id: str = Field(examples=["k3xw8c2nqa"])
    name: str = Field(examples=["Weekly wages"])
    family: str = Field(examples=["normal"])
    transform: Literal["identity", "log"]
    epsilon: int | float = Field(examples=[1])
    epsilon_choices: list[int | float] | None = Field(
        description="What respondents choose from before they ask for a ticket; null if `epsilon` is for everyone."
    )
    rho: int | float | None = Field(description="ρ of zero-concentrated privacy, where the mechanism states one.")
    mechanism: str = Field(examples=["laplace"])
    goal: Any = Field(examples=["all"])
    policy: str = Field(examples=["adaptive"])
    levels: int | None
    member_cuts: list[float] | None = Field(
        description="Where institutions count their members, on the transformed scale; null if they are not asked."
    )
    state: State = Field(
        description="`closed` also from `closes_at` on, and at `max_answers` unless institutions may still share."
    )
    answers: int | None = Field(
        description="Stored so far; null for whoever may not read a private collection's posterior.", examples=[1204]
    )
    created_at: str = Field(examples=[EXAMPLE_TIME])
    opens_at: str | None
    closes_at: str | None
    max_answers: int | None
    keep_answers: bool = Field(description="Whether answers are kept after they are counted.")
    admission: Admission
    visibility: Visibility
    advice: str | None
    notice: str | None = Field(
        description="What a respondent has to know of its choice of ε and of check questions; null if there is neither."
    )


class TermsList(BaseModel):
    """Every collection that the caller may know of, the newest first."""

    collections: list[TermsReply]


class InvitationsBody(Body):
    """How many invitations to make."""

    count: int = Field(ge=1, le=MAX_COUNT, examples=[500])


class InvitationsReply(BaseModel):
    """New invitations; their codes are shown this once."""

    invitations: list[str] = Field(examples=[[_INVITATION]])


class InvitationsTally(BaseModel):
    """How many invitations there are."""

    made: int = Field(examples=[500])
    redeemed: int = Field(description="Those that a ticket was given for.", examples=[312])
