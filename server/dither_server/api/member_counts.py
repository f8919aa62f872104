"""`/v1/collections/{id}/member-counts`: institutions share counts, and analysts list them."""

from typing import Any

from fastapi import FastAPI, Request, Response

from dither_server.api.callers import TOKEN, CollectionOf, ServiceOf, authorization, check_reader
from dither_server.api.messages.answering import ReceiptReply
from dither_server.api.messages.examples import MEMBER_COUNTS, RECEIPT
from dither_server.api.messages.institutions import MemberCountsBody, MemberCountsReply
from dither_server.clock import iso_time, milliseconds
from dither_server.collections.institutions import Share, check_share, store_share
from dither_server.errors import (
    AlreadyShared,
    CollectionClosed,
    CollectionDeleted,
    CollectionNotOpen,
    CollectionPaused,
    Forbidden,
    InvalidAnswer,
    NoMemberCounts,
    NotFound,
    Unauthorized,
)
from dither_server.http.bodies import BODY_REFUSALS, read_body, validate_body
from dither_server.http.openapi import json_body, reply
from dither_server.http.problems import problems

__all__ = ["MODELS", "add_routes"]

MODELS = (MemberCountsBody,)

_PATH = "/v1/collections/{collection_id}/member-counts"
_COMMON = (NotFound, CollectionDeleted, Unauthorized, Forbidden)
_OWN = (AlreadyShared, CollectionClosed, CollectionNotOpen, CollectionPaused, InvalidAnswer, NoMemberCounts)


def add_routes(app: FastAPI) -> None:
    """Adds the calls."""
    app.add_api_route(
        _PATH,
        share_member_counts,
        methods=["POST"],
        status_code=201,
        tags=["institutions"],
        response_model=ReceiptReply,
        responses={
            201: reply("The counts are stored permanently.", stored=RECEIPT),
            200: {
                "model": ReceiptReply,
                **reply("The same counts were stored before; the receipt is the same.", again=RECEIPT),
            },
            **problems(*_COMMON, *_OWN, *BODY_REFUSALS),
        },
        openapi_extra={
            "requestBody": json_body(MemberCountsBody, three={"size": 300, "counts": [81, 52, 14]}),
            **TOKEN,
        },
    )
    app.add_api_route(
        _PATH,
        list_member_counts,
        methods=["GET"],
        tags=["analysts"],
        response_model=MemberCountsReply,
        responses={
            200: reply("The counts that each institution has shared; there may be none.", one=MEMBER_COUNTS),
            **problems(*_COMMON),
        },
        openapi_extra=TOKEN,
    )


async def share_member_counts(
    request: Request, response: Response, collection: CollectionOf, service: ServiceOf
) -> dict[str, Any]:
    """Stores an institution's noisy counts; its token, of the role gateway, identifies it, and it shares only once."""
    token = await service.access.check_soon(authorization(request), "gateway", collection.id)
    body = validate_body(MemberCountsBody, await read_body(request))
    check_share(collection, body.size, body.counts)
    now = milliseconds(service.clock())
    if collection.opens_at is not None and now < collection.opens_at:
        raise CollectionNotOpen
    share = Share(token.id, body.size, tuple(body.counts), now)
    if not await service.writer.run(lambda connection: store_share(connection, collection.number, share)):
        response.status_code = 200
    service.learners.notify([collection.number])
    return {"receipt": service.tickets.receipt(f"member counts {collection.number} {token.id}".encode())}


def list_member_counts(request: Request, collection: CollectionOf, service: ServiceOf) -> dict[str, Any]:
    """Lists the counts that institutions have shared, which are all that the posterior uses of them."""
    check_reader(request, collection)
    shares = service.institutions.shares(collection.number)
    return {
        "member_counts": [
            {
                "institution": share.institution,
                "size": share.size,
                "counts": list(share.counts),
                "received_at": iso_time(share.received_at),
            }
            for share in shares
        ]
    }
