"""Tickets and receipts: signed, self-contained, and made without writing anything.

A ticket is `number "." base64url(payload) "." base64url(signature)`: the number of a key, and HMAC-SHA256 with that key
over what comes before. The payload holds the time of issue (seconds, 4 bytes), a random nonce (16), the collection's
number (4), the time of expiry (4), the number of the gateway that asked for it (2, 0 for none), big-endian, and the
packed query. Whoever has the key can check it. Time of issue and nonce are what the database knows the ticket by, and
one answer is stored under; the time comes first so that answers of the same hour lie together in the database's index.
A ticket without a number is of the first key, and from before there were gateways' numbers.
"""

import hmac
import os
import struct
from base64 import urlsafe_b64encode
from binascii import a2b_base64, b2a_base64
from typing import NamedTuple

from dither_server.clock import Clock
from dither_server.errors import TicketInvalid, Unavailable
from dither_server.tickets.key_ring import SKEW, TICKET_LIFE, KeyRing
from dither_server.tickets.secret import Keys

__all__ = ["MAX_TICKET", "SKEW", "TICKET_LIFE", "Ticket", "TicketOffice"]

MAX_TICKET = 12_000
"""No ticket is longer, in characters: a query has at most 1,023 coordinates of 8 bytes."""

_PAYLOAD = struct.Struct(">20sIIH")
_FIRST_PAYLOAD = struct.Struct(">20sII")
"""Of tickets without the number of a key."""
_SEPARATOR = b"."
_SIGNATURE_LENGTH = 43
_TO_STANDARD, _FROM_STANDARD = bytes.maketrans(b"-_", b"+/"), bytes.maketrans(b"+/", b"-_")
"""Between the alphabet of URLs and base64's own: quicker than the functions of `base64`."""


class Ticket(NamedTuple):
    """What a valid ticket says. `query` is packed; times are seconds."""

    key: bytes
    """Its time of issue and its nonce."""
    collection: int
    expires_at: int
    gateway: int
    query: bytes

    def expired(self, now: float) -> bool:
        """Whether the ticket's life is over at `now` (seconds), skew allowed for."""
        return now > self.expires_at + SKEW


class TicketOffice:
    """Issues tickets, checks them, and gives receipts. It has to be given a key ring before tickets."""

    def __init__(self, keys: Keys, clock: Clock) -> None:
        self._keys = keys
        self._receipts = _keyed(keys.receipt)
        self._clock = clock
        self._ring = KeyRing([], 0)
        self._signatures: dict[bytes, tuple[int, hmac.HMAC]] = {}
        """Number and HMAC of each key, by its name in tickets."""

    def use(self, ring: KeyRing) -> None:
        """Issues and checks tickets with the keys of `ring` from now on. For any thread."""
        for key in ring.keys:
            name = b"%d" % key.number
            if name not in self._signatures:
                self._signatures[name] = (key.number, _keyed(self._keys.ticket(key.number)))
        self._ring = ring

    def issue(self, collection: int, query: bytes, gateway: int = 0) -> tuple[str, int]:
        """A new ticket to answer the packed `query` in the collection of that number, and its expiry (seconds)."""
        now = int(self._clock())
        payload = _PAYLOAD.pack(now.to_bytes(4, "big") + os.urandom(16), collection, now + TICKET_LIFE, gateway) + query
        name = b"%d" % self._ring.signing(now)
        text = name + _SEPARATOR + urlsafe_b64encode(payload).rstrip(b"=")
        return (text + _SEPARATOR + _signature(self._signatures[name][1], text)).decode(), now + TICKET_LIFE

    def open(self, text: str) -> Ticket:
        """What the ticket says, expired or not. Raises `TicketInvalid` unless every character is as it was issued.

        Raises `Unavailable` where that cannot be known: a key may be new, and keys were not read for too long.
        """
        if not text.isascii():
            raise TicketInvalid
        signed, _, signature = text.encode().rpartition(_SEPARATOR)
        name, separator, encoded = signed.rpartition(_SEPARATOR)
        known = self._signatures.get(name if separator else b"0")
        if known is None:
            raise TicketInvalid if self._ring.fresh(self._clock()) else Unavailable
        number, keyed = known
        # Not decoded, or several spellings of a signature would be one.
        if not hmac.compare_digest(_signature(keyed, signed), signature):
            raise TicketInvalid
        payload = a2b_base64(encoded.translate(_TO_STANDARD) + b"==")
        if separator:
            key, collection, expires_at, gateway = _PAYLOAD.unpack_from(payload)
            query = payload[_PAYLOAD.size :]
        else:
            (key, collection, expires_at), gateway = _FIRST_PAYLOAD.unpack_from(payload), 0
            query = payload[_FIRST_PAYLOAD.size :]
        # Whoever steals a key that signs no more makes no tickets with it that live for ever.
        last = self._ring.last_expiry(number)
        expires_at = expires_at if last is None else min(expires_at, last)
        return Ticket(key, collection, expires_at, gateway, query)

    def receipt(self, key: bytes) -> str:
        """The receipt of the ticket with this key: 32 hexadecimal digits, the same for ever."""
        return _digest(self._receipts, key)[:16].hex()


def _keyed(key: bytes) -> hmac.HMAC:
    """HMAC-SHA256 under `key`, before any message: copies of it do what depends on the key alone no more than once."""
    return hmac.new(key, digestmod="sha256")


def _digest(keyed: hmac.HMAC, message: bytes) -> bytes:
    digest = keyed.copy()
    digest.update(message)
    return digest.digest()


def _signature(keyed: hmac.HMAC, text: bytes) -> bytes:
    return b2a_base64(_digest(keyed, text), newline=False).translate(_FROM_STANDARD)[:_SIGNATURE_LENGTH]
