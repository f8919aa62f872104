"""Invitations: single-use codes, each worth one ticket of its collection.

The database holds a code's hash, and once the code was used, its ticket in a seal that only the code together with its
holder's retry key opens. So a holder whose reply was lost asks again and gets the very same ticket, whoever else has
the code gets nothing, and the database does not say whose ticket is whose, not even to who has a list of the codes.
"""

import asyncio
import hashlib
import hmac
import secrets
from dataclasses import dataclass

from sqlalchemy import Connection, Engine, func, insert, select, update

from dither_server.answers.writer import Writer
from dither_server.database.schema import invitations
from dither_server.errors import InvitationInvalid, InvitationUsed

__all__ = ["Invitation", "Invitations"]

_LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"
"""None that is easily taken for another."""
_LENGTH = 26
"""130 bits: nobody guesses one, and a plain hash of it tells nothing."""
_TAG = 16


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
        """The ticket for the database. One seal of a key is ever stored, so a one-time pad (SHAKE-256) is enough."""
        text = ticket.encode()
        pad = self._pad(len(text))
        return pad[:_TAG] + _xor(text, pad[_TAG:])

    def open(self, sealed: bytes) -> str:
        """The ticket in a seal. Raises `InvitationUsed` if another key made it."""
        pad = self._pad(len(sealed) - _TAG)
        if not hmac.compare_digest(pad[:_TAG], sealed[:_TAG]):
            raise InvitationUsed
        return _xor(sealed[_TAG:], pad[_TAG:]).decode()

    def _pad(self, size: int) -> bytes:
        """A tag that says that the key is right, and `size` bytes to hide a ticket with."""
        key = f"dither invitation {self.collection} {self.code} {self.retry_key}"
        return hashlib.shake_256(key.encode()).digest(_TAG + size)


class Invitations:
    """The invitations of every collection, in the database."""

    def __init__(self, engine: Engine, writer: Writer) -> None:
        self._engine = engine
        self._writer = writer

    async def make(self, collection: int, count: int) -> list[str]:
        """So many new codes, which are stored nowhere."""
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

        Raises `InvitationInvalid` and `InvitationUsed`. Reads alone, so that guessing keeps nobody from writing.
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


def _xor(text: bytes, pad: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(text, pad, strict=True))
