"""Tokens, keys and how the server is."""

from typing import Literal

from pydantic import BaseModel, Field

from dither_server.access.tokens import Role
from dither_server.api.messages.common import EXAMPLE_TIME
from dither_server.http.bodies import Body

__all__ = ["KeyList", "KeyReply", "StatusReply", "TokenBody", "TokenList", "TokenReply", "TokenSecretReply"]


class TokenBody(Body):
    """A token to be made."""

    role: Role = Field(examples=["analyst"])
    collections: list[str] | None = Field(
        default=None,
        min_length=1,
        max_length=1000,
        description="The ids of the collections that an analyst's or a gateway's token is for; every one, those to "
        "come among them, if left out.",
        examples=[["k3xw8c2nqa"]],
    )
    name: str = Field(default="", max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$", examples=["Ada"])
    days: int | None = Field(
        default=None, ge=1, le=3650, description="How long it is valid; until it is revoked if left out.", examples=[90]
    )


class TokenReply(BaseModel):
    """A token without its secret."""

    id: str
    role: Role
    name: str
    created_at: str = Field(examples=[EXAMPLE_TIME])
    expires_at: str | None = Field(description="No call takes it from then on; null for never.")
    collections: list[str] | None = Field(description="Those that it is for; null for every one.")


class TokenSecretReply(TokenReply):
    """A new token; its secret is shown this once."""

    token: str = Field(examples=["dither_analyst_…"])


class TokenList(BaseModel):
    """Every token that can be revoked."""

    tokens: list[TokenReply]


class KeyReply(BaseModel):
    """A key that tickets are signed with, without anything secret."""

    number: int = Field(description="What its tickets begin with.", examples=[1])
    state: Literal["pending", "active", "expired"] = Field(
        description="Known and not used yet; the one that signs; or one that signed before."
    )
    created_at: str
    signs_from: str
    counts_until: str | None = Field(
        description="From then on its tickets only tell what became of them; null for the newest key."
    )


class KeyList(BaseModel):
    """Every key, the oldest first."""

    keys: list[KeyReply]


class StatusReply(BaseModel):
    """A word on how the server is."""

    status: str = Field(examples=["ok"])
