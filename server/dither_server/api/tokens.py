"""`/v1/tokens`: admins create, list and revoke tokens."""

from typing import Any

from fastapi import FastAPI, Request

from dither_server.api.callers import TOKEN, ServiceOf, done, needs
from dither_server.api.messages.examples import TOKEN as EXAMPLE
from dither_server.api.messages.operating import TokenBody, TokenList, TokenSecretReply
from dither_server.errors import Forbidden, InvalidBody, NotFound, Unauthorized
from dither_server.http.bodies import BODY_REFUSALS, read_body, validate_body
from dither_server.http.openapi import json_body, reply
from dither_server.http.problems import problems

__all__ = ["MODELS", "add_routes"]

MODELS = (TokenBody,)

_PATH = "/v1/tokens"
_EXAMPLE = {"role": "analyst", "name": "Ada", "collections": ["k3xw8c2nqa"], "days": 90}
_ADMIN = (Unauthorized, Forbidden)


def add_routes(app: FastAPI) -> None:
    """Adds the calls."""
    admin: dict[str, Any] = {"tags": ["operators"], "dependencies": [needs("admin")]}
    app.add_api_route(
        _PATH,
        create_token,
        methods=["POST"],
        status_code=201,
        response_model=TokenSecretReply,
        responses={
            201: reply("The token was created; `token` is its secret.", made={"token": "dither_analyst_…", **EXAMPLE}),
            **problems(*_ADMIN, *BODY_REFUSALS),
        },
        openapi_extra={"requestBody": json_body(TokenBody, analyst=_EXAMPLE), **TOKEN},
        **admin,
    )
    app.add_api_route(
        _PATH,
        list_tokens,
        methods=["GET"],
        response_model=TokenList,
        responses={
            200: reply("Every token except that of `DITHER_ADMIN_TOKEN`, oldest first.", one={"tokens": [EXAMPLE]}),
            **problems(*_ADMIN),
        },
        openapi_extra=TOKEN,
        **admin,
    )
    app.add_api_route(
        f"{_PATH}/{{token_id}}",
        revoke_token,
        methods=["DELETE"],
        status_code=204,
        responses={204: reply("The token was revoked: no call accepts it any more."), **problems(*_ADMIN, NotFound)},
        openapi_extra=TOKEN,
        **admin,
    )


async def create_token(request: Request, service: ServiceOf) -> dict[str, Any]:
    """Creates a token; its secret appears only in this reply."""
    body = validate_body(TokenBody, await read_body(request))
    known = {collection.id for collection in service.collections.all()}
    if not known.issuperset(body.collections or ()):
        raise InvalidBody("collections: Input should be ids of collections on this server.")
    secret, token = await service.access.create(body.role, body.name, body.collections, body.days)
    await done(request, "token made", token=token.id, role=token.role)
    return {"token": secret, **token.to_json()}


async def list_tokens(service: ServiceOf) -> dict[str, Any]:
    """Lists the tokens, without their secrets."""
    return {"tokens": [token.to_json() for token in service.access.list()]}


async def revoke_token(request: Request, token_id: str, service: ServiceOf) -> None:
    """Revokes a token with immediate effect."""
    await service.access.revoke(token_id)
    await done(request, "token revoked", token=token_id)
