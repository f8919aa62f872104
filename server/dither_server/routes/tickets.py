"""`POST …/tickets`: a plain Starlette route, since every respondent passes here."""

import asyncio
from functools import lru_cache
from typing import Any

from fastapi import FastAPI, Request, Response

from dither_server.bodies import read_body, validate_body
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
    count = validate_body(TicketsBody, await read_body(request) or b"{}").count
    service.collections.check_issues(collection)
    published = await service.owner.published(collection)
    service.metrics.issued(count or 1)
    if count is None:
        return Response(_ticket(service, collection, published), 201, media_type="application/json")
    tickets = []
    for i in range(count):
        tickets.append(_ticket(service, collection, published))
        if i % _PAUSE_EVERY == _PAUSE_EVERY - 1:
            await asyncio.sleep(0)
    return Response('{"tickets":[' + ",".join(tickets) + "]}", 201, media_type="application/json")


def _ticket(service: Service, collection: Collection, published: Published) -> str:
    """The JSON of a new ticket."""
    question = service.owner.draw(published)
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
        "With `admission` `gateway`, a gateway's token is needed.",
        "operationId": "issue_tickets",
        "parameters": [COLLECTION_ID],
        "requestBody": json_body(TicketsBody, required=False, one={}, many={"count": 100}),
        "responses": {"201": issued, **{str(status): text for status, text in refusals.items()}},
        **OPTIONAL_TOKEN,
    }


OPERATIONS = [Operation(_PATH, "post", _document(), (TicketsBody, TicketReply, TicketsReply))]
