import hashlib

import hypothesis.strategies as st
import pytest
from hypothesis import given
from itsdangerous import Signer

from dither_client import Laplace, RandomizedResponse
from dither_server.errors import TicketInvalid
from dither_server.tickets.key_ring import KeyRing, TicketKey
from dither_server.tickets.office import MAX_TICKET, SKEW, TICKET_LIFE, TicketOffice
from dither_server.tickets.packing import pack_query
from dither_server.tickets.secret import Keys
from testing.servers.site import START, FakeClock

QUERY = pack_query(Laplace(6.0, 6.25, 1, "0.5", "log"))


def office(secret: str = "secret") -> TicketOffice:
    made = TicketOffice(Keys(secret), FakeClock())
    made.use(KeyRing([TicketKey(0, 0, 0)], START))
    return made


TICKET, _ = office().issue(7, QUERY)


def test_a_ticket_says_what_it_was_issued_for() -> None:
    text, expires_at = office().issue(7, QUERY)
    ticket = office().open(text)
    assert ticket.collection == 7
    assert ticket.query == QUERY
    assert expires_at == ticket.expires_at == START + TICKET_LIFE
    assert len(ticket.key) == 20
    assert int.from_bytes(ticket.key[:4], "big") == START


def test_no_two_tickets_share_a_nonce() -> None:
    assert len({office().open(office().issue(7, QUERY)[0]).key[4:] for _ in range(1_000)}) == 1_000


@given(st.integers(0, len(TICKET) - 1), st.characters(exclude_categories=["Cs"]))
def test_a_ticket_with_any_other_character_is_refused(position: int, character: str) -> None:
    changed = TICKET[:position] + character + TICKET[position + 1 :]
    if changed != TICKET:
        with pytest.raises(TicketInvalid):
            office().open(changed)


@given(st.integers(0, len(TICKET) - 1), st.integers(1, 255))
def test_a_ticket_with_any_flipped_bits_is_refused(position: int, flip: int) -> None:
    changed = bytearray(TICKET.encode())
    changed[position] ^= flip
    with pytest.raises(TicketInvalid):
        office().open(changed.decode("latin-1"))


def test_every_spelling_of_the_last_character_but_one_is_refused() -> None:
    # The last character of a signature has two bits that no decoder looks at.
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    opened = 0
    for character in alphabet:
        try:
            office().open(TICKET[:-1] + character)
            opened += 1
        except TicketInvalid:
            pass
    assert opened == 1


@given(st.text(max_size=200))
def test_what_is_no_ticket_is_refused(text: str) -> None:
    with pytest.raises(TicketInvalid):
        office().open(text)


@pytest.mark.parametrize(
    "changed", [TICKET + "=", TICKET + "A", " " + TICKET, TICKET[:-1], TICKET + "\n", "." + TICKET]
)
def test_a_ticket_with_more_or_less_is_refused(changed: str) -> None:
    with pytest.raises(TicketInvalid):
        office().open(changed)


def test_a_ticket_of_another_secret_is_refused() -> None:
    with pytest.raises(TicketInvalid):
        office("another").open(TICKET)


def test_a_receipts_key_signs_no_tickets() -> None:
    keys = Keys("secret")
    encoded, _, signature = TICKET.rpartition(".")
    for key, genuine in ((keys.ticket(0), True), (keys.receipt, False)):
        signer = Signer(key, sep=b".", key_derivation="none", digest_method=hashlib.sha256)
        assert (signer.get_signature(encoded).decode() == signature) == genuine


def test_a_ticket_expires_after_a_day_and_a_minute_of_skew() -> None:
    ticket = office().open(TICKET)
    assert TICKET_LIFE == 24 * 3600
    assert not ticket.expired(START)
    assert not ticket.expired(START + TICKET_LIFE + SKEW)
    assert ticket.expired(START + TICKET_LIFE + SKEW + 1)


def test_a_receipt_is_the_same_for_ever_and_belongs_to_one_ticket() -> None:
    key = office().open(TICKET).key
    receipt = office().receipt(key)
    assert receipt == office().receipt(key)
    assert len(bytes.fromhex(receipt)) == 16
    assert receipt != office().receipt(bytes(20))
    assert receipt != office("another").receipt(key)


def test_the_largest_ticket_is_not_too_long() -> None:
    text, _ = office().issue(2**32 - 1, pack_query(RandomizedResponse(range(1023), 50)))
    assert len(text) <= MAX_TICKET
