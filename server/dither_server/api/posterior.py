"""What analysts read: the posterior, its history and particles, the stream, the questions, the answers."""

import asyncio
import json
from base64 import b64decode, urlsafe_b64encode
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from fastapi import FastAPI, Query, Request, Response
from fastapi.responses import StreamingResponse
from numpy.typing import NDArray
from starlette.concurrency import run_in_threadpool
from starlette.types import Receive, Scope, Send

from dither_client import parse_query
from dither_client.posterior.wire import PosteriorReply, to_json
from dither_server.api.callers import (
    OPTIONAL_TOKEN,
    TOKEN,
    CollectionOf,
    ServiceOf,
    check_analyst,
    check_reader,
)
from dither_server.api.messages import (
    AnswersReply,
    HistoryReply,
    ParticlesReply,
    QualityReply,
    QueriesReply,
    examples,
)
from dither_server.clock import iso_time
from dither_server.collections.collections import Collection
from dither_server.collections.quality import quality
from dither_server.errors import Forbidden, InvalidBody, NotFound, TooManyStreams, Unauthorized
from dither_server.http.openapi import reply
from dither_server.http.problems import problems
from dither_server.owner.collection_learner import Published
from dither_server.service.service import Service
from dither_server.tickets.packing import Purpose

__all__ = ["add_routes"]

_PATH = "/v1/collections/{collection_id}"
_READ = (NotFound, Unauthorized, Forbidden)

_LOOK_SECONDS = 0.25
"""Between two looks of a stream at what is published."""
_PIECE = 4096
"""Particles that are written at once."""
_COMMENT_SECONDS = 15
"""A stream that has nothing to say shows so often that it is alive."""


def add_routes(app: FastAPI) -> None:
    """Adds the calls."""
    read: dict[str, Any] = {"methods": ["GET"], "tags": ["analysts"], "openapi_extra": OPTIONAL_TOKEN}
    posterior = f"{_PATH}/posterior"
    app.add_api_route(
        posterior,
        show_posterior,
        response_model=PosteriorReply,
        responses={
            200: reply(
                "The posterior of the answers learnt so far; of none, it is the prior.", posterior=examples.POSTERIOR
            ),
            **problems(*_READ),
        },
        **read,
    )
    app.add_api_route(
        f"{posterior}/history",
        show_history,
        response_model=HistoryReply,
        responses={
            200: reply("The rows, the oldest first; there may be none.", one=examples.HISTORY),
            **problems(*_READ),
        },
        **read,
    )
    app.add_api_route(
        f"{posterior}/particles",
        show_particles,
        response_model=ParticlesReply,
        responses={200: reply("Every particle, with its weight.", two=examples.PARTICLES), **problems(*_READ)},
        **read,
    )
    stream = reply(
        "Events of type `posterior` and `state`, until the collection closes.", "text/event-stream", two=examples.STREAM
    )
    stream["content"]["text/event-stream"]["schema"] = {"type": "string"}
    app.add_api_route(
        f"{posterior}/stream",
        stream_posterior,
        response_class=StreamingResponse,
        responses={
            200: stream,
            **problems(*_READ, TooManyStreams),
        },
        **read,
    )
    app.add_api_route(
        f"{_PATH}/queries",
        list_queries,
        response_model=QueriesReply,
        response_model_exclude_none=True,
        responses={
            200: reply("Every question answered so far, and how.", one=examples.QUERIES),
            **problems(*_READ, InvalidBody),
        },
        **read,
    )
    app.add_api_route(
        f"{_PATH}/answers",
        list_answers,
        methods=["GET"],
        tags=["analysts"],
        response_model=AnswersReply,
        responses={
            200: reply("A page of answers; `next` is null on the last one.", last=examples.ANSWERS),
            **problems(*_READ, InvalidBody),
        },
        openapi_extra=TOKEN,
    )
    app.add_api_route(
        f"{_PATH}/quality",
        show_quality,
        methods=["GET"],
        tags=["analysts"],
        response_model=QualityReply,
        responses={
            200: reply("How the collection goes, as far as it is written.", quality=examples.QUALITY),
            **problems(*_READ),
        },
        openapi_extra=TOKEN,
    )


async def show_posterior(request: Request, collection: CollectionOf, service: ServiceOf) -> PosteriorReply:
    """Shows the posterior of every answer learnt so far; that may be milliseconds behind the answers stored."""
    await run_in_threadpool(check_reader, request, collection)
    return (await service.owner.published(collection)).posterior


def show_history(request: Request, collection: CollectionOf, service: ServiceOf) -> dict[str, Any]:
    """Shows how the posterior came about: a row when the answers have grown by about 2%."""
    check_reader(request, collection)
    rows = service.store.history(collection.number)
    return {
        "history": [
            {
                "answers": row.answers,
                "at": iso_time(row.at),
                "posterior": json.loads(row.posterior),
                "ess": row.ess,
                "query": json.loads(row.query),
            }
            for row in rows
        ]
    }


async def show_particles(request: Request, collection: CollectionOf, service: ServiceOf) -> Response:
    """Shows the posterior itself, as weighted particles."""
    await run_in_threadpool(check_reader, request, collection)
    theta, weights = await service.owner.particles(collection)
    return await run_in_threadpool(_particles, collection.specification.family.names, theta, weights)


async def stream_posterior(request: Request, collection: CollectionOf, service: ServiceOf) -> StreamingResponse:
    """Sends the posterior and the state, and each again whenever it has changed, as server-sent events.

    The state `closed`, by an admin, closing time or the last answer, comes once all is learnt, and ends the stream.
    """
    await run_in_threadpool(check_reader, request, collection)
    await service.owner.published(collection)
    closed = service.streams.open(request)
    return _Stream(_events(request, collection, service), closed)


class _Stream(StreamingResponse):
    """An event stream that says when it is over, however it ends."""

    def __init__(self, events: AsyncIterator[str], closed: Callable[[], None]) -> None:
        super().__init__(events, media_type="text/event-stream")
        self._closed = closed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._closed()


def list_queries(
    request: Request,
    collection: CollectionOf,
    service: ServiceOf,
    purpose: Annotated[Purpose, Query(description="`check` lists the questions of the misfit check.")] = "training",
) -> dict[str, Any]:
    """Lists every question answered so far, and how: which says how many have answered."""
    check_reader(request, collection)
    found: dict[str, dict[str, Any]] = {}
    for row in service.store.counts(collection.number, purpose):
        item = found.get(row.query_id)
        if item is None:
            query = json.loads(row.query)
            empty = [0] * parse_query(query).n_answers
            item = found[row.query_id] = {"id": row.query_id, "query": query, "answers": 0, "counts": empty}
        item["answers"] += row.count
        item["counts"][row.answer] = row.count
    return {"queries": list(found.values())}


def list_answers(
    request: Request,
    collection: CollectionOf,
    service: ServiceOf,
    after: Annotated[str | None, Query(description="`next` of the page before.", max_length=64)] = None,
    limit: Annotated[int, Query(description="Answers in a page.", ge=1, le=10_000)] = 10_000,
) -> dict[str, Any]:
    """Lists the stored answers page by page; each that was stored before the first page is listed once."""
    check_analyst(request, collection)
    if not collection.keep_answers:
        raise NotFound("The collection keeps no answers (keep_answers is false): export its counts instead.")
    rows = service.store.answers(collection.number, _cursor(after), limit)
    last = urlsafe_b64encode(rows[-1].ticket).decode() if len(rows) == limit else None
    return {
        "answers": [
            {
                "query_id": row.query_id,
                "purpose": row.purpose,
                "answer": row.answer,
                "received_at": iso_time(row.received_at),
            }
            for row in rows
        ],
        "next": last,
    }


def show_quality(request: Request, collection: CollectionOf, service: ServiceOf) -> dict[str, Any]:
    """Shows refused answers by cause, completion by question, each gateway's share, and what to be warned of."""
    check_analyst(request, collection)
    return quality(service.store, collection, service.clock())


def _particles(names: Sequence[str], theta: NDArray[np.float64], weights: NDArray[np.float64]) -> Response:
    """The reply, written piece by piece: one list of a million particles would keep every other thread waiting."""
    body = f'{{"parameters":{json.dumps(names)},"particles":[{_elements(theta)}],"weights":[{_elements(weights)}]}}'
    return Response(body, media_type="application/json")


def _elements(array: NDArray[np.float64]) -> str:
    pieces = (array[start : start + _PIECE].tolist() for start in range(0, len(array), _PIECE))
    return ",".join(json.dumps(piece, allow_nan=False, separators=(",", ":"))[1:-1] for piece in pieces)


def _cursor(after: str | None) -> bytes:
    try:
        return b64decode(after or "", altchars=b"-_", validate=True)
    except ValueError:
        raise InvalidBody("after: Input should be the next of an earlier page.") from None


async def _events(request: Request, collection: Collection, service: Service) -> AsyncIterator[str]:
    sent, said = None, None
    silent = 0.0
    while said != "closed" and not service.stopping.is_set():
        published = await service.owner.published(collection)
        state = service.collections.state(collection)
        if published is not sent:
            sent, silent = published, 0.0
            yield _event("posterior", to_json(published.posterior))
        elif state != said and (state != "closed" or await run_in_threadpool(_learnt, service, published, collection)):
            said, silent = state, 0.0
            yield _event("state", {"state": state})
        elif silent >= _COMMENT_SECONDS:
            silent = 0.0
            yield ": nothing new\n\n"
        await asyncio.sleep(_LOOK_SECONDS)
        silent += _LOOK_SECONDS


def _event(name: str, data: Mapping[str, Any]) -> str:
    return f"event: {name}\ndata: {json.dumps(data, separators=(',', ':'))}\n\n"


def _learnt(service: Service, published: Published, collection: Collection) -> bool:
    """Whether all that is stored is in the posterior: answers, check answers, what institutions shared."""
    posterior, number = published.posterior, collection.number
    checked = posterior.misfit.check_answers if posterior.misfit else 0
    shared = service.institutions.totals([number]).get(number, 0)
    known = (published.answers + checked, posterior.institutions)
    return known == (service.store.total(number), shared)
