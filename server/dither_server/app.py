"""The application: routes, error documents and middleware around a `Service`. Nothing happens at import time."""

import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool

from dither_server.clock import Clock
from dither_server.metrics import Metrics
from dither_server.middleware import Observer
from dither_server.openapi import add_openapi
from dither_server.problems import add_problem_handlers
from dither_server.routes import collections, health, pages, posterior, responses, tickets, tokens
from dither_server.service import Service
from dither_server.settings import Settings

__all__ = ["create_app"]

_DESCRIPTION = "Learn the distribution of a sensitive number in a population without anyone giving theirs away."


def create_app(settings: Settings, clock: Clock = time.time) -> FastAPI:
    """The application that `settings` describe; its database is opened when it starts.

    `app.state.stopping` is a `threading.Event`: setting it turns readiness off and ends streams, before the server
    waits for requests in flight.
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
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,
    )
    app.state.stopping = stopping
    app.add_middleware(Observer, metrics=metrics)
    add_problem_handlers(app)
    for routes in (responses, tickets, posterior, collections, tokens, health, pages):  # the busiest are tried first
        routes.add_routes(app)
    add_openapi(app, [*responses.OPERATIONS, *tickets.OPERATIONS], (*collections.MODELS, *tokens.MODELS))
    return app
