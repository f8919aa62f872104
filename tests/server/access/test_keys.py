"""The life of ticket keys: over months of a fake clock, in processes whose clocks differ and whose polls are late."""

import hashlib
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator

import pytest
from itsdangerous import Signer
from sqlalchemy import select

from dither_server.access.ticket_keys import TicketKeys
from dither_server.database.engine import make_engine, reading
from dither_server.database.schema import ticket_keys
from dither_server.tickets.key_ring import ACTIVE_SECONDS, PENDING_SECONDS, SKEW, TICKET_LIFE, KeyRing, TicketKey
from dither_server.tickets.secret import Keys
from testing.servers.defaults import ADMIN
from testing.servers.site import START, FakeClock, Site, open_site, problem


@pytest.fixture(autouse=True)
def _polls_are_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys are read when a process starts and when the test says so."""
    monkeypatch.setattr(TicketKeys, "make_next", lambda self: None)


class LateKeys:
    """What a test does with a process's keys."""

    def __init__(self, site: Site) -> None:
        self.keys: TicketKeys = site.service.keys
        self.read, self.keys.refresh = self.keys.refresh, lambda: None

    def poll(self, make: bool = True) -> None:
        self.read()
        if make and self.keys._ring.due(self.keys._clock()):
            self.keys._make(self.keys._ring.following(self.keys._clock()))
            self.read()


def number_of(ticket: str) -> int:
    return int(ticket.split(".")[0])


def states(site: Site) -> list[str]:
    return [key["state"] for key in site.service.keys.list()]


@pytest.fixture
def pair(migrated_url: str) -> Iterator[tuple[Site, Site]]:
    """Two processes with clocks of their own."""
    with open_site(migrated_url, FakeClock()) as one, open_site(migrated_url, FakeClock()) as other:
        yield one, other


def test_a_key_is_pending_then_active_then_expired(pair: tuple[Site, Site]) -> None:
    one, other = pair
    collection = one.create()
    keys = [LateKeys(site) for site in pair]
    receipts: dict[str, str] = {}

    def go(seconds: float) -> None:
        for site in pair:
            site.clock.now += seconds

    for key in keys:
        key.poll()
    before = number_of(one.ticket(collection))
    [*_, newest] = one.service.keys.list()
    go(ACTIVE_SECONDS)  # from now on the next key is due
    old = one.tickets(collection, 3)
    assert one.respond(collection, old[0]).status_code == 201
    receipts[old[0]] = other.respond(collection, old[0]).json()["receipt"]
    keys[0].poll()
    assert states(one)[-2:] == ["active", "pending"]
    go(PENDING_SECONDS - 1)
    assert number_of(one.ticket(collection)) == before or newest["state"] == "pending"
    keys[1].poll(make=False)  # late, and in time
    go(1)
    new = one.ticket(collection)
    assert number_of(new) == number_of(old[0]) + 1
    assert number_of(other.ticket(collection)) == number_of(new)
    assert states(other)[-2:] == ["expired", "active"]
    assert other.respond(collection, new).status_code == 201
    assert other.respond(collection, old[1]).status_code == 201  # of the old key, within its life
    go(TICKET_LIFE + 2 * SKEW + 1)
    for site in pair:
        assert problem(site.respond(collection, old[2])) == (410, "ticket-expired")
        again = site.respond(collection, old[0])
        assert (again.status_code, again.json()["receipt"]) == (200, receipts[old[0]])
        assert problem(site.respond(collection, old[0], 1)) == (409, "already-answered")
    go(400 * 24 * 3600)
    assert one.respond(collection, old[0]).json()["receipt"] == receipts[old[0]]
    one.check_counts()


@pytest.mark.parametrize("ahead", [-SKEW, 0, SKEW])
def test_no_ticket_is_refused_whatever_the_clocks_and_however_late_the_polls(
    pair: tuple[Site, Site], ahead: float
) -> None:
    """The other process reads keys every ten seconds, and its clock is off: everything issued is accepted."""
    one, other = pair
    other.clock.now += ahead
    collection = one.create()
    keys = [LateKeys(site) for site in pair]
    one.clock.now += ACTIVE_SECONDS
    other.clock.now += ACTIVE_SECONDS
    seen = set()
    for second in range(0, PENDING_SECONDS + 2 * SKEW, 5):
        keys[0].poll()
        if second % 10 == 5:
            keys[1].poll()
        for issuer, taker in ((one, other), (other, one)):
            ticket = issuer.ticket(collection)
            seen.add(number_of(ticket))
            assert taker.respond(collection, ticket).status_code == 201
        one.clock.now += 5
        other.clock.now += 5
    assert len(seen) == 2


def test_a_process_that_has_not_read_the_keys_for_long_asks_to_try_again(pair: tuple[Site, Site]) -> None:
    one, other = pair
    collection = one.create()
    keys = [LateKeys(site) for site in pair]
    for site in pair:
        site.clock.now += 2 * ACTIVE_SECONDS
    keys[0].poll()
    one.clock.now += PENDING_SECONDS
    other.clock.now += PENDING_SECONDS
    ticket = one.ticket(collection)
    assert problem(other.respond(collection, ticket)) == (503, "unavailable")
    assert problem(other.client.get("/readyz")) == (503, "unavailable")
    keys[1].poll()
    assert other.respond(collection, ticket).status_code == 201
    forged = "9999" + ticket[ticket.index(".") :]
    assert problem(other.respond(collection, forged)) == (403, "ticket-invalid")


def test_an_admin_rotates(database_url: str, clock: FakeClock) -> None:
    with open_site(database_url, clock) as site:
        collection = site.create()
        old = site.ticket(collection)
        made = site.client.post("/v1/keys", headers=ADMIN)
        assert made.status_code == 201
        assert [key["state"] for key in made.json()["keys"]] == ["active", "pending"]
        assert site.client.post("/v1/keys", headers=ADMIN).json() == made.json()  # it is on its way already
        clock.now += PENDING_SECONDS
        assert number_of(site.ticket(collection)) == number_of(old) + 1
    with open_site(database_url, clock) as site:
        listed = site.client.get("/v1/keys", headers=ADMIN).json()["keys"]
        assert [key["state"] for key in listed] == ["expired", "active"]
        assert listed[0]["counts_until"] is not None
        assert listed[1]["counts_until"] is None
        assert site.respond(collection, old).status_code == 201


def test_keys_are_for_admins(site: Site) -> None:
    for reply in (site.client.get("/v1/keys"), site.client.post("/v1/keys")):
        assert problem(reply) == (401, "unauthorized")


def test_two_that_make_the_next_key_make_one(pair: tuple[Site, Site]) -> None:
    for site in pair:
        site.clock.now += 2 * ACTIVE_SECONDS
    keys = [site.service.keys for site in pair]
    following = [one._ring.following(one._clock()) for one in keys]
    for one, key in zip(keys, following, strict=True):
        one._make(key)
    assert len(keys[0]._ring.keys) == len(keys[1]._ring.keys) == 2


def test_the_database_tells_a_thief_nothing_to_sign_with(sqlite_url: str) -> None:
    with open_site(sqlite_url, FakeClock()) as site:
        collection = site.create()
        ticket = site.ticket(collection)
    engine = make_engine(sqlite_url)
    with reading(engine).connect() as connection:
        rows = connection.execute(select(ticket_keys)).all()
    engine.dispose()
    assert {type(value) for row in rows for value in row} == {int}
    with open_site(sqlite_url, FakeClock(), secret="another") as site:
        assert problem(site.respond(collection, ticket)) == (403, "ticket-invalid")


def test_a_ticket_from_before_keys_had_numbers_is_good(any_site: Site) -> None:
    collection = any_site.create()
    number, payload, _ = any_site.ticket(collection).split(".")
    assert number == "0"
    signer = Signer(
        Keys("secret of the tests").ticket(0), sep=b".", key_derivation="none", digest_method=hashlib.sha256
    )
    content = urlsafe_b64decode(payload + "=" * (-len(payload) % 4))
    without_gateway = content[:28] + content[30:]
    old = signer.sign(urlsafe_b64encode(without_gateway).rstrip(b"=")).decode()
    assert old.count(".") == 1
    assert any_site.respond(collection, old).status_code == 201
    assert Keys("secret of the tests").ticket(0) == Keys("secret of the tests")._key("ticket")


def test_states_are_a_matter_of_time_alone() -> None:
    day = 24 * 3600
    ring = KeyRing([TicketKey(n, 0, int((START + 30 * n * day) * 1000)) for n in range(3)], START)
    assert [ring.state(key, START - day) for key in ring.keys] == ["active", "pending", "pending"]
    assert [ring.state(key, START + 31 * day) for key in ring.keys] == ["expired", "active", "pending"]
    assert [ring.state(key, START + 999 * day) for key in ring.keys] == ["expired", "expired", "active"]
    assert ring.last_expiry(0) == START + 30 * day + TICKET_LIFE + SKEW
    assert ring.last_expiry(2) is None
    assert not ring.due(START + 60 * day)
    assert ring.due(START + 90 * day)


def test_a_stolen_key_that_signs_no_more_makes_no_tickets_that_live_on(site: Site) -> None:
    collection = site.create()
    site.client.post("/v1/keys", headers=ADMIN)
    office = site.service.tickets
    site.clock.now += PENDING_SECONDS + TICKET_LIFE + 2 * SKEW + 1
    LateKeys(site)  # a poll would put the real keys back before the thief has forged
    ring, office.ring = office.ring, KeyRing([TicketKey(0, 0, 0)], time.time())
    forged = site.ticket(collection)  # as the thief makes it, now
    office.use(ring)
    assert number_of(forged) == 0
    assert problem(site.respond(collection, forged)) == (410, "ticket-expired")
