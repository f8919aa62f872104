"""Tickets and receipts: signed, self-contained, and created without writing to the database.

A ticket is `number "." base64url(payload) "." base64url(signature)`: the number of a key, and HMAC-SHA256 with that key
over everything before the signature. The payload is big-endian:

- the time of issue (seconds, 4 bytes) and a random nonce (16 bytes);
- the collection's number (4 bytes);
- the time of expiry (seconds, 4 bytes);
- the number of the gateway that requested the ticket (2 bytes, 0 for none);
- the packed query.

The time of issue and the nonce are the ticket's key in the database, under which its answer is stored. The time comes
first, so that answers of the same hour are close together in the database's index. A ticket without a key's number is
an old one: it was signed with the first key, and its payload has no gateway.
"""

import hmac
import os
import struct
from binascii import a2b_base64, b2a_base64
from typing import NamedTuple

from dither_server.clock import Clock
from dither_server.errors import TicketInvalid, Unavailable
from dither_server.tickets.key_ring import SKEW, TICKET_LIFE, KeyRing
from dither_server.tickets.secret import Keys

__all__ = ["MAX_TICKET", "SKEW", "TICKET_LIFE", "Ticket", "TicketOffice"]

MAX_TICKET = 12_000
"""The largest length of a ticket in characters: a query has at most 1,023 coordinates of 8 bytes."""

_PAYLOAD = struct.Struct(">20sIIH")
_FIRST_PAYLOAD = struct.Struct(">20sII")
"""The payload of tickets without a key's number."""
_NONCE_BYTES = 16
_NONCES = 256
"""Nonces that are drawn at once: each drawing is a system call, during which Python turns to another thread."""
_SEPARATOR = b"."
_SIGNATURE_LENGTH = 43
_TO_STANDARD, _FROM_STANDARD = bytes.maketrans(b"-_", b"+/"), bytes.maketrans(b"+/", b"-_")
"""Translate between base64url and base64, faster than the functions of the module `base64`."""


class Ticket(NamedTuple):
    """The contents of a valid ticket. `query` is packed; times are in seconds."""

    key: bytes
    """The ticket's time of issue and nonce, 20 bytes."""
    collection: int
    expires_at: int
    gateway: int
    query: bytes

    @property
    def issued_at(self) -> int:
        """The time of issue, in seconds."""
        return int.from_bytes(self.key[:4], "big")

    def expired(self, now: float) -> bool:
        """Whether the ticket has expired at `now` (seconds), allowing for `SKEW`."""
        return now > self.expires_at + SKEW


class TicketOffice:
    """Issues and checks tickets, and makes receipts. Call `use` with a key ring first."""

    def __init__(self, keys: Keys, clock: Clock) -> None:
        self._keys = keys
        self._receipts = _keyed(keys.receipt)
        self._clock = clock
        self.ring = KeyRing([], 0)
        """The keys as they were read last."""
        self._nonces: list[bytes] = []
        self._signatures: dict[bytes, tuple[int, hmac.HMAC]] = {}
        """The number and HMAC of each key, by its number as tickets spell it."""

    def use(self, ring: KeyRing) -> None:
        """Issues and checks tickets with the keys of `ring` from now on. Thread-safe."""
        for key in ring.keys:
            name = b"%d" % key.number
            if name not in self._signatures:
                self._signatures[name] = (key.number, _keyed(self._keys.ticket(key.number)))
        self.ring = ring

    def issue(self, collection: int, query: bytes, gateway: int = 0) -> tuple[str, int]:
        """A new ticket for the packed `query` in the collection with this number, and its expiry (seconds)."""
        now = int(self._clock())
        payload = _PAYLOAD.pack(now.to_bytes(4, "big") + self._nonce(), collection, now + TICKET_LIFE, gateway) + query
        name = b"%d" % self.ring.signing(now)
        text = name + _SEPARATOR + b2a_base64(payload, newline=False).translate(_FROM_STANDARD).rstrip(b"=")
        return (text + _SEPARATOR + _signature(self._signatures[name][1], text)).decode(), now + TICKET_LIFE

    def _nonce(self) -> bytes:
        try:
            return self._nonces.pop()
        except IndexError:
            many = os.urandom(_NONCES * _NONCE_BYTES)
            first, *rest = (many[at : at + _NONCE_BYTES] for at in range(0, len(many), _NONCE_BYTES))
            self._nonces.extend(rest)
            return first

    def open(self, text: str) -> Ticket:
        """The contents of a ticket, expired or not. Raises `TicketInvalid` unless every character is as issued.

        Raises `Unavailable` for an unknown key if the keys have not been read for too long: the key may be a new one.
        """
        if not text.isascii():
            raise TicketInvalid
        signed, _, signature = text.encode().rpartition(_SEPARATOR)
        name, separator, encoded = signed.rpartition(_SEPARATOR)
        known = self._signatures.get(name if separator else b"0")
        if known is None:
            raise TicketInvalid if self.ring.fresh(self._clock()) else Unavailable
        number, keyed = known
        # Signatures are compared encoded, since several base64 texts decode to the same bytes.
        if not hmac.compare_digest(_signature(keyed, signed), signature):
            raise TicketInvalid
        payload = a2b_base64(encoded.translate(_TO_STANDARD) + b"==")
        if separator:
            key, collection, expires_at, gateway = _PAYLOAD.unpack_from(payload)
            query = payload[_PAYLOAD.size :]
        else:
            (key, collection, expires_at), gateway = _FIRST_PAYLOAD.unpack_from(payload), 0
            query = payload[_FIRST_PAYLOAD.size :]
        # A thief of an expired key cannot forge tickets that expire later than the key's own last ticket.
        last = self.ring.last_expiry(number)
        expires_at = expires_at if last is None else min(expires_at, last)
        return Ticket(key, collection, expires_at, gateway, query)

    def receipt(self, key: bytes) -> str:
        """The receipt of the ticket with this key: 32 hexadecimal digits, always the same."""
        return _digest(self._receipts, key)[:16].hex()


def _keyed(key: bytes) -> hmac.HMAC:
    """HMAC-SHA256 under `key` before any message; copying it saves the work that depends on the key only."""
    return hmac.new(key, digestmod="sha256")


def _digest(keyed: hmac.HMAC, message: bytes) -> bytes:
    digest = keyed.copy()
    digest.update(message)
    return digest.digest()


def _signature(keyed: hmac.HMAC, text: bytes) -> bytes:
    return b2a_base64(_digest(keyed, text), newline=False).translate(_FROM_STANDARD)[:_SIGNATURE_LENGTH]
