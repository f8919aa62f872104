"""The counts that institutions share."""

from typing import Annotated

from pydantic import BaseModel, Field

from dither_client.mechanisms.member_counts import MAX_CUTS, MAX_MEMBERS
from dither_server.api.messages.common import EXAMPLE_TIME
from dither_server.http.bodies import Body

__all__ = ["MemberCountsBody", "MemberCountsItem", "MemberCountsReply"]

_Count = Annotated[int, Field(ge=0, le=MAX_MEMBERS, strict=True)]


class MemberCountsBody(Body):
    """Noisy counts, drawn on the institution's own machine."""

    size: int = Field(
        ge=1, le=MAX_MEMBERS, strict=True, description="The institution's number of members, which is public."
    )
    counts: list[_Count] = Field(
        min_length=1,
        max_length=MAX_CUTS,
        description="For each of `member_cuts`: how many of the members assigned to it lie above it, with noise.",
        examples=[[81, 52, 14]],
    )


class MemberCountsItem(BaseModel):
    """The counts that one institution has shared."""

    institution: str = Field(description="The id of its token.", examples=["9f3c2a71d0"])
    size: int
    counts: list[int]
    received_at: str = Field(examples=[EXAMPLE_TIME])


class MemberCountsReply(BaseModel):
    """The counts that all institutions have shared."""

    member_counts: list[MemberCountsItem]
