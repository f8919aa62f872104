from pathlib import Path

import pytest

from dither_client import parse_query
from dither_server.answers import tally
from dither_server.api.messages.answering import TicketReply, TicketsReply
from dither_server.owner.publications import read_publication
from dither_server.replicas import membership
from dither_server.tickets.packing import unpack_query
from testing.patience import PATIENCE, until
from testing.servers.defaults import ADMIN
from testing.servers.site import FakeClock, Site, open_site, problem


def test_a_ticket_comes_with_its_question(any_site: Site) -> None:
    collection = any_site.create(epsilon=0.5, transform="log", range=[1, 100])
    reply = any_site.client.post(f"/v1/collections/{collection}/tickets")
    assert reply.status_code == 201
    body = reply.json()
    TicketReply.model_validate_json(reply.content, strict=True)
    assert body.keys() == {"ticket", "query", "expires_at"}
    assert body["expires_at"] == "2027-01-16T08:00:00.000Z"
    query = parse_query(body["query"])
    assert (float(query.epsilon), query.transform) == (0.5, "log")
    assert unpack_query(any_site.service.tickets.open(body["ticket"]).query) == query


def test_many_tickets_come_in_one_reply(site: Site) -> None:
    collection = site.create()
    reply = site.client.post(f"/v1/collections/{collection}/tickets", json={"count": 500})
    TicketsReply.model_validate_json(reply.content, strict=True)
    tickets = reply.json()["tickets"]
    assert len({item["ticket"] for item in tickets}) == 500
    for item in tickets:
        assert item.keys() == {"ticket", "query", "expires_at"}


def test_issuing_writes_nothing(sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A process says that it is alive, whatever it is asked, and each second writes what it has counted.
    monkeypatch.setattr(membership, "BEAT_SECONDS", 2 * PATIENCE)
    monkeypatch.setattr(membership, "LEASE_SECONDS", 6 * PATIENCE)
    monkeypatch.setattr(tally, "_FLUSH_SECONDS", 2 * PATIENCE)
    with open_site(sqlite_url) as site:
        collection = site.create()
        site.ticket(collection)
        number = site.service.collections.get(collection).number
        until(lambda: read_publication(site.service._engine, number) is not None)  # once, for other processes
        before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
        site.tickets(collection, 1_000)
        assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    "body", [b'{"count": 0}', b'{"count": 10001}', b'{"count": true}', b'{"count": 1.0}', b'{"n": 1}']
)
def test_a_bad_count_is_refused(site: Site, body: bytes) -> None:
    collection = site.create()
    assert problem(site.client.post(f"/v1/collections/{collection}/tickets", content=body)) == (422, "invalid-body")


def test_states_decide(site: Site) -> None:
    collection = site.create()
    path = f"/v1/collections/{collection}/tickets"
    ticket = site.ticket(collection)
    assert site.set_state(collection, "paused").json()["state"] == "paused"
    assert problem(site.client.post(path)) == (409, "collection-paused")
    assert site.respond(collection, ticket).status_code == 201  # issued before
    assert site.set_state(collection, "open").json()["state"] == "open"
    late = site.ticket(collection)
    assert site.set_state(collection, "closed").json()["state"] == "closed"
    assert problem(site.client.post(path)) == (409, "collection-closed")
    assert problem(site.respond(collection, late)) == (409, "collection-closed")
    for state in ("open", "paused"):
        assert problem(site.set_state(collection, state)) == (409, "collection-closed")
    assert site.set_state(collection, "closed").status_code == 200


def test_times_decide(site: Site) -> None:
    collection = site.create(opens_at="2027-01-15T09:00:00+00:00", closes_at="2027-01-15T10:00:00Z")
    path = f"/v1/collections/{collection}/tickets"
    assert problem(site.client.post(path)) == (409, "collection-not-open")
    site.clock.now += 3600
    ticket = site.ticket(collection)
    site.clock.now += 3599
    other = site.ticket(collection)
    assert site.respond(collection, ticket).status_code == 201
    site.clock.now += 1
    assert problem(site.client.post(path)) == (409, "collection-closed")
    assert problem(site.respond(collection, other)) == (409, "collection-closed")
    assert site.client.get(f"/v1/collections/{collection}").json()["state"] == "closed"
    assert problem(site.set_state(collection, "open")) == (409, "collection-closed")


def test_a_full_collection_issues_no_tickets_also_after_a_restart(sqlite_url: str, clock: FakeClock) -> None:
    with open_site(sqlite_url, clock) as site:
        collection = site.create(max_answers=1)
        path = f"/v1/collections/{collection}/tickets"
        site.respond(collection, site.ticket(collection))
        assert problem(site.client.post(path)) == (409, "collection-full")
    with open_site(sqlite_url, clock) as site:
        assert problem(site.client.post(path)) == (409, "collection-full")


def test_a_gateways_collection_asks_for_its_token(site: Site) -> None:
    collection = site.create(admission="gateway")
    path = f"/v1/collections/{collection}/tickets"
    tokens = {
        role: site.client.post("/v1/tokens", json={"role": role, "name": role}, headers=ADMIN).json()["token"]
        for role in ("gateway", "analyst")
    }
    assert problem(site.client.post(path)) == (401, "unauthorized")
    assert problem(site.client.post(path, headers={"Authorization": f"Bearer {tokens['analyst']}"})) == (
        403,
        "forbidden",
    )
    reply = site.client.post(path, headers={"Authorization": f"Bearer {tokens['gateway']}"})
    assert reply.status_code == 201
    assert site.client.post(path, headers=ADMIN).status_code == 201
    assert site.respond(collection, reply.json()["ticket"]).status_code == 201  # the ticket is enough


def test_tickets_of_a_paused_collection_survive_a_restart(sqlite_url: str, clock: FakeClock) -> None:
    with open_site(sqlite_url, clock) as site:
        collection = site.create()
        ticket = site.ticket(collection)
        site.set_state(collection, "paused")
    with open_site(sqlite_url, clock) as site:
        assert problem(site.client.post(f"/v1/collections/{collection}/tickets")) == (409, "collection-paused")
        assert site.respond(collection, ticket).status_code == 201
