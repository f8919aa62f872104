"""Dependencies shared by the calls: the caller, the collection, and their documentation.

A token comes in the header `Authorization`. Reads also accept the session of a browser that is signed in to the pages
(`sessions.py`); calls that change something never do, so no other site can trigger them.
"""

from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import Depends, Request
from starlette.concurrency import run_in_threadpool

from dither_server.access.tokens import Role, Token
from dither_server.collections.collection import Collection
from dither_server.errors import Unauthorized
from dither_server.service.service import Service, service_of

__all__ = [
    "LONG_READ",
    "OPTIONAL_TOKEN",
    "TOKEN",
    "CollectionOf",
    "ServiceOf",
    "authorization",
    "caller",
    "check_analyst",
    "check_reader",
    "done",
    "knows",
    "may_read",
    "needs",
    "reads",
    "session_cookie",
    "signed_in",
]

TOKEN: dict[str, Any] = {"security": [{"token": []}]}
OPTIONAL_TOKEN: dict[str, Any] = {"security": [{}, {"token": []}]}

ServiceOf = Annotated[Service, Depends(service_of)]


def _collection(collection_id: str, service: ServiceOf) -> Collection:
    return service.collections.get(collection_id)


CollectionOf = Annotated[Collection, Depends(_collection)]


async def _under_way(request: Request) -> AsyncIterator[None]:
    over = service_of(request).reads.open(request)
    try:
        yield
    finally:
        over()


LONG_READ = Depends(_under_way, scope="request")
"""For calls whose work grows with what a collection holds: an address may have some under way, until all is sent."""


def authorization(request: Request) -> str | None:
    """The request's `Authorization` header."""
    return request.headers.get("authorization")


def needs(role: Role) -> Any:
    """A dependency that refuses a call without a token that acts as `role`, and remembers the token for `done`."""

    def check(request: Request) -> None:
        request.state.token = service_of(request).access.check(authorization(request), role)

    return Depends(check)


async def done(request: Request, what: str, **facts: object) -> None:
    """Records in the audit log that the caller did `what`; for calls that `needs` or `form_admin` have admitted."""
    await run_in_threadpool(service_of(request).trail.record, what, request.state.token.id, **facts)


def session_cookie(request: Request) -> str:
    """The name of the cookie; over https, one that browsers accept only from this host and send only to it."""
    return "__Host-dither_session" if request.url.scheme == "https" else "dither_session"


def _cookie(request: Request, name: str) -> str | None:
    """The value of one cookie, without parsing all of them: a stranger may send many."""
    prefix = f"{name}="
    for header in request.headers.getlist("cookie"):
        if prefix not in header:
            continue
        for part in header.split(";"):
            if part.strip().startswith(prefix):
                return part.strip().removeprefix(prefix)
    return None


def signed_in(request: Request) -> Token | None:
    """The token of whoever is signed in with this browser."""
    return service_of(request).sessions.token(_cookie(request, session_cookie(request)))


def caller(request: Request) -> Token | None:
    """The token of a request, or of whoever is signed in with this browser; None for a stranger.

    May read the database, so do not call it on the event loop.
    """
    header = authorization(request)
    if not header:
        return signed_in(request)
    try:
        return service_of(request).access.identify(header)
    except Unauthorized:
        return None


def reads(token: Token | None, collection: Collection) -> bool:
    """Whether a caller may read the collection's posterior, and so its number of answers."""
    return collection.visibility == "public" or (token is not None and token.acts_as("analyst", collection.id))


def check_analyst(request: Request, collection: Collection) -> None:
    """Raises `Unauthorized` or `Forbidden` unless the caller is an analyst of the collection."""
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
    return collection.visibility == "public" or reads(caller(request), collection)


def knows(request: Request, token: Token | None, collection: Collection) -> bool:
    """Whether a caller may learn that the collection exists, and how many have answered it."""
    return service_of(request).public_listing or reads(token, collection)
