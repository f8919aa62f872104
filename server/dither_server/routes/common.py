"""What several calls share: who is asking, what is asked about, and how it is documented."""

from typing import Annotated, Any

from fastapi import Depends, Request

from dither_server.access import Role
from dither_server.collections import Collection
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


def check_analyst(request: Request, collection: Collection) -> None:
    """Raises `Unauthorized` or `Forbidden` unless the request has the token of an analyst of the collection."""
    service_of(request).access.check(authorization(request), "analyst", collection.id)


def check_reader(request: Request, collection: Collection) -> None:
    """Raises `Unauthorized` or `Forbidden` unless the request may read the collection's posterior."""
    if collection.visibility != "public":
        check_analyst(request, collection)


def may_read(request: Request, collection: Collection) -> bool:
    """Whether `check_reader` would pass."""
    if collection.visibility == "public":
        return True
    return service_of(request).access.allows(authorization(request), "analyst", collection.id)
