"""`/v1/collections`: create, list and show collections, and change their state."""

import json
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from dither_server.api.callers import (
    LONG_READ,
    OPTIONAL_TOKEN,
    TOKEN,
    CollectionOf,
    ServiceOf,
    caller,
    done,
    knows,
    needs,
)
from dither_server.api.messages.collections import StateBody, TermsList, TermsReply
from dither_server.api.messages.examples import TERMS
from dither_server.api.terms_text import check_told, terms_text
from dither_server.collections.specification import CollectionSpec
from dither_server.errors import CollectionClosed, CollectionDeleted, Forbidden, InvalidBody, NotFound, Unauthorized
from dither_server.http.bodies import BODY_REFUSALS, read_body, validate_body
from dither_server.http.languages import preferred_languages
from dither_server.http.openapi import json_body, reply
from dither_server.http.problems import problems

__all__ = ["MODELS", "add_routes"]

MODELS = (CollectionSpec, StateBody)

_PATH = "/v1/collections"
_LOCATION = {"Location": {"description": "The path of the collection.", "schema": {"type": "string"}}}
_WRITE = (*BODY_REFUSALS, Unauthorized, Forbidden)


def add_routes(app: FastAPI) -> None:
    """Adds the calls."""
    app.add_api_route(
        _PATH,
        create_collection,
        methods=["POST"],
        status_code=201,
        response_model=TermsReply,
        tags=["collections"],
        dependencies=[needs("admin")],
        responses={
            201: {**reply("The collection was created; these are its terms.", created=TERMS), "headers": _LOCATION},
            **problems(*_WRITE),
        },
        openapi_extra={"requestBody": json_body(CollectionSpec), **TOKEN},
    )
    app.add_api_route(
        _PATH,
        list_collections,
        methods=["GET"],
        dependencies=[LONG_READ],
        response_model=TermsList,
        tags=["collections"],
        responses={
            200: reply(
                "The terms of every collection that is public or that the caller may read; there may be none.",
                one={"collections": [TERMS]},
            ),
            **problems(InvalidBody),
        },
        openapi_extra=OPTIONAL_TOKEN,
    )
    app.add_api_route(
        f"{_PATH}/{{collection_id}}",
        show_collection,
        methods=["GET"],
        response_model=TermsReply,
        tags=["collections"],
        responses={
            200: reply("The collection's terms as they are now.", terms=TERMS),
            **problems(NotFound, CollectionDeleted),
        },
        openapi_extra=OPTIONAL_TOKEN,
    )
    app.add_api_route(
        f"{_PATH}/{{collection_id}}",
        change_state,
        methods=["PATCH"],
        response_model=TermsReply,
        tags=["collections"],
        dependencies=[needs("admin")],
        responses={
            200: reply(
                "The collection is now in that state, and may have been before; these are its terms.",
                paused={**TERMS, "state": "paused"},
            ),
            **problems(*_WRITE, NotFound, CollectionClosed, CollectionDeleted),
        },
        openapi_extra={"requestBody": json_body(StateBody, pause={"state": "paused"}), **TOKEN},
    )


async def create_collection(request: Request, response: Response, service: ServiceOf) -> dict[str, Any]:
    """Creates a collection from its specification; it is open at once, or from `opens_at` on."""
    collection = await service.create_collection(await read_body(request), check_told)
    await done(request, "collection created", collection=collection.id)
    response.headers["Location"] = f"{_PATH}/{collection.id}"
    return await run_in_threadpool(service.collections.terms, collection)


async def list_collections(
    request: Request,
    service: ServiceOf,
    after: Annotated[str | None, Query(description="`next` of the previous page.", max_length=64)] = None,
    limit: Annotated[int | None, Query(description="Collections per page; without it, all.", ge=1, le=1_000)] = None,
) -> Response:
    """Lists the collections whose posterior the caller may read, newest first; with `limit`, page by page."""

    def write() -> Response:
        token = caller(request)
        some, following = service.collections.listed(lambda one: knows(request, token, one), after, limit)
        now, totals = service.collections.counted(some)
        rows = ",".join(terms_text(one, now, answers) for one, answers in zip(some, totals, strict=True))
        end = "" if limit is None else f',"next":{json.dumps(following)}'
        return Response(f'{{"collections":[{rows}]{end}}}', media_type="application/json")

    return await service.compute(write)


def show_collection(
    request: Request, response: Response, collection: CollectionOf, service: ServiceOf
) -> dict[str, Any]:
    """Shows a collection's terms to anyone; the number of answers only to those who may read the posterior.

    Words that there are in several languages are in the one that `Accept-Language` prefers.
    """
    terms = service.collections.terms(collection, preferred_languages(request.headers.get("accept-language")))
    response.headers["Vary"] = "Accept-Language"
    return terms if knows(request, caller(request), collection) else terms | {"answers": None}


async def change_state(request: Request, collection: CollectionOf, service: ServiceOf) -> dict[str, Any]:
    """Opens, pauses or closes a collection. A paused one accepts answers to earlier tickets; closed is final."""
    body = validate_body(StateBody, await read_body(request))
    changed = await service.collections.set_state(collection.id, body.state)
    await done(request, "state changed", collection=collection.id, state=body.state)
    return await run_in_threadpool(service.collections.terms, changed)
