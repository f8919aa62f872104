"""The application: routes, error documents and middleware around a `Service`. Importing it has no side effects."""

import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.middleware.cors import CORSMiddleware
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from dither_server.api import (
    collections,
    health,
    invitations,
    keys,
    member_counts,
    posterior,
    responses,
    tickets,
    tokens,
)
from dither_server.clock import Clock
from dither_server.http.busy_calls import Shortcut, add_busy_routes
from dither_server.http.middleware import Observer
from dither_server.http.openapi import add_openapi
from dither_server.http.problems import add_problem_handlers
from dither_server.metrics import Metrics
from dither_server.pages import admin, answer, collection, exports, sign_in, static
from dither_server.pages.rendering import problem_page
from dither_server.service.service import Service
from dither_server.settings import Settings

__all__ = ["create_app"]

_BUSY_CALLS = (*responses.BUSY_CALLS, *tickets.BUSY_CALLS)
_DESCRIPTION = "Learn the distribution of a sensitive number in a population without anyone giving theirs away."


def create_app(settings: Settings, clock: Clock = time.time) -> FastAPI:
    """Creates the application that `settings` describe; it opens its database when it starts.

    `app.state.stopping` is a `threading.Event`. Setting it makes `/readyz` fail and ends event streams, before the
    server waits for requests in flight.
    """
    metrics = Metrics()
    stopping = threading.Event()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        service = await run_in_threadpool(Service, settings, clock, metrics, stopping)
        await run_in_threadpool(service.start)
        app.state.service = service
        try:
            yield
        finally:
            await run_in_threadpool(service.stop)

    app = FastAPI(
        title="Dither",
        description=_DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,
        openapi_url=None,  # `add_openapi` serves it
        redoc_url=None,
        redirect_slashes=False,
        # FastAPI's telemetry looks for tracers at every request, and would pass error texts on to them.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
        generate_unique_id_function=lambda route: route.name,
    )
    app.state.stopping = stopping
    _add_middleware(app, settings, metrics)
    add_problem_handlers(app, problem_page)
    add_busy_routes(app, _BUSY_CALLS)
    for routes in (
        posterior,
        collections,
        member_counts,
        invitations,
        tokens,
        keys,
        health,
        collection,
        answer,
        sign_in,
        admin,
        exports,
        static,
    ):  # the router tries routes in this order, so the busiest come first
        routes.add_routes(app)
    models = (*collections.MODELS, *invitations.MODELS, *member_counts.MODELS, *tokens.MODELS)
    add_openapi(app, _BUSY_CALLS, models)
    return app


def _add_middleware(app: FastAPI, settings: Settings, metrics: Metrics) -> None:
    """Adds only the middleware that the settings need; the one added last sees a request first."""
    app.add_middleware(Shortcut, calls=_BUSY_CALLS)
    if settings.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(settings.cors_origins),
            allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type"],
            expose_headers=["Retry-After", "X-Request-ID"],
        )
    app.add_middleware(Observer, metrics=metrics)
    if settings.trusted_proxies:
        app.add_middleware(ProxyHeadersMiddleware, trusted_hosts=list(settings.trusted_proxies))
