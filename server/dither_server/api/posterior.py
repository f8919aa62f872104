"""The calls for analysts: the posterior, its history, particles and stream, the questions, the answers."""

import asyncio
import hashlib
import json
from base64 import b64decode, urlsafe_b64encode
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from datetime import date
from functools import partial
from typing import Annotated, Any

import numpy as np
from fastapi import FastAPI, Query, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from numpy.typing import NDArray
from starlette.concurrency import run_in_threadpool
from starlette.types import Receive, Scope, Send

from dither_client import parse_query
from dither_client.posterior.wire import PosteriorReply
from dither_server.api.callers import (
    LONG_READ,
    OPTIONAL_TOKEN,
    TOKEN,
    CollectionOf,
    ServiceOf,
    check_analyst,
    check_reader,
    may_read,
)
from dither_server.api.messages import examples
from dither_server.api.messages.posteriors import AnswersReply, HistoryReply, ParticlesReply, QueriesReply
from dither_server.api.messages.quality import QualityReply
from dither_server.clock import iso_time
from dither_server.collections.collection import Collection
from dither_server.collections.days import Day
from dither_server.errors import (
    CollectionDeleted,
    Forbidden,
    InvalidBody,
    InvalidGroup,
    NotFound,
    TooManyStreams,
    Unauthorized,
)
from dither_server.http.openapi import reply
from dither_server.http.problems import problems
from dither_server.owner.published import Published
from dither_server.service.service import Service
from dither_server.tickets.packing import Purpose

__all__ = ["add_routes"]

_POLL_SECONDS = 0.25
"""Seconds between two checks by a stream for a new publication."""
_AS_GIVEN: dict[str, Any] = {"response_model_exclude_unset": True}
"""A field that is not given is not sent as null."""
_PARTICLES_PER_PIECE = 4096
"""Particles that are serialised at once."""
_PIECE = 64 * 1024
"""Bytes of an event that are sent at once: what a reader does not take is not kept for each."""
_COMMENT_SECONDS = 15
"""Seconds without an event after which a stream sends a comment, to show that it is alive."""


def add_routes(app: FastAPI) -> None:
    """Adds the calls."""
    read = partial(_add_read, app)
    so_far = reply(
        "The posterior of the answers learnt so far; the prior if there are none.",
        posterior=examples.POSTERIOR,
        without_family=examples.POSTERIOR_WITHOUT_FAMILY,
    )
    read("posterior", show_posterior, so_far, response_model=PosteriorReply)
    rows = reply("The rows, oldest first; there may be none.", one=examples.HISTORY)
    read("posterior/history", show_history, rows, response_model=HistoryReply)
    particles = reply("Every particle with its weight.", two=examples.PARTICLES)
    read("posterior/particles", show_particles, particles, InvalidGroup, response_model=ParticlesReply)
    stream: dict[str, Any] = {"response_class": StreamingResponse, "dependencies": []}  # which has limits of its own
    read("posterior/stream", stream_posterior, _events_reply(), TooManyStreams, **stream)
    asked = reply("Every question answered so far, with its answers.", one=examples.QUERIES)
    read("queries", list_queries, asked, InvalidBody, response_model=QueriesReply, response_model_exclude_none=True)
    page = reply("A page of answers; `next` is null on the last one.", last=examples.ANSWERS)
    read("answers", list_answers, page, InvalidBody, response_model=AnswersReply, openapi_extra=TOKEN, **_AS_GIVEN)
    written = reply("The collection's quality, as far as it has been written.", quality=examples.QUALITY)
    read("quality", show_quality, written, response_model=QualityReply, openapi_extra=TOKEN)


def _add_read(
    app: FastAPI,
    end: str,
    function: Callable[..., Any],
    found: dict[str, Any],
    *refusals: type[Exception],
    openapi_extra: dict[str, Any] = OPTIONAL_TOKEN,
    dependencies: Sequence[Any] = (LONG_READ,),
    **settings: Any,
) -> None:
    """Adds a `GET` below a collection's address: `found` describes its reply, `refusals` go beyond those of all."""
    app.add_api_route(
        f"/v1/collections/{{collection_id}}/{end}",
        function,
        methods=["GET"],
        tags=["analysts"],
        responses={200: found, **problems(NotFound, CollectionDeleted, Unauthorized, Forbidden, *refusals)},
        openapi_extra=openapi_extra,
        dependencies=dependencies,
        **settings,
    )


def _events_reply() -> dict[str, Any]:
    stream = reply(
        "Events of type `posterior` and `state`, until the collection closes.", "text/event-stream", two=examples.STREAM
    )
    stream["content"]["text/event-stream"]["schema"] = {"type": "string"}
    return stream


async def show_posterior(request: Request, collection: CollectionOf, service: ServiceOf) -> Response:
    """Shows the posterior of all answers learnt so far, which may lag milliseconds behind the answers stored."""
    await run_in_threadpool(check_reader, request, collection)
    return Response((await service.descriptions.of(collection)).reply, media_type="application/json")


async def show_history(request: Request, collection: CollectionOf, service: ServiceOf) -> Response:
    """Shows the posterior over time: one row whenever the answers have grown by about 2%."""
    await run_in_threadpool(check_reader, request, collection)
    return await service.compute(_history, collection, service)


def _history(collection: Collection, service: Service) -> Response:
    rows = service.store.history(collection.number)
    history = [
        {
            "answers": row.answers,
            "at": iso_time(row.at),
            "posterior": json.loads(row.posterior),
            "ess": row.ess,
            "query": json.loads(row.query),
        }
        for row in rows
    ]
    return JSONResponse({"history": history})


async def show_particles(
    request: Request,
    collection: CollectionOf,
    service: ServiceOf,
    group: Annotated[str | None, Query(description="Only this group, as of the last snapshot.")] = None,
) -> Response:
    """Shows the posterior as weighted particles: of all groups together, or of one."""
    await run_in_threadpool(check_reader, request, collection)
    if group is not None:
        collection.group_number(group)
        drawn = await service.compute(service.learners.snapshots.of_group, collection, group)
    else:
        found = await service.particles(collection, await service.descriptions.to_draw(collection))
        drawn, _ = await service.descriptions.compute(collection, lambda: (found.names, found.values, found.weights))
    return StreamingResponse(_particles(service, *drawn), media_type="application/json")


async def stream_posterior(request: Request, collection: CollectionOf, service: ServiceOf) -> StreamingResponse:
    """Sends the posterior and the state as server-sent events, and each again whenever it changes.

    The state `closed`, whether set by an admin, the closing time or the last answer, is sent once all is learnt, and
    ends the stream.
    """
    await run_in_threadpool(check_reader, request, collection)
    await service.learners.published(collection)
    closed = service.streams.open(request)
    return _Stream(_events(request, collection, service), closed)


class _Stream(StreamingResponse):
    """An event stream that calls `closed` when it is over, however it ends."""

    def __init__(self, events: AsyncIterator[bytes], closed: Callable[[], None]) -> None:
        super().__init__(events, media_type="text/event-stream")
        self._closed = closed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._closed()


async def list_queries(
    request: Request,
    collection: CollectionOf,
    service: ServiceOf,
    purpose: Annotated[
        Purpose, Query(description="`check` lists the questions of the goodness-of-fit check.")
    ] = "training",
) -> Response:
    """Lists every question answered so far with its counts, which tell how many have answered; by group or period."""
    await run_in_threadpool(check_reader, request, collection)
    return await service.compute(lambda: JSONResponse(_queries(collection, service, purpose)))


def _queries(collection: Collection, service: Service, purpose: Purpose) -> dict[str, Any]:
    asked: dict[str, tuple[dict[str, Any], int]] = {}
    found: dict[tuple[str, int, int], dict[str, Any]] = {}
    for row in service.store.counts(collection.number, purpose):
        item = found.get((row.query_id, row.group, row.period))
        if item is None:
            if row.query_id not in asked:  # by many groups: reading a query takes longer than anything else here
                query = json.loads(row.query)
                asked[row.query_id] = query, parse_query(query).n_answers
            query, answers = asked[row.query_id]
            item = {
                "id": row.query_id,
                "query": query,
                **_parts(collection, row.group, row.period),
                "answers": 0,
                "counts": [0] * answers,
            }
            found[row.query_id, row.group, row.period] = item
        item["answers"] += row.count
        item["counts"][row.answer] = row.count
    return {"queries": list(found.values())}


async def list_answers(
    request: Request,
    collection: CollectionOf,
    service: ServiceOf,
    after: Annotated[str | None, Query(description="`next` of the previous page.", max_length=64)] = None,
    limit: Annotated[int, Query(description="Answers per page.", ge=1, le=10_000)] = 10_000,
    day: Annotated[date | None, Query(description="Only answers received on this day, in UTC.")] = None,
) -> Response:
    """Lists the stored answers page by page; each one stored before the first page was read is listed once.

    With `day`, `closed` says whether no more answers of that day can come.
    """
    await run_in_threadpool(check_analyst, request, collection)
    return await service.compute(lambda: JSONResponse(_answers(collection, service, after, limit, day)))


def _answers(
    collection: Collection, service: Service, after: str | None, limit: int, day: date | None
) -> dict[str, Any]:
    if not collection.keep_answers:
        raise NotFound("The collection keeps no answers (keep_answers is false): export its counts instead.")
    cursor, received, before, closed = _cursor(after), None, None, None
    if day is not None:
        asked = Day(day)
        closed = asked.closed(service.clock())  # before the answers are read
        first, before = asked.tickets
        cursor, received = max(cursor, first), asked.received
    rows = service.store.answers(collection.number, cursor, limit, before, received)
    last = urlsafe_b64encode(rows[-1].ticket).decode() if len(rows) == limit else None
    return {
        "answers": [
            {
                "ticket": hashlib.sha256(row.ticket).hexdigest()[:32],
                "query_id": row.query_id,
                "purpose": row.purpose,
                **_parts(collection, row.group, row.period),
                "answer": row.answer,
                "received_at": iso_time(row.received_at),
            }
            for row in rows
        ],
        "next": last,
        "closed": closed,
    }


async def show_quality(request: Request, collection: CollectionOf, service: ServiceOf) -> Response:
    """Shows refused answers by cause, completion by question, each gateway's share, and warnings."""
    await run_in_threadpool(check_analyst, request, collection)
    posterior = (await service.descriptions.of(collection)).described
    return await service.compute(lambda: JSONResponse(service.quality.report(collection, posterior, service.clock())))


def _parts(collection: Collection, group: int, period: int) -> dict[str, str]:
    """The fields with the labels of the group and the period, where there are any."""
    labels = {"group": collection.group_label(group), "period": collection.period_label(period)}
    return {name: label for name, label in labels.items() if label is not None}


async def _particles(
    service: Service, names: Sequence[str], theta: NDArray[np.float64], weights: NDArray[np.float64]
) -> AsyncIterator[str]:
    """The reply, written as fast as it is read: that of a million particles has tens of megabytes."""
    yield f'{{"parameters":{json.dumps(names)},"particles":['
    for array, after in ((theta, '],"weights":['), (weights, "]}")):
        for start in range(0, len(array), _PARTICLES_PER_PIECE):
            piece = await service.compute(_elements, array[start : start + _PARTICLES_PER_PIECE])
            yield f",{piece}" if start else piece
        yield after


def _elements(array: NDArray[np.float64]) -> str:
    return json.dumps(array.tolist(), allow_nan=False, separators=(",", ":"))[1:-1]


def _cursor(after: str | None) -> bytes:
    try:
        return b64decode(after or "", altchars=b"-_", validate=True)
    except ValueError:
        raise InvalidBody("after: Input should be `next` from an earlier page.") from None


async def _events(request: Request, collection: Collection, service: Service) -> AsyncIterator[bytes]:
    sent, said = None, None
    silent = 0.0
    while said != "closed" and not service.stopping.is_set() and not service.collections.deleted(collection):
        described = await service.descriptions.of(collection)
        state = service.collections.state(collection)
        if (described is not sent or silent >= _COMMENT_SECONDS) and not await run_in_threadpool(
            may_read, request, collection
        ):
            return  # the token or the session has ended meanwhile
        if described is not sent:
            sent, silent = described, 0.0
            for piece in _event("posterior", described.reply):
                yield piece
        elif state != said and (state != "closed" or await run_in_threadpool(_learnt, service, described, collection)):
            said, silent = state, 0.0
            for piece in _event("state", json.dumps({"state": state}, separators=(",", ":")).encode()):
                yield piece
        elif silent >= _COMMENT_SECONDS:
            silent = 0.0
            yield b": nothing new\n\n"
        await asyncio.sleep(_POLL_SECONDS)
        silent += _POLL_SECONDS


def _event(name: str, data: bytes) -> Iterator[bytes]:
    """An event in pieces; `data` is JSON, which has no line breaks."""
    yield f"event: {name}\ndata: ".encode()
    for start in range(0, len(data), _PIECE):
        yield data[start : start + _PIECE]
    yield b"\n\n"


def _learnt(service: Service, published: Published, collection: Collection) -> bool:
    """Whether everything stored is in the posterior: answers, check answers, and the counts of institutions."""
    posterior, number = published.posterior, collection.number
    checked = posterior.misfit.check_answers if posterior.misfit else 0
    shared = service.institutions.totals([number]).get(number, 0)
    known = (published.answers + checked, posterior.institutions)
    return known == (service.store.total(number), shared)
