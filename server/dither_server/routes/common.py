"""What several calls share: who is asking, what is asked about, and how it is documented.

A token comes in the header `Authorization`. Reads are also open to a browser whose person has signed in to the pages
(`sessions.py`); calls that change something never are, so no other site can have them sent.
"""

from typing import Annotated, Any

from fastapi import Depends, Request

from dither_server.access import Role, Token
from dither_server.collections import Collection
from dither_server.errors import Forbidden, Unauthorized
from dither_server.service import Service, service_of

__all__ = [
    "OPTIONAL_TOKEN",
    "TOKEN",
    "CollectionOf",
    "ServiceOf",
    "authorization",
    "check_analyst",
    "check_reader",
    "may_read",
    "needs",
    "session_cookie",
    "signed_in",
]

TOKEN: dict[str, Any] = {"security": [{"token": []}]}
OPTIONAL_TOKEN: dict[str, Any] = {"security": [{}, {"token": []}]}

ServiceOf = Annotated[Service, Depends(service_of)]


def _collection(collection_id: str, service: ServiceOf) -> Collection:
    return service.collections.get(collection_id)


CollectionOf = Annotated[Collection, Depends(_collection)]


def authorization(request: Request) -> str | None:
    """The request's `Authorization` header."""
    return request.headers.get("authorization")


def needs(role: Role) -> Any:
    """A dependency: the call is refused unless it comes with a token that acts as `role`."""

    def check(request: Request) -> None:
        service_of(request).access.check(authorization(request), role)

    return Depends(check)


def session_cookie(request: Request) -> str:
    """The name of the cookie; over https one that browsers take from this host alone, and send nowhere else."""
    return "__Host-dither_session" if request.url.scheme == "https" else "dither_session"


def signed_in(request: Request) -> Token | None:
    """The token of whoever has signed in with this browser."""
    return service_of(request).sessions.token(request.cookies.get(session_cookie(request)))


def check_analyst(request: Request, collection: Collection) -> None:
    """Raises `Unauthorized` or `Forbidden` unless whoever asks is an analyst of the collection."""
    token = None if authorization(request) else signed_in(request)
    if token is None:
        service_of(request).access.check(authorization(request), "analyst", collection.id)
    else:
        token.check("analyst", collection.id)


def check_reader(request: Request, collection: Collection) -> None:
    """Raises `Unauthorized` or `Forbidden` unless the request may read the collection's posterior."""
    if collection.visibility != "public":
        check_analyst(request, collection)


def may_read(request: Request, collection: Collection) -> bool:
    """Whether `check_reader` would pass."""
    try:
        check_reader(request, collection)
    except (Unauthorized, Forbidden):
        return False
    return True
