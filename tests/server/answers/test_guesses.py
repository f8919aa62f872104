"""Who has a ticket without the key of its answer learns nothing about the answer, by whatever it sends."""

import asyncio
import json
from typing import Any

import pytest
from sqlalchemy import select

from dither_server.answers import rules as ingest
from dither_server.answers.rules import Arrival, Fate, _settled, hash_retry_key
from dither_server.database.engine import make_engine, reading
from dither_server.database.schema import answers
from dither_server.tickets.office import SKEW, TICKET_LIFE
from testing.servers.defaults import ADMIN, RETRY_KEY, SPEC
from testing.servers.site import FakeClock, Site, open_async_client, open_site, problem

CELLS = range(5)
STORED = 3
KEYS = [None, "a-guess-of-a-proper-length", RETRY_KEY[:-1] + "!", RETRY_KEY + RETRY_KEY]
"""What somebody may bring who does not have the key of the answer."""


def stored(site: Site, **fields: Any) -> tuple[str, str]:
    """A collection and a ticket whose answer is stored."""
    collection = site.create(levels=4, **fields)
    ticket = site.ticket(collection)
    assert site.respond(collection, ticket, STORED).status_code == 201
    return collection, ticket


def guessed(site: Site, collection: str, ticket: str) -> list[tuple[int, bytes]]:
    """The replies to every answer with every key, singly."""
    replies = [site.respond(collection, ticket, cell, key) for cell in CELLS for key in KEYS]
    return [(reply.status_code, reply.content) for reply in replies]


def guessed_in_batches(site: Site, collection: str, ticket: str) -> list[str]:
    """The replies to the same guesses in batches: one by one, and all of them at once."""
    guesses = [answer(ticket, cell, key) for cell in CELLS for key in KEYS]
    found = []
    for batch in (*([guess] for guess in guesses), guesses, guesses[::-1]):
        items = site.send_batch(collection, batch).json()["responses"]
        assert len(items) == len(batch)
        found += [json.dumps(item) for item in items]
    return found


def answer(ticket: str, cell: int, key: str | None) -> dict[str, Any]:
    """The body of an answer."""
    return {"ticket": ticket, "answer": cell} | ({} if key is None else {"retry_key": key})


def test_every_guess_is_told_the_same(any_site: Site) -> None:
    site = any_site
    collection, ticket = stored(site)
    [(status, content)] = set(guessed(site, collection, ticket))
    assert status == 409
    assert json.loads(content)["type"] == "urn:dither:already-answered"
    [item] = set(guessed_in_batches(site, collection, ticket))
    assert json.loads(item) == {
        "status": 409,
        "type": json.loads(content)["type"],
        "detail": json.loads(content)["detail"],
    }
    assert site.stored(collection) == 1
    site.check_counts()


def test_a_server_that_tells_is_found_out(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that looks at the answers alone, as servers did before answers had keys."""

    def tells(known: tuple[int, bytes | None], arrival: Arrival) -> Fate:
        return Fate.REPEATED if known[0] == arrival.answer else Fate.TAKEN

    monkeypatch.setattr(ingest, "_settled", tells)
    collection, ticket = stored(site)
    assert {status for status, _ in guessed(site, collection, ticket)} == {200, 409}
    assert len(set(guessed_in_batches(site, collection, ticket))) == 2


def test_guesses_are_told_the_same_whatever_has_become_of_collection_and_ticket(any_site: Site) -> None:
    site = any_site
    full, its_ticket = stored(site, max_answers=1)
    collection, ticket = stored(site)
    [before] = set(guessed(site, collection, ticket))
    site.set_state(collection, "paused")
    assert set(guessed(site, collection, ticket)) == {before}
    site.clock.now += TICKET_LIFE + SKEW + 1
    assert set(guessed(site, collection, ticket)) == {before}
    site.set_state(collection, "closed")
    assert set(guessed(site, collection, ticket)) == {before}
    assert set(guessed(site, full, its_ticket)) == {before}


def test_guesses_after_a_restart_and_at_another_process_are_told_the_same(database_url: str) -> None:
    clock = FakeClock()
    with open_site(database_url, clock) as site:
        collection, ticket = stored(site)
        [before] = set(guessed(site, collection, ticket))
    with open_site(database_url, clock) as site:
        assert set(guessed(site, collection, ticket)) == {before}
        assert len(set(guessed_in_batches(site, collection, ticket))) == 1


def test_who_has_the_key_is_told_of_a_repeat_and_of_no_other_answer(any_site: Site) -> None:
    site = any_site
    collection = site.create(levels=4)
    ticket = site.ticket(collection)
    first = site.respond(collection, ticket, STORED)
    replies = {cell: site.respond(collection, ticket, cell) for cell in CELLS}
    assert {cell: reply.status_code for cell, reply in replies.items()} == {
        c: 200 if c == STORED else 409 for c in CELLS
    }
    assert replies[STORED].json() == first.json()
    assert problem(replies[0]) == (409, "already-answered")


def test_a_key_opens_the_answer_of_its_ticket_alone(any_site: Site) -> None:
    """The same key with two tickets is stored as two hashes; each of 16 bytes."""
    site = any_site
    collection = site.create(levels=4)
    tickets = site.tickets(collection, 3)
    for ticket, key in zip(tickets, (RETRY_KEY, RETRY_KEY, None), strict=True):
        site.respond(collection, ticket, STORED, key)
    engine = make_engine(site.url)
    with reading(engine).connect() as connection:
        hashes = connection.execute(select(answers.c.retry_hash)).scalars().all()
    engine.dispose()
    assert sorted(len(found or b"") for found in hashes) == [0, 16, 16]
    assert len(set(hashes)) == 3
    assert RETRY_KEY.encode() not in b"".join(found or b"" for found in hashes)


def test_of_one_ticket_twice_in_a_batch_a_guess_learns_nothing_of_the_first(any_site: Site) -> None:
    """The first answer is stored by the very transaction that the guesses come in."""
    site = any_site
    collection = site.create(levels=4)
    ticket = site.ticket(collection)
    guesses = [answer(ticket, cell, key) for cell in CELLS for key in KEYS]
    batch = [answer(ticket, STORED, RETRY_KEY), *guesses, answer(ticket, STORED, RETRY_KEY)]
    items = site.send_batch(collection, batch).json()["responses"]
    assert items[0]["status"] == 201
    assert {json.dumps(item) for item in items[1:-1]} == {json.dumps(items[1])}
    assert items[1]["status"] == 409
    assert items[-1]["status"] == 200


def test_an_answer_without_a_key_is_settled_by_what_it_is(any_site: Site) -> None:
    """As of programs that are older than keys; with a key nobody is told of it."""
    site = any_site
    collection = site.create(levels=4)
    ticket = site.ticket(collection)
    first = site.respond(collection, ticket, STORED, None)
    assert first.status_code == 201
    for cell in CELLS:
        again = site.respond(collection, ticket, cell, None)
        assert again.status_code == (200 if cell == STORED else 409)
        assert site.respond(collection, ticket, cell).status_code == 409
    assert site.respond(collection, ticket, STORED, None).json() == first.json()
    batch = [answer(ticket, cell, None) for cell in CELLS]
    statuses = [item["status"] for item in site.send_batch(collection, batch).json()["responses"]]
    assert statuses == [200 if cell == STORED else 409 for cell in CELLS]


def test_requests_at_once_are_stored_once_and_tell_guesses_nothing(database_url: str) -> None:
    """Resends with the key all get one receipt, and whoever has the ticket alone is refused, in whatever order."""

    async def test() -> None:
        async with open_async_client(database_url) as client:
            spec = SPEC | {"levels": 4}
            collection = (await client.post("/v1/collections", json=spec, headers=ADMIN)).json()["id"]
            path = f"/v1/collections/{collection}"
            for _ in range(5):
                ticket = (await client.post(f"{path}/tickets", json={})).json()["ticket"]
                own, foreign = [answer(ticket, STORED, RETRY_KEY)] * 8, [answer(ticket, c, None) for c in CELLS]
                first, *replies = await asyncio.gather(
                    *(client.post(f"{path}/responses", json=body) for body in own + foreign)
                )
                assert first.status_code == 201
                assert [reply.status_code for reply in replies] == [200] * 7 + [409] * 5
                assert {reply.content for reply in replies[:7]} == {first.content}
                assert len({reply.content for reply in replies[7:]}) == 1

    asyncio.run(test())


def test_what_keeps_no_answers_tells_none(any_site: Site) -> None:
    collection, ticket = stored(any_site, keep_answers=False)
    [(status, _)] = set(guessed(any_site, collection, ticket))
    assert status == 200


def test_operators_see_no_difference_between_guesses(site: Site) -> None:
    """Metrics and the quality report count a right guess as any other."""
    collection, ticket = stored(site)
    for cell in CELLS:
        site.respond(collection, ticket, cell, None)
    assert 'outcome="repeated"' not in site.client.get("/metrics", headers=ADMIN).text
    assert 'dither_answers_total{outcome="already-answered"} 5.0' in site.client.get("/metrics", headers=ADMIN).text


@pytest.mark.parametrize(
    "key", ["", "k" * 15, "k" * 129, "sixteen or more…", "with blanks in it", "\n" * 16, 17, True, [RETRY_KEY]]
)
def test_what_is_no_key_is_refused_and_stores_nothing(site: Site, key: object) -> None:
    collection = site.create()
    body = {"ticket": site.ticket(collection), "answer": 1, "retry_key": key}
    reply = site.client.post(f"/v1/collections/{collection}/responses", json=body)
    assert problem(reply) == (422, "invalid-body")
    assert "retry_key" in reply.json()["detail"]
    assert site.stored(collection) == 0


def test_no_comparison_depends_on_the_answer_without_the_key() -> None:
    """The time that a refusal takes does not depend on it either."""

    class Untouchable(int):
        def __eq__(self, other: object) -> bool:
            raise AssertionError("an answer was compared")

        __hash__ = int.__hash__

    key = (1, b"t" * 20)
    wrong, right = (hash_retry_key(key[1], text) for text in ("wrong", "right"))
    for given, known in ((None, right), (right, None), (wrong, right)):
        arrival = Arrival(key, b"", Untouchable(STORED), 0, False, 0, given)
        assert _settled((STORED, known), arrival) is Fate.TAKEN
