"""A short run of `testing.long.fuzz`, and what bodies mutated by chance do not hit: HTTP itself, broken."""

import json
import re
import socket
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from pydantic import BaseModel, ConfigDict

from dither_client import Admin
from dither_server.api.messages.answering import ResponseBody
from dither_server.app import Application
from dither_server.errors import MalformedJson
from dither_server.http.bodies import Body, parse_json, validate_body
from testing.long.fuzz import check_alive, check_schema, check_stored, prepare, rows, send_mutated
from testing.patience import PATIENCE
from testing.servers.defaults import ADMIN, ADMIN_TOKEN, SPEC
from testing.servers.served import serving
from testing.servers.site import Site, problem

Served = tuple[str, Application, str]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    database = f"sqlite:///{tmp_path_factory.mktemp('fuzz') / 'test.sqlite'}"
    with serving(database) as (url, app):
        yield url, app, database


@pytest.mark.slow
def test_mutated_bodies_break_nothing_and_store_nothing(served: Served) -> None:
    """2,500 bodies over real HTTP: no 5xx, no undocumented status, stored is what was acknowledged."""
    url, _, database = served
    targets = prepare(url, ADMIN_TOKEN)
    before = rows(database)
    statuses = send_mutated(url, ADMIN_TOKEN, targets, 2_500, seed=4)
    check_stored(database, before, statuses)
    check_alive(url, ADMIN_TOKEN)
    sent = sum(counts.total() for call, counts in statuses.items() if "/v1" in call)
    refused = sum(counts[400] + counts[422] for counts in statuses.values())
    assert sent == 2_500
    assert refused > sent / 2
    # The check can fail: one row that nobody acknowledged is noticed.
    with pytest.raises(AssertionError, match="acknowledged"):
        check_stored(database, before | {"answers": before["answers"] - 1}, statuses)


@pytest.mark.slow
@pytest.mark.parametrize("who", ["admin", pytest.param("gateway", marks=pytest.mark.long), "nobody"])
def test_the_running_server_does_what_its_document_says(served: Served, who: str, tmp_path: Path) -> None:
    url, app, _ = served
    with Admin(url, ADMIN_TOKEN) as admin:
        gateway = str(admin.create_token("gateway", "an institution")["token"])
    token = {"admin": ADMIN_TOKEN, "gateway": gateway}.get(who)
    calls = {operation["operationId"] for path in app.openapi()["paths"].values() for operation in path.values()}
    before = _succeeded(app)
    check_schema(url, token, ADMIN_TOKEN, 3, 1, tmp_path)
    check_alive(url, ADMIN_TOKEN)
    # What a request never gets past would be no test of what is behind it.
    expected = {
        "admin": calls - {"stream_posterior", "share_member_counts", "forward"},
        "gateway": {"share_member_counts"},
    }
    assert {call for call, times in (_succeeded(app) - before).items() if times} >= expected.get(who, set())


def _succeeded(app: Application) -> Counter[str]:
    """How often each call has succeeded, by the server's own metrics."""
    text = app.service.metrics.exposition(ready=True).decode()
    found = re.findall(r'dither_request_seconds_count\{call="(\w+)",status="2\d\d"\} (\d+)', text)
    succeeded: Counter[str] = Counter()
    for call, times in found:
        succeeded[call] += int(times)
    return succeeded


HEAD = "POST /v1/collections/{id}/tickets HTTP/1.1\r\nHost: a\r\n"
BROKEN = {
    "chunk that is no number": HEAD + "Transfer-Encoding: chunked\r\n\r\nzz\r\n{{}}\r\n0\r\n\r\n",
    "chunk that is longer than its size": HEAD + "Transfer-Encoding: chunked\r\n\r\n1\r\n{{}}\r\n0\r\n\r\n",
    "negative chunk": HEAD + "Transfer-Encoding: chunked\r\n\r\n-1\r\n{{}}\r\n0\r\n\r\n",
    "enormous chunk": HEAD + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n{{}}\r\n",
    "chunk without an end": HEAD + "Transfer-Encoding: chunked\r\n\r\n5\r\n{{}}",
    "two lengths": HEAD + "Content-Length: 2\r\nContent-Length: 7\r\n\r\n{{}}",
    "length and chunks": HEAD + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n",
    "negative length": HEAD + "Content-Length: -2\r\n\r\n{{}}",
    "length that is no number": HEAD + "Content-Length: two\r\n\r\n{{}}",
    "too short": HEAD + "Content-Length: 200\r\n\r\n{{}}",
    "unknown coding": HEAD + "Transfer-Encoding: gzip\r\n\r\n{{}}",
    "no version": "POST /v1/collections/{id}/tickets\r\n\r\n",
    "no HTTP": "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "null in a header": HEAD + "X: a\x00b\r\nContent-Length: 2\r\n\r\n{{}}",
    "null in the path": "GET /v1/collections/%00 HTTP/1.1\r\nHost: a\r\n\r\n",
    "raw bytes in the path": "GET /v1/collections/\xff\xfe HTTP/1.1\r\nHost: a\r\n\r\n",
    "folded header": HEAD + "X: a\r\n b\r\nContent-Length: 2\r\n\r\n{{}}",
    "long header": HEAD + "X: " + "a" * 200_000 + "\r\n\r\n",
    "many headers": HEAD + "X: a\r\n" * 20_000 + "\r\n",
    "unknown method": "BREW /v1/collections HTTP/1.1\r\nHost: a\r\n\r\n",
    "long path": "GET /" + "a" * 100_000 + " HTTP/1.1\r\nHost: a\r\n\r\n",
    "odd token": "GET /v1/tokens HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer \xff\xfe\r\n\r\n",
    "upgrade": "GET /v1/collections HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
}


@pytest.mark.parametrize("request_text", BROKEN.values(), ids=BROKEN)
def test_broken_http_is_refused_or_dropped_and_stores_nothing(served: Served, request_text: str) -> None:
    url, _, database = served
    made = httpx2.post(f"{url}/v1/collections", json=SPEC, headers=ADMIN, timeout=PATIENCE).json()
    before = rows(database)
    host, port = httpx2.URL(url).host, httpx2.URL(url).port
    with socket.create_connection((host, port), timeout=PATIENCE) as connection:
        connection.sendall(request_text.format(id=made["id"]).encode("latin-1"))
        connection.shutdown(socket.SHUT_WR)
        reply = b""
        while part := _receive(connection):
            reply += part
    statuses = [int(line.split()[1]) for line in reply.split(b"\r\n") if line.startswith(b"HTTP/1.1 ")]
    assert all(status < 500 for status in statuses), reply
    assert rows(database) == before
    assert httpx2.get(f"{url}/readyz", timeout=PATIENCE).status_code == 200


def _receive(connection: socket.socket) -> bytes:
    try:
        return connection.recv(65_536)
    except ConnectionResetError:
        return b""


DUPLICATES = [
    '{"ticket": "t", "answer": 1, "answer": 0}',
    '{"ticket": "t", "answer": 1, "answer": 1}',
    '{"ticket": "t", "answer": 1, "\\u0061nswer": 0}',
    '{"ticket": "a:b", "ticket": "t", "answer": 1}',
    '{"ticket" : "t", "answer" : 1, "ticket" : "t"}',
]


@pytest.mark.parametrize("body", DUPLICATES)
def test_a_name_twice_is_no_json(body: str) -> None:
    for parse in (parse_json, lambda raw: validate_body(ResponseBody, raw)):
        with pytest.raises(MalformedJson):
            parse(body.encode())


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid")
    a: int = 0
    b: str = ""


class _Whole(Body):
    parts: list[_Part]
    name: str = ""


@pytest.mark.parametrize(
    ("body", "fine"),
    [
        ('{"parts": []}', True),
        ('{"parts": [{"a": 1}, {"b": "x"}, {}, {"a": 1, "b": ":"}], "name": "a:b: \\u003a"}', True),
        ('{"parts": [{"a": 1, "a": 2}]}', False),
        ('{"parts": [{}, {}], "parts": [{"a": 1}]}', False),
        ('{"name": "x", "parts": [{"b": "::"}, {"b": "x", "b": "y"}]}', False),
        ('{"name": ":", "name": "x", "parts": []}', False),
    ],
)
def test_a_name_twice_is_found_wherever_it_is_and_colons_in_texts_are_not_taken_for_one(body: str, fine: bool) -> None:
    if fine:
        assert validate_body(_Whole, body.encode()) == _Whole.model_validate(json.loads(body))
    else:
        with pytest.raises(MalformedJson):
            validate_body(_Whole, body.encode())


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "\ud800"},
        {"prior": {"\ud800": {}}},
        {"family": "\udfff"},
        {"epsilon": 10**400},
        {"range": [0, 10**400]},
    ],
)
def test_what_no_text_or_float_holds_is_refused(site: Site, fields: dict[str, Any]) -> None:
    reply = site.client.post("/v1/collections", content=json.dumps(SPEC | fields).encode(), headers=ADMIN)
    assert problem(reply) in ((400, "malformed-json"), (422, "invalid-body"))
    assert site.client.get("/v1/collections", headers=ADMIN).json() == {"collections": []}


@pytest.mark.parametrize("depth", [1, 5, 20, 31, 33, 500, 900])
@pytest.mark.parametrize("field", ["s", "dist", "loc"])
def test_nested_values_are_refused_at_any_depth(site: Site, depth: int, field: str) -> None:
    """500 lists in each other, in a prior, once were an internal error."""
    nested = json.loads("[" * depth + "]" * depth)
    spec = SPEC | {"prior": {"sigma": {"dist": "lognorm", "s": 1, field: nested}}}
    reply = site.client.post("/v1/collections", content=json.dumps(spec).encode(), headers=ADMIN)
    assert problem(reply) in ((400, "malformed-json"), (422, "invalid-body"))
    reply = site.client.post("/v1/collections", content=json.dumps(SPEC | {"goal": nested}).encode(), headers=ADMIN)
    assert problem(reply) in ((400, "malformed-json"), (422, "invalid-body"))


def test_a_duplicated_field_of_a_collection_is_refused(site: Site) -> None:
    body = json.dumps(SPEC)[:-1] + ', "epsilon": 5}'
    reply = site.client.post("/v1/collections", content=body.encode(), headers=ADMIN)
    assert problem(reply) == (400, "malformed-json")
    assert "no repeated name" in reply.json()["detail"]
