"""`DELETE /v1/collections/{id}`, `…/restore` and `/v1/deletions`: admins delete, restore and remove collections."""

from typing import Annotated, Any

from fastapi import FastAPI, Query, Request
from starlette.concurrency import run_in_threadpool

from dither_server.api.callers import TOKEN, ServiceOf, needs
from dither_server.api.messages.collections import TermsReply
from dither_server.api.messages.deletions import DeletedReply, DeletionsReply, PublicKeyReply, RemovalReply
from dither_server.api.messages.examples import DELETED, REMOVED, TERMS
from dither_server.clock import iso_time
from dither_server.collections.deletion import Deleted
from dither_server.errors import CollectionDeleted, Forbidden, InvalidBody, NotDeleted, NotFound, Unauthorized
from dither_server.http.openapi import reply
from dither_server.http.problems import problems

__all__ = ["add_routes"]

_COLLECTION = "/v1/collections/{collection_id}"
_ADMIN = (Unauthorized, Forbidden)


def add_routes(app: FastAPI) -> None:
    """Adds the calls."""
    admin: dict[str, Any] = {"dependencies": [needs("admin")], "openapi_extra": TOKEN}
    app.add_api_route(
        _COLLECTION,
        delete_collection,
        methods=["DELETE"],
        tags=["collections"],
        response_model=DeletedReply | RemovalReply,
        responses={
            200: reply("It is deleted; with `purge`, the receipt of its removal.", deleted=DELETED, removed=REMOVED),
            **problems(*_ADMIN, NotFound, CollectionDeleted, NotDeleted, InvalidBody),
        },
        **admin,
    )
    app.add_api_route(
        f"{_COLLECTION}/restore",
        restore_collection,
        methods=["POST"],
        tags=["collections"],
        response_model=TermsReply,
        responses={
            200: reply("It is there again, as it was; these are its terms.", terms=TERMS),
            **problems(*_ADMIN, NotFound, CollectionDeleted),
        },
        **admin,
    )
    app.add_api_route(
        "/v1/deletions",
        list_deletions,
        methods=["GET"],
        tags=["collections"],
        response_model=DeletionsReply,
        responses={
            200: reply(
                "The collections that can be restored, and the receipts of those that were removed.",
                both={"deleted": [DELETED], "removed": [REMOVED]},
            ),
            **problems(*_ADMIN),
        },
        **admin,
    )
    app.add_api_route(
        "/v1/deletions/key",
        show_receipt_key,
        methods=["GET"],
        tags=["collections"],
        response_model=PublicKeyReply,
        responses={
            200: reply("The key, which stays the same.", key={"public_key": REMOVED["public_key"]}),
            **problems(),
        },
    )


async def delete_collection(
    request: Request,
    collection_id: str,
    service: ServiceOf,
    purge: Annotated[
        bool, Query(description="Removes for good, at once, a collection that was deleted before; it takes a while.")
    ] = False,
) -> dict[str, Any]:
    """Deletes a collection. It can be restored for some time, and is removed for good after that."""
    token = request.state.token.id
    if purge:
        return await run_in_threadpool(service.deletions.purge, collection_id, token)
    return _deleted_json(await run_in_threadpool(service.deletions.delete, collection_id, token))


async def restore_collection(request: Request, collection_id: str, service: ServiceOf) -> dict[str, Any]:
    """Restores a deleted collection with everything in it. Nothing happens to one that is not deleted."""
    collection = await run_in_threadpool(service.deletions.restore, collection_id, request.state.token.id)
    return await run_in_threadpool(service.collections.terms, collection)


def list_deletions(service: ServiceOf) -> dict[str, Any]:
    """Lists deleted collections, newest first, and the receipts of removed ones, oldest first."""
    deleted = [_deleted_json(one) for one in service.deletions.deleted()]
    return {"deleted": deleted, "removed": service.deletions.receipts()}


def show_receipt_key(service: ServiceOf) -> dict[str, Any]:
    """Shows the public key with which receipts of removed collections are verified."""
    return {"public_key": service.deletions.public_key}


def _deleted_json(deleted: Deleted) -> dict[str, Any]:
    return {
        "collection": deleted.collection,
        "name": deleted.name,
        "deleted_at": iso_time(deleted.deleted_at),
        "restorable_until": iso_time(deleted.purge_at),
    }
