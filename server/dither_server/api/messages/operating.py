"""Tokens, keys, the audit log and the server's status."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, Field

from dither_server.access.tokens import Role
from dither_server.api.messages.common import EXAMPLE_TIME
from dither_server.collections.survey import printable
from dither_server.http.bodies import Body

__all__ = [
    "AuditItem",
    "AuditReply",
    "KeyList",
    "KeyReply",
    "StatusReply",
    "TokenBody",
    "TokenList",
    "TokenReply",
    "TokenSecretReply",
]


def _name(value: str) -> str:
    return value and printable(value)


class TokenBody(Body):
    """A token to create."""

    role: Role = Field(examples=["analyst"])
    collections: list[str] | None = Field(
        default=None,
        min_length=1,
        max_length=1000,
        description="The ids of the collections that an analyst's or a gateway's token is for; by default all, "
        "including later ones.",
        examples=[["k3xw8c2nqa"]],
    )
    name: Annotated[str, AfterValidator(_name)] = Field(default="", max_length=200, examples=["Ada"])
    days: int | None = Field(
        default=None,
        ge=1,
        le=3650,
        description="How many days it is valid; by default until it is revoked.",
        examples=[90],
    )


class TokenReply(BaseModel):
    """A token without its secret."""

    id: str
    role: Role
    name: str
    created_at: str = Field(examples=[EXAMPLE_TIME])
    expires_at: str | None = Field(description="From then on no call accepts it; null for never.")
    collections: list[str] | None = Field(description="The ids of its collections; null for all.")


class TokenSecretReply(TokenReply):
    """A new token; its secret is shown only once."""

    token: str = Field(examples=["dither_analyst_…"])


class TokenList(BaseModel):
    """Every token that can be revoked."""

    tokens: list[TokenReply]


class KeyReply(BaseModel):
    """A key that signs tickets, without its secret."""

    number: int = Field(description="The number at the start of its tickets.", examples=[1])
    state: Literal["pending", "active", "expired"] = Field(
        description="Created but not yet in use; signing; or no longer signing."
    )
    created_at: str
    signs_from: str
    counts_until: str | None = Field(
        description="From then on no new answers to its tickets are stored; null for the newest key."
    )


class KeyList(BaseModel):
    """Every key, oldest first."""

    keys: list[KeyReply]


class AuditItem(BaseModel):
    """One action."""

    number: int = Field(examples=[12])
    at: str = Field(examples=[EXAMPLE_TIME])
    what: str = Field(examples=["state changed"])
    by: str = Field(description="The id of a token; `environment` is that of `DITHER_ADMIN_TOKEN`.")
    collection: str | None = Field(description="The id of the collection that it was done to, if it was.")
    facts: dict[str, Any] = Field(description="What else was changed: ids, roles, states and numbers, no secret.")


class AuditReply(BaseModel):
    """Actions, oldest first."""

    audit: list[AuditItem]
    next: int | None


class StatusReply(BaseModel):
    """The server's status in a word."""

    status: str = Field(examples=["ok"])
