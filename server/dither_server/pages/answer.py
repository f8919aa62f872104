"""The page on which a respondent answers, and the browser's client, which draws the noise there.

The page has its own content security policy: only scripts of this server run, and they may call only this server.
"""

import math
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Response
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.concurrency import run_in_threadpool

import dither_client
from dither_client.mechanisms.bounds import Bounds
from dither_client.mechanisms.epsilon import epsilon_text, wire_epsilon
from dither_client.posterior.sentences import unit_text
from dither_server.api.callers import CollectionOf, ServiceOf
from dither_server.errors import NotFound

__all__ = ["add_routes"]

_FILES = Path(__file__).parent / "answering"
_WEB = Path(dither_client.__file__).parent / "web"
_DECIMALS = {0: "a whole number", 1: "with up to one decimal"}
_TYPES = {".js": "text/javascript", ".css": "text/css", ".ts": "text/plain"}
_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "form-action 'none'; frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'"
}
_TEMPLATES = Environment(
    loader=PackageLoader("dither_server.pages", "answering"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def add_routes(app: FastAPI) -> None:
    """Adds the page, its files, and the browser's client, which other sites may embed."""
    served: dict[str, Any] = {"methods": ["GET"], "include_in_schema": False}
    app.add_api_route("/collections/{collection_id}/answer", show_answer, response_class=HTMLResponse, **served)
    app.add_api_route("/answer/{name}", show_file, **served)
    app.add_api_route("/web/{name}", show_module, **served)


async def show_answer(collection: CollectionOf, service: ServiceOf) -> Response:
    """The page that explains answering with an example, and on which the browser answers."""
    terms = await run_in_threadpool(service.collections.terms, collection)
    epsilon = float(terms["epsilon"])
    page = _TEMPLATES.get_template("answer.html").render(
        terms=terms,
        full=collection.full(terms["answers"]),
        epsilon=_decimal(terms["epsilon"]),
        choices=[_decimal(choice) for choice in terms["epsilon_choices"] or ()],
        truth=_percent(1 / (1 + math.exp(-epsilon))),
        lie=_percent(1 / (1 + math.exp(epsilon))),
        ratio=_times(epsilon),
        unit=unit_text(terms),
        hint=_hint(Bounds(terms["minimum"], terms["maximum"]), terms["decimals"]),
    )
    return HTMLResponse(page, headers=_HEADERS)


def show_file(name: str) -> Response:
    """The page's script or its style. Raises `NotFound`."""
    return _file(_FILES, name)


def show_module(name: str) -> Response:
    """One file of the browser's client: a script, or its types. Pages of other sites may load it. Raises `NotFound`."""
    response = _file(_WEB, name)
    response.headers["cross-origin-resource-policy"] = "cross-origin"
    return response


def _hint(bounds: Bounds, decimals: int | None) -> str:
    """What may be typed, as a sentence."""
    places = "" if decimals is None else _DECIMALS.get(decimals, f"with up to {decimals} decimals")
    limits = ", ".join(filter(None, (str(bounds), places)))
    return f"{limits[:1].upper()}{limits[1:]}." if limits else "For example 417.5 or 1,250."


def _file(folder: Path, name: str) -> Response:
    found = {file.name: file for file in folder.iterdir() if file.suffix in _TYPES}
    if name not in found:
        raise NotFound
    return Response(found[name].read_bytes(), media_type=_TYPES[found[name].suffix])


def _decimal(epsilon: object) -> str:
    """ε as a decimal that people and the browser's client can read."""
    return epsilon_text(wire_epsilon(str(epsilon)))


def _percent(probability: float) -> str:
    return f"{100 * probability:.3g}%"


def _times(epsilon: float) -> str:
    ratio = math.exp(epsilon)
    return f"{ratio:.3g}" if ratio < 100 else f"{float(f'{ratio:.2g}'):,.0f}"
