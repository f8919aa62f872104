"""`/healthz`, `/readyz`, `/metrics`: for whoever runs the server."""

from fastapi import FastAPI, Response

from dither_server.errors import Unavailable
from dither_server.messages import StatusReply
from dither_server.metrics import Metrics
from dither_server.problems import problems
from dither_server.routes.common import ServiceOf

__all__ = ["add_routes"]


def add_routes(app: FastAPI) -> None:
    """Adds the calls."""
    app.add_api_route("/healthz", live, methods=["GET"], response_model=StatusReply, tags=["operators"])
    app.add_api_route(
        "/readyz",
        ready,
        methods=["GET"],
        response_model=StatusReply,
        tags=["operators"],
        responses=problems(Unavailable),
    )
    text = {"description": "Prometheus' text format.", "content": {"text/plain": {"schema": {"type": "string"}}}}
    app.add_api_route(
        "/metrics", show_metrics, methods=["GET"], response_class=Response, tags=["operators"], responses={200: text}
    )


async def live() -> dict[str, str]:
    """Says that the process answers."""
    return {"status": "ok"}


def ready(service: ServiceOf) -> dict[str, str]:
    """Says whether answers can be stored and learnt."""
    service.check_ready()
    return {"status": "ready"}


def show_metrics(service: ServiceOf) -> Response:
    """Shows the metrics; none of them says anything about a person."""
    return Response(service.metrics.exposition(), media_type=Metrics.content_type)
