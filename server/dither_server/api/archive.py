"""`/v1/collections/{id}/archive`: everything about a collection, for admins."""

from fastapi import FastAPI, Request
from fastapi.responses import StreamingResponse
from starlette.concurrency import run_in_threadpool

from dither_server.api.callers import TOKEN, CollectionOf, ServiceOf, done, needs
from dither_server.errors import CollectionDeleted, Forbidden, NotFound, Unauthorized
from dither_server.http.problems import problems
from dither_server.service.archive import archive

__all__ = ["add_routes"]

_ZIP = "application/zip"


def add_routes(app: FastAPI) -> None:
    """Adds the call."""
    zipped = {
        "description": "A ZIP file: specification, terms, counts, questions, answers, receipts (sorted), posterior, "
        "history, institutions, quality, the audit log, and a manifest with the SHA-256 of each.",
        "content": {_ZIP: {"schema": {"type": "string", "format": "binary"}}},
    }
    app.add_api_route(
        "/v1/collections/{collection_id}/archive",
        download_archive,
        methods=["GET"],
        tags=["collections"],
        dependencies=[needs("admin")],
        response_class=StreamingResponse,
        responses={200: zipped, **problems(NotFound, CollectionDeleted, Unauthorized, Forbidden)},
        openapi_extra=TOKEN,
    )


async def download_archive(request: Request, collection: CollectionOf, service: ServiceOf) -> StreamingResponse:
    """Sends everything about a collection as a ZIP file, while it is made."""
    published = await service.learners.published(collection)
    described = await service.compute(lambda: published.described)  # of the last answer, too
    await run_in_threadpool(service.store.total, collection.number)  # without a database, refused before it begins
    await done(request, "collection exported", collection=collection.id)
    name = f'attachment; filename="{collection.id}.zip"'
    return StreamingResponse(
        archive(service, collection, described), media_type=_ZIP, headers={"Content-Disposition": name}
    )
