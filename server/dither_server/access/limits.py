"""Limits on tickets, long reads and event streams for each address or token, counted in this process's memory."""

import logging
import math
import time
from collections import Counter
from collections.abc import Callable
from functools import lru_cache, partial
from ipaddress import IPv6Address, ip_address, ip_network

from starlette.requests import HTTPConnection

from dither_server.access.tokens import Token
from dither_server.errors import InvalidBody, TooManyTickets, TryLater
from dither_server.settings import Settings

__all__ = [
    "MAX_KEYS",
    "READS_OF_ADDRESS",
    "RELAYED",
    "STREAMS_OF_ADDRESS",
    "AtOnce",
    "Buckets",
    "TicketLimits",
    "address_key",
    "limited_as",
]

MAX_KEYS = 65_536
"""The largest number of buckets kept; beyond it, the one unused for longest is dropped and starts full again."""

STREAMS_OF_ADDRESS = 32
"""Event streams that one address may have open; several people behind it may each follow a collection."""

READS_OF_ADDRESS = 16
"""Long reads that one address may have under way, from the request to the last byte of the reply."""

RELAYED = "dither.relayed"
"""The key of a request's scope that says that it came encapsulated; its address is then the relay's."""

_MINUTE = 60.0
_ROUNDING = 1e-6
"""The tolerance in seconds for rounding errors in sums of times."""
_SUBNET = 64
"""Bits of an IPv6 address that identify one customer's network."""

_log = logging.getLogger(__name__)


class Buckets:
    """A token bucket for each key: a full one holds `per_minute` and refills in a minute. 0 means no limit.

    A request for more than a bucket holds is granted if the bucket is full, which then takes longer to refill; callers
    that must not exceed a bucket have to check first. `clock` is monotonic.
    """

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds_each = _MINUTE / per_minute if per_minute else 0.0
        self._clock = clock
        self._full_at: dict[str, float] = {}
        """When each key's bucket will be full again; the most recently used key is last."""

    def take(self, key: str, count: int) -> None:
        """Takes `count` from the key's bucket, or nothing: then it raises `TooManyTickets`, with the time to wait."""
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

    def give_back(self, key: str) -> None:
        """Returns one to the key's bucket."""
        if key in self._full_at:
            self._full_at[key] -= self._seconds_each


class TicketLimits:
    """The limits on tickets that the settings name: for each address, each relay and each token.

    All people of a relay share its address. Only what comes encapsulated from a relay that the settings name counts
    towards its limit: whoever encapsulates requests without a relay has the limit of any address, no more, and cannot
    use up a relay's.

    A request costs one ticket before its body is read, so that requests with invalid bodies are limited as well. The
    rest is taken once the body has said how many tickets it asks for.
    """

    def __init__(self, settings: Settings) -> None:
        self._per_address = settings.tickets_per_minute
        self._addresses = Buckets(settings.tickets_per_minute)
        self._tokens = Buckets(settings.token_tickets_per_minute)
        self._relays = Buckets(settings.relay_tickets_per_minute)
        self._relay_networks = [ip_network(network) for network in settings.relays]
        self._warn_of_proxy = not settings.trusted_proxies

    def admit(self, request: HTTPConnection, token: Token | None) -> None:
        """Takes one ticket from the token's limit, or without a token from the address's. Raises `TooManyTickets`."""
        self._take(request, 1, token)

    def take(self, request: HTTPConnection, count: int, token: Token | None) -> None:
        """Takes `count` tickets, including the one that `admit` took.

        Raises `TooManyTickets`, and then the request costs nothing; or `InvalidBody` for a count without a token that
        is above every address's limit.
        """
        if count == 1:
            return
        buckets, key = self._bucket(request, token)
        if key is None:
            return
        if token is None and 0 < self._per_address < count:
            raise InvalidBody(f"count: Without a gateway's token, at most {self._per_address:,} tickets are allowed.")
        buckets.give_back(key)
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
                _log.warning("too many tickets from a proxy: set DITHER_TRUSTED_PROXIES if it is yours")
            raise

    def _bucket(self, request: HTTPConnection, token: Token | None) -> tuple[Buckets, str | None]:
        """The buckets that a request counts towards, and its key there; requests from this machine have no key."""
        key = address_key(request)
        if key is not None and token is not None:
            return self._tokens, token.id
        if RELAYED in request.scope and self._is_relay(request):
            return self._relays, key or "this machine"
        return self._addresses, key

    def _is_relay(self, request: HTTPConnection) -> bool:
        """Whether the settings name the address as that of a relay."""
        client = request.scope.get("client")
        try:
            address = ip_address(client[0]) if client else None
        except ValueError:
            return False
        if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
            address = address.ipv4_mapped
        return address is not None and any(address in network for network in self._relay_networks)


class AtOnce:
    """Limits how many requests of a kind are under way, in total and for each address, so that others find room.

    `refusal` makes the refusal of one too many.
    """

    def __init__(self, total: int, per_address: int, refusal: Callable[[], TryLater]) -> None:
        self._total = total
        self._per_address = per_address
        self._refusal = refusal
        self._open: Counter[str] = Counter()

    def open(self, request: HTTPConnection) -> Callable[[], None]:
        """Counts one more request until the returned function is called. Raises the refusal."""
        # Requests from this machine count as well, since they use connections like any other.
        key = address_key(request) or "this machine"
        if self._open[key] >= self._per_address or self._open.total() >= self._total:
            raise self._refusal()
        self._open[key] += 1
        return partial(self._close, key)

    def _close(self, key: str) -> None:
        self._open[key] -= 1
        if not self._open[key]:
            del self._open[key]


def address_key(request: HTTPConnection) -> str | None:
    """The key under which a request's address is limited; None for this machine's own."""
    client = request.scope.get("client")
    return limited_as(client[0]) if client else None  # None: a Unix-domain socket


@lru_cache(maxsize=4096)
def limited_as(host: str) -> str | None:
    """The key under which an address is limited: itself, or an IPv6 address's network; None for this machine's own."""
    try:
        address = ip_address(host)
    except ValueError:
        return "unknown"
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is None:
            return None if address.is_loopback else str(ip_network((address, _SUBNET), strict=False))
        address = address.ipv4_mapped
    return None if address.is_loopback else str(address)
