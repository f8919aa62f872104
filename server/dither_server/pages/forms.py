"""Forms of the pages: read with bounds, and only if this server's own page sent them."""

from urllib.parse import parse_qsl, urlsplit

from fastapi import Request

from dither_server.api.callers import signed_in
from dither_server.errors import Forbidden, InvalidBody, Unauthorized
from dither_server.http.bodies import MAX_BODY, read_body

__all__ = ["check_origin", "form_admin", "read_form"]

_MOST_FIELDS = 100


def check_origin(request: Request) -> None:
    """Raises `Forbidden` unless the browser says that the form is on a page of this server.

    Beside the cookie's SameSite, so that no other site has a form sent, also one on another port of this host.
    """
    site = request.headers.get("sec-fetch-site")
    if site is None:
        origin = request.headers.get("origin", "")
        site = "same-origin" if urlsplit(origin).netloc == request.headers.get("host", "") else "other"
    if site != "same-origin":
        raise Forbidden("Forms are taken from this server's own pages alone: open the page and send it from there.")


async def read_form(request: Request, limit: int = MAX_BODY) -> dict[str, str]:
    """The fields of a form of at most `limit` bytes, without blanks around them, those that are empty left out.

    Raises `Forbidden` as `check_origin` does, `InvalidBody`, and what `read_body` raises.
    """
    check_origin(request)
    body = await read_body(request, limit)
    try:
        pairs = parse_qsl(body.decode(), max_num_fields=_MOST_FIELDS, errors="strict")
    except ValueError:
        raise InvalidBody("A form must be written as forms are, in UTF-8.") from None
    return {name: value.strip() for name, value in pairs if value.strip()}


def form_admin(request: Request) -> None:
    """Raises `Unauthorized` or `Forbidden` unless an admin is signed in; `done` then knows by whom it is done."""
    token = signed_in(request)
    if token is None:
        raise Unauthorized("Sign in with an admin's token first.")
    token.check("admin", None)
    request.state.token = token
