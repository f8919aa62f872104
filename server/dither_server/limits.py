"""How many tickets one address, or one token, gets: a token bucket for each, in this process's memory."""

import logging
import math
import time
from collections.abc import Callable
from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network

from starlette.requests import HTTPConnection

from dither_server.access import Token
from dither_server.errors import TooManyTickets
from dither_server.settings import Settings

__all__ = ["MAX_KEYS", "Buckets", "TicketLimits", "limited_as"]

MAX_KEYS = 65_536
"""Buckets that are kept; whoever has not asked for longest starts afresh when there are more."""

_MINUTE = 60.0
_ROUNDING = 1e-6
"""Seconds that sums of times may be off by."""
_SUBNET = 64
"""Bits of an IPv6 address that name one customer's network."""

_log = logging.getLogger(__name__)


class Buckets:
    """A bucket for each key: `per_minute` at once if it is full, as many in each minute on average; 0 for no limit.

    A request for more than a whole bucket is granted to a full one, and paid off by waiting longer. `clock` never goes
    back.
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


class TicketLimits:
    """The limits that the settings name."""

    def __init__(self, settings: Settings) -> None:
        self._addresses = Buckets(settings.tickets_per_minute)
        self._tokens = Buckets(settings.token_tickets_per_minute)
        self._warn_of_proxy = not settings.trusted_proxies

    def check(self, request: HTTPConnection, count: int, token: Token | None) -> None:
        """Raises `TooManyTickets` unless the token, or without one the address, may have `count` more tickets now."""
        client = request.scope.get("client")
        key = limited_as(client[0]) if client else None  # None: a Unix-domain socket
        if key is None:
            return
        if token is not None:
            self._tokens.take(token.id, count)
            return
        try:
            self._addresses.take(key, count)
        except TooManyTickets:
            if self._warn_of_proxy and "x-forwarded-for" in request.headers:
                self._warn_of_proxy = False
                _log.warning("a proxy's address has too many tickets: set DITHER_TRUSTED_PROXIES if it is yours")
            raise


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
