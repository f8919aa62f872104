"""Invitations: single-use codes, each of which is good for one ticket of its collection.

The database holds the hash of each code. Once a code is used, it also holds the ticket, encrypted ("sealed") under the
code and its holder's retry key. This has three effects:

- a holder whose reply was lost asks again and gets the same ticket;
- nobody else who has the code gets the ticket;
- the database does not link tickets to invitations, not even for someone who has a list of the codes.
"""

import asyncio
import hashlib
import hmac
import os
import secrets
from dataclasses import dataclass

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from sqlalchemy import Connection, Engine, func, insert, select, update

from dither_server.answers.writer import Writer
from dither_server.database.schema import invitations
from dither_server.errors import InvitationInvalid, InvitationUsed

__all__ = ["Invitation", "Invitations"]

_LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"
"""Letters and digits that are not easily confused."""
_CODE_LENGTH = 26
"""130 random bits: a code cannot be guessed, and its plain hash reveals nothing."""
_SEAL_PREFIX = b"dit2"
"""The first bytes of a seal, except of seals in the first format."""
_NONCE_LENGTH = 12
_FIRST_TAG_LENGTH = 16


@dataclass(frozen=True, repr=False)
class Invitation:
    """What a holder sends: the code that it was given, and the random retry key that it chose."""

    collection: int
    code: str
    retry_key: str

    @property
    def hash(self) -> bytes:
        """The hash of the code, under which the database stores the invitation."""
        return _hash(self.code)

    def seal(self, ticket: str) -> bytes:
        """The ticket, encrypted and authenticated under the holder's code and retry key."""
        nonce = os.urandom(_NONCE_LENGTH)
        return _SEAL_PREFIX + nonce + ChaCha20Poly1305(self._key).encrypt(nonce, ticket.encode(), None)

    def open(self, sealed: bytes) -> str:
        """The ticket in a seal. Raises `InvitationUsed` if it was sealed under another key."""
        if not sealed.startswith(_SEAL_PREFIX):
            return self._open_first(sealed)
        body = sealed[len(_SEAL_PREFIX) :]
        nonce, encrypted = body[:_NONCE_LENGTH], body[_NONCE_LENGTH:]
        try:
            return ChaCha20Poly1305(self._key).decrypt(nonce, encrypted, None).decode()
        except InvalidTag:
            raise InvitationUsed from None

    def _open_first(self, sealed: bytes) -> str:
        """The ticket in a seal of the first format: a tag of 16 bytes, and the ticket XORed with a pad."""
        pad = hashlib.shake_256(self._key_material).digest(len(sealed))
        if not hmac.compare_digest(pad[:_FIRST_TAG_LENGTH], sealed[:_FIRST_TAG_LENGTH]):
            raise InvitationUsed
        return bytes(a ^ b for a, b in zip(sealed, pad, strict=True))[_FIRST_TAG_LENGTH:].decode()

    @property
    def _key(self) -> bytes:
        """The key of the seal. A plain hash is enough, since the code has 130 random bits."""
        return hashlib.sha256(self._key_material).digest()

    @property
    def _key_material(self) -> bytes:
        return f"dither invitation {self.collection} {self.code} {self.retry_key}".encode()


class Invitations:
    """The invitations of every collection, in the database."""

    def __init__(self, engine: Engine, writer: Writer) -> None:
        self._engine = engine
        self._writer = writer

    async def make(self, collection: int, count: int) -> list[str]:
        """Creates `count` invitations and returns their codes, of which only hashes are stored."""
        codes = await asyncio.to_thread(_new_codes, count)
        rows = [{"collection": collection, "hash": _hash(code)} for code in codes]
        await self._writer.run(lambda connection: connection.execute(insert(invitations), rows))
        return codes

    def tally(self, collection: int) -> tuple[int, int]:
        """The number of codes created for a collection, and the number of those redeemed."""
        found = select(func.count(), func.count(invitations.c.sealed)).where(invitations.c.collection == collection)
        with self._engine.connect() as connection:
            made, redeemed = connection.execute(found).one()
        return int(made), int(redeemed)

    async def ticket(self, invitation: Invitation) -> str | None:
        """The ticket that this holder got for its code before; None if the code is unused.

        Raises `InvitationInvalid` and `InvitationUsed`. Read-only: guesses never reach the writer.
        """

        def read() -> bytes | None:
            with self._engine.connect() as connection:
                return _sealed(connection, invitation)

        sealed = await asyncio.to_thread(read)
        return None if sealed is None else invitation.open(sealed)

    async def redeem(self, invitation: Invitation, ticket: str) -> str:
        """Redeems the code for `ticket`. Returns the ticket that counts: of concurrent requests, the first one's.

        Raises `InvitationInvalid` and `InvitationUsed`.
        """
        sealed = await self._writer.run(lambda connection: _redeem(connection, invitation, invitation.seal(ticket)))
        return invitation.open(sealed)


def _redeem(connection: Connection, invitation: Invitation, seal: bytes) -> bytes:
    """Stores the seal unless the code has one, and returns the stored one. Concurrent calls wait for each other."""
    unused = update(invitations).where(
        invitations.c.collection == invitation.collection,
        invitations.c.hash == invitation.hash,
        invitations.c.sealed.is_(None),
    )
    if connection.execute(unused.values(sealed=seal)).rowcount:
        return seal
    sealed = _sealed(connection, invitation)
    if sealed is None:
        raise InvitationInvalid
    return sealed


def _sealed(connection: Connection, invitation: Invitation) -> bytes | None:
    """The seal of a code; None if it is unused. Raises `InvitationInvalid` for a code that was never created."""
    found = select(invitations.c.sealed).where(
        invitations.c.collection == invitation.collection, invitations.c.hash == invitation.hash
    )
    row = connection.execute(found).one_or_none()
    if row is None:
        raise InvitationInvalid
    sealed: bytes | None = row[0]
    return sealed


def _new_codes(count: int) -> list[str]:
    return ["".join(secrets.choice(_LETTERS) for _ in range(_CODE_LENGTH)) for _ in range(count)]


def _hash(code: str) -> bytes:
    return hashlib.sha256(code.encode()).digest()
