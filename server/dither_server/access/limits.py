"""How much one address, or one token, gets of tickets and of event streams: counted in this process's memory."""

import logging
import math
import time
from collections import Counter
from collections.abc import Callable
from functools import lru_cache, partial
from ipaddress import IPv6Address, ip_address, ip_network

from starlette.requests import HTTPConnection

from dither_server.access.tokens import Token
from dither_server.errors import InvalidBody, TooManyStreams, TooManyTickets
from dither_server.settings import Settings

__all__ = ["MAX_KEYS", "STREAMS_OF_ADDRESS", "Buckets", "Streams", "TicketLimits", "address_key", "limited_as"]

MAX_KEYS = 65_536
"""Buckets that are kept; whoever has not asked for longest starts afresh when there are more."""

STREAMS_OF_ADDRESS = 32
"""Event streams that one address may have open: as many pages as follow one collection behind it."""

_MINUTE = 60.0
_ROUNDING = 1e-6
"""Seconds that sums of times may be off by."""
_SUBNET = 64
"""Bits of an IPv6 address that name one customer's network."""

_log = logging.getLogger(__name__)


class Buckets:
    """A bucket for each key: `per_minute` at once if it is full, as many in each minute on average; 0 for no limit.

    A request for more than a whole bucket is granted to a full one, and paid off by waiting longer: whoever must not
    have more at once is refused before. `clock` never goes back.
    """

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds_each = _MINUTE / per_minute if per_minute else 0.0
        self._clock = clock
        self._full_at: dict[str, float] = {}
        """When each key's bucket will be full again, the key that asked last at the end."""

    def take(self, key: str, count: int) -> None:
        """Takes `count` out of the key's bucket. Raises `TooManyTickets`, with the time to wait, and takes nothing."""
        if not self._seconds_each:
            return
        now = self._clock()
        full_at = max(self._full_at.pop(key, now), now)
        cost = count * self._seconds_each
        wait = full_at - now + min(cost, _MINUTE) - _MINUTE
        self._full_at[key] = full_at + cost if wait <= _ROUNDING else full_at
        if len(self._full_at) > MAX_KEYS:
            del self._full_at[next(iter(self._full_at))]
        if wait > _ROUNDING:
            raise TooManyTickets(seconds=math.ceil(wait))

    def give_back(self, key: str, count: int) -> None:
        """Puts `count` back that was taken out of the key's bucket."""
        if key in self._full_at:
            self._full_at[key] -= count * self._seconds_each


class TicketLimits:
    """The limits that the settings name.

    A request costs one ticket before its body is read, whatever is in it, so that refusing is all that can be had
    without limit; the rest is taken when it is known how many tickets it is for.
    """

    def __init__(self, settings: Settings) -> None:
        self._most = settings.tickets_per_minute
        self._addresses = Buckets(settings.tickets_per_minute)
        self._tokens = Buckets(settings.token_tickets_per_minute)
        self._warn_of_proxy = not settings.trusted_proxies

    def admit(self, request: HTTPConnection, token: Token | None) -> None:
        """Raises `TooManyTickets` unless the token, or without one the address, may have one more ticket now."""
        self._take(request, 1, token)

    def take(self, request: HTTPConnection, count: int, token: Token | None) -> None:
        """The same for `count` tickets, of which `admit` has taken one: a request that is refused here costs nothing.

        Raises `InvalidBody` without a token if no address ever has so many at once.
        """
        if count == 1:
            return
        buckets, key = self._bucket(request, token)
        if key is None:
            return
        buckets.give_back(key, 1)
        if token is None and 0 < self._most < count:
            raise InvalidBody(f"count: Without a gateway's token, at most {self._most:,} tickets may be asked for.")
        self._take(request, count, token)

    def _take(self, request: HTTPConnection, count: int, token: Token | None) -> None:
        buckets, key = self._bucket(request, token)
        if key is None:
            return
        try:
            buckets.take(key, count)
        except TooManyTickets:
            if token is None and self._warn_of_proxy and "x-forwarded-for" in request.headers:
                self._warn_of_proxy = False
                _log.warning("a proxy's address has too many tickets: set DITHER_TRUSTED_PROXIES if it is yours")
            raise

    def _bucket(self, request: HTTPConnection, token: Token | None) -> tuple[Buckets, str | None]:
        """Whose tickets are counted and as whose; as nobody's from this machine."""
        key = address_key(request)
        if key is not None and token is not None:
            return self._tokens, token.id
        return self._addresses, key


class Streams:
    """How many event streams are open: in all, and of each address, so that none keeps others from a connection."""

    def __init__(self, most: int, of_address: int = STREAMS_OF_ADDRESS) -> None:
        self._most = most
        self._of_address = of_address
        self._open: Counter[str] = Counter()

    def open(self, request: HTTPConnection) -> Callable[[], None]:
        """Counts one more, until what is returned is called. Raises `TooManyStreams`."""
        # This machine's own address is no exception: connections to it are as few as any.
        key = address_key(request) or "this machine"
        if self._open[key] >= self._of_address or self._open.total() >= self._most:
            raise TooManyStreams
        self._open[key] += 1
        return partial(self._close, key)

    def _close(self, key: str) -> None:
        self._open[key] -= 1
        if not self._open[key]:
            del self._open[key]


def address_key(request: HTTPConnection) -> str | None:
    """What the address that a request comes from is limited as; None for this machine's own."""
    client = request.scope.get("client")
    return limited_as(client[0]) if client else None  # None: a Unix-domain socket


@lru_cache(maxsize=4096)
def limited_as(host: str) -> str | None:
    """What an address is limited as: itself, or of IPv6 its network; None for this machine's own, which is not."""
    try:
        address = ip_address(host)
    except ValueError:
        return "unknown"
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is None:
            return None if address.is_loopback else str(ip_network((address, _SUBNET), strict=False))
        address = address.ipv4_mapped
    return None if address.is_loopback else str(address)
