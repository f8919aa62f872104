"""Deleted collections, and the receipts of those that were removed for good."""

from pydantic import BaseModel, Field

from dither_server.api.messages.common import EXAMPLE_TIME

__all__ = ["DeletedReply", "DeletionsReply", "PublicKeyReply", "RemovalReply"]


class DeletedReply(BaseModel):
    """A deleted collection that can be restored."""

    collection: str = Field(examples=["k3xw8c2nqa"])
    name: str = Field(examples=["Weekly wages"])
    deleted_at: str = Field(examples=[EXAMPLE_TIME])
    restorable_until: str = Field(description="After that, all of it is removed.", examples=[EXAMPLE_TIME])


class RemovalReply(BaseModel):
    """The receipt of a collection's removal: what went, when, and at whose word; signed with Ed25519."""

    collection: str = Field(examples=["k3xw8c2nqa"])
    created_at: str = Field(examples=[EXAMPLE_TIME])
    deleted_at: str = Field(examples=[EXAMPLE_TIME])
    deleted_by: str = Field(description="The id of a token; `keep_days` if its time was over.")
    removed_at: str = Field(examples=[EXAMPLE_TIME])
    removed_by: str = Field(description="The id of a token; `server` once it could no longer be restored.")
    rows: dict[str, int] = Field(description="How many rows of each kind were removed, and the number of answers.")
    public_key: str = Field(description="Hexadecimal.")
    signature: str = Field(
        description="Of all other fields but `public_key`, as JSON with sorted names and without blanks; hexadecimal."
    )


class DeletionsReply(BaseModel):
    """Every collection that was deleted."""

    deleted: list[DeletedReply]
    removed: list[RemovalReply]


class PublicKeyReply(BaseModel):
    """The public key of this server's receipts of removal."""

    public_key: str = Field(description="Ed25519, hexadecimal.")
