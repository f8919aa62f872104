"""The static files of the pages: style, scripts, and the chart library."""

from typing import Any

from fastapi import FastAPI, Request, Response

from dither_server.errors import NotFound
from dither_server.pages.compressed import static_response
from dither_server.pages.rendering import STATIC, static_version

__all__ = ["add_routes"]

_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml", ".LICENSE": "text/plain"}
_IMMUTABLE = {"Cache-Control": "public, max-age=31536000, immutable"}


def add_routes(app: FastAPI) -> None:
    """Adds the files."""
    served: dict[str, Any] = {"methods": ["GET"], "include_in_schema": False}
    app.add_api_route("/style.css", show_style, **served)
    app.add_api_route("/static/{version}/{name:path}", show_file, **served)


def show_style(request: Request) -> Response:
    """The style of the pages, under the name that does not change."""
    return static_response(request, (STATIC / "style.css").read_bytes(), "text/css")


def show_file(request: Request, version: str, name: str) -> Response:
    """One of the files, cached for good if its address names the version that is served. Raises `NotFound`."""
    file = STATIC / name
    known = {path.relative_to(STATIC).as_posix(): path for path in STATIC.rglob("*")}
    if name not in known or file.suffix not in _TYPES:
        raise NotFound
    headers = _IMMUTABLE if version == static_version() else None
    return static_response(request, known[name].read_bytes(), _TYPES[file.suffix], headers)
