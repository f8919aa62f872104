"""Pages for a browser: collections, one collection, the HTTP interface. Rendered here, without scripts."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.concurrency import run_in_threadpool

from dither_client.comparison import comparison_lines
from dither_client.misfit import misfit_sentence
from dither_client.posterior import poison_sentence
from dither_server.quality import quality
from dither_server.routes.common import CollectionOf, ServiceOf

__all__ = ["add_routes"]

_FOLDER = Path(__file__).parent.parent / "templates"
_TEMPLATES = Environment(
    loader=PackageLoader("dither_server"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def add_routes(app: FastAPI) -> None:
    """Adds the pages."""
    page: dict[str, Any] = {"methods": ["GET"], "response_class": HTMLResponse, "include_in_schema": False}
    app.add_api_route("/", show_index, **page)
    app.add_api_route("/collections/{collection_id}", show_page, **page)
    app.add_api_route("/docs", show_docs, **page)
    app.add_api_route("/style.css", show_style, methods=["GET"], include_in_schema=False)


def show_index(service: ServiceOf) -> str:
    """Shows every collection."""
    return _render("index.html", collections=service.collections.all_terms())


async def show_page(collection: CollectionOf, service: ServiceOf) -> str:
    """Shows a collection's terms, and its posterior, and what to be warned of, if that is public."""
    terms = await run_in_threadpool(service.collections.terms, collection)
    if collection.visibility != "public":
        return _render("collection.html", terms=terms, posterior=None)
    posterior = (await service.owner.published(collection)).posterior
    warnings = (await run_in_threadpool(quality, service.store, collection, service.clock()))["warnings"]
    return _render("collection.html", terms=terms, posterior=posterior, notes=_notes(posterior), warnings=warnings)


def show_docs(request: Request) -> str:
    """Shows every call of the HTTP interface."""
    return _render("docs.html", document=request.app.openapi())


async def show_style() -> Response:
    """The style of the pages."""
    return Response((_FOLDER / "style.css").read_text(), media_type="text/css")


def _notes(posterior: Mapping[str, Any]) -> list[str]:
    """What else there is to say beside a posterior: the family's rivals, the bound on poison, the misfit check."""
    notes = [poison_sentence(posterior["poison"])]
    if posterior.get("verdict") is not None:
        notes += comparison_lines(posterior["families"], posterior["verdict"])
    if posterior.get("misfit") is not None:
        notes.append(misfit_sentence(posterior["misfit"]))
    return notes


def _render(name: str, **values: Any) -> str:
    return _TEMPLATES.get_template(name).render(**values)
