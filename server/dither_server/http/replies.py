"""Whole replies: to busy calls, written to the connection at once, and the headers that all replies have."""

from collections.abc import Iterable
from typing import NamedTuple

from starlette.responses import Response
from starlette.types import Send
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

__all__ = ["SAFE_HEADERS", "Header", "Reply", "json_reply", "send_reply", "written"]

Header = tuple[bytes, bytes]

SAFE_HEADERS = [
    (b"cache-control", b"no-store"),
    (
        b"content-security-policy",
        b"default-src 'none'; style-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'",
    ),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
]
"""Headers of every reply that does not set its own, as pages do; answers and tickets are never cached."""


class Reply(NamedTuple):
    """A whole reply, with the names that Starlette's `Response` has, which takes four times as long to make."""

    status_code: int
    raw_headers: list[Header]
    body: bytes


_JSON = (b"content-type", b"application/json")


def json_reply(text: str, status: int) -> Reply:
    """A reply with this JSON."""
    body = text.encode()
    return Reply(status, [(b"content-length", b"%d" % len(body)), _JSON], body)


def written(status: int, headers: Iterable[Header], body: bytes, *, lines: bytes = b"") -> bytes:
    """A reply as it goes over the connection; `lines` are further lines of its head."""
    return b"".join([STATUS_LINE[status], *[b"%b: %b\r\n" % header for header in headers], lines, b"\r\n", body])


async def send_reply(send: Send, reply: Reply | Response, more: list[Header]) -> None:
    """Sends a whole reply with the safe headers and `more`.

    uvicorn writes a head and a body separately, which is two system calls and mostly two packets, and looks at each
    header. So what is ours goes to its connection in one piece, if that is to stay open and takes it at once.
    """
    cycle = getattr(send, "__self__", None)
    if (
        isinstance(reply, Reply)
        and isinstance(cycle, RequestResponseCycle)
        and cycle.keep_alive
        and not (cycle.disconnected or cycle.flow.write_paused)
    ):
        cycle.response_started = cycle.response_complete = True
        cycle.transport.write(written(reply.status_code, reply.raw_headers + more, reply.body, lines=_SAFE_LINES))
        cycle.message_event.set()
        cycle.on_response()
        return
    headers = [*reply.raw_headers, *SAFE_HEADERS, *more]
    await send({"type": "http.response.start", "status": reply.status_code, "headers": headers})
    await send({"type": "http.response.body", "body": reply.body})


_SAFE_LINES = b"".join(b"%b: %b\r\n" % header for header in SAFE_HEADERS)
