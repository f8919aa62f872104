"""The gateway: what of an encapsulated request is let through, which keys open it, and whose tickets it counts as."""

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from dither_client.oblivious.binary_http import Request, read_response, write_request
from dither_client.oblivious.encapsulation import (
    encapsulate,
)
from dither_server.tickets.key_ring import ACTIVE_SECONDS, PENDING_SECONDS, SKEW, TICKET_LIFE
from dither_server.tickets.secret import Keys
from testing.servers.defaults import ADMIN_TOKEN, RETRY_KEY, SECRET
from testing.servers.oblivious import JSON, ask, configuration, post, refusal
from testing.servers.site import Site, open_client, open_site, problem


def test_from_terms_to_receipt_and_a_replay_gets_the_same(site: Site) -> None:
    """A relay may send an encapsulated request again: an answer counts once all the same."""
    collection = site.create()
    path = f"/v1/collections/{collection}"
    terms = ask(site.client, "GET", path)
    assert json.loads(terms.body) == site.client.get(path).json()
    ticket = json.loads(ask(site.client, "POST", f"{path}/tickets", {}).body)["ticket"]
    answer = {"ticket": ticket, "answer": 0, "retry_key": RETRY_KEY}
    message = Request("POST", "https", "", f"{path}/responses", JSON, json.dumps(answer).encode())
    request, exchange = encapsulate(configuration(site.client), write_request(message))
    replies = [read_response(exchange.open(post(site.client, request).content)) for _ in range(3)]
    assert [reply.status for reply in replies] == [201, 200, 200]
    assert len({reply.body for reply in replies}) == 1
    assert site.stored(collection) == 1
    other = ask(site.client, "POST", f"{path}/responses", answer | {"answer": 1})
    assert refusal(other) == (409, "already-answered")


def test_the_address_before_the_servers_paths_does_not_matter(site: Site) -> None:
    collection = site.create()
    found = ask(site.client, "GET", f"/dither/of.ours/v1/collections/{collection}")
    assert json.loads(found.body)["id"] == collection


def test_a_response_has_no_headers_that_it_does_not_need(site: Site) -> None:
    found = ask(site.client, "GET", f"/v1/collections/{site.create()}", headers=(("accept-language", "de"),))
    assert {name for name, _ in found.headers} == {"content-type", "x-request-id"}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/collections"),
        ("POST", "/v1/collections"),
        ("PATCH", "/v1/collections/ID"),
        ("DELETE", "/v1/collections/ID"),
        ("GET", "/v1/collections/ID/posterior"),
        ("GET", "/v1/collections/ID/tickets"),
        ("POST", "/v1/collections/ID"),
        ("POST", "/v1/collections/ID/invitations"),
        ("POST", "/v1/collections/ID/member-counts"),
        ("POST", "/v1/collections/ID/responses/batch"),
        ("GET", "/v1/collections/ID?a=b"),
        ("GET", "/v1/collections/ID/../../keys"),
        ("GET", "/v1/collections/%49%44"),
        ("GET", "/v1/keys"),
        ("GET", "/metrics"),
        ("GET", "/"),
        ("GET", "/ohttp-keys"),
        ("POST", "/ohttp"),
        ("GET", "/v1/collections/ID/v1/collections/ID/posterior"),
        ("GET", f"/{'a' * 4096}/v1/collections/ID"),
    ],
)
def test_nothing_but_respondents_calls_goes_through(site: Site, method: str, path: str) -> None:
    path = path.replace("ID", site.create())
    assert refusal(ask(site.client, method, path, {"name": "x"})) == (403, "not-relayed")


@pytest.mark.parametrize(
    "header",
    [
        ("authorization", f"Bearer {ADMIN_TOKEN}"),
        ("cookie", "dither_session=x"),
        ("expect", "100-continue"),
    ],
)
def test_nothing_that_tells_who_asks_goes_through(site: Site, header: tuple[str, str]) -> None:
    path = f"/v1/collections/{site.create()}"
    for method, asked in (("GET", path), ("POST", f"{path}/tickets"), ("POST", "/v1/collections")):
        assert refusal(ask(site.client, method, asked, headers=(header,))) == (403, "not-relayed")


def test_what_is_no_request_is_told_so_inside(site: Site) -> None:
    request, exchange = encapsulate(configuration(site.client), b"\x07nonsense")
    reply = post(site.client, request)
    assert refusal(read_response(exchange.open(reply.content))) == (422, "invalid-body")


def test_changed_messages_get_a_response_and_break_nothing(site: Site) -> None:
    path = f"/v1/collections/{site.create()}/tickets"
    message = write_request(Request("POST", "https", "", path, JSON, b'{"count": 1}'))
    key, random = configuration(site.client), Random(7)
    found = set()
    for _ in range(400):
        changed = bytearray(message)
        for _ in range(random.randint(0, 3)):
            changed[random.randrange(len(changed))] = random.randrange(256)
        request, exchange = encapsulate(key, bytes(changed[: random.choice([len(changed), random.randrange(400)])]))
        found.add(read_response(exchange.open(post(site.client, request).content)).status)
    assert {201, 403, 422} <= found
    assert max(found) < 500


def test_requests_that_cannot_be_opened(site: Site) -> None:
    """With one sentence, which has nothing of the request, and the type that RFC 9458 gives to unknown keys."""
    own = configuration(site.client)
    public = X25519PrivateKey.generate().public_key().public_bytes_raw()
    whole, _ = encapsulate(own, bytes(100))
    for content in (
        encapsulate(own._replace(key_id=7), bytes(100))[0],
        encapsulate(own._replace(public_key=public), bytes(100))[0],
        whole[:-1],
        whole[:1] + b"\0\x10" + whole[3:],
        whole[:5] + b"\0\2" + whole[7:],
        bytes(2000),
    ):
        reply = post(site.client, content)
        kind = "https://iana.org/assignments/http-problem-types#ohttp-key"
        assert problem(reply) == (400, kind)
    assert problem(post(site.client, whole[:50])) == (422, "invalid-body")
    assert problem(post(site.client, b"")) == (422, "invalid-body")
    assert problem(post(site.client, whole, "application/json")) == (422, "invalid-body")
    assert problem(post(site.client, bytes(30_000))) == (413, "body-too-large")


def test_both_addresses_give_the_one_key(site: Site) -> None:
    assert configuration(site.client) == configuration(site.client, "/ohttp")


def test_a_key_is_replaced_with_the_tickets_key_and_opens_for_as_long_as_its_tickets(site: Site) -> None:
    path = f"/v1/collections/{site.create()}"
    first = configuration(site.client)
    site.client.post("/v1/keys", headers=site.admin)
    assert configuration(site.client) == first, "pending: not every process knows it yet"
    site.clock.now += PENDING_SECONDS + 1
    second = configuration(site.client)
    assert (second.key_id, second.public_key) != (first.key_id, first.public_key)
    for key in (first, second):
        assert ask(site.client, "GET", path, key=key).status == 200
    site.clock.now += TICKET_LIFE + SKEW
    site.client.post("/v1/keys/../keys", headers=site.admin)
    request, _ = encapsulate(first, bytes(100))
    assert post(site.client, request).status_code == 400
    assert ask(site.client, "GET", path, key=second).status == 200
    assert ACTIVE_SECONDS > TICKET_LIFE


def test_keys_follow_from_the_secret_and_are_for_nothing_else() -> None:
    keys = Keys(SECRET)
    assert keys.oblivious(0) == Keys(SECRET).oblivious(0) != Keys("another").oblivious(0)
    assert len({keys.oblivious(0), keys.oblivious(1), keys.ticket(0), keys.ticket(1), keys.receipt}) == 5


def tickets(client: Any, path: str, count: int) -> list[int]:
    return [ask(client, "POST", path, {}).status for _ in range(count)]


@pytest.mark.parametrize(("relays", "allowed"), [("", 2), ("198.51.100.0/24", 4), ("203.0.113.9", 2)])
def test_people_of_a_relay_share_its_limit(tmp_path: Path, relays: str, allowed: int) -> None:
    """One that the settings do not name has the limit of any address, together with what it asks for itself."""
    url = f"sqlite:///{tmp_path / 'test.sqlite'}"
    with open_site(url) as site:
        path = f"/v1/collections/{site.create()}/tickets"
    networks = tuple(relays.split(",")) if relays else ()
    limits: dict[str, Any] = {"tickets_per_minute": 2, "relay_tickets_per_minute": 4, "relays": networks}
    with open_client(url, "198.51.100.7", **limits) as client:
        assert tickets(client, path, allowed + 1) == [201] * allowed + [429]
        spent = allowed == 2
        assert client.post(path, json={}).status_code == (429 if spent else 201)
