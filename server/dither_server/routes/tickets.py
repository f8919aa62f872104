"""`POST …/tickets`: a plain Starlette route, since every respondent passes here."""

import asyncio
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache
from typing import Any

from fastapi import FastAPI, Request, Response

from dither_client import InvalidEpsilon
from dither_client.epsilon import listed, wire_epsilon
from dither_server.bodies import parse_json, read_body, validate_body
from dither_server.clock import iso_time
from dither_server.collections import Collection
from dither_server.errors import (
    BodyTooLarge,
    CollectionClosed,
    CollectionFull,
    CollectionNotOpen,
    CollectionPaused,
    Forbidden,
    InvalidBody,
    MalformedJson,
    NotFound,
    Unauthorized,
    Unavailable,
)
from dither_server.keeper import Published
from dither_server.messages import TicketReply, TicketsBody, TicketsReply
from dither_server.openapi import COLLECTION_ID, Operation, json_body
from dither_server.problems import problems
from dither_server.routes.common import OPTIONAL_TOKEN, authorization
from dither_server.service import Service, service_of

__all__ = ["OPERATIONS", "add_routes"]

_PATH = "/v1/collections/{collection_id}/tickets"
_PAUSE_EVERY = 256
"""Tickets after which others get a turn."""


def add_routes(app: FastAPI) -> None:
    """Adds the call."""
    app.add_route(_PATH, issue_tickets, methods=["POST"], include_in_schema=False)


async def issue_tickets(request: Request) -> Response:
    """Draws a question for each ticket and signs them; writes nothing."""
    service = service_of(request)
    collection = service.collections.get(request.path_params["collection_id"])
    if collection.admission == "gateway":
        service.access.check(authorization(request), "gateway")
    body = await read_body(request) or b"{}"
    asked = validate_body(TicketsBody, body)
    epsilon = collection.specification.epsilon if asked.epsilon is None else _chosen(collection, body)
    count = asked.count
    service.collections.check_issues(collection)
    published = await service.owner.published(collection)
    service.metrics.issued(count or 1)
    if count is None:
        return Response(_ticket(service, collection, published, epsilon), 201, media_type="application/json")
    tickets = []
    for i in range(count):
        tickets.append(_ticket(service, collection, published, epsilon))
        if i % _PAUSE_EVERY == _PAUSE_EVERY - 1:
            await asyncio.sleep(0)
    return Response('{"tickets":[' + ",".join(tickets) + "]}", 201, media_type="application/json")


def _chosen(collection: Collection, body: bytes) -> Fraction:
    """The ε that a valid `body` chooses, as the decimal it writes. Raises `InvalidBody` unless it may be chosen."""
    choices = collection.specification.epsilon_choices
    with suppress(InvalidEpsilon):
        epsilon = wire_epsilon(parse_json(body)["epsilon"])
        if epsilon in choices:
            return epsilon
    raise InvalidBody(f"epsilon: Input should be one of the collection's choices: {listed(choices)}.")


def _ticket(service: Service, collection: Collection, published: Published, epsilon: Fraction) -> str:
    """The JSON of a new ticket."""
    question = service.owner.draw(published, epsilon)
    ticket, expires_at = service.tickets.issue(collection.number, question.packed)
    return f'{{"ticket":"{ticket}","query":{question.json},"expires_at":"{_second(expires_at)}"}}'


@lru_cache(maxsize=8)
def _second(at: int) -> str:
    return iso_time(at * 1000)


def _document() -> dict[str, Any]:
    query = {"mechanism": "laplace", "low": 6.0, "high": 6.25, "levels": 1, "epsilon": 1, "transform": "log"}
    example = {"ticket": "q0AHvVvxzmWC…", "query": query, "expires_at": "2026-02-01T12:00:00.000Z"}
    schemas = [{"$ref": f"#/components/schemas/{model.__name__}"} for model in (TicketReply, TicketsReply)]
    examples = {"one": {"value": example}, "many": {"value": {"tickets": [example]}}}
    issued = {
        "description": "The ticket, or the tickets.",
        "content": {"application/json": {"schema": {"anyOf": schemas}, "examples": examples}},
    }
    refusals = problems(
        MalformedJson, InvalidBody, BodyTooLarge, Unauthorized, Forbidden, NotFound,
        CollectionNotOpen, CollectionPaused, CollectionClosed, CollectionFull, Unavailable,
    )  # fmt: skip
    return {
        "tags": ["respondents"],
        "summary": "Ask for tickets",
        "description": "A ticket is the right to answer one question once, within 24 hours. "
        "With `admission` `gateway`, a gateway's token is needed. Where the terms have `epsilon_choices`, `epsilon` is "
        "the respondent's.",
        "operationId": "issue_tickets",
        "parameters": [COLLECTION_ID],
        "requestBody": json_body(TicketsBody, required=False, one={}, many={"count": 100}, chosen={"epsilon": 0.5}),
        "responses": {"201": issued, **{str(status): text for status, text in refusals.items()}},
        **OPTIONAL_TOKEN,
    }


OPERATIONS = [Operation(_PATH, "post", _document(), (TicketsBody, TicketReply, TicketsReply))]
