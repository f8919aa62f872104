"""Signing in to the pages with a token, and out."""

import logging
import re
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.concurrency import run_in_threadpool

from dither_server.access.sessions import SESSION_LIFE
from dither_server.api.callers import ServiceOf, session_cookie
from dither_server.errors import Forbidden, Unauthorized
from dither_server.pages.forms import check_origin, read_form
from dither_server.pages.rendering import page
from dither_server.service.service import Service

__all__ = ["add_routes"]

_OWN_PAGE = re.compile(r"/(new|collections/[a-z0-9]{1,40})?", flags=re.ASCII)
_SEE_OTHER = 303
_MAX_FORM = 4 * 1024
"""Bytes: a token and an address, of somebody who is not known yet."""

_log = logging.getLogger(__name__)


def add_routes(app: FastAPI) -> None:
    """Adds the pages."""
    hidden: dict[str, Any] = {"include_in_schema": False, "response_class": HTMLResponse}
    app.add_api_route("/sign-in", show_sign_in, methods=["GET"], **hidden)
    app.add_api_route("/sign-in", sign_in, methods=["POST"], **hidden)
    app.add_api_route("/sign-out", sign_out, methods=["POST"], **hidden)


def show_sign_in(request: Request, next: str = "/") -> Response:
    """Asks for a token."""
    return page(request, "sign_in.html", following=_own(next), refused=None)


async def sign_in(request: Request, service: ServiceOf) -> Response:
    """Begins a session with the form's token, and goes on to the page that it names."""
    _check_https(request, service)
    form = await read_form(request, _MAX_FORM)
    following = _own(form.get("next", "/"))
    try:
        session = await run_in_threadpool(service.sessions.begin, form.get("token", ""))
    except Unauthorized as error:
        return page(request, "sign_in.html", 401, following=following, refused=str(error))
    response = RedirectResponse(following, _SEE_OTHER)
    secure = request.url.scheme == "https"
    response.set_cookie(
        session_cookie(request), session, max_age=SESSION_LIFE, secure=secure, httponly=True, samesite="strict"
    )
    return response


async def sign_out(request: Request) -> Response:
    """Ends the session in this browser."""
    check_origin(request)
    response = RedirectResponse("/", _SEE_OTHER)
    secure = request.url.scheme == "https"
    response.delete_cookie(session_cookie(request), secure=secure, httponly=True, samesite="strict")
    return response


def _check_https(request: Request, service: Service) -> None:
    """Raises `Forbidden` if people reach the server by https and this request seems not to have come that way.

    Its cookie would go without `Secure`, and so in the clear wherever the browser meets the name without https.
    """
    if request.url.scheme == "https":
        return
    if (service.public_url or "").startswith("https:"):
        raise Forbidden(
            "Nobody is signed in but by https: open the server's own address, and if this is it, have its operator set "
            "DITHER_TRUSTED_PROXIES to the proxy's address, and the proxy send X-Forwarded-Proto."
        )
    if request.headers.get("x-forwarded-proto") == "https":
        _log.warning("a session begins without Secure behind a proxy: set DITHER_TRUSTED_PROXIES if it is yours")


def _own(address: str) -> str:
    """The address if it is one of the pages that people sign in for, or else the first page: never another site."""
    return address if _OWN_PAGE.fullmatch(address) else "/"
