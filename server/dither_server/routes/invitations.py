"""`/v1/collections/{id}/invitations`: made and counted by admins."""

from typing import Any

from fastapi import FastAPI, Request

from dither_server.bodies import read_body, validate_body
from dither_server.errors import (
    BodyTooLarge,
    Forbidden,
    InvalidBody,
    MalformedJson,
    NotByInvitation,
    NotFound,
    Unauthorized,
    Unavailable,
)
from dither_server.messages import InvitationsBody, InvitationsReply, InvitationsTally
from dither_server.openapi import json_body
from dither_server.problems import problems
from dither_server.routes.common import TOKEN, CollectionOf, ServiceOf, needs

__all__ = ["MODELS", "add_routes"]

MODELS = (InvitationsBody,)

_PATH = "/v1/collections/{collection_id}/invitations"
_ADMIN = (Unauthorized, Forbidden, NotFound, Unavailable)


def add_routes(app: FastAPI) -> None:
    """Adds the calls."""
    admin: dict[str, Any] = {"tags": ["collections"], "dependencies": [needs("admin")]}
    app.add_api_route(
        _PATH,
        make_invitations,
        methods=["POST"],
        status_code=201,
        response_model=InvitationsReply,
        responses=problems(*_ADMIN, MalformedJson, InvalidBody, BodyTooLarge, NotByInvitation),
        openapi_extra={"requestBody": json_body(InvitationsBody, many={"count": 500}), **TOKEN},
        **admin,
    )
    app.add_api_route(
        _PATH,
        count_invitations,
        methods=["GET"],
        response_model=InvitationsTally,
        responses=problems(*_ADMIN),
        openapi_extra=TOKEN,
        **admin,
    )


async def make_invitations(request: Request, collection: CollectionOf, service: ServiceOf) -> dict[str, Any]:
    """Makes invitations; their codes are in this reply and nowhere else."""
    body = validate_body(InvitationsBody, await read_body(request))
    if collection.admission != "invite":
        raise NotByInvitation
    return {"invitations": await service.invitations.make(collection.number, body.count)}


def count_invitations(collection: CollectionOf, service: ServiceOf) -> dict[str, Any]:
    """Counts the invitations that were made, and those that were redeemed."""
    made, redeemed = service.invitations.tally(collection.number)
    return {"made": made, "redeemed": redeemed}
