"""Random sequences of everything that respondents and admins do, with restarts and jumps of the clock, against a model.

After each step: what was acknowledged is what is stored; in the end the counts are those of the answers.
"""

import secrets
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from tests.server.conftest import POSTGRES, FakeClock, Site, open_site

from dither_server.packing import purpose_of
from dither_server.tickets import SKEW, TICKET_LIFE

CHECK = {"misfit_check": 0.5, "misfit_looks": [2, 3]}


@dataclass
class Collection:
    """What the model knows of a collection."""

    id: str
    max_answers: int | None
    state: str = "open"
    answers: dict[str, int] = field(default_factory=dict)
    receipts: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Ticket:
    """A ticket, where it is from, and when it expires."""

    text: str
    collection: str
    expires_at: float


class Sequences(RuleBasedStateMachine):
    """The rules; subclasses make a fresh database."""

    collections = Bundle("collections")
    tickets = Bundle("tickets")
    answers = st.integers(0, 2)

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.url = self.fresh_url()
        self.clock = FakeClock()
        self.model: dict[str, Collection] = {}
        self.site: Site
        self.start()

    def fresh_url(self) -> str:
        """The URL of a new database, which `stack` removes."""
        raise NotImplementedError

    def start(self) -> None:
        self.running = ExitStack()
        self.site = self.running.enter_context(open_site(self.url, self.clock))

    def teardown(self) -> None:
        for collection in self.model.values():
            purposes = [purpose_of(self.site.service.tickets.open(text).query) for text in collection.answers]
            self.site.learnt(collection.id, purposes.count("training"))
            rows = self.site.service.store.counts(self.site.service.collections.get(collection.id).number, "check")
            assert sum(row.count for row in rows) == purposes.count("check")
        self.running.close()
        self.site.check_counts()
        self.stack.close()

    @rule(target=collections, max_answers=st.none() | st.integers(1, 5), checked=st.booleans())
    def create(self, max_answers: int | None, checked: bool) -> str:
        policy = {"levels": 1, "policy": "fixed:0:1", "max_answers": max_answers}
        collection = self.site.create(**policy, **(CHECK if checked else {}))
        self.model[collection] = Collection(collection, max_answers)
        return collection

    @rule(collection=collections, state=st.sampled_from(["open", "paused", "closed"]))
    def change_state(self, collection: str, state: str) -> None:
        known = self.model[collection]
        allowed = known.state != "closed" or state == "closed"
        assert self.site.set_state(collection, state).status_code == (200 if allowed else 409)
        known.state = state if allowed else known.state

    @rule(target=tickets, collection=collections)
    def ask(self, collection: str) -> Ticket:
        known = self.model[collection]
        reply = self.site.client.post(f"/v1/collections/{collection}/tickets")
        full = known.max_answers is not None and len(known.answers) >= known.max_answers
        issues = known.state == "open" and not full
        assert reply.status_code == (201 if issues else 409)
        text = reply.json()["ticket"] if issues else "no.ticket"
        return Ticket(text, collection, self.clock.now + TICKET_LIFE + SKEW)

    @rule(ticket=tickets, answer=answers)
    def respond(self, ticket: Ticket, answer: int) -> None:
        expected = self.fate(ticket, ticket.collection, answer)
        reply = self.site.respond(ticket.collection, ticket.text, answer)
        assert (reply.status_code, reply.json().get("type", "")) == expected
        self.keep_receipt(ticket, reply.json().get("receipt"))

    @rule(ticket=tickets, collection=collections, answer=answers)
    def respond_elsewhere(self, ticket: Ticket, collection: str, answer: int) -> None:
        expected = self.fate(ticket, collection, answer)
        reply = self.site.respond(collection, ticket.text, answer)
        assert (reply.status_code, reply.json().get("type", "")) == expected

    @rule(collection=collections, pairs=st.lists(st.tuples(tickets, answers), max_size=6))
    def respond_with_many(self, collection: str, pairs: list[tuple[Ticket, int]]) -> None:
        expected = [self.fate(ticket, collection, answer) for ticket, answer in pairs]
        reply = self.site.batch(collection, *((ticket.text, answer) for ticket, answer in pairs))
        items = reply.json()["responses"]
        assert [(item["status"], item.get("type", "")) for item in items] == expected
        for (ticket, _), item in zip(pairs, items, strict=True):
            self.keep_receipt(ticket, item.get("receipt"))

    @rule(seconds=st.sampled_from([1.0, 3600.0, float(TICKET_LIFE), -3600.0]))
    def let_time_pass(self, seconds: float) -> None:
        self.clock.now += seconds

    @rule()
    def restart(self) -> None:
        self.running.close()
        self.start()

    @invariant()
    def what_was_acknowledged_is_stored(self) -> None:
        for collection in self.model.values():
            assert self.site.stored(collection.id) == len(collection.answers)

    def fate(self, ticket: Ticket, collection: str, answer: int) -> tuple[int, str]:
        """Status and problem that the contract asks for; stores the answer in the model if it is to be stored."""
        known = self.model[collection]
        if ticket.text == "no.ticket":
            return 403, "urn:dither:ticket-invalid"
        if ticket.collection != collection:
            return 403, "urn:dither:ticket-foreign"
        if answer > 1:
            return 422, "urn:dither:invalid-answer"
        if ticket.text in known.answers:
            same = known.answers[ticket.text] == answer
            return (200, "") if same else (409, "urn:dither:already-answered")
        if known.state == "closed":
            return 409, "urn:dither:collection-closed"
        if self.clock.now > ticket.expires_at:
            return 410, "urn:dither:ticket-expired"
        if known.max_answers is not None and len(known.answers) >= known.max_answers:
            return 409, "urn:dither:collection-full"
        known.answers[ticket.text] = answer
        return 201, ""

    def keep_receipt(self, ticket: Ticket, receipt: str | None) -> None:
        """A ticket's receipt is the same for ever."""
        if receipt is not None:
            assert self.model[ticket.collection].receipts.setdefault(ticket.text, receipt) == receipt


class OnSqlite(Sequences):
    def fresh_url(self) -> str:
        folder = self.stack.enter_context(tempfile.TemporaryDirectory())
        return f"sqlite:///{Path(folder) / 'test.sqlite'}"


class OnPostgresql(Sequences):
    def fresh_url(self) -> str:
        name = f"dither_{secrets.token_hex(6)}"
        server = self.stack.enter_context(psycopg.connect(f"{POSTGRES}/test", autocommit=True))
        server.execute(f"CREATE DATABASE {name}")
        self.stack.callback(server.execute, f"DROP DATABASE {name} WITH (FORCE)")
        return f"postgresql+psycopg{POSTGRES.removeprefix('postgresql')}/{name}"


def run(machine: type[Sequences], examples: int) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
        ),
    )


@pytest.mark.slow
def test_sequences_on_sqlite() -> None:
    run(OnSqlite, 25)


@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.usefixtures("postgres_url")  # skips where there is none
def test_sequences_on_postgresql() -> None:
    run(OnPostgresql, 6)
