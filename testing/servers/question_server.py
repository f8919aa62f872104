"""A server that asks everybody one fixed question, over real sockets, and writes down what it is sent and when."""

import json
import socketserver
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from dither_client import ComponentQuery, Query
from dither_client.mechanisms.epsilon import json_epsilon
from dither_client.mechanisms.price import Value
from dither_client.mechanisms.query import Held
from testing.servers.listening import listening

__all__ = ["Heard", "QuestionServer", "asking", "named", "terms_of"]


@dataclass(frozen=True, slots=True)
class Heard:
    """One answer as it came: to which collection, what, and how long after its ticket (nanoseconds)."""

    collection: str
    answer: Any
    waited: int


@dataclass
class QuestionServer:
    """Every collection exists and asks `query`; `heard` is in the order of arrival."""

    query: Query
    url: str = ""
    heard: list[Heard] = field(default_factory=list)
    issued: dict[str, int] = field(default_factory=dict)

    def reply(self, path: str, body: bytes) -> tuple[int, Any]:
        """Status and JSON of the reply to a request that came just now."""
        collection, _, call = path.removeprefix("/v1/collections/").partition("/")
        if call == "":
            return 200, terms_of(self.query)
        if call == "tickets":
            return 201, {"ticket": collection, "query": self.query.to_json(), "expires_at": "2100-01-01T00:00:00Z"}
        arrived = time.perf_counter_ns()
        self.heard.append(Heard(collection, json.loads(body)["answer"], arrived - self.issued.pop(collection)))
        return 201, {"receipt": "receipt"}


def terms_of(query: Query) -> dict[str, Any]:
    """The JSON of terms that promise `query` and no more."""
    rho = None if query.rho is None else json_epsilon(query.rho)
    mechanism = query.query.mechanism if isinstance(query, ComponentQuery) else query.mechanism
    said = {"transform": query.transform, "mechanism": mechanism, "epsilon": json_epsilon(query.epsilon)}
    asked = {"id": "c", "name": "Values", "family": "normal", **said, "rho": rho, "state": "open", "answers": 0}
    components = {"components": _components(query)} if query.about else {}
    return {**asked, **components, "admission": "public", "visibility": "private"}


def _components(query: Query) -> list[dict[str, Any]]:
    transforms = dict(zip(query.about, getattr(query, "transforms", [query.transform]), strict=True))
    count = max(query.about[-1] + 1, 2)
    return [{"name": f"n{number}", "transform": transforms.get(number, "identity")} for number in range(count)]


def named(query: Query, held: Held) -> Value:
    """What a respondent gives who holds this, where the terms are those of `query`."""
    if isinstance(held, float | int):
        return held
    return {f"n{number}": value for number, value in enumerate(held)}


@contextmanager
def asking(query: Query) -> Iterator[QuestionServer]:
    """A server that listens on this machine, in a thread of this process."""
    questions = QuestionServer(query)

    class Handler(socketserver.StreamRequestHandler):
        disable_nagle_algorithm = True

        def handle(self) -> None:
            while request := self.rfile.readline():
                length = 0
                while (line := self.rfile.readline().strip().lower()) != b"":
                    if line.startswith(b"content-length:"):
                        length = int(line.partition(b":")[2])
                path = request.split()[1].decode()
                status, data = questions.reply(path, self.rfile.read(length))
                content = json.dumps(data).encode()
                head = f"HTTP/1.1 {status} Created\r\ncontent-type: application/json\r\ncontent-length: {len(content)}"
                if path.endswith("/tickets"):
                    questions.issued[data["ticket"]] = time.perf_counter_ns()
                self.wfile.write(head.encode() + b"\r\n\r\n" + content)

    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    with listening(server) as questions.url:
        yield questions
