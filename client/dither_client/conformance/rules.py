"""Rules that every request must follow, whatever the server does."""

import json
import re
from collections.abc import Sequence
from typing import Any

from dither_client.conformance.device import Broken, repeats_a_value
from dither_client.conformance.server import Seen

__all__ = ["check_requests"]

_HEADERS = {
    "accept", "accept-encoding", "accept-language", "cache-control", "connection", "content-length", "content-type",
    "host", "keep-alive", "pragma", "priority", "sec-fetch-mode", "transfer-encoding", "user-agent",
}  # fmt: skip
"""The headers that a request may have: none identifies the person or repeats what a server sent earlier."""

_FIELDS = {"ticket": {"epsilon", "group", "invitation", "retry_key"}, "answer": {"ticket", "answer", "retry_key"}}
_RETRY_KEY = re.compile(r"[!-~]{16,128}")


def check_requests(seen: Sequence[Seen]) -> None:
    """Raises `Broken` for the first request that breaks a rule."""
    sent: dict[str, bytes] = {}
    keys: dict[str, tuple[str, str]] = {}
    for request in seen:
        if request.kind == "other":
            raise Broken(f"it sent {request.method} {request.path[:80]}, which is not part of the protocol")
        names = {name.lower() for name, _ in request.headers}
        if names - _HEADERS:
            raise Broken(f"it sent the header {min(names - _HEADERS)}")
        whole = " ".join([request.path, *(text for _, text in request.headers)]).encode() + request.body
        if repeats_a_value(whole):
            raise Broken("a request contains the value")
        if request.kind in _FIELDS:
            fields = _fields(request)
            if request.kind == "answer" and sent.setdefault(str(fields.get("ticket")), request.body) != request.body:
                raise Broken("it sent different bytes for the same ticket")
            key, purpose = fields.get("retry_key"), (request.path, str(fields.get("ticket")))
            if key is not None and keys.setdefault(str(key), purpose) != purpose:
                raise Broken("it sent one retry_key for two purposes")
        elif request.body:
            raise Broken("it sent a body with a request that has none")


def _fields(request: Seen) -> dict[str, Any]:
    try:
        fields = json.loads(request.body or b"{}")
    except ValueError:
        fields = None
    if not isinstance(fields, dict):
        raise Broken(f"its body for the {request.kind} is not a JSON object")
    allowed = _FIELDS[request.kind]
    if set(fields) - allowed:
        raise Broken(f"its body for the {request.kind} has the unknown field {min(set(fields) - allowed)}")
    if request.kind == "answer" and (set(fields) != allowed or type(fields["answer"]) is not int):
        raise Broken("it sent an answer without its ticket or its retry_key, or one that is not a whole number")
    if "retry_key" in fields and not _RETRY_KEY.fullmatch(str(fields["retry_key"])):
        raise Broken(f"its retry_key for the {request.kind} is not 16 to 128 printable characters without blanks")
    return fields
