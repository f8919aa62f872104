"""A server of the protocol made of the standard library: real sockets, scripted questions, failures on demand."""

import json
import threading
from collections import deque
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from dither_client.mechanisms.registry import parse_query
from testing.servers.listening import listening

__all__ = [
    "CATEGORIES",
    "GAUSSIAN",
    "GROUPED",
    "LAPLACE",
    "LAPLACE_ID",
    "RANDOMIZED",
    "Failure",
    "FakeServer",
    "Recorded",
]

LAPLACE = {"mechanism": "laplace", "low": 0.0, "high": 1.0, "levels": 4, "epsilon": 1, "transform": "identity"}
LAPLACE_ID = parse_query(LAPLACE).id
GAUSSIAN = {**LAPLACE, "mechanism": "gaussian", "rho": 0.25, "epsilon": 0.75}
RANDOMIZED = {"mechanism": "randomized_response", "cuts": [-0.5, 0.5], "epsilon": 0.5, "transform": "identity"}

GROUPED = {
    "mechanism": "grouped_randomized_response",
    "groups": [[0, 2], [1]],
    "epsilon": 1,
    "transform": "identity",
}
CATEGORIES = ["never", "weekly", "3"]


@dataclass(frozen=True)
class Recorded:
    """One request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class Failure:
    """What goes wrong with one request: with no status the connection is cut, after the work if `late`."""

    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    late: bool = False


Reply = tuple[int, Any]


class FakeServer:
    """Every collection in `questions` is open; any `failures` are used up by the next requests, one each."""

    def __init__(self) -> None:
        self.questions: dict[str, Any] = {"laplace": LAPLACE, "randomized": RANDOMIZED}
        self.state = "open"
        self.failures: deque[Failure | None] = deque()
        self.requests: list[Recorded] = []
        self.answers: dict[str, int] = {}
        self._keys: dict[str, str] = {}
        self.refusals: dict[str, Reply] = {}
        """A reply by path, with or without its query string, instead of the usual one."""
        self.streams: deque[bytes] = deque()
        """What the next connections to a stream bring before they end."""
        self.tokens: dict[str, dict[str, str]] = {}
        self._tickets = 0
        self._lock = threading.Lock()
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                fake._handle(self, Recorded(self.command, self.path, dict(self.headers.items()), body))

            do_GET = do_POST = do_PATCH = do_DELETE = handle_any

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._running = ExitStack()
        self.url = self._running.enter_context(listening(ThreadingHTTPServer(("127.0.0.1", 0), Handler)))

    def close(self) -> None:
        self._running.close()

    def sent_to(self, path: str) -> list[bytes]:
        """The bodies of the requests to a path, in order."""
        return [request.body for request in self.requests if request.path == path]

    def _handle(self, handler: BaseHTTPRequestHandler, request: Recorded) -> None:
        with self._lock:
            self.requests.append(request)
            failure = self.failures.popleft() if self.failures else None
            status, data = (0, None) if failure and not failure.late else self._reply(request)
        if failure and failure.status is None:
            handler.close_connection = True
            return
        if failure:
            assert failure.status is not None
            self._send(handler, failure.status, failure.headers, failure.body)
        else:
            headers = {"content-type": "application/json"} if status < 400 else {}
            body = data if isinstance(data, bytes) else b"" if data is None else json.dumps(data).encode()
            self._send(handler, status, headers, body)

    @staticmethod
    def _send(handler: BaseHTTPRequestHandler, status: int, headers: Mapping[str, str], body: bytes) -> None:
        handler.send_response(status)
        for name, value in {**headers, "content-length": str(len(body))}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)

    def _reply(self, request: Recorded) -> Reply:
        path = urlsplit(request.path).path
        for address in (request.path, path):
            if address in self.refusals:
                return self.refusals[address]
        if path == "/v1/collections":
            if request.method == "POST":
                spec = json.loads(request.body)
                self.questions[spec["name"]] = LAPLACE
                return 201, self.terms(spec["name"])
            return 200, {"collections": [self.terms(name) for name in self.questions]}
        if path.startswith("/v1/tokens"):
            return self._token(request, path)
        name, _, call = path.removeprefix("/v1/collections/").partition("/")
        if name not in self.questions:
            return problem(404, "not-found", "there is no such collection")
        return self._collection(request, name, call)

    def _collection(self, request: Recorded, name: str, call: str) -> Reply:
        if request.method == "PATCH":
            self.state = json.loads(request.body)["state"]
        if call == "":
            return 200, self.terms(name)
        if call == "tickets":
            return self._ticket(name)
        if call == "responses":
            return self._response(json.loads(request.body))
        if call == "answers":
            return 200, answers_page(parse_qs(urlsplit(request.path).query))
        if call == "quality":
            return 200, {"warnings": []}
        if call == "posterior/stream":
            return 200, self.streams.popleft()
        return 200, ANALYST[call]

    def _ticket(self, name: str) -> Reply:
        if self.state != "open":
            return problem(409, f"collection-{self.state}", f"the collection is {self.state}")
        self._tickets += 1
        ticket = f"{name}-{self._tickets}"
        return 201, {"ticket": ticket, "query": self.questions[name], "expires_at": "2026-01-02T00:00:00Z"}

    def _response(self, data: dict[str, Any]) -> Reply:
        ticket, answer, key = data["ticket"], data["answer"], data["retry_key"]
        first = self.answers.setdefault(ticket, answer) == answer and f"{ticket}!" not in self.answers
        if self.answers[ticket] != answer or self._keys.setdefault(ticket, key) != key:
            return problem(409, "already-answered", "this ticket has another answer")
        self.answers[f"{ticket}!"] = 1
        return 201 if first else 200, {"receipt": f"receipt-of-{ticket}"}

    def _token(self, request: Recorded, path: str) -> Reply:
        if request.method == "POST":
            asked = json.loads(request.body)
            token = {"id": f"t{len(self.tokens) + 1}", **asked, "created_at": "2026-01-01T00:00:00Z"}
            self.tokens[token["id"]] = token
            return 201, {**token, "token": "the-secret"}
        if request.method == "DELETE":
            if self.tokens.pop(path.rpartition("/")[2], None) is None:
                return problem(404, "not-found", "there is no such token")
            return 204, None
        return 200, {"tokens": list(self.tokens.values())}

    def terms(self, name: str) -> dict[str, Any]:
        query = self.questions[name]
        return {
            "id": name,
            "name": f"The {name} one",
            "family": "normal",
            "transform": query["transform"],
            "epsilon": query["epsilon"],
            "rho": query.get("rho"),
            "mechanism": query["mechanism"],
            "goal": "all",
            "policy": "adaptive",
            "levels": None,
            "categories": CATEGORIES if "groups" in query else None,
            "state": self.state,
            "answers": len(self.answers) // 2,
            "created_at": "2026-01-01T00:00:00Z",
            "opens_at": None,
            "closes_at": None,
            "max_answers": None,
            "admission": "public",
            "visibility": "private",
            "advice": None,
        }


def problem(status: int, name: str, detail: str) -> Reply:
    return status, {"type": f"urn:dither:{name}", "title": name, "status": status, "detail": detail}


def answers_page(window: dict[str, list[str]]) -> dict[str, Any]:
    """Twenty-five answers, as many at a time as are asked for."""
    start, limit = int(window.get("after", ["0"])[0]), int(window["limit"][0])
    rows = [
        {"ticket": f"{n:032x}", "query_id": LAPLACE_ID, "answer": n % 3, "received_at": "2026-01-01T00:00:00Z"}
        for n in range(start, min(start + limit, 25))
    ]
    return {"answers": rows, "next": str(start + limit) if start + limit < 25 else None}


def _summary(mean: float, sd: float) -> dict[str, float]:
    spread = {"q05": -1.645, "q25": -0.674, "q50": 0.0, "q75": 0.674, "q95": 1.645}
    return {"mean": mean, "sd": sd, **{name: mean + sd * z for name, z in spread.items()}}


POSTERIOR: dict[str, Any] = {
    "posterior": {"mu": _summary(50.0, 2.0), "sigma": _summary(10.0, 1.0)},
    "covariance": [[4.0, 0.1], [0.1, 1.0]],
    "answers": 1234,
    "answers_by_epsilon": {"1": 1234},
    "ess": 800.5,
    "log_evidence": -321.5,
    "particles": 4,
    "moves": 3,
    "queries": 2,
    "poison": {"share": 0.01, "shift": {"mu": 0.05, "sigma": None}},
    "updated_at": "2026-01-01T00:00:00Z",
}

ANALYST: dict[str, Any] = {
    "posterior": POSTERIOR,
    "posterior/history": {"history": [{"answers": 10, "at": "2026-01-01T00:00:00Z", "ess": 9.0, "query": LAPLACE}]},
    "posterior/particles": {
        "parameters": ["mu", "sigma"],
        "particles": [[52.0, 11.0], [48.0, 9.0], [50.0, 10.0], [49.0, 10.5]],
        "weights": [0.1, 0.2, 0.4, 0.3],
    },
    "queries": {
        "queries": [
            {"id": "a", "query": LAPLACE, "answers": 15, "counts": [5, 4, 3, 2, 1]},
            {"id": "b", "query": RANDOMIZED, "answers": 6, "counts": [1, 2, 3]},
        ]
    },
}
