"""What many tests of pages do."""

from typing import Any

import httpx2

from testing.servers.defaults import ADMIN_TOKEN
from testing.servers.site import Site

__all__ = ["answered", "send_form", "sign_in"]

SAME = {"Sec-Fetch-Site": "same-origin"}


def answered(site: Site, count: int = 60, **fields: Any) -> str:
    """A collection that has learnt so many answers, one a second."""
    collection = site.create(**fields)
    for _ in range(0, count, 20):
        site.batch(collection, *((ticket, i % 2) for i, ticket in enumerate(site.tickets(collection, 20))))
        site.clock.now += 20
    site.learnt(collection, count)
    return collection


def send_form(site: Site, path: str, fields: dict[str, Any], headers: dict[str, str] | None = None) -> httpx2.Response:
    """The reply to a form that one of the server's own pages sent, redirects not followed."""
    return site.client.post(path, data=fields, headers=SAME if headers is None else headers, follow_redirects=False)


def sign_in(site: Site, token: str = ADMIN_TOKEN, following: str = "/") -> httpx2.Response:
    """The reply to signing in; the client keeps the cookie."""
    return send_form(site, "/sign-in", {"token": token, "next": following})
