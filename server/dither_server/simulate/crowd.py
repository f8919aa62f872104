"""The respondents of a simulation over HTTP: each runs the real client's flow, and behaves according to its role.

A respondent's flow runs unchanged up to the answer, which is then charged, drawn and stored in a ledger in memory.
Roles change whether, when and how often it is sent; only a poisoner sends a different answer.
"""

import asyncio
import json
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import TypeVar

import numpy as np

from dither_client import DitherError, MemoryLedger, Problem, Query, Receipt, Retry, Terms, Unreachable
from dither_client.addresses import Address, collection_path
from dither_client.mechanisms.query import MAX_EPSILON
from dither_client.protocol.messages import parse_receipt
from dither_client.protocol.respondent import (
    ConnectionFailed,
    Finished,
    Flow,
    Response,
    Send,
    Sleep,
    advance,
    answer_flow,
)
from dither_client.strict_json import decode_json
from dither_estimator.families import FloatArray
from dither_server.simulate.behaviours import Roles, poisoned_answer
from dither_server.simulate.connections import Connections
from dither_server.simulate.outcome import Load

__all__ = ["Crowd"]

_T = TypeVar("_T")


@dataclass(frozen=True)
class _Respondent:
    """A respondent whose next request is `send`."""

    number: int
    flow: Flow[Receipt]
    send: Send


class Crowd:
    """All respondents: number i holds `values[i]` and, if `choices` are given, has chosen the ε `choices[i]`.

    `generator` draws the noise and the order of late answers. If `terms` are given, respondents do not fetch them, like
    a device that has shown them already.
    """

    def __init__(
        self,
        address: Address,
        collection: str,
        values: FloatArray,
        roles: Roles,
        generator: random.Random,
        retry: Retry,
        choices: Sequence[Fraction] | None = None,
        terms: Terms | None = None,
        groups: Sequence[str] | None = None,
    ) -> None:
        self._connections = Connections(address)
        self._server = address.base
        self._collection = collection
        self._tickets = collection_path(collection, "tickets")
        self._responses = collection_path(collection, "responses")
        self._values = values
        self._roles = roles
        self._generator = generator
        self._retry = retry
        self._choices = choices
        self._terms = terms
        self._groups = groups
        self._kept: list[_Respondent] = []
        self._failures: Counter[str] = Counter()
        self._counts: Counter[str] = Counter()
        self._waits: list[float] = []
        self.stopped = False
        self._unreachable = False

    @property
    def answered(self) -> int:
        """How many respondents have a receipt."""
        return self._counts["answered"]

    @property
    def dropped_out(self) -> int:
        """How many respondents have dropped out."""
        return self._counts["dropped_out"]

    @property
    def done(self) -> int:
        """How many respondents are finished."""
        return self.answered + self.dropped_out + self._failures.total()

    @property
    def load(self) -> Load:
        """The load so far."""
        return Load(
            collection=self._collection,
            requests=self._connections.requests,
            late=self._counts["late"],
            poisoned=self._counts["poisoned"],
            retried=self._counts["retried"],
            mismatches=self._counts["mismatches"],
            failures=dict(self._failures),
            ticket_seconds=_waiting(self._waits),
        )

    def stop(self) -> None:
        """Asks nobody else; respondents who have begun finish."""
        self.stopped = True

    async def run(self, concurrency: int, alone: int = 0) -> None:
        """Asks `alone` respondents one by one and the others `concurrency` at a time, then sends the late answers.

        Ends early if the server cannot be reached after all retries.
        """
        asked = self._asked()
        try:
            await _at_once(1, islice(asked, alone), self._ask)
            await _at_once(concurrency, asked, self._ask)
            self._generator.shuffle(self._kept)
            await _at_once(concurrency, self._released(), self._finish)
        finally:
            self._connections.close()

    def _asked(self) -> Iterator[int]:
        for number in range(len(self._values)):
            if self.stopped or self._unreachable:
                return
            yield number

    def _released(self) -> Iterator[_Respondent]:
        while self._kept:
            respondent = self._kept.pop()
            if self._unreachable:
                self._failures["unreachable"] += 1
            else:
                yield respondent

    async def _ask(self, number: int) -> None:
        """Runs one respondent up to the answer, and on to the receipt unless the answer is to be late."""
        value = float(self._values[number])
        ledger = MemoryLedger(MAX_EPSILON)
        chosen = self._choices[number] if self._choices else None
        randrange = self._generator.randrange
        categories = self._terms.categories if self._terms else ()
        flow = answer_flow(
            self._server,
            self._collection,
            categories[int(value)] if categories else value,
            ledger,
            self._retry,
            randrange,
            epsilon=chosen,
            terms=self._terms,
            group=self._groups[number] if self._groups else None,
        )
        try:
            send = await self._to_answer(flow)
        except DitherError as error:
            self._fail(error)
            return
        entry = ledger.find(self._server, self._collection)
        assert entry is not None
        query, answer = entry.query, entry.answer
        assert isinstance(query, Query)
        assert isinstance(answer, int)
        if self._roles.drops_out(number, query, query.cell(value), answer):
            self._counts["dropped_out"] += 1
            return
        if self._roles.poisons[number]:
            self._counts["poisoned"] += 1
            body = {**json.loads(send.body), "answer": poisoned_answer(query)}
            send = send._replace(body=json.dumps(body).encode())
        respondent = _Respondent(number, flow, send)
        if self._roles.late[number]:
            self._counts["late"] += 1
            self._kept.append(respondent)
        else:
            await self._finish(respondent)

    async def _to_answer(self, flow: Flow[Receipt]) -> Send:
        """Drives a flow to the request that holds the answer, and returns that unsent."""
        step = advance(flow, None)
        while not (isinstance(step, Send) and step.path == self._responses):
            assert not isinstance(step, Finished)
            step = advance(flow, await self._perform(step))
        return step

    async def _finish(self, respondent: _Respondent) -> None:
        try:
            if self._roles.retries[respondent.number]:
                await self._deliver_thrice(respondent)
            else:
                await self._deliver(respondent, await self._connections.request(respondent.send))
        except DitherError as error:
            self._fail(error)
        else:
            self._counts["answered"] += 1

    async def _deliver(self, respondent: _Respondent, reply: Response | ConnectionFailed) -> None:
        """Drives a flow from its first reply to its receipt; a flow that sends again sends `respondent.send`."""
        step = advance(respondent.flow, reply)
        while not isinstance(step, Finished):
            step = advance(respondent.flow, await self._perform(respondent.send if isinstance(step, Send) else step))

    async def _deliver_thrice(self, respondent: _Respondent) -> None:
        """Sends an answer twice at once and again after the receipt: the server must store it once, for one receipt."""
        self._counts["retried"] += 1
        request = self._connections.request
        replies = list(await asyncio.gather(request(respondent.send), request(respondent.send)))
        await self._deliver(respondent, replies[0])
        replies.append(await request(respondent.send))
        stored = [reply for reply in replies if isinstance(reply, Response) and reply.status in (200, 201)]
        receipts = {parse_receipt(decode_json(reply.body)) for reply in stored}
        if len(receipts) != 1 or [reply.status for reply in stored].count(201) > 1:
            self._counts["mismatches"] += 1

    async def _perform(self, step: Send | Sleep) -> Response | ConnectionFailed | None:
        if isinstance(step, Send):
            began = time.perf_counter()
            reply = await self._connections.request(step)
            if step.path == self._tickets:
                self._waits.append(time.perf_counter() - began)
            return reply
        await asyncio.sleep(step.seconds)
        return None

    def _fail(self, error: DitherError) -> None:
        self._unreachable |= isinstance(error, Unreachable)
        self._failures[_reason(error)] += 1


async def _at_once(concurrency: int, items: Iterable[_T], job: Callable[[_T], Awaitable[None]]) -> None:
    """Does `job` for every item, at most `concurrency` at a time, in the order of the items."""
    remaining = iter(items)

    async def work() -> None:
        for item in remaining:
            await job(item)

    async with asyncio.TaskGroup() as group:
        for _ in range(concurrency):
            group.create_task(work())


def _waiting(seconds: Sequence[float]) -> dict[str, float]:
    quantiles = np.quantile(seconds, (0.5, 0.99, 1.0)) if seconds else np.zeros(3)
    return dict(zip(("median", "q99", "longest"), quantiles.tolist(), strict=True))


def _reason(error: DitherError) -> str:
    """A short name for counting: the type of the problem, or of the error."""
    if isinstance(error, Unreachable):
        return "unreachable"
    return error.name if isinstance(error, Problem) else type(error).__name__
