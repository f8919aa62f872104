"""Renders pages from templates, under a content security policy that allows only this server's own files."""

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from dither_client.posterior.digits import rounded, summary_numbers
from dither_client.posterior.names import distribution_name, mechanism_name, moment, number_name, term_text
from dither_client.posterior.sentences import evidence_text, family_name
from dither_server.api.callers import signed_in
from dither_server.http.problems import Problem

__all__ = ["STATIC", "asset", "content_source", "fragment", "page", "problem_page", "static_version"]

STATIC = Path(__file__).parent / "static"

_STYLE = "\n".join(
    (STATIC / name).read_text(encoding="utf-8").strip() for name in ("style.css", "vendor/uPlot.min.css")
)
"""Each page has its styles in it, that of its charts too: before the first paint, a browser waits for nothing else."""


def asset(name: str) -> str:
    """The address of a file in `static`, which browsers may cache for good."""
    return f"/static/{static_version()}/{name}"


@cache
def static_version() -> str:
    """The version in the addresses of `static`: a hash of all files, since scripts import each other by path."""
    digest = hashlib.sha256()
    for file in sorted(STATIC.rglob("*")):
        if file.is_file():
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:12]


def content_source(content: str) -> str:
    """The expression that allows exactly this style or script within a page, in its content security policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"


_HEADERS = {
    "Content-Security-Policy": f"default-src 'none'; script-src 'self'; style-src {content_source(_STYLE)}; "
    "connect-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    # With no-referrer, browsers would not say which site a form is sent from.
    "Referrer-Policy": "same-origin",
}


def _sentence(text: str) -> str:
    """The text with a capital and a full stop."""
    return f"{text[:1].upper()}{text[1:].removesuffix('.')}."


def _templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("dither_server.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"asset": asset, "style": Markup(_STYLE)}
    environment.filters["count"] = "{:,}".format
    environment.filters["rounded"] = rounded
    environment.filters["summary_numbers"] = summary_numbers
    environment.filters["sentence"] = _sentence
    environment.filters["family_name"] = family_name
    environment.filters["evidence_text"] = evidence_text
    environment.filters["capital"] = lambda text: f"{text[:1].upper()}{text[1:]}"
    environment.filters["distribution_name"] = distribution_name
    environment.filters["mechanism_name"] = mechanism_name
    environment.filters["moment"] = moment
    environment.filters["term"] = term_text
    environment.filters["number_name"] = number_name
    return environment


_TEMPLATES = _templates()


def page(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """Renders a whole page; `token` in its template is that of whoever is signed in."""
    text = _TEMPLATES.get_template(template).render(token=signed_in(request), **values)
    return HTMLResponse(text, status, _HEADERS)


def problem_page(problem: Problem, detail: str) -> HTMLResponse:
    """Renders an error page, without looking up who is signed in: the database may be unavailable."""
    text = _TEMPLATES.get_template("problem.html").render(token=None, problem=problem, detail=detail)
    return HTMLResponse(text, problem.status, _HEADERS)


def fragment(template: str, **values: Any) -> str:
    """Renders a part of a page, which a script inserts."""
    return _TEMPLATES.get_template(template).render(**values)
