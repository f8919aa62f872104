"""A respondent's client of one server, synchronous and asyncio: thin drivers of the protocol's flows."""

import asyncio
import os
import time
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

import httpx2

from dither_client.addresses import Address, parse_address
from dither_client.errors import DitherError, InvalidAddress, Unreachable
from dither_client.forgetting import forgetful, forgetful_coroutine
from dither_client.ledger.protocol import Entry, LedgerProtocol, find_entry
from dither_client.ledger.sqlite import Ledger
from dither_client.mechanisms.epsilon import wire_epsilon
from dither_client.mechanisms.member_counts import MemberCounts
from dither_client.mechanisms.price import Value
from dither_client.protocol.flow import Flow, Retry
from dither_client.protocol.institution import send_share_flow, share_flow
from dither_client.protocol.messages import Receipt, Shared, Terms
from dither_client.protocol.respondent import (
    Admission,
    Clock,
    answer_flow,
    check_secret,
    join_flow,
    price_flow,
    send_flow,
)
from dither_client.transport.drivers import AsyncDriver, Driver
from dither_client.transport.relay import AsyncRelay, Relay

__all__ = ["AsyncClient", "Client"]

_TIMEOUT = 30.0
_SETTLE = 0.005
"""Seconds from the start of drawing an answer to its first use, for a question with few cells."""

_Epsilon = str | int | float | Decimal | Fraction


class _Respondent:
    """What both clients share: a server, a ledger, and the flows between them."""

    def __init__(
        self,
        url: str,
        ledger: LedgerProtocol | None,
        retry: Retry | None,
        token: str | None,
        clock: Clock,
        relay: str | None,
    ) -> None:
        self._token = check_secret("a token", token)
        self._address = parse_address(url)
        self._relay = None if relay is None else _parse_relay(relay, self._address, token)
        self.server = self._address.base
        self._own_ledger: Ledger | None = None
        if isinstance(ledger, str | os.PathLike):
            raise TypeError("ledger: give dither_client.Ledger(path), not the path itself")
        if ledger is None:
            ledger = self._own_ledger = Ledger()
        self.ledger = ledger
        self._retry = retry or Retry()
        self._clock = clock

    def _answer(
        self,
        collection: str,
        value: Value,
        max_epsilon: Fraction | None,
        epsilon: _Epsilon | None,
        invitation: str | None,
        group: str | None,
    ) -> Flow[Receipt]:
        return answer_flow(
            self.server,
            collection,
            value,
            self.ledger,
            self._retry,
            max_epsilon=max_epsilon,
            epsilon=None if epsilon is None else wire_epsilon(epsilon),
            admission=Admission(invitation, self._token),
            settle=_SETTLE,
            group=group,
            clock=self._clock,
        )

    def _join(self, collection: str, max_epsilon: Fraction | None) -> Flow[tuple[str, ...]]:
        turns = yield from join_flow(
            self.server, collection, self.ledger, self._retry, max_epsilon=max_epsilon, clock=self._clock
        )
        kept = self.ledger.price(self.server, collection)
        panel = None if kept is None else kept.panel
        return () if panel is None else tuple(map(panel.period.label, turns))

    def _share(self, collection: str, values: Sequence[float], max_epsilon: Fraction | None) -> Flow[Shared]:
        return share_flow(
            self.server, collection, values, self.ledger, self._token, self._retry, max_epsilon, settle=_SETTLE
        )

    def _terms(self, collection: str) -> Flow[Terms]:
        _, terms = yield from price_flow(self.server, collection, self.ledger, self._retry)
        return terms

    def _send_stored(self, collection: str) -> Flow[Receipt | None]:
        entry = find_entry(self.ledger, self.server, collection) or next(
            (each for each in self.ledger.unsent(self.server) if each.collection == collection), None
        )
        if entry is None or entry.state == "charged":
            return None
        return (yield from send_flow(entry, self.ledger, self._retry))

    def _resend(self, entry: Entry) -> Flow[Receipt | Shared | DitherError]:
        try:
            if isinstance(entry.query, MemberCounts):
                return (yield from send_share_flow(entry, self.ledger, self._token, self._retry))
            return (yield from send_flow(entry, self.ledger, self._retry))
        except Unreachable:
            raise
        except DitherError as error:
            return error

    def _close_ledger(self) -> None:
        if self._own_ledger:
            self._own_ledger.close()


class Client(_Respondent):
    """Answers the collections of the server at `url`, which must be https or on this machine.

    - `ledger`: where ε is charged; by default a `Ledger` in the user's data folder with its default caps.
    - `timeout`: seconds for each connection and each read. A whole response may take four times as long, and may have
      at most one megabyte.
    - `retry`: when each call tries again.
    - `token`: a gateway's token, for collections that require one, or an institution's. It is sent only with requests
      for tickets and with members' counts.
    - `clock`: the seconds since 1970, which say in which period it is, where a collection has a panel.
    - `relay`: the URL of an Oblivious HTTP relay, which somebody else than the server has to run. Everything goes
      through it, encrypted for the server: the server sees the relay's network address, and the relay sees no content.
      A token would say who asks, so there is none then. Needs the extra `relay`.

    Raises `InvalidAddress`, `LedgerError` and `MissingExtra`.
    """

    def __init__(
        self,
        url: str,
        ledger: LedgerProtocol | None = None,
        timeout: float = _TIMEOUT,
        retry: Retry | None = None,
        transport: httpx2.BaseTransport | None = None,
        token: str | None = None,
        clock: Clock = time.time,
        relay: str | None = None,
    ) -> None:
        super().__init__(url, ledger, retry, token, clock, relay)
        if self._relay is None:
            self._driver = Driver(self._address, timeout, transport)
        else:
            through = Relay(self._relay, timeout, transport)
            self._driver = Driver(self._address, timeout, through, contacted=self._relay.base)

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @forgetful
    def answer(
        self,
        collection_id: str,
        value: Value,
        max_epsilon: Fraction | None = None,
        epsilon: _Epsilon | None = None,
        invitation: str | None = None,
        group: str | None = None,
    ) -> Receipt:
        """Answers the collection privately, or sends the answer that the ledger already holds for it.

        The collection's terms are fetched once and kept in the ledger. A question that costs more than the terms said,
        or that is of another kind, is refused.

        Where the terms have a `panel`, call it in every period: the first call joins, as `join` does, and in a period
        that is not the respondent's turn, it raises `NotYourTurn` without a request.

        - `value`: a number within the bounds of `terms(collection_id)`, the text of one of its categories, or a number
          for each of its components, such as `{"wage": 540, "age": 41}`.
        - `max_epsilon`: refuses a collection that costs more, of a panel for all answers together.
        - `epsilon`: the ε to be asked at, where the terms have `epsilon_choices`; it must not depend on the value. By
          default the collection's own ε.
        - `invitation`: the code, where the terms' `admission` is `invite`. If the call fails, another call with the
          same code and the same ledger continues where it stopped.
        - `group`: the label of the respondent's group, where the terms have `groups`. It is public: it is sent as it
          is, without noise.

        Raises `InvalidAddress`, `InvalidEpsilon` and `InvalidValue` before anything is sent (the last two also once the
        terms are known), `InvalidGroup` before a ticket is requested, `InvalidQuery`, `LedgerError` and `ServerError`.
        """
        return self._driver.run(self._answer(collection_id, value, max_epsilon, epsilon, invitation, group))

    @forgetful
    def share(self, collection_id: str, values: Sequence[float], max_epsilon: Fraction | None = None) -> Shared:
        """Shares noisy counts of the `values` of an institution's members, or the counts that the ledger already holds.

        The client's token must be the institution's. Each institution shares once. The ledger is charged the
        collection's ε once, and each member's value is protected at that ε. If it exceeds `max_epsilon`, nothing is
        drawn. Raises the same errors as `answer`.
        """
        return self._driver.run(self._share(collection_id, values, max_epsilon))

    def terms(self, collection_id: str) -> Terms:
        """The collection's terms, among them the ε it costs, which the ledger keeps, so that it cannot rise later.

        Raises `LedgerError` and `ServerError`.
        """
        return self._driver.run(self._terms(collection_id))

    def join(self, collection_id: str, max_epsilon: Fraction | None = None) -> tuple[str, ...]:
        """Joins the collection's panel, unless that is done; returns the labels of the periods in which to answer.

        The periods, such as `2026-W07`, are drawn by chance, and the ε of all answers is charged at once. If that
        exceeds `max_epsilon`, nothing is drawn. Returns none where the terms have no `panel`. Raises `InvalidAddress`,
        `LedgerError` and `ServerError`.
        """
        return self._driver.run(self._join(collection_id, max_epsilon))

    def send_stored(self, collection_id: str) -> Receipt | None:
        """Sends the answer that the ledger already holds for the collection; None if it holds none.

        Raises `LedgerError` and `ServerError`.
        """
        return self._driver.run(self._send_stored(collection_id))

    def resume(self) -> dict[str, Receipt | Shared | DitherError]:
        """Sends every stored answer to this server that has not been sent.

        Returns the receipt or the error of each collection. Raises `Unreachable` and `LedgerError`.
        """
        return {entry.collection: self._driver.run(self._resend(entry)) for entry in self.ledger.unsent(self.server)}

    def close(self) -> None:
        self._driver.close()
        self._close_ledger()


class AsyncClient(_Respondent):
    """`Client` for asyncio."""

    def __init__(
        self,
        url: str,
        ledger: LedgerProtocol | None = None,
        timeout: float = _TIMEOUT,
        retry: Retry | None = None,
        transport: httpx2.AsyncBaseTransport | None = None,
        token: str | None = None,
        clock: Clock = time.time,
        relay: str | None = None,
    ) -> None:
        super().__init__(url, ledger, retry, token, clock, relay)
        through = transport if self._relay is None else AsyncRelay(self._relay, timeout, transport)
        self._driver = AsyncDriver(self._address, timeout, through)

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @forgetful_coroutine
    async def answer(
        self,
        collection_id: str,
        value: Value,
        max_epsilon: Fraction | None = None,
        epsilon: _Epsilon | None = None,
        invitation: str | None = None,
        group: str | None = None,
    ) -> Receipt:
        """See `Client.answer`."""
        return await self._driver.run(self._answer(collection_id, value, max_epsilon, epsilon, invitation, group))

    @forgetful_coroutine
    async def share(self, collection_id: str, values: Sequence[float], max_epsilon: Fraction | None = None) -> Shared:
        """See `Client.share`."""
        return await self._driver.run(self._share(collection_id, values, max_epsilon))

    async def terms(self, collection_id: str) -> Terms:
        """See `Client.terms`."""
        return await self._driver.run(self._terms(collection_id))

    async def join(self, collection_id: str, max_epsilon: Fraction | None = None) -> tuple[str, ...]:
        """See `Client.join`."""
        return await self._driver.run(self._join(collection_id, max_epsilon))

    async def send_stored(self, collection_id: str) -> Receipt | None:
        """See `Client.send_stored`."""
        return await self._driver.run(self._send_stored(collection_id))

    async def resume(self) -> dict[str, Receipt | Shared | DitherError]:
        """See `Client.resume`."""
        unsent = await asyncio.to_thread(self.ledger.unsent, self.server)
        return {entry.collection: await self._driver.run(self._resend(entry)) for entry in unsent}

    async def close(self) -> None:
        await self._driver.close()
        await asyncio.to_thread(self._close_ledger)


def _parse_relay(url: str, server: Address, token: str | None) -> Address:
    """The relay's address. Raises `InvalidAddress` for one that would hide nothing."""
    try:
        relay = parse_address(url)
    except InvalidAddress as error:
        raise InvalidAddress(str(error).replace("the server's URL", "the relay's URL")) from None
    if relay.origin == server.origin:
        raise InvalidAddress("the relay is the server itself, which would see your network address all the same")
    if token is not None:
        raise InvalidAddress("a token tells the server who asks, so no request with one goes through a relay")
    return relay
