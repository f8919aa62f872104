"""Replies compressed for browsers that take it. They hold no secret, so that their size tells nothing."""

import gzip
from collections.abc import Mapping
from functools import lru_cache

from fastapi import Request, Response

__all__ = ["static_response"]


def static_response(
    request: Request, content: bytes, media_type: str, headers: Mapping[str, str] | None = None
) -> Response:
    """A reply with this content, in which nothing may be secret or come from the request."""
    given = headers or {}
    sent = {**given, "vary": ", ".join(filter(None, (given.get("vary"), "Accept-Encoding")))}
    if _takes_gzip(request.headers.get("accept-encoding", "")):
        content, sent["content-encoding"] = _compressed(content), "gzip"
    return Response(content, headers=sent, media_type=media_type)


@lru_cache(maxsize=256)
def _compressed(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)


def _takes_gzip(accepted: str) -> bool:
    """Whether a list of encodings, as in `Accept-Encoding`, has gzip with a weight above 0."""
    for each in accepted.split(","):
        name, _, weight = each.replace(" ", "").lower().partition(";q=")
        if name == "gzip":
            return weight.strip("0.") != "" or not weight
    return False
