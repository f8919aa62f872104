"""What many tests of pages do."""

from typing import Any

import httpx2

from testing.servers.defaults import ADMIN_TOKEN
from testing.servers.site import Site

__all__ = ["send_form", "sign_in"]

SAME = {"Sec-Fetch-Site": "same-origin"}


def send_form(site: Site, path: str, fields: dict[str, Any], headers: dict[str, str] | None = None) -> httpx2.Response:
    """The reply to a form that one of the server's own pages sent, redirects not followed."""
    return site.client.post(path, data=fields, headers=SAME if headers is None else headers, follow_redirects=False)


def sign_in(site: Site, token: str = ADMIN_TOKEN, following: str = "/") -> httpx2.Response:
    """The reply to signing in; the client keeps the cookie."""
    return send_form(site, "/sign-in", {"token": token, "next": following})
