"""The keys to which requests through a relay are encapsulated (RFC 9458): one beside each key that signs tickets.

They begin and end with the tickets' keys, so they are replaced as often, and all processes have the same ones without
talking. A request to an earlier key is opened for as long as a ticket of the key beside it is valid.
"""

from functools import lru_cache

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from dither_client.oblivious.encapsulation import KeyConfiguration, write_configurations
from dither_server.clock import Clock
from dither_server.tickets.office import TicketOffice
from dither_server.tickets.secret import Keys

__all__ = ["ObliviousKeys"]

_IDS = 256
"""An id is a byte, so it comes again after as many keys, of which only the last few open anything."""


class ObliviousKeys:
    """The gateway's keys, derived from the server's secret; nothing of them is stored."""

    def __init__(self, keys: Keys, office: TicketOffice, clock: Clock) -> None:
        self._office = office
        self._clock = clock
        self._private = lru_cache(maxsize=8)(
            lambda number: X25519PrivateKey.from_private_bytes(keys.oblivious(number)),
        )

    def configurations(self) -> bytes:
        """The one key that respondents use now, as `application/ohttp-keys`: a choice could tell them apart."""
        number = self._office.ring.signing(self._clock())
        public = self._private(number).public_key().public_bytes_raw()
        return write_configurations([KeyConfiguration(number % _IDS, public)])

    def private(self, key_id: int) -> X25519PrivateKey | None:
        """The key with this id, unless there is none, or not any more."""
        ring, now = self._office.ring, self._clock()
        for key in reversed(ring.keys):
            last = ring.last_expiry(key.number)
            if last is not None and last < now:
                return None
            if key.number % _IDS == key_id:
                return self._private(key.number)
        return None
