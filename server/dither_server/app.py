"""The application: the front door, routes and error documents around a `Service`. Importing it has no side effects."""

import threading
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import cache, partial
from typing import Any, cast

from fastapi import Depends, FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from dither_server.api import (
    archive,
    audit,
    collections,
    deletions,
    health,
    invitations,
    keys,
    member_counts,
    oblivious,
    posterior,
    responses,
    tickets,
    tokens,
)
from dither_server.clock import Clock
from dither_server.http.front_door import FrontDoor
from dither_server.http.openapi import add_openapi
from dither_server.http.path_ids import check_path_ids
from dither_server.http.problems import add_problem_handlers
from dither_server.metrics import Metrics
from dither_server.pages import admin, answer, collection, exports, report, sign_in, static
from dither_server.pages.rendering import problem_page
from dither_server.service.service import Service
from dither_server.settings import Settings

__all__ = ["Application", "create_app"]

_BUSY_CALLS = (*responses.BUSY_CALLS, *tickets.BUSY_CALLS)
_ROUTES = (
    posterior,
    collections,
    deletions,
    archive,
    member_counts,
    invitations,
    tokens,
    keys,
    audit,
    health,
    oblivious,
    collection,
    answer,
    sign_in,
    admin,
    exports,
    report,
    static,
)
"""The router tries routes in this order, so the busiest come first."""
_DESCRIPTION = "Learn the distribution of a sensitive number in a population without anyone giving theirs away."


class Application(FastAPI):
    """FastAPI behind the front door. `FastAPI.add_middleware` would put the framework's own around that."""

    front: ASGIApp
    """What every request comes to first; a server that is given this saves a call for each."""
    service: Service
    """Set when the application starts."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.front(scope, receive, send)


def create_app(settings: Settings, clock: Clock = time.time) -> Application:
    """Creates the application that `settings` describe; it opens its database when it starts.

    `app.state.stopping` is a `threading.Event`. Setting it makes `/readyz` fail and ends event streams, before the
    server waits for requests in flight.
    """
    metrics = Metrics()
    stopping = threading.Event()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        service = await run_in_threadpool(Service, settings, clock, metrics, stopping)
        await run_in_threadpool(service.start)
        app.service = service
        try:
            yield
        finally:
            await run_in_threadpool(service.stop)

    app = Application(
        title="Dither",
        description=_DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,
        openapi_url=None,  # `add_openapi` serves it
        redoc_url=None,
        redirect_slashes=False,
        # FastAPI's telemetry looks for tracers at every request, and would pass error texts on to them.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    app.state.stopping = stopping
    collection.add_state(app)
    admin.add_state(app)
    add_problem_handlers(app, problem_page)
    app.router.routes.extend(_routes())
    models = (*collections.MODELS, *invitations.MODELS, *member_counts.MODELS, *tokens.MODELS)
    add_openapi(app, _BUSY_CALLS, models)
    app.front = _front(app, settings, metrics)
    return app


@cache
def _routes() -> Sequence[BaseRoute]:
    """The routes, which all applications of a process share: making their models takes longer than all the rest."""
    app = FastAPI(
        docs_url=None,
        openapi_url=None,
        redoc_url=None,
        generate_unique_id_function=lambda route: route.name,
        dependencies=[Depends(check_path_ids)],
    )
    for routes in _ROUTES:
        routes.add_routes(app)
    return tuple(app.router.routes)


def _front(app: Application, settings: Settings, metrics: Metrics) -> ASGIApp:
    """The front door before `app`, and the middleware that the settings need."""
    framework: ASGIApp = partial(FastAPI.__call__, app)
    cors = None
    if settings.cors_origins:
        cors = CORSMiddleware(
            framework,
            allow_origins=list(settings.cors_origins),
            allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type"],
            expose_headers=["Retry-After", "X-Request-ID"],
        )
    front: ASGIApp = FrontDoor(app, framework, _BUSY_CALLS, metrics, cors)
    if settings.trusted_proxies:
        # uvicorn has types of its own for the same protocol.
        front = cast(ASGIApp, ProxyHeadersMiddleware(cast(Any, front), trusted_hosts=list(settings.trusted_proxies)))
    return front
