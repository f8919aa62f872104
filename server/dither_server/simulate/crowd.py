"""The respondents of a simulation over HTTP: each runs the real client's flow, and behaves according to its role.

A respondent's flow runs unchanged up to the answer, which is then charged, drawn and stored in a ledger in memory.
Roles change whether, when and how often it is sent; only a poisoner sends a different answer.
"""

import asyncio
import json
import random
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from dither_client import DitherError, MemoryLedger, Problem, Query, Receipt, Retry, Terms, Unreachable
from dither_client.addresses import Address, collection_path
from dither_client.mechanisms.price import Value
from dither_client.mechanisms.query import MAX_EPSILON, Held
from dither_client.protocol.flow import ConnectionFailed, Finished, Flow, Response, Send, Sleep, advance
from dither_client.protocol.messages import parse_receipt
from dither_client.protocol.respondent import answer_flow
from dither_client.strict_json import decode_json
from dither_server.simulate.behaviours import poisoned_answer
from dither_server.simulate.connections import Connections
from dither_server.simulate.outcome import Tally
from dither_server.simulate.respondents import Respondents

__all__ = ["Crowd"]

_T = TypeVar("_T")


@dataclass(frozen=True)
class _Respondent:
    """A respondent whose next request is `send`."""

    number: int
    flow: Flow[Receipt]
    send: Send


class Crowd:
    """Respondents who answer one collection.

    If `terms` are given, they do not fetch them, like a device that has shown them already.
    """

    def __init__(
        self, address: Address, collection: str, people: Respondents, retry: Retry, terms: Terms | None = None
    ) -> None:
        self._connections = Connections(address)
        self._server = address.base
        self._collection = collection
        self._tickets = collection_path(collection, "tickets")
        self._responses = collection_path(collection, "responses")
        self._people = people
        self._retry = retry
        self._terms = terms
        self._kept: list[_Respondent] = []
        self._unreachable = False
        self.tally = Tally()
        self.stopped = False

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
            random.Random(self._people.seed).shuffle(self._kept)
            await _at_once(concurrency, self._released(), self._finish)
        finally:
            self.tally.requests = self._connections.requests
            self._connections.close()

    def _asked(self) -> Iterator[int]:
        for number in range(len(self._people)):
            if self.stopped or self._unreachable:
                return
            yield number

    def _released(self) -> Iterator[_Respondent]:
        while self._kept:
            respondent = self._kept.pop()
            if self._unreachable:
                self.tally.failures["unreachable"] += 1
            else:
                yield respondent

    async def _ask(self, number: int) -> None:
        """Runs one respondent up to the answer, and on to the receipt unless the answer is to be late."""
        people, roles = self._people, self._people.roles
        held: Held = people.values[number].tolist()
        ledger = MemoryLedger(MAX_EPSILON)
        flow = answer_flow(
            self._server,
            self._collection,
            self._given(held),
            ledger,
            self._retry,
            people.noise(number).randrange,
            epsilon=people.choices[number] if people.choices else None,
            terms=self._terms,
            group=people.groups[number] if people.groups else None,
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
        if roles.drops_out(number, query, query.cell(held), answer):
            self.tally.dropped_out += 1
            return
        if roles.poisons[number]:
            self.tally.poisoned += 1
            body = {**json.loads(send.body), "answer": poisoned_answer(query)}
            send = send._replace(body=json.dumps(body).encode())
        respondent = _Respondent(number, flow, send)
        if roles.late[number]:
            self.tally.late += 1
            self._kept.append(respondent)
        else:
            await self._finish(respondent)

    def _given(self, held: Held) -> Value:
        """What a respondent gives who holds this: a number, a category's text, or a number for each component."""
        if not isinstance(held, float):
            names = [component.name for component in self._terms.components] if self._terms else []
            return dict(zip(names, held, strict=True))
        categories = self._terms.categories if self._terms else ()
        return categories[int(held)] if categories else held

    async def _to_answer(self, flow: Flow[Receipt]) -> Send:
        """Drives a flow to the request that holds the answer, and returns that unsent."""
        step = advance(flow, None)
        while not (isinstance(step, Send) and step.path == self._responses):
            assert not isinstance(step, Finished)
            step = advance(flow, await self._perform(step))
        return step

    async def _finish(self, respondent: _Respondent) -> None:
        try:
            if self._people.roles.retries[respondent.number]:
                await self._deliver_thrice(respondent)
            else:
                await self._deliver(respondent, await self._connections.request(respondent.send))
        except DitherError as error:
            self._fail(error)
        else:
            self.tally.answered += 1

    async def _deliver(self, respondent: _Respondent, reply: Response | ConnectionFailed) -> None:
        """Drives a flow from its first reply to its receipt; a flow that sends again sends `respondent.send`."""
        step = advance(respondent.flow, reply)
        while not isinstance(step, Finished):
            step = advance(respondent.flow, await self._perform(respondent.send if isinstance(step, Send) else step))

    async def _deliver_thrice(self, respondent: _Respondent) -> None:
        """Sends an answer twice at once and again after the receipt: the server must store it once, for one receipt."""
        self.tally.retried += 1
        request = self._connections.request
        replies = list(await asyncio.gather(request(respondent.send), request(respondent.send)))
        await self._deliver(respondent, replies[0])
        replies.append(await request(respondent.send))
        stored = [reply for reply in replies if isinstance(reply, Response) and reply.status in (200, 201)]
        receipts = {parse_receipt(decode_json(reply.body)) for reply in stored}
        if len(receipts) != 1 or [reply.status for reply in stored].count(201) > 1:
            self.tally.mismatches += 1

    async def _perform(self, step: Send | Sleep) -> Response | ConnectionFailed | None:
        if isinstance(step, Send):
            began = time.perf_counter()
            reply = await self._connections.request(step)
            if step.path == self._tickets:
                self.tally.waits.append(time.perf_counter() - began)
            return reply
        await asyncio.sleep(step.seconds)
        return None

    def _fail(self, error: DitherError) -> None:
        self._unreachable |= isinstance(error, Unreachable)
        self.tally.failures[_reason(error)] += 1


async def _at_once(concurrency: int, items: Iterable[_T], job: Callable[[_T], Awaitable[None]]) -> None:
    """Does `job` for every item, at most `concurrency` at a time, in the order of the items."""
    remaining = iter(items)

    async def work() -> None:
        for item in remaining:
            await job(item)

    async with asyncio.TaskGroup() as group:
        for _ in range(concurrency):
            group.create_task(work())


def _reason(error: DitherError) -> str:
    """A short name for counting: the type of the problem, or of the error."""
    if isinstance(error, Unreachable):
        return "unreachable"
    return error.name if isinstance(error, Problem) else type(error).__name__
