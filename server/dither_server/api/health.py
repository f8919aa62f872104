"""`/healthz`, `/readyz` and `/metrics`, for operators."""

import hmac

from fastapi import FastAPI, Request, Response
from pydantic import SecretStr
from starlette.concurrency import run_in_threadpool

from dither_server.api.callers import OPTIONAL_TOKEN, ServiceOf, authorization
from dither_server.api.messages.operating import StatusReply
from dither_server.errors import Forbidden, Unauthorized
from dither_server.http.openapi import reply
from dither_server.http.problems import problems
from dither_server.metrics import Metrics
from dither_server.service.service import Service

__all__ = ["add_routes"]


def add_routes(app: FastAPI) -> None:
    """Adds the calls."""
    app.add_api_route(
        "/healthz",
        live,
        methods=["GET"],
        response_model=StatusReply,
        tags=["operators"],
        responses={200: reply("The process responds; nothing else is checked.", live={"status": "ok"}), **problems()},
    )
    app.add_api_route(
        "/readyz",
        ready,
        methods=["GET"],
        response_model=StatusReply,
        tags=["operators"],
        responses={
            200: reply("The database responds, and every part of the server is running.", ready={"status": "ready"}),
            **problems(),
        },
    )
    text = {
        "description": "The metrics in Prometheus' text format.",
        "content": {"text/plain": {"schema": {"type": "string"}}},
    }
    app.add_api_route(
        "/metrics",
        show_metrics,
        methods=["GET"],
        response_class=Response,
        tags=["operators"],
        responses={200: text, **problems(Unauthorized, Forbidden)},
        openapi_extra=OPTIONAL_TOKEN,
    )


async def live() -> dict[str, str]:
    """Tells that the process responds."""
    return {"status": "ok"}


async def ready(service: ServiceOf) -> dict[str, str]:
    """Tells whether answers can be stored and learnt."""
    await service.check_ready()
    return {"status": "ready"}


async def show_metrics(request: Request, service: ServiceOf) -> Response:
    """Shows the metrics, none about a person; needs `DITHER_METRICS_TOKEN` or an admin's token unless public.

    Where they are public, whoever has neither does not see the series of private collections.
    """
    shown = None
    if not _is_metrics_token(request, service.metrics_token):
        try:
            await service.access.check_soon(authorization(request), "admin")
        except (Unauthorized, Forbidden):
            if not service.public_metrics:
                raise
            shown = _public_ids(service).__contains__
    ready = await service.ready()
    # In a thread, since many collections give many lines.
    text = await run_in_threadpool(service.metrics.exposition, ready, shown)
    return Response(text, media_type=Metrics.content_type)


def _public_ids(service: Service) -> set[str]:
    """The collections that anyone may know of."""
    every = service.collections.all()
    return {one.id for one in every if service.public_listing or one.visibility == "public"}


def _is_metrics_token(request: Request, secret: SecretStr | None) -> bool:
    if secret is None:
        return False
    scheme, _, token = (authorization(request) or "").partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(
        token.strip().encode(), secret.get_secret_value().encode()
    )
