"""Invitations: single-use codes, each worth one ticket of its collection.

The database holds a code's hash, and once the code was used, its ticket in a seal that only the code together with its
holder's retry key opens. So a holder whose reply was lost asks again and gets the very same ticket, whoever else has
the code gets nothing, and the database does not say whose ticket is whose, not even to who has a list of the codes.
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
"""None that is easily taken for another."""
_LENGTH = 26
"""130 bits: nobody guesses one, and a plain hash of it tells nothing."""
_MARK = b"dit2"
"""What seals begin with, but for the first ones."""
_NONCE = 12
_FIRST_TAG = 16


@dataclass(frozen=True, repr=False)
class Invitation:
    """What a holder shows: the code it was given, and the random key that it chose for itself and sends each time."""

    collection: int
    code: str
    retry_key: str

    @property
    def hash(self) -> bytes:
        """What the code is stored under."""
        return _hash(self.code)

    def seal(self, ticket: str) -> bytes:
        """The ticket for the database, encrypted and authenticated under what the holder alone has."""
        nonce = os.urandom(_NONCE)
        return _MARK + nonce + ChaCha20Poly1305(self._key).encrypt(nonce, ticket.encode(), None)

    def open(self, sealed: bytes) -> str:
        """The ticket in a seal. Raises `InvitationUsed` if another key made it."""
        if not sealed.startswith(_MARK):
            return self._open_first(sealed)
        nonce, encrypted = sealed[len(_MARK) : len(_MARK) + _NONCE], sealed[len(_MARK) + _NONCE :]
        try:
            return ChaCha20Poly1305(self._key).decrypt(nonce, encrypted, None).decode()
        except InvalidTag:
            raise InvitationUsed from None

    def _open_first(self, sealed: bytes) -> str:
        """The ticket in a seal as servers made them at first: a tag of 16 bytes, and the ticket XORed with a pad."""
        pad = hashlib.shake_256(self._words).digest(len(sealed))
        if not hmac.compare_digest(pad[:_FIRST_TAG], sealed[:_FIRST_TAG]):
            raise InvitationUsed
        return bytes(a ^ b for a, b in zip(sealed, pad, strict=True))[_FIRST_TAG:].decode()

    @property
    def _key(self) -> bytes:
        """The code alone has 130 random bits, so that a plain hash makes a key."""
        return hashlib.sha256(self._words).digest()

    @property
    def _words(self) -> bytes:
        return f"dither invitation {self.collection} {self.code} {self.retry_key}".encode()


class Invitations:
    """The invitations of every collection, in the database."""

    def __init__(self, engine: Engine, writer: Writer) -> None:
        self._engine = engine
        self._writer = writer

    async def make(self, collection: int, count: int) -> list[str]:
        """Creates `count` invitations and returns their codes, which are stored nowhere."""
        codes = ["".join(secrets.choice(_LETTERS) for _ in range(_LENGTH)) for _ in range(count)]
        rows = [{"collection": collection, "hash": _hash(code)} for code in codes]
        await self._writer.run(lambda connection: connection.execute(insert(invitations), rows))
        return codes

    def tally(self, collection: int) -> tuple[int, int]:
        """How many codes were made for a collection, and how many of them were redeemed."""
        found = select(func.count(), func.count(invitations.c.sealed)).where(invitations.c.collection == collection)
        with self._engine.connect() as connection:
            made, redeemed = connection.execute(found).one()
        return int(made), int(redeemed)

    async def ticket(self, invitation: Invitation) -> str | None:
        """The ticket that this holder got for its code before; None if nobody has used the code.

        Raises `InvitationInvalid` and `InvitationUsed`. Read-only: guesses never reach the writer.
        """

        def read() -> bytes | None:
            with self._engine.connect() as connection:
                return _sealed(connection, invitation)

        sealed = await asyncio.to_thread(read)
        return None if sealed is None else invitation.open(sealed)

    async def redeem(self, invitation: Invitation, ticket: str) -> str:
        """Uses the code for `ticket`. Returns the ticket that counts: of two requests at once, the first one's.

        Raises `InvitationInvalid` and `InvitationUsed`.
        """
        sealed = await self._writer.run(lambda connection: _redeem(connection, invitation, invitation.seal(ticket)))
        return invitation.open(sealed)


def _redeem(connection: Connection, invitation: Invitation, seal: bytes) -> bytes:
    """The seal that the code has from now on. Whoever comes second waits here for the first one's transaction."""
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
    """The seal of a code; None if it is unused. Raises `InvitationInvalid` for one that was never made."""
    found = select(invitations.c.sealed).where(
        invitations.c.collection == invitation.collection, invitations.c.hash == invitation.hash
    )
    row = connection.execute(found).one_or_none()
    if row is None:
        raise InvitationInvalid
    sealed: bytes | None = row[0]
    return sealed


def _hash(code: str) -> bytes:
    return hashlib.sha256(code.encode()).digest()
