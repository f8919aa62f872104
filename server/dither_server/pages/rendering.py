"""Pages from templates, under a policy that runs and loads nothing but this server's own files."""

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined

from dither_server.api.callers import signed_in
from dither_server.http.problems import Problem

__all__ = ["STATIC", "asset", "fragment", "page", "problem_page", "static_version"]

STATIC = Path(__file__).parent / "static"

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    # With no-referrer, browsers would not say of a form from where it is sent.
    "Referrer-Policy": "same-origin",
}


def asset(name: str) -> str:
    """The address of a file in `static`, which browsers may keep."""
    return f"/static/{static_version()}/{name}"


@cache
def static_version() -> str:
    """The folder in the addresses of `static`, which changes with any file: scripts import each other within it."""
    digest = hashlib.sha256()
    for file in sorted(STATIC.rglob("*")):
        if file.is_file():
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:12]


def _number(value: float, digits: int = 4) -> str:
    """So many significant digits, with commas, and without an exponent where that is short."""
    text = f"{value:.{digits}g}"
    return f"{float(text):,.0f}" if ("e+" in text and abs(value) < 1e9) or value == round(value) else text


def _sentence(text: str) -> str:
    """With a capital and a full stop."""
    return f"{text[:1].upper()}{text[1:].removesuffix('.')}."


def _templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("dither_server.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["asset"] = asset
    environment.filters["count"] = "{:,}".format
    environment.filters["short"] = _number
    environment.filters["sentence"] = _sentence
    return environment


_TEMPLATES = _templates()


def page(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """A whole page; `token` in its template is that of whoever is signed in."""
    text = _TEMPLATES.get_template(template).render(token=signed_in(request), **values)
    return HTMLResponse(text, status, _HEADERS)


def problem_page(problem: Problem, detail: str) -> HTMLResponse:
    """Why there is no page; whoever is signed in is not looked up, since the database may be away."""
    text = _TEMPLATES.get_template("problem.html").render(token=None, problem=problem, detail=detail)
    return HTMLResponse(text, problem.status, _HEADERS)


def fragment(template: str, **values: Any) -> str:
    """A part of a page, which scripts put into it."""
    return _TEMPLATES.get_template(template).render(**values)
