"""What strangers send costs little, whatever it is: refused before it is read, parsed or built. Work is counted."""

import json
import threading
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError
from sqlalchemy import event
from starlette.requests import Request
from starlette.testclient import TestClient

from dither_client.posterior.wire import PosteriorReply, to_json
from dither_server.access.limits import READS_OF_ADDRESS
from dither_server.api.messages.answering import BatchBody, ResponseBody, TicketsBody
from dither_server.errors import InvalidBody
from dither_server.http import bodies, problems
from dither_server.http.bodies import (
    MAX_ANSWER_BODY,
    MAX_BATCH_BODY,
    MAX_TICKET_BODY,
    MAX_UNKNOWN_BATCH_BODY,
    Body,
    validate_body,
)
from dither_server.owner import published
from dither_server.pages import exports
from testing.patience import PATIENCE, until
from testing.servers.defaults import ADMIN, SPEC
from testing.servers.site import Site, open_client, open_site, problem

STRANGER = "192.0.2.7"
CALLS = {
    "tickets": MAX_TICKET_BODY,
    "responses": MAX_ANSWER_BODY,
    "responses/batch": MAX_UNKNOWN_BATCH_BODY,
}
MEGABYTES = 2_000_000


def names(size: int) -> bytes:
    """An object of unknown names."""
    return b"{" + b",".join(b'"a%07d":0' % i for i in range(size // 12)) + b"}"


HOSTILE = {
    "names": names(250_000),
    "empty answers": b'{"responses":[' + b"{}," * 80_000 + b"{}]}",
    "short answers": b'{"responses":[' + b'{"ticket":"","answer":0},' * 9_900 + b"{}]}",
    "numbers": b'{"responses":[' + b"0," * 120_000 + b"0]}",
    "depth": b'{"responses":' + b"[" * 240_000,
    "digits": b'{"answer":' + b"1" * 250_000 + b"}",
}


def stranger(site_url: str, **settings: Any) -> TestClient:
    """A client that is not on the server's machine."""
    return open_client(site_url, STRANGER, **settings)


def create(client: TestClient, **fields: Any) -> str:
    return str(client.post("/v1/collections", json=SPEC | fields, headers=ADMIN).json()["id"])


class Counted:
    """Stands for a function and counts its calls."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.calls = 0
        self._function = function

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        self.calls += 1
        return self._function(*arguments, **named)


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the bodies that a validator was given."""
    sizes: list[int] = []
    for model in (TicketsBody, ResponseBody, BatchBody):
        monkeypatch.setattr(model, "__pydantic_validator__", Watched(model.__pydantic_validator__, sizes))
    return sizes


class Watched:
    """A validator that notes what it is given."""

    def __init__(self, validator: Any, sizes: list[int]) -> None:
        self._validator = validator
        self._sizes = sizes

    def validate_json(self, body: bytes, **named: Any) -> Any:
        self._sizes.append(len(body))
        return self._validator.validate_json(body, **named)


@pytest.mark.parametrize("call", CALLS)
def test_a_body_that_says_it_is_too_long_is_not_read(
    site: Site, call: str, monkeypatch: pytest.MonkeyPatch, parsed: list[int]
) -> None:
    collection = site.create()
    read = Counted(Request.stream)
    monkeypatch.setattr(Request, "stream", lambda self: read(self))
    reply = site.client.post(f"/v1/collections/{collection}/{call}", content=b" " * (CALLS[call] + 1))
    assert problem(reply) == (413, "body-too-large")
    assert (read.calls, parsed) == (0, [])


@pytest.mark.parametrize("call", CALLS)
def test_a_body_in_chunks_is_read_up_to_its_limit_and_not_parsed(site: Site, call: str, parsed: list[int]) -> None:
    collection = site.create()
    chunks = (b" " * 1_000 for _ in range(2 * CALLS[call] // 1_000))
    reply = site.client.post(f"/v1/collections/{collection}/{call}", content=chunks)
    assert problem(reply) == (413, "body-too-large")
    assert parsed == []


@pytest.mark.parametrize("what", HOSTILE)
def test_a_batch_of_a_stranger_is_counted_before_it_is_parsed(site: Site, what: str, parsed: list[int]) -> None:
    collection = site.create()
    path = f"/v1/collections/{collection}/responses/batch"
    tracemalloc.start()
    try:
        reply = site.client.post(path, content=HOSTILE[what])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert reply.status_code in (400, 413, 422)
    assert peak < MEGABYTES
    if what != "digits":  # one number, which the parser gives up
        assert parsed == []


@pytest.mark.parametrize("model", [TicketsBody, ResponseBody, BatchBody])
def test_of_everything_that_is_wrong_one_error_is_built(model: type[Body], monkeypatch: pytest.MonkeyPatch) -> None:
    """With as many unknown names as the largest body holds: 20 bytes of memory for each byte would be one each."""
    monkeypatch.setattr(model, "most_marks", 10**9)  # the second line of defence, by itself
    content = names(100_000)
    tracemalloc.start()
    try:
        with pytest.raises(InvalidBody, match=r"^There are more than 16 errors; the fields are: "):
            validate_body(model, content)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 20 * len(content)


def test_a_batch_fails_at_its_first_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    content = b'{"responses":[' + b",".join([b'{"answer":0}'] * 5_000) + b"]}"
    seen: list[int] = []
    real = problems.invalid

    def watched(error: ValidationError, model: type[BaseModel]) -> Exception:
        seen.append(error.error_count())
        return real(error, model)

    monkeypatch.setattr(bodies, "invalid", watched)
    with pytest.raises(InvalidBody, match=r"^responses\.0\.ticket: "):
        validate_body(BatchBody, content)
    assert seen == [1]


def test_a_gateways_batch_may_be_large_and_a_strangers_may_not(site: Site) -> None:
    collection = site.create()
    responses = [{"ticket": ticket, "answer": 0} for ticket in site.tickets(collection, 600)]
    path = f"/v1/collections/{collection}/responses/batch"
    reply = site.client.post(path, json={"responses": responses})
    assert problem(reply) == (413, "body-too-large")
    assert "at most 500 answers" in reply.json()["detail"]
    analyst = site.client.post("/v1/tokens", json={"role": "analyst"}, headers=ADMIN).json()["token"]
    bearer = {"Authorization": f"Bearer {analyst}"}
    assert site.client.post(path, json={"responses": responses}, headers=bearer).status_code == 413
    assert site.stored(collection) == 0
    assert site.client.post(path, json={"responses": responses[:500]}).status_code == 200
    gateway = site.client.post("/v1/tokens", json={"role": "gateway"}, headers=ADMIN).json()["token"]
    bearer = {"Authorization": f"Bearer {gateway}"}
    assert site.client.post(path, json={"responses": responses}, headers=bearer).status_code == 200
    assert site.stored(collection) == 600
    assert site.client.post(path, content=b" " * (MAX_BATCH_BODY + 1), headers=bearer).status_code == 413


def test_a_limit_is_asked_before_the_body_is_read(sqlite_url: str, parsed: list[int]) -> None:
    """Sixty thousand digits of ε: whoever has had its share does not have them read."""
    with stranger(sqlite_url, tickets_per_minute=2) as client:
        collection = create(client, epsilon_choices=[0.5, 1])
        digits = b'{"epsilon":0.' + b"1" * 3_000 + b"}"
        path = f"/v1/collections/{collection}/tickets"
        statuses = [client.post(path, content=digits).status_code for _ in range(4)]
        assert statuses == [400, 400, 429, 429]  # what is refused for its content costs a ticket, too
        assert len(parsed) == 2
        assert client.post(path, content=b'{"epsilon":0.' + b"1" * 60_000 + b"}").status_code == 429


def test_a_ticket_request_has_no_room_for_many_digits(site: Site, parsed: list[int]) -> None:
    collection = site.create(epsilon_choices=[0.5, 1])
    path = f"/v1/collections/{collection}/tickets"
    assert site.client.post(path, content=b'{"epsilon":0.' + b"1" * 60_000 + b"}").status_code == 413
    assert site.client.post(path, content=b'{"epsilon":' + b"1" * 60_000 + b"}").status_code == 413
    assert parsed == []
    assert site.client.post(path, content=b'{"epsilon":0.' + b"1" * 1_000 + b"}").status_code == 400


def test_without_a_token_the_bucket_is_the_bound(sqlite_url: str) -> None:
    with stranger(sqlite_url, tickets_per_minute=5) as client:
        collection = create(client)
        path = f"/v1/collections/{collection}/tickets"
        never = client.post(path, json={"count": 10_000})
        assert problem(never) == (422, "invalid-body")
        assert "at most 5 tickets" in never.json()["detail"]
        assert client.post(path, json={"count": 3}).status_code == 201
        later = client.post(path, json={"count": 3})
        assert problem(later) == (429, "too-many-tickets")
        assert 1 <= int(later.headers["retry-after"]) <= 24
        # What can never be granted cost one ticket, like every request; what was refused for now cost nothing.
        assert client.post(path, json={"count": 1}).status_code == 201
        assert client.post(path, json={}).status_code == 429


def test_a_gateway_may_ask_for_more_than_an_address(sqlite_url: str) -> None:
    with stranger(sqlite_url, tickets_per_minute=5) as client:
        collection = create(client, admission="gateway")
        reply = client.post(f"/v1/collections/{collection}/tickets", json={"count": 50}, headers=ADMIN)
        assert len(reply.json()["tickets"]) == 50


@pytest.mark.parametrize("kind", ["token", "collection"])
def test_a_guess_reads_one_row_however_many_there_are(any_site: Site, kind: str) -> None:
    for _ in range(3):
        any_site.client.post("/v1/tokens", json={"role": "analyst"}, headers=ADMIN)
        any_site.create()
    asked: list[str] = []

    def note(*given: Any) -> None:
        if threading.current_thread().name != "dither-poller":  # which reads all tokens now and then
            asked.append(given[2])

    event.listen(any_site.service.access._engine, "before_cursor_execute", note)
    if kind == "token":
        collection = any_site.create()
        asked.clear()
        headers = {"Authorization": "Bearer dither_admin_guess"}
        assert any_site.client.get(f"/v1/collections/{collection}/posterior", headers=headers).status_code == 401
    else:
        assert any_site.client.get("/v1/collections/guess").status_code == 404
    table = {"token": "FROM tokens", "collection": "FROM collections"}[kind]
    whole = [text for text in asked if table in text and "WHERE" not in text]
    assert whole == []
    assert len([text for text in asked if table in text]) >= 1


def test_an_address_has_a_hundred_parameters_at_most(site: Site) -> None:
    assert problem(site.client.get("/v1/collections?" + "a=1&" * 100)) == (422, "invalid-body")
    assert site.client.get("/v1/collections?" + "a=1&" * 50).status_code == 200


def test_many_forged_tickets_in_a_batch_of_a_stranger_end_it(site: Site) -> None:
    collection = site.create()
    path = f"/v1/collections/{collection}/responses/batch"
    genuine = {"ticket": site.ticket(collection), "answer": 0}
    forged = [{"ticket": "1." + "A" * 72 + "." + "B" * 43, "answer": 0}] * 101
    opened = Counted(site.service.tickets.open)
    site.service.tickets.open = opened
    assert problem(site.client.post(path, json={"responses": [genuine, *forged * 4]})) == (403, "ticket-invalid")
    assert opened.calls == 102
    assert site.stored(collection) == 0
    replies = site.client.post(path, json={"responses": [genuine, *forged[:100]]}).json()["responses"]
    assert [reply["status"] for reply in replies] == [201] + [403] * 100
    replies = site.client.post(path, json={"responses": forged}, headers=ADMIN).json()["responses"]
    assert [reply["status"] for reply in replies] == [403] * 101


@pytest.mark.parametrize(
    "content",
    [
        json.dumps({"ticket": "a", "answer": 0}).encode("utf-16"),
        b"\xef\xbb\xbf" + b'{"ticket":"a","answer":0}',
        b'{"ticket":"\xff","answer":0}',
        b"\x1f\x8b\x08\x00" + b"\x00" * 100,
        b'{"ticket":"a","answer":' + b"1" * 5_000 + b"}",
        b'{"ticket":"a","answer":1e9999}',
    ],
)
def test_other_encodings_are_not_json(site: Site, content: bytes) -> None:
    collection = site.create()
    reply = site.client.post(
        f"/v1/collections/{collection}/responses", content=content, headers={"Content-Encoding": "gzip"}
    )
    assert reply.status_code in (400, 422)


def test_a_private_collection_is_not_listed_and_not_counted(sqlite_url: str) -> None:
    with open_site(sqlite_url) as site:
        private, public = site.create(name="Private wages"), site.create(name="Open wages", visibility="public")
        for collection in (private, public):
            site.respond(collection, site.ticket(collection))
        listed = site.client.get("/v1/collections").json()["collections"]
        assert [one["id"] for one in listed] == [public]
        assert "Private wages" not in site.client.get("/").text
        terms = site.client.get(f"/v1/collections/{private}").json()
        assert (terms["name"], terms["epsilon"], terms["answers"]) == ("Private wages", 1, None)
        assert site.client.get(f"/v1/collections/{public}").json()["answers"] == 1
        assert "1 answer" not in site.client.get(f"/collections/{private}").text
        made = site.client.post("/v1/tokens", json={"role": "analyst", "collections": [public]}, headers=ADMIN).json()
        for token, known in (("the-admin-token", {private, public}), (made["token"], {public}), ("wrong", {public})):
            bearer = {"Authorization": f"Bearer {token}"}
            found = site.client.get("/v1/collections", headers=bearer).json()["collections"]
            assert {one["id"] for one in found} == known
            answers = site.client.get(f"/v1/collections/{private}", headers=bearer).json()["answers"]
            assert answers == (1 if private in known else None)


def test_one_setting_opens_the_list(sqlite_url: str) -> None:
    with open_site(sqlite_url, public_listing=True) as site:
        private = site.create(name="Private wages")
        listed = site.client.get("/v1/collections").json()["collections"]
        assert [(one["id"], one["answers"]) for one in listed] == [(private, 0)]
        assert site.client.get(f"/v1/collections/{private}").json()["answers"] == 0
        assert "Private wages" in site.client.get("/").text
        assert site.client.get(f"/v1/collections/{private}/queries").status_code == 401


def test_long_reads_leave_the_threads_of_short_calls_alone(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many read a large table at once, terms are told, and one address can have only so many under way."""
    collection = site.create(visibility="public")
    begun, go_on = threading.Semaphore(0), threading.Event()

    def slow(*_: object) -> bytes:
        begun.release()
        assert go_on.wait(PATIENCE)
        return b""

    monkeypatch.setattr(exports, "_written", slow)
    path = f"/collections/{collection}/export/counts.csv"
    with ThreadPoolExecutor(READS_OF_ADDRESS) as readers:
        reads = [readers.submit(site.client.get, path) for _ in range(READS_OF_ADDRESS)]
        assert begun.acquire(timeout=PATIENCE)
        until(lambda: sum(site.service.reads._open.values()) == READS_OF_ADDRESS)
        assert site.client.get(f"/v1/collections/{collection}").status_code == 200
        refused = site.client.get(f"/v1/collections/{collection}/queries")
        assert (problem(refused), refused.headers["retry-after"]) == ((503, "overloaded"), "1")
        go_on.set()
        assert {read.result().status_code for read in reads} == {200}
    assert site.client.get(f"/v1/collections/{collection}/queries").status_code == 200


def test_a_posterior_is_written_once_for_all_who_read_it(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of hundreds of groups has megabytes: writing them for each stream would keep everybody else waiting."""
    written: list[PosteriorReply] = []

    def noted(value: Any) -> Any:
        written.extend([value] if isinstance(value, PosteriorReply) else [])
        return to_json(value)

    monkeypatch.setattr(published, "to_json", noted)
    collection = site.answered([40, 50, 60])
    written.clear()
    with ThreadPoolExecutor(8) as readers:
        path = f"/v1/collections/{collection}/posterior"
        replies = list(readers.map(lambda _: site.client.get(path).content, range(32)))
    assert len(set(replies)) == 1
    assert len(written) <= 1
