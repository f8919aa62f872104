import asyncio
import json
from collections import Counter
from typing import Any

import pytest

from dither_server.answers import writer
from dither_server.api.messages.answering import BatchReply
from dither_server.tickets.office import SKEW, TICKET_LIFE
from testing.servers.defaults import ADMIN, SPEC
from testing.servers.site import FakeClock, Site, open_async_client, open_site, problem


def test_an_answer_is_stored_once_and_its_receipt_never_changes(any_site: Site) -> None:
    collection = any_site.create()
    ticket = any_site.ticket(collection)
    first = any_site.respond(collection, ticket, 1)
    again = any_site.respond(collection, ticket, 1)
    other = any_site.respond(collection, ticket, 0)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()
    assert first.json().keys() == {"receipt"}
    assert problem(other) == (409, "already-answered")
    assert any_site.stored(collection) == 1
    any_site.check_counts()


def test_a_receipt_outlives_a_restart(database_url: str, clock: FakeClock) -> None:
    with open_site(database_url, clock) as site:
        collection = site.create()
        ticket = site.ticket(collection)
        receipt = site.respond(collection, ticket, 1).json()
    with open_site(database_url, clock) as site:
        again = site.respond(collection, ticket, 1)
        assert (again.status_code, again.json()) == (200, receipt)
        assert problem(site.respond(collection, ticket, 0)) == (409, "already-answered")
        assert site.stored(collection) == 1


@pytest.mark.parametrize("answer", [2, 7, 1024])
def test_an_answer_beyond_the_querys_is_refused(site: Site, answer: int) -> None:
    collection = site.create(levels=1)
    reply = site.respond(collection, site.ticket(collection), answer)
    assert problem(reply) == (422, "invalid-answer")
    assert "from 0 to 1" in reply.json()["detail"]
    assert site.stored(collection) == 0


@pytest.mark.parametrize(
    "answer",
    ["true", "false", "1.0", "1e0", '"1"', "null", "[1]", "{}", "-1", "1025", "9" * 400, "1e400", "NaN", "Infinity"],
)
def test_what_is_no_integer_is_refused(site: Site, answer: str) -> None:
    collection = site.create()
    ticket = site.ticket(collection)
    body = f'{{"ticket": "{ticket}", "answer": {answer}}}'
    reply = site.client.post(f"/v1/collections/{collection}/responses", content=body)
    assert problem(reply)[0] in (400, 422)
    assert problem(reply)[1] in ("malformed-json", "invalid-body")
    assert site.stored(collection) == 0
    assert site.respond(collection, ticket, 1).status_code == 201


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"", (400, "malformed-json")),
        (b"{", (400, "malformed-json")),
        (b'{"ticket": "a", "answer": 1} x', (400, "malformed-json")),
        (b'{"ticket": "\xff", "answer": 1}', (400, "malformed-json")),
        (b'{"ticket": "\\ud800", "answer": 1}', (400, "malformed-json")),
        (b"[]", (422, "invalid-body")),
        (b"null", (422, "invalid-body")),
        (b"{}", (422, "invalid-body")),
        (b'{"ticket": "a"}', (422, "invalid-body")),
        (b'{"ticket": 1, "answer": 1}', (422, "invalid-body")),
        (b'{"ticket": "a", "answer": 1, "value": 17.5}', (422, "invalid-body")),
        (b'{"ticket": "' + b"a" * 12_001 + b'", "answer": 1}', (422, "invalid-body")),
        (b'{"ticket": "a", "answer": 1}', (403, "ticket-invalid")),
        (b'{"ticket": "", "answer": 1}', (403, "ticket-invalid")),
        ('{"ticket": "ä.ö", "answer": 1}'.encode(), (403, "ticket-invalid")),
        (b'{"ticket": "' + b"a" * 20_000 + b'", "answer": 1}', (413, "body-too-large")),
        (b"[" * 200, (400, "malformed-json")),
        (b"[" * 10_000, (422, "invalid-body")),
    ],
)
def test_bad_bodies_are_refused(site: Site, body: bytes, expected: tuple[int, str]) -> None:
    collection = site.create()
    assert problem(site.client.post(f"/v1/collections/{collection}/responses", content=body)) == expected


def test_a_field_that_is_not_known_is_never_repeated(site: Site) -> None:
    collection = site.create()
    body = {"ticket": site.ticket(collection), "answer": 1, "salary-of-ada": 71234.5}
    reply = site.client.post(f"/v1/collections/{collection}/responses", json=body)
    assert problem(reply) == (422, "invalid-body")
    assert "salary" not in reply.text
    assert "71234" not in reply.text
    assert "ticket, answer" in reply.json()["detail"]


def test_a_body_is_refused_once_it_is_too_long_whatever_its_header_says(site: Site) -> None:
    collection = site.create()

    def endless() -> Any:
        for _ in range(1_000):
            yield b" " * 1_024

    reply = site.client.post(f"/v1/collections/{collection}/responses", content=endless())
    assert problem(reply) == (413, "body-too-large")
    assert reply.headers["connection"] == "close"
    reply = site.client.post(f"/v1/collections/{collection}/responses", content=b" " * 100_000)
    assert problem(reply) == (413, "body-too-large")


def test_a_ticket_of_another_collection_is_foreign(site: Site) -> None:
    mine, other = site.create(), site.create()
    ticket = site.ticket(other)
    assert problem(site.respond(mine, ticket)) == (403, "ticket-foreign")
    assert site.respond(other, ticket).status_code == 201


def test_a_ticket_of_another_server_is_invalid(site: Site, tmp_path_factory: pytest.TempPathFactory) -> None:
    collection = site.create()
    url = f"sqlite:///{tmp_path_factory.mktemp('other') / 'test.sqlite'}"
    with open_site(url, secret="another") as other:
        ticket = other.ticket(other.create())
    assert problem(site.respond(collection, ticket)) == (403, "ticket-invalid")


def test_a_collection_that_does_not_exist_is_not_found(site: Site) -> None:
    assert problem(site.respond("nothing", "x")) == (404, "not-found")


def test_a_ticket_expires(site: Site) -> None:
    collection = site.create()
    in_time, late = site.tickets(collection, 2)
    site.clock.now += TICKET_LIFE + SKEW
    assert site.respond(collection, in_time).status_code == 201
    site.clock.now += 1
    assert problem(site.respond(collection, late)) == (410, "ticket-expired")
    assert site.respond(collection, in_time).status_code == 200
    assert site.stored(collection) == 1


def test_checks_come_in_the_contracts_order(site: Site) -> None:
    collection = site.create(max_answers=1)
    stored, late = site.tickets(collection, 2)
    assert site.respond(collection, stored, 1).status_code == 201
    assert problem(site.respond(collection, late)) == (409, "collection-full")
    site.clock.now += TICKET_LIFE + SKEW + 1
    assert problem(site.respond(collection, late)) == (410, "ticket-expired")
    site.set_state(collection, "closed")
    assert problem(site.respond(collection, late)) == (409, "collection-closed")
    assert site.respond(collection, stored, 1).status_code == 200
    assert problem(site.respond(collection, stored, 0)) == (409, "already-answered")
    assert problem(site.respond(collection, stored + "x", 0)) == (403, "ticket-invalid")


def test_a_batch_has_mixed_fates_in_order(any_site: Site) -> None:
    collection, other = any_site.create(), any_site.create()
    old, late = any_site.tickets(collection, 2)
    any_site.respond(collection, old, 1)
    any_site.clock.now += TICKET_LIFE + SKEW + 1
    fresh = any_site.ticket(collection)
    foreign = any_site.ticket(other)
    pairs = [(fresh, 1), (old, 1), (old, 0), (fresh, 0), (fresh, 1), (late, 1), (foreign, 1), ("forged", 1), (fresh, 7)]
    reply = any_site.batch(collection, *pairs)
    assert reply.status_code == 200
    BatchReply.model_validate_json(reply.content, strict=True)
    items = reply.json()["responses"]
    assert [item["status"] for item in items] == [201, 200, 409, 409, 200, 410, 403, 403, 422]
    assert items[0]["receipt"] == items[4]["receipt"] != items[1]["receipt"]
    names = [item["type"].removeprefix("urn:dither:") for item in items if "type" in item]
    assert names == [
        "already-answered", "already-answered", "ticket-expired", "ticket-foreign", "ticket-invalid", "invalid-answer",
    ]  # fmt: skip
    assert any_site.stored(collection) == 2
    any_site.check_counts()


def test_a_batch_takes_ten_thousand_answers_and_no_more(site: Site) -> None:
    collection = site.create()
    tickets = site.tickets(collection, 10_000)
    reply = site.batch(collection, *((ticket, 1) for ticket in tickets))
    assert {item["status"] for item in reply.json()["responses"]} == {201}
    assert site.stored(collection) == 10_000
    too_many = site.batch(collection, *((ticket, 1) for ticket in [*tickets, tickets[0]]))
    assert problem(too_many) == (422, "invalid-body")
    assert site.learnt(collection, 10_000)
    site.check_counts()


def test_a_batch_with_a_malformed_answer_is_refused_whole(site: Site) -> None:
    collection = site.create()
    good, bad = site.tickets(collection, 2)
    body = {"responses": [{"ticket": good, "answer": 1}, {"ticket": bad, "answer": True}]}
    reply = site.client.post(f"/v1/collections/{collection}/responses/batch", json=body)
    assert problem(reply) == (422, "invalid-body")
    assert reply.json()["detail"].startswith("responses.1.answer: ")
    assert site.stored(collection) == 0


def test_an_empty_batch_is_answered_with_an_empty_list(site: Site) -> None:
    assert site.batch(site.create()).json() == {"responses": []}


def test_the_answers_a_maximum_leaves_no_room_for_are_refused(site: Site) -> None:
    collection = site.create(max_answers=3)
    tickets = site.tickets(collection, 5)
    items = site.batch(collection, *((ticket, 0) for ticket in tickets)).json()["responses"]
    assert [item["status"] for item in items] == [201, 201, 201, 409, 409]
    assert items[3]["type"] == "urn:dither:collection-full"
    assert site.stored(collection) == 3


def test_too_much_waiting_is_refused_for_now(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    collection = site.create()
    ticket = site.ticket(collection)
    with monkeypatch.context() as patch:
        patch.setattr(writer, "MAX_WAITING", 0)
        for reply in (site.respond(collection, ticket, 1), site.batch(collection, (ticket, 1))):
            assert problem(reply) == (503, "overloaded")
            assert reply.headers["retry-after"] == "1"
    assert site.respond(collection, ticket, 1).status_code == 201
    assert site.stored(collection) == 1


def test_a_maximum_holds_when_many_answer_at_once(database_url: str) -> None:
    async def test() -> None:
        async with open_async_client(database_url) as client:
            spec = SPEC | {"max_answers": 10}
            collection = (await client.post("/v1/collections", json=spec, headers=ADMIN)).json()["id"]
            path = f"/v1/collections/{collection}"
            tickets = (await client.post(f"{path}/tickets", json={"count": 64})).json()["tickets"]

            async def respond(ticket: str) -> int:
                return (await client.post(f"{path}/responses", json={"ticket": ticket, "answer": 0})).status_code

            statuses = await asyncio.gather(*(respond(item["ticket"]) for item in tickets))
            assert Counter(statuses) == {201: 10, 409: 54}
            assert (await client.get(path, headers=ADMIN)).json()["answers"] == 10

    asyncio.run(test())


def test_outcomes_are_counted_for_operators(site: Site) -> None:
    collection = site.create()
    ticket = site.ticket(collection)
    for answer in (1, 1, 0, 9):
        site.respond(collection, ticket, answer)
    site.batch(collection, ("forged", 0))
    metrics = site.client.get("/metrics", headers=ADMIN).text
    for outcome in ("stored", "repeated", "already-answered", "invalid-answer", "ticket-invalid"):
        assert f'dither_answers_total{{outcome="{outcome}"}} 1.0' in metrics
    assert json.dumps(ticket) not in metrics
