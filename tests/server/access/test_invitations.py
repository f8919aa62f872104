"""One code, one ticket, ever: lost replies, races, thieves, restarts."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import httpx2
import pytest
from sqlalchemy import insert, select

from dither_server.access.invitations import Invitation
from dither_server.database.engine import make_engine, reading
from dither_server.database.schema import answers, collections, invitations
from dither_server.errors import InvitationUsed
from dither_server.tickets.office import SKEW, TICKET_LIFE
from testing.servers.defaults import ADMIN
from testing.servers.site import FakeClock, Site, open_site, problem

KEY = "a retry key of the respondent's own".replace(" ", "-")
OTHER = "another-retry-key-altogether"
FIRST_SEAL = "afd5442b2f02e59cc2c6154bfea8c5bdd05b6f0f3ed19f6a9293f131ca258a5a49de"


def invite(site: Site, collection: str, count: int = 1) -> list[str]:
    reply = site.client.post(f"/v1/collections/{collection}/invitations", json={"count": count}, headers=ADMIN)
    assert reply.status_code == 201, reply.text
    return list(reply.json()["invitations"])


def redeem(site: Site, collection: str, code: str, key: str = KEY, **more: Any) -> httpx2.Response:
    body = {"invitation": code, "retry_key": key, **more}
    return site.client.post(f"/v1/collections/{collection}/tickets", json=body)


def redeem_patiently(site: Site, collection: str, code: str, key: str) -> httpx2.Response:
    """Redeems a code as clients do: a 503, of a database that could not write in its time, is asked again."""
    for _ in range(5):
        reply = redeem(site, collection, code, key)
        if reply.status_code != 503:
            break
    return reply


def tally(site: Site, collection: str) -> dict[str, int]:
    return dict(site.client.get(f"/v1/collections/{collection}/invitations", headers=ADMIN).json())


def test_an_invitation_is_worth_one_ticket_which_may_be_asked_for_again(any_site: Site) -> None:
    site = any_site
    collection = site.create(admission="invite")
    first, second = invite(site, collection, 2)
    assert tally(site, collection) == {"made": 2, "redeemed": 0}
    reply = redeem(site, collection, first)
    assert reply.status_code == 201
    for _ in range(3):
        assert redeem(site, collection, first).json() == reply.json()
    assert tally(site, collection) == {"made": 2, "redeemed": 1}
    assert problem(redeem(site, collection, first, OTHER)) == (409, "invitation-used")
    assert redeem(site, collection, second, OTHER).json()["ticket"] != reply.json()["ticket"]
    assert site.respond(collection, reply.json()["ticket"], 1).status_code == 201
    assert redeem(site, collection, first).json() == reply.json()
    assert site.learnt(collection, 1)
    assert tally(site, collection) == {"made": 2, "redeemed": 2}


def test_nobody_gets_in_without_an_invitation_of_the_collection(site: Site) -> None:
    collection, elsewhere = site.create(admission="invite"), site.create(admission="invite")
    path = f"/v1/collections/{collection}/tickets"
    assert problem(site.client.post(path)) == (403, "invitation-invalid")
    assert problem(site.client.post(path, headers=ADMIN)) == (403, "invitation-invalid")
    assert problem(redeem(site, collection, "w7kq2mzt9hxc4vbn8rdy3jpaef")) == (403, "invitation-invalid")
    [code] = invite(site, elsewhere)
    assert problem(redeem(site, collection, code)) == (403, "invitation-invalid")
    for body, field in (
        ({"invitation": code}, "retry_key"),
        ({"invitation": code, "retry_key": "short"}, "retry_key"),
        ({"invitation": code, "retry_key": KEY, "count": 2}, "count"),
        ({"invitation": "a b", "retry_key": KEY}, "invitation"),
    ):
        reply = site.client.post(f"/v1/collections/{elsewhere}/tickets", json=body)
        assert problem(reply) == (422, "invalid-body")
        assert field in reply.json()["detail"]
        assert code not in reply.text
    assert tally(site, elsewhere) == {"made": 1, "redeemed": 0}


def test_a_collection_that_needs_none_says_so(site: Site) -> None:
    collection = site.create()
    reply = site.client.post(f"/v1/collections/{collection}/invitations", json={"count": 1}, headers=ADMIN)
    assert problem(reply) == (409, "not-by-invitation")
    assert problem(redeem(site, collection, "code")) == (409, "not-by-invitation")
    assert tally(site, collection) == {"made": 0, "redeemed": 0}


def test_a_refusal_does_not_use_the_invitation_up(site: Site) -> None:
    collection = site.create(admission="invite", epsilon_choices=[0.5, 1])
    [code] = invite(site, collection)
    site.set_state(collection, "paused")
    assert problem(redeem(site, collection, code)) == (409, "collection-paused")
    site.set_state(collection, "open")
    assert problem(redeem(site, collection, code, epsilon=3)) == (422, "invalid-body")
    assert tally(site, collection)["redeemed"] == 0
    ticket = redeem(site, collection, code, epsilon=0.5).json()
    assert ticket["query"]["epsilon"] == 0.5
    site.set_state(collection, "paused")
    # A ticket that was given stays given, and at the ε that was chosen first.
    assert redeem(site, collection, code, epsilon=1).json() == ticket


def test_an_expired_ticket_is_not_replaced_since_its_question_was_asked(site: Site) -> None:
    collection = site.create(admission="invite")
    [code] = invite(site, collection)
    assert redeem(site, collection, code).status_code == 201
    site.clock.now += TICKET_LIFE + SKEW + 1
    assert problem(redeem(site, collection, code)) == (410, "ticket-expired")
    assert tally(site, collection) == {"made": 1, "redeemed": 1}


def test_invitations_survive_a_restart_and_another_secret_cannot_use_their_tickets(
    database_url: str, clock: FakeClock
) -> None:
    with open_site(database_url, clock) as site:
        collection = site.create(admission="invite")
        used, unused = invite(site, collection, 2)
        ticket = redeem(site, collection, used).json()
    with open_site(database_url, clock) as site:
        assert redeem(site, collection, used).json() == ticket
        assert redeem(site, collection, unused).status_code == 201
    with open_site(database_url, clock, secret="a new one") as site:
        assert problem(redeem(site, collection, used)) == (410, "ticket-expired")


@pytest.mark.parametrize("same_key", [True, False])
def test_requests_at_once_on_two_servers_get_one_ticket_for_a_code(database_url: str, same_key: bool) -> None:
    """Two applications with writers of their own on one database: nothing but the database is between them."""
    rounds, racers = 20, 4
    with ExitStack() as stack:
        sites = [stack.enter_context(open_site(database_url, FakeClock())) for _ in range(1)]
        collection = sites[0].create(admission="invite")
        codes = invite(sites[0], collection, rounds)
        sites.append(stack.enter_context(open_site(database_url, FakeClock())))
        barrier = threading.Barrier(racers)

        def race(racer: int) -> list[httpx2.Response]:
            replies = []
            for code in codes:
                barrier.wait()
                key = KEY if same_key else f"{KEY}-{racer}"
                replies.append(redeem_patiently(sites[racer % 2], collection, code, key))
            return replies

        with ThreadPoolExecutor(racers) as pool:
            outcomes = list(zip(*pool.map(race, range(racers)), strict=True))
        for replies in outcomes:
            statuses = sorted(reply.status_code for reply in replies)
            assert statuses == ([201] * racers if same_key else [201, 409, 409, 409])
            assert len({reply.json()["ticket"] for reply in replies if reply.status_code == 201}) == 1
        assert tally(sites[0], collection) == {"made": rounds, "redeemed": rounds}


def test_what_is_stored_opens_with_code_and_retry_key_alone(site: Site) -> None:
    collection = site.create(admission="invite")
    codes = invite(site, collection, 3)
    tickets = [redeem(site, collection, code, KEY + code).json()["ticket"] for code in codes]
    for ticket in tickets:
        site.respond(collection, ticket, 0)
    engine = make_engine(site.url)
    with reading(engine).connect() as connection:
        stored = connection.execute(select(invitations)).all()
        rows = [*stored, *connection.execute(select(answers)).all(), *connection.execute(select(collections)).all()]
        keys = {row.ticket for row in connection.execute(select(answers))}
    engine.dispose()
    assert len(stored) == 3
    assert not any(secret in str(rows) for secret in (*codes, *tickets))
    for row in stored:
        assert not any(key in row.sealed or row.hash in key for key in keys)
        opened = [code for code in codes if _opens(Invitation(row.collection, code, KEY + code), row.sealed)]
        assert len(opened) == 1
        assert not any(_opens(Invitation(row.collection, code, KEY), row.sealed) for code in codes)
        assert not any(_opens(Invitation(row.collection + 1, code, KEY + code), row.sealed) for code in codes)


def test_a_seal_of_the_first_servers_still_opens() -> None:
    """Made by the code before: of collection 3, its code and retry key."""
    sealed = bytes.fromhex(FIRST_SEAL)
    assert Invitation(3, "w7kq2mzt9hxc4vbn8rdy3jpaef", KEY).open(sealed) == "1.ticket.signature"
    with pytest.raises(InvitationUsed):
        Invitation(3, "w7kq2mzt9hxc4vbn8rdy3jpaef", OTHER).open(sealed)
    with pytest.raises(InvitationUsed):
        Invitation(4, "w7kq2mzt9hxc4vbn8rdy3jpaef", KEY).open(sealed)


def test_a_seal_that_was_changed_opens_no_more() -> None:
    holder = Invitation(3, "w7kq2mzt9hxc4vbn8rdy3jpaef", KEY)
    sealed = holder.seal("1.ticket.signature")
    assert holder.open(sealed) == "1.ticket.signature"
    for at in range(len(sealed)):
        changed = sealed[:at] + bytes([sealed[at] ^ 1]) + sealed[at + 1 :]
        with pytest.raises(InvitationUsed):
            holder.open(changed)


def _opens(invitation: Invitation, sealed: bytes) -> bool:
    from dither_server.errors import InvitationUsed

    try:
        invitation.open(sealed)
    except InvitationUsed:
        return False
    return True


def test_codes_are_all_different_and_their_making_is_bounded(site: Site) -> None:
    collection = site.create(admission="invite")
    codes = invite(site, collection, 10_000)
    assert len(set(codes)) == 10_000
    assert {len(code) for code in codes} == {26}
    for count in (0, 10_001, "1", 1.5, None):
        reply = site.client.post(f"/v1/collections/{collection}/invitations", json={"count": count}, headers=ADMIN)
        assert problem(reply) == (422, "invalid-body")
    assert tally(site, collection) == {"made": 10_000, "redeemed": 0}


def test_only_an_admin_makes_and_counts_them(site: Site) -> None:
    collection = site.create(admission="invite")
    path = f"/v1/collections/{collection}/invitations"
    for role, expected in (("analyst", 403), ("gateway", 403)):
        made = site.client.post("/v1/tokens", json={"role": role}, headers=ADMIN).json()
        headers = {"Authorization": f"Bearer {made['token']}"}
        assert site.client.post(path, json={"count": 1}, headers=headers).status_code == expected
        assert site.client.get(path, headers=headers).status_code == expected
    assert site.client.post(path, json={"count": 1}).status_code == 401
    assert site.client.get(path).status_code == 401


def test_a_code_that_was_made_twice_is_refused_by_the_database(database_url: str, reopen: Callable[..., Any]) -> None:
    with reopen(database_url) as site:
        site.create(admission="invite")
        engine = make_engine(database_url)
        from sqlalchemy.exc import IntegrityError

        for number, row in enumerate(({"collection": 1, "hash": b"h" * 32}, {"collection": 9, "hash": b"h" * 32})):
            with engine.begin() as connection:
                if not number:
                    connection.execute(insert(invitations), row)
            with pytest.raises(IntegrityError), engine.begin() as connection:
                connection.execute(insert(invitations), row)
        engine.dispose()
