"""A server that replies as a script says, and records every request byte for byte.

Without a script it is honest: it sends terms, issues tickets, and stores the first answer to each ticket.
"""

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["TERMS", "HostileServer", "Reply", "Seen", "problem"]

TERMS: Mapping[str, Any] = {
    "name": "Conformance", "family": "normal", "transform": "identity", "epsilon": 1, "epsilon_choices": None,
    "rho": None, "mechanism": "laplace", "levels": None, "state": "open", "admission": "public", "answers": 0,
    "visibility": "private", "opens_at": None, "closes_at": None, "max_answers": None, "advice": None, "notice": None,
}  # fmt: skip

QUESTION: Mapping[str, Any] = {
    "mechanism": "laplace", "low": -16, "high": 136, "levels": 17, "epsilon": 1, "transform": "identity",
}  # fmt: skip


@dataclass(frozen=True)
class Seen:
    """One request as it arrived. `kind` is `terms`, `ticket`, `answer` or `other`."""

    kind: str
    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    at: float


@dataclass(frozen=True)
class Reply:
    """How the server treats one request; it replies honestly unless `status` or `body` is given.

    `cut` ends the connection without a reply after the request has been processed. `kill` does the same, but kills the
    client first.
    """

    status: int | None = None
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: bool = False
    kill: bool = False
    seconds: float = 0.0
    """How long sending the body takes, byte by byte."""


def problem(status: int, name: str) -> Reply:
    """A refusal with a problem document."""
    body = {"type": f"urn:dither:{name}", "title": name, "status": status, "detail": f"refused as {name}"}
    return Reply(status, json.dumps(body).encode())


class HostileServer:
    """A hostile server on its own port, used as a context; it calls `kill` for replies that kill the client."""

    def __init__(self, kill: Callable[[], None]) -> None:
        self.terms: dict[str, Any] = dict(TERMS)
        self.question: Any = dict(QUESTION)
        self.headers: dict[str, str] = {}
        """Headers added to every reply."""
        self.script: dict[str, deque[Reply]] = {kind: deque() for kind in ("terms", "ticket", "answer", "other")}
        """Replies to the next requests of each kind."""
        self.always: dict[str, Reply] = {}
        """Replies to every request of a kind whose script is empty."""
        self.together: threading.Barrier | None = None
        """If set, requests for tickets wait for each other here."""
        self.seen: list[Seen] = []
        self.stored: dict[str, int] = {}
        """The stored answer of each ticket."""
        self._keys: dict[str, object] = {}
        """The retry key that each ticket's answer came with."""
        self._kill = kill
        self._lock = threading.Lock()
        self._invited: dict[tuple[str, str], str] = {}
        self._tickets = 0
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 60

            def handle_any(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                server._handle(self, body)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = handle_any

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._http = _Http(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> "HostileServer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def forget(self) -> None:
        """Discards everything recorded, and numbers tickets from 1 again."""
        with self._lock:
            self.seen, self.stored, self._keys, self._tickets = [], {}, {}, 0

    def of(self, kind: str) -> list[Seen]:
        """The requests of a kind, in order of arrival."""
        return [seen for seen in list(self.seen) if seen.kind == kind]

    def honest_text(self, kind: str) -> tuple[int, bytes]:
        """The status and the body of an honest reply to the first request of a kind, about the collection `c`."""
        if kind == "answer":
            return 201, b'{"receipt": "receipt-of-ticket-1"}'
        return self._honest(kind, "/v1/collections/c", b"")

    def _handle(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        kind = _kind(handler.command, handler.path)
        seen = Seen(kind, handler.command, handler.path, tuple(handler.headers.items()), body, time.monotonic())
        with self._lock:
            self.seen.append(seen)
            reply = self.script[kind].popleft() if self.script[kind] else self.always.get(kind, Reply())
            honest = self._honest(kind, handler.path, body) if reply.status is None else (reply.status, b"")
        if kind == "ticket" and self.together is not None:
            with suppress(threading.BrokenBarrierError):
                self.together.wait(10)
        if reply.kill:
            self._kill()
        if reply.cut or reply.kill:
            handler.close_connection = True
            return
        status, content = honest
        content = content if reply.body is None else reply.body
        _send(handler, status, content, {**self.headers, **reply.headers}, reply.seconds)

    def _honest(self, kind: str, path: str, body: bytes) -> tuple[int, bytes]:
        if kind == "terms":
            return 200, json.dumps({"id": path.rsplit("/", 1)[1], **self.terms}).encode()
        if kind == "ticket":
            fields = {"ticket": self._ticket(body), "query": self.question, "expires_at": "2026-02-01T12:00:00.000Z"}
            text = json.dumps(fields)
            return 201, text.replace(json.dumps(self.question), _text(self.question)).encode()
        if kind == "answer":
            return self._store(body)
        return 404, problem(404, "not-found").body or b""

    def _ticket(self, body: bytes) -> str:
        """Issues a new ticket, or repeats the one issued for the same invitation and key."""
        asked = _object(body)
        key = (str(asked.get("invitation")), str(asked.get("retry_key")))
        self._tickets += 1
        fresh = f"ticket-{self._tickets}"
        return fresh if "invitation" not in asked else self._invited.setdefault(key, fresh)

    def _store(self, body: bytes) -> tuple[int, bytes]:
        fields = _object(body)
        ticket, answer, key = str(fields.get("ticket")), fields.get("answer"), fields.get("retry_key")
        if not isinstance(answer, int):
            return 422, problem(422, "invalid-body").body or b""
        repeated = ticket in self.stored
        if repeated and (key is None or (self._keys[ticket], self.stored[ticket]) != (key, answer)):
            return 409, problem(409, "already-answered").body or b""
        self.stored[ticket], self._keys[ticket] = answer, key
        return 200 if repeated else 201, json.dumps({"receipt": f"receipt-of-{ticket}"}).encode()


class _Http(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignores errors of connections, since clients are killed and may stop reading."""


def _kind(method: str, path: str) -> str:
    match (method, path.split("/")):
        case ("GET", ["", "v1", "collections", _]):
            return "terms"
        case ("POST", ["", "v1", "collections", _, "tickets"]):
            return "ticket"
        case ("POST", ["", "v1", "collections", _, "responses"]):
            return "answer"
    return "other"


def _text(question: Any) -> str:
    """A question as JSON; a question that is already text is sent unchanged, valid or not."""
    return question if isinstance(question, str) else json.dumps(question)


def _object(body: bytes) -> dict[str, Any]:
    try:
        data = json.loads(body or b"{}")
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}


def _send(
    handler: BaseHTTPRequestHandler, status: int, content: bytes, headers: Mapping[str, str], seconds: float
) -> None:
    try:
        handler.send_response_only(status)
        for name, value in {"content-type": "application/json", **headers, "content-length": str(len(content))}.items():
            handler.send_header(name, value)
        handler.end_headers()
        if seconds:
            for i in range(len(content)):
                time.sleep(seconds / len(content))
                handler.wfile.write(content[i : i + 1])
        else:
            handler.wfile.write(content)
    except OSError:
        handler.close_connection = True
