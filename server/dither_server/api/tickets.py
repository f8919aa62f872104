"""`POST …/tickets`: a busy call, since every respondent makes it.

Issuing a ticket writes nothing, unless it redeems an invitation; tallies are written later.
"""

import asyncio
import json
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache
from typing import Any

from fastapi import Request

from dither_client import InvalidEpsilon
from dither_client.mechanisms.epsilon import listed, wire_epsilon
from dither_server.access.invitations import Invitation
from dither_server.api.callers import OPTIONAL_TOKEN, authorization
from dither_server.api.messages.answering import TicketReply, TicketsBody, TicketsReply
from dither_server.api.messages.examples import TICKET
from dither_server.clock import iso_time
from dither_server.collections.collection import Collection
from dither_server.errors import (
    CollectionClosed,
    CollectionDeleted,
    CollectionFull,
    CollectionNotOpen,
    CollectionPaused,
    Forbidden,
    InvalidBody,
    InvalidGroup,
    InvitationInvalid,
    InvitationUsed,
    NotByInvitation,
    NotFound,
    TicketExpired,
    TicketInvalid,
    TooManyTickets,
    Unauthorized,
)
from dither_server.http.bodies import BODY_REFUSALS, MAX_TICKET_BODY, parse_json, read_body, validate_body
from dither_server.http.front_door import BusyCall
from dither_server.http.openapi import COLLECTION_ID, json_body
from dither_server.http.problems import problems
from dither_server.http.replies import Reply, json_reply
from dither_server.owner.published import Published
from dither_server.service.service import Service, service_of
from dither_server.tickets.office import TICKET_LIFE, Ticket
from dither_server.tickets.packing import unpack_query

__all__ = ["BUSY_CALLS"]

_PAUSE_EVERY = 64
"""Tickets after which other requests get a turn."""


async def issue_tickets(request: Request, collection_id: str) -> Reply:
    """Draws a question for each ticket and signs the tickets; redeems the invitation if one is needed."""
    service = service_of(request)
    collection = await service.collections.find(collection_id)
    token, gateway = None, 0
    if collection.admission == "gateway":
        token = await service.access.check_soon(authorization(request), "gateway", collection.id)
        gateway = await service.gateways.number(token)
    service.limits.admit(request, token)  # before reading any of the body
    body = await read_body(request, MAX_TICKET_BODY) or b"{}"
    asked = validate_body(TicketsBody, body)
    count = asked.count
    service.limits.take(request, count or 1, token)
    epsilon = collection.specification.epsilon if asked.epsilon is None else _chosen(collection, body)
    group = collection.group_number(asked.group)
    if collection.admission == "invite":
        return await _redeem(service, collection, _invitation(collection, asked), epsilon, group)
    if asked.invitation is not None or asked.retry_key is not None:
        raise NotByInvitation
    service.collections.check_issues(collection)
    published = await service.learners.questions(collection)
    service.metrics.issued(count or 1)
    if count is None:
        return json_reply(_ticket(service, collection, published, epsilon, gateway, group), 201)
    tickets = []
    for i in range(count):
        tickets.append(_ticket(service, collection, published, epsilon, gateway, group))
        if i % _PAUSE_EVERY == _PAUSE_EVERY - 1:
            await asyncio.sleep(0)
    return json_reply('{"tickets":[' + ",".join(tickets) + "]}", 201)


def _chosen(collection: Collection, body: bytes) -> Fraction:
    """The exact ε that a valid `body` chooses. Raises `InvalidBody` unless the collection offers it."""
    choices = collection.specification.epsilon_choices
    with suppress(InvalidEpsilon):
        epsilon = wire_epsilon(parse_json(body)["epsilon"])
        if epsilon in choices:
            return epsilon
    raise InvalidBody(f"epsilon: Input should be one of the collection's choices: {listed(choices)}.")


def _invitation(collection: Collection, asked: TicketsBody) -> Invitation:
    """The invitation in a request. Raises `InvitationInvalid` and `InvalidBody`."""
    if asked.count is not None:
        raise InvalidBody("count: An invitation is good for one ticket; leave the field out.")
    if asked.invitation is None:
        raise InvitationInvalid
    if asked.retry_key is None:
        raise InvalidBody("retry_key: Field required with an invitation.")
    return Invitation(collection.number, asked.invitation, asked.retry_key)


async def _redeem(
    service: Service, collection: Collection, invitation: Invitation, epsilon: Fraction, group: int
) -> Reply:
    """The ticket of an invitation: the one issued for it before, whatever the collection's state, or a new one."""
    ticket = await service.invitations.ticket(invitation)
    if ticket is None:
        service.collections.check_issues(collection)
        question = service.learners.draw(await service.learners.questions(collection), epsilon, group)
        drawn, expires_at = service.tickets.issue(collection.number, question.packed)
        ticket = await service.invitations.redeem(invitation, drawn)
        if ticket == drawn:
            service.metrics.issued(1)
            service.tally.issued(collection.number, question.packed, 0, expires_at - TICKET_LIFE)
    opened = _opened(service, ticket)
    query = json.dumps(unpack_query(opened.query).to_json(), separators=(",", ":"))
    return json_reply(_reply(ticket, query, opened.expires_at), 201)


def _opened(service: Service, ticket: str) -> Ticket:
    """The contents of an invitation's ticket. Raises `TicketExpired`, also if the key that signed it is gone."""
    with suppress(TicketInvalid):
        opened = service.tickets.open(ticket)
        if not opened.expired(service.clock()):
            return opened
    raise TicketExpired(
        "The invitation's ticket has expired, and an invitation gets only one: ask for a new invitation."
    )


def _ticket(
    service: Service, collection: Collection, published: Published, epsilon: Fraction, gateway: int, group: int
) -> str:
    """The JSON of a new ticket."""
    question = service.learners.draw(published, epsilon, group)
    ticket, expires_at = service.tickets.issue(collection.number, question.packed, gateway)
    service.tally.issued(collection.number, question.packed, gateway, expires_at - TICKET_LIFE)
    return _reply(ticket, question.json, expires_at)


def _reply(ticket: str, query: str, expires_at: int) -> str:
    return f'{{"ticket":"{ticket}","query":{query},"expires_at":"{_second(expires_at)}"}}'


@lru_cache(maxsize=8)
def _second(at: int) -> str:
    return iso_time(at * 1000)


def _document() -> dict[str, Any]:
    schemas = [{"$ref": f"#/components/schemas/{model.__name__}"} for model in (TicketReply, TicketsReply)]
    examples = {"one": {"value": TICKET}, "many": {"value": {"tickets": [TICKET]}}}
    issued = {
        "description": "The ticket, or the tickets if the body has a `count`.",
        "content": {"application/json": {"schema": {"anyOf": schemas}, "examples": examples}},
    }
    refusals = problems(
        *BODY_REFUSALS, InvalidGroup, Unauthorized, Forbidden, NotFound,
        CollectionNotOpen, CollectionPaused, CollectionClosed, CollectionFull, CollectionDeleted, NotByInvitation,
        InvitationInvalid, InvitationUsed, TicketExpired, TooManyTickets,
    )  # fmt: skip
    return {
        "tags": ["respondents"],
        "summary": "Ask for tickets",
        "description": "A ticket is the right to answer one question once, within 24 hours. "
        "With `admission` `gateway`, a gateway's token is needed; with `invite`, an invitation, which is redeemed: the "
        "same invitation and `retry_key` get the same ticket again, whatever else the request says. "
        "If the terms have `epsilon_choices`, `epsilon` is the respondent's choice; if they have `groups`, `group` is "
        "needed: the label of the respondent's own.",
        "operationId": "issue_tickets",
        "parameters": [COLLECTION_ID],
        "requestBody": json_body(
            TicketsBody,
            required=False,
            one={},
            many={"count": 100},
            chosen={"epsilon": 0.5},
            grouped={"group": "north"},
            invited={"invitation": "w7kq2mzt9hxc4vbn8rdy3jpaef", "retry_key": "k7Qe0nZ3uLd9sWfB2yHx6C"},
        ),
        "responses": {"201": issued, **{str(status): text for status, text in refusals.items()}},
        **OPTIONAL_TOKEN,
    }


BUSY_CALLS = (BusyCall("tickets", issue_tickets, _document(), (TicketsBody, TicketReply, TicketsReply)),)
