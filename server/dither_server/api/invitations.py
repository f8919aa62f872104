"""`/v1/collections/{id}/invitations`: admins create and count invitations."""

from typing import Any

from fastapi import FastAPI, Request

from dither_server.api.callers import TOKEN, CollectionOf, ServiceOf, done, needs
from dither_server.api.messages.collections import InvitationsBody, InvitationsReply, InvitationsTally
from dither_server.errors import CollectionDeleted, Forbidden, NotByInvitation, NotFound, Unauthorized
from dither_server.http.bodies import BODY_REFUSALS, read_body, validate_body
from dither_server.http.openapi import json_body, reply
from dither_server.http.problems import problems

__all__ = ["MODELS", "add_routes"]

MODELS = (InvitationsBody,)

_PATH = "/v1/collections/{collection_id}/invitations"
_ADMIN = (Unauthorized, Forbidden, NotFound, CollectionDeleted)


def add_routes(app: FastAPI) -> None:
    """Adds the calls."""
    admin: dict[str, Any] = {"tags": ["collections"], "dependencies": [needs("admin")]}
    app.add_api_route(
        _PATH,
        make_invitations,
        methods=["POST"],
        status_code=201,
        response_model=InvitationsReply,
        responses={
            201: reply(
                "The invitations were created; these are their codes.",
                two={"invitations": ["w7kq2mzt9hxc4vbn8rdy3jpaef", "b3nd8xk5qv7m2htc9wzr4gyjpa"]},
            ),
            **problems(*_ADMIN, *BODY_REFUSALS, NotByInvitation),
        },
        openapi_extra={"requestBody": json_body(InvitationsBody, many={"count": 500}), **TOKEN},
        **admin,
    )
    app.add_api_route(
        _PATH,
        count_invitations,
        methods=["GET"],
        response_model=InvitationsTally,
        responses={
            200: reply("How many there are; none if `admission` is not `invite`.", some={"made": 500, "redeemed": 312}),
            **problems(*_ADMIN),
        },
        openapi_extra=TOKEN,
        **admin,
    )


async def make_invitations(request: Request, collection: CollectionOf, service: ServiceOf) -> dict[str, Any]:
    """Creates invitations; their codes appear only in this reply."""
    body = validate_body(InvitationsBody, await read_body(request))
    if collection.admission != "invite":
        raise NotByInvitation
    codes = await service.invitations.make(collection.number, body.count)
    await done(request, "invitations made", collection=collection.id, count=len(codes))
    return {"invitations": codes}


def count_invitations(collection: CollectionOf, service: ServiceOf) -> dict[str, Any]:
    """Counts the invitations that were created and those that were redeemed."""
    made, redeemed = service.invitations.tally(collection.number)
    return {"made": made, "redeemed": redeemed}
