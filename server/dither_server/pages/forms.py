"""Reads the forms of the pages: of bounded size, and only if sent from this server's own pages."""

from urllib.parse import parse_qsl, urlsplit

from fastapi import Request

from dither_server.api.callers import signed_in
from dither_server.errors import Forbidden, InvalidBody, Unauthorized
from dither_server.http.bodies import MAX_BODY, read_body

__all__ = ["check_origin", "form_admin", "read_form"]

_MAX_FIELDS = 250


def check_origin(request: Request) -> None:
    """Raises `Forbidden` unless the browser says that the form is on a page of this server.

    This and the cookie's SameSite keep other sites, including those on other ports of this host, from sending forms.
    """
    site = request.headers.get("sec-fetch-site")
    if site is None:
        site = "same-origin" if _host(request.headers.get("origin", "")) == request.headers.get("host", "") else "other"
    if site != "same-origin":
        raise Forbidden("Forms are accepted only from this server's own pages: open the page and send it from there.")


def _host(origin: str) -> str | None:
    """The host and port of an origin; None for what is none."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None


async def read_form(request: Request, limit: int = MAX_BODY) -> dict[str, str]:
    """The fields of a form of at most `limit` bytes, stripped of blanks; empty fields are left out.

    Raises `Forbidden` as `check_origin` does, `InvalidBody`, and what `read_body` raises.
    """
    check_origin(request)
    body = await read_body(request, limit)
    try:
        pairs = parse_qsl(body.decode(), max_num_fields=_MAX_FIELDS, errors="strict")
    except ValueError:
        raise InvalidBody("A form must be URL-encoded, in UTF-8.") from None
    return {name: value.strip() for name, value in pairs if value.strip()}


def form_admin(request: Request) -> None:
    """Raises `Unauthorized` or `Forbidden` unless an admin is signed in, whom `done` then records."""
    token = signed_in(request)
    if token is None:
        raise Unauthorized("Sign in with an admin's token first.")
    token.check("admin", None)
    request.state.token = token
