"""`POST …/responses` and `…/responses/batch`: busy calls, since every answer goes through them."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

from fastapi import Request

from dither_server.answers.rules import Arrival, Fate, hash_retry_key
from dither_server.answers.writer import MAX_ROWS
from dither_server.api.callers import OPTIONAL_TOKEN, authorization
from dither_server.api.messages.answering import BatchBody, BatchReply, ReceiptReply, ResponseBody, batch_marks
from dither_server.api.messages.common import EXAMPLE_RETRY_KEY
from dither_server.api.messages.examples import RECEIPT
from dither_server.clock import milliseconds
from dither_server.collections.collection import Collection
from dither_server.errors import (
    AlreadyAnswered,
    BodyTooLarge,
    CollectionClosed,
    CollectionDeleted,
    CollectionFull,
    Forbidden,
    InvalidAnswer,
    InvalidBody,
    NotFound,
    Refusal,
    TicketExpired,
    TicketForeign,
    TicketInvalid,
    TryLater,
    Unauthorized,
    Unavailable,
)
from dither_server.http.bodies import (
    BODY_REFUSALS,
    MAX_ANSWER_BODY,
    MAX_BATCH_BODY,
    MAX_UNKNOWN_BATCH_BODY,
    check_marks,
    read_body,
    validate_body,
)
from dither_server.http.front_door import BusyCall
from dither_server.http.openapi import COLLECTION_ID, json_body, json_response
from dither_server.http.problems import Problem, problem_of, problems
from dither_server.http.replies import Reply, json_reply
from dither_server.service.service import Service, service_of
from dither_server.tickets.office import TicketOffice
from dither_server.tickets.packing import in_period, n_answers

__all__ = ["BUSY_CALLS"]

_PAUSE_EVERY = 64
"""Answers of a batch after which other requests get a turn."""
_MAX_UNKNOWN_BATCH = 500
"""Answers in a batch that comes without a gateway's token."""

_MAX_FORGED = 100
"""Forged tickets in such a batch, beyond which the rest is not read either."""

_REFUSED: dict[Fate, Callable[[], Refusal]] = {
    Fate.TAKEN: AlreadyAnswered,
    Fate.CLOSED: CollectionClosed,
    Fate.DELETED: CollectionDeleted,
    Fate.EXPIRED: TicketExpired,
    Fate.FULL: CollectionFull,
    Fate.UNSETTLED: partial(Unavailable, "The collection changed at this moment: send the same bytes again later."),
}
_OUTCOMES = {fate: fate.name.lower() for fate in Fate}
"""The names of fates in the metrics."""


async def respond(request: Request, collection_id: str) -> Reply:
    """Stores one answer, and replies once it is committed."""
    service = service_of(request)
    try:
        collection = await service.collections.find_stored(collection_id)
    except CollectionDeleted:
        await _refuse_expired(request, service)
        raise
    content = await read_body(request, MAX_ANSWER_BODY)
    try:
        body = validate_body(ResponseBody, content)
        arrival = _arrival(service.tickets, collection, body, service.clock())
        [fate] = await service.writer.store([arrival])
        if fate in _REFUSED:
            raise _REFUSED[fate]()
    except TryLater:
        raise
    except Refusal as error:
        _count_refused(service, collection, problem_of(error)[0].name)
        raise
    service.metrics.answered(_OUTCOMES[fate])
    receipt = service.tickets.receipt(arrival.key[1])
    return json_reply(f'{{"receipt":"{receipt}"}}', _status(fate))


async def _refuse_expired(request: Request, service: Service) -> None:
    """Raises `TicketExpired` for an answer to an expired ticket, which is final for every client, of any version."""
    body = validate_body(ResponseBody, await read_body(request, MAX_ANSWER_BODY))
    if service.tickets.open(body.ticket).expired(service.clock()):
        raise TicketExpired


async def respond_batch(request: Request, collection_id: str) -> Reply:
    """Stores many answers, each with its own fate."""
    service = service_of(request)
    collection = await service.collections.find_stored(collection_id)
    known = await _is_gateway(request, service, collection)
    body = await _read_batch(request, known)
    now = service.clock()
    outcomes: list[Arrival | Refusal] = []
    forged = 0
    for i, response in enumerate(body.responses):
        try:
            outcomes.append(_arrival(service.tickets, collection, response, now))
        except Refusal as refusal:
            outcomes.append(refusal)
            forged += isinstance(refusal, TicketInvalid)
            if forged > _MAX_FORGED and not known:
                raise TicketInvalid(
                    f"More than {_MAX_FORGED} tickets in the batch were not issued by this server: nothing was stored."
                ) from None
        if i % _PAUSE_EVERY == _PAUSE_EVERY - 1:
            await asyncio.sleep(0)
    arrivals = [outcome for outcome in outcomes if isinstance(outcome, Arrival)]
    parts = [arrivals[at : at + MAX_ROWS] for at in range(0, len(arrivals), MAX_ROWS)]
    stored = await asyncio.gather(*(service.writer.store(part) for part in parts))
    fates = [fate for part in stored for fate in part]
    if Fate.UNSETTLED in fates:  # what was stored is found to be when all of them are sent again
        raise _REFUSED[Fate.UNSETTLED]()
    following = iter(fates)
    refused: Counter[str] = Counter()
    items = [
        _item(service.tickets, outcome, next(following), refused)
        if isinstance(outcome, Arrival)
        else _refused_item(outcome, refused)
        for outcome in outcomes
    ]
    for fate, count in Counter(fates).items():
        if fate not in _REFUSED:
            service.metrics.answered(_OUTCOMES[fate], count)
    for cause, count in refused.items():
        _count_refused(service, collection, cause, count)
    return json_reply('{"responses":[' + ",".join(items) + "]}", 200)


async def _read_batch(request: Request, known: bool) -> BatchBody:
    """The batch: up to `MAX_BATCH_BODY` from a gateway, and less from others, which must not cost much."""
    if known:
        return validate_body(BatchBody, await read_body(request, MAX_BATCH_BODY))
    too_large = BodyTooLarge(
        f"Without a gateway's token, a batch may have at most {_MAX_UNKNOWN_BATCH:,} answers "
        f"and {MAX_UNKNOWN_BATCH_BODY:,} bytes: send several."
    )
    try:
        content = await read_body(request, MAX_UNKNOWN_BATCH_BODY)
        check_marks(content, batch_marks(_MAX_UNKNOWN_BATCH))
    except (BodyTooLarge, InvalidBody):
        raise too_large from None
    body = validate_body(BatchBody, content)
    if len(body.responses) > _MAX_UNKNOWN_BATCH:
        raise too_large
    return body


async def _is_gateway(request: Request, service: Service, collection: Collection) -> bool:
    """Whether the request has a token that acts as a gateway; any other token is ignored."""
    token = authorization(request)
    if token is None:
        return False
    try:
        await service.access.check_soon(token, "gateway", collection.id)
    except (Unauthorized, Forbidden):
        return False
    return True


def _arrival(tickets: TicketOffice, collection: Collection, body: ResponseBody, now: float) -> Arrival:
    """The answer in `body`. Raises a `Refusal` for a ticket that is not valid here, or an answer outside its query."""
    ticket = tickets.open(body.ticket)
    if ticket.collection != collection.number:
        raise TicketForeign
    if body.answer >= n_answers(ticket.query):
        raise InvalidAnswer(f"The answer to this ticket's query must be from 0 to {n_answers(ticket.query) - 1}.")
    key = (collection.number, ticket.key)
    query = in_period(ticket.query, collection.period_number(ticket.issued_at))
    retry_hash = None if body.retry_key is None else hash_retry_key(ticket.key, body.retry_key)
    return Arrival(key, query, body.answer, milliseconds(now), ticket.expired(now), ticket.gateway, retry_hash)


def _status(fate: Fate) -> int:
    return 201 if fate is Fate.STORED else 200


def _count_refused(service: Service, collection: Collection, cause: str, count: int = 1) -> None:
    service.metrics.answered(cause, count)
    service.tally.refused(collection.number, cause, count)


def _item(tickets: TicketOffice, arrival: Arrival, fate: Fate, refused: Counter[str]) -> str:
    """One item of the reply to a batch."""
    if fate in _REFUSED:
        return _refused_item(_REFUSED[fate](), refused)
    return f'{{"status":{_status(fate)},"receipt":"{tickets.receipt(arrival.key[1])}"}}'


def _refused_item(error: Refusal, refused: Counter[str]) -> str:
    """The item for a refusal, whose cause it counts."""
    problem, detail = problem_of(error)
    refused[problem.name] += 1
    return _refusal(problem, detail)


@lru_cache(maxsize=64)
def _refusal(problem: Problem, detail: str) -> str:
    return json.dumps({"status": problem.status, "type": problem.type, "detail": detail})


def _documents() -> tuple[dict[str, Any], dict[str, Any]]:
    response = {"ticket": "q0AHvVvxzmWC…", "answer": 1, "retry_key": EXAMPLE_RETRY_KEY}
    shared = (*BODY_REFUSALS, NotFound)
    ticket = (TicketInvalid, TicketForeign, TicketExpired, AlreadyAnswered)
    own = (InvalidAnswer, *ticket, CollectionClosed, CollectionFull)
    one = {
        "tags": ["respondents"],
        "summary": "Send an answer",
        "description": "Acknowledged once it is committed. Sending the same bytes again, including `retry_key`, is "
        "safe. Somebody who has the ticket but not the key learns that it is used, and nothing about its answer.",
        "operationId": "respond",
        "parameters": [COLLECTION_ID],
        "requestBody": json_body(ResponseBody, answer=response),
        "responses": {
            "201": json_response("The answer is stored permanently.", ReceiptReply, stored=RECEIPT),
            "200": json_response(
                "The same answer was stored before, with the same `retry_key`; the receipt is the same.",
                ReceiptReply,
                repeated=RECEIPT,
            ),
            **{str(status): text for status, text in problems(*shared, *own).items()},
        },
    }
    items = [{"status": 201, **RECEIPT}, {"status": 410, "type": "urn:dither:ticket-expired", "detail": "…"}]
    many = {
        "tags": ["respondents"],
        "summary": "Send many answers",
        "description": "Up to 10,000 answers with a token that acts as a gateway, 500 without. Each is stored or "
        "refused by itself, in order. After a 503, send all of them again.",
        "operationId": "respond_batch",
        "parameters": [COLLECTION_ID],
        "requestBody": json_body(BatchBody, answers={"responses": [response]}),
        "responses": {
            "200": json_response(
                "The body was read; the outcome of each answer, in order.", BatchReply, mixed={"responses": items}
            ),
            **{str(status): text for status, text in problems(*shared, TicketInvalid).items()},
        },
        **OPTIONAL_TOKEN,
    }
    return one, many


_one, _many = _documents()
BUSY_CALLS = (
    BusyCall("responses", respond, _one, (ResponseBody, ReceiptReply)),
    BusyCall("responses/batch", respond_batch, _many, (BatchBody, BatchReply)),
)
