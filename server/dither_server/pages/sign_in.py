"""Signing in to the pages with a token, and signing out."""

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
"""Bytes: a form with a token and an address, which anyone may send."""

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
    """Begins a session with the form's token, and redirects to the page that the form names."""
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
    """Raises `Forbidden` if the server's public address is https and this request seems not to have come by https.

    The session's cookie would lack `Secure`, so the browser would also send it to this host in the clear.
    """
    if request.url.scheme == "https":
        return
    if (service.public_url or "").startswith("https:"):
        raise Forbidden(
            "Signing in needs https: open the server's https address. If this is that address, its operator must set "
            "DITHER_TRUSTED_PROXIES to the proxy's address, and have the proxy send X-Forwarded-Proto."
        )
    if request.headers.get("x-forwarded-proto") == "https":
        _log.warning("a session cookie is set without Secure behind a proxy: set DITHER_TRUSTED_PROXIES if it is yours")


def _own(address: str) -> str:
    """The address if it is a page that people sign in for, else `/`: never another site."""
    return address if _OWN_PAGE.fullmatch(address) else "/"
