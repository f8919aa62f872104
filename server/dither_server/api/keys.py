"""`/v1/keys`: admins list and rotate the keys that sign tickets; nothing secret is shown."""

from typing import Any

from fastapi import FastAPI, Request
from starlette.concurrency import run_in_threadpool

from dither_server.api.callers import TOKEN, ServiceOf, done, needs
from dither_server.api.messages.examples import KEYS
from dither_server.api.messages.operating import KeyList
from dither_server.errors import Forbidden, Unauthorized
from dither_server.http.openapi import reply
from dither_server.http.problems import problems

__all__ = ["add_routes"]

_PATH = "/v1/keys"


def add_routes(app: FastAPI) -> None:
    """Adds the calls."""
    refusals = problems(Unauthorized, Forbidden)
    admin: dict[str, Any] = {
        "tags": ["operators"],
        "dependencies": [needs("admin")],
        "response_model": KeyList,
        "openapi_extra": TOKEN,
    }
    listed = reply("Every key, oldest first.", one=KEYS)
    rotated = reply("A key is pending, created now or before; every key, oldest first.", one=KEYS)
    app.add_api_route(_PATH, list_keys, methods=["GET"], responses={200: listed, **refusals}, **admin)
    app.add_api_route(
        _PATH, rotate_keys, methods=["POST"], status_code=201, responses={201: rotated, **refusals}, **admin
    )


def list_keys(service: ServiceOf) -> dict[str, Any]:
    """Lists the keys of tickets by number, with their states; their secrets are not in the database."""
    service.keys.refresh()
    return {"keys": service.keys.list()}


async def rotate_keys(request: Request, service: ServiceOf) -> dict[str, Any]:
    """Creates the next key, which signs from three minutes later on, unless one is pending already."""
    await run_in_threadpool(service.keys.rotate)
    keys = service.keys.list()
    await done(request, "key made", key=keys[-1]["number"])
    return {"keys": keys}
