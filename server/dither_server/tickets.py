"""Tickets and receipts: signed, self-contained, and made without writing anything.

A ticket is `base64url(payload) "." base64url(signature)`, with HMAC-SHA256 over the first part. The payload holds the
time of issue (seconds, 4 bytes), a random nonce (16), the collection's number (4), the time of expiry (4), big-endian,
and the packed query. Whoever has the signer's key can check it. Time of issue and nonce are the ticket's own key, under
which one answer is stored; the time comes first so that answers of the same hour lie together in the database's index.
"""

import hashlib
import hmac
import os
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import NamedTuple

from itsdangerous import Signer

from dither_server.clock import Clock
from dither_server.errors import TicketInvalid
from dither_server.secret import Keys

__all__ = ["MAX_TICKET", "SKEW", "TICKET_LIFE", "Ticket", "TicketOffice"]

TICKET_LIFE = 24 * 3600
"""Seconds from issue to expiry."""
SKEW = 60
"""Seconds by which the clocks of servers may differ."""
MAX_TICKET = 12_000
"""No ticket is longer, in characters: a query has at most 1,023 coordinates of 8 bytes."""

_PAYLOAD = struct.Struct(">20sII")
_SEPARATOR = b"."


class Ticket(NamedTuple):
    """What a valid ticket says. `query` is packed; times are seconds."""

    key: bytes
    """Its time of issue and its nonce."""
    collection: int
    expires_at: int
    query: bytes

    def expired(self, now: float) -> bool:
        """Whether the ticket's life is over at `now` (seconds), skew allowed for."""
        return now > self.expires_at + SKEW


class TicketOffice:
    """Issues tickets, checks them, and gives receipts."""

    def __init__(self, keys: Keys, clock: Clock) -> None:
        self._signer = Signer(keys.ticket, sep=_SEPARATOR, key_derivation="none", digest_method=hashlib.sha256)
        self._receipt_key = keys.receipt
        self._clock = clock

    def issue(self, collection: int, query: bytes) -> tuple[str, int]:
        """A new ticket to answer the packed `query` in the collection of that number, and its expiry (seconds)."""
        now = int(self._clock())
        payload = _PAYLOAD.pack(now.to_bytes(4, "big") + os.urandom(16), collection, now + TICKET_LIFE) + query
        return self._signer.sign(urlsafe_b64encode(payload).rstrip(b"=")).decode(), now + TICKET_LIFE

    def open(self, text: str) -> Ticket:
        """What the ticket says, expired or not. Raises `TicketInvalid` unless every character is as it was issued."""
        if not text.isascii():
            raise TicketInvalid
        encoded, _, signature = text.encode().rpartition(_SEPARATOR)
        # Signer.unsign would decode the signature first, and so take several spellings of one.
        if not hmac.compare_digest(self._signer.get_signature(encoded), signature):
            raise TicketInvalid
        payload = urlsafe_b64decode(encoded + b"=" * (-len(encoded) % 4))
        key, collection, expires_at = _PAYLOAD.unpack_from(payload)
        return Ticket(key, collection, expires_at, payload[_PAYLOAD.size :])

    def receipt(self, key: bytes) -> str:
        """The receipt of the ticket with this key: 32 hexadecimal digits, the same for ever."""
        return hmac.digest(self._receipt_key, key, "sha256")[:16].hex()
