"""Random sequences of what respondents and admins do, with crashes, restarts and jumps of the clock, against a model.

    python -m testing.long.sequences [NUMBER]

runs so many (2,000), a tenth of them on PostgreSQL; the tests run some. After each step: what was acknowledged is what
is stored and what is counted. A process has one database of each kind, which is emptied for each sequence.
"""

import atexit
import logging
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from pathlib import Path

from fastapi import FastAPI
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from sqlalchemy import Connection, Engine, Table, delete, func, insert, select
from starlette.testclient import TestClient

from dither_server.database import schema
from dither_server.database.engine import make_engine, transact, upgrade, writing
from dither_server.tickets.office import SKEW, TICKET_LIFE
from dither_server.tickets.packing import purpose_of
from testing.databases import check_counts, driver_url, new_database
from testing.servers.defaults import ADMIN, RETRY_KEY
from testing.servers.site import START, FakeClock, Site, make_application
from testing.tables import print_table

__all__ = ["STEPS", "OnPostgresql", "OnSqlite", "Sequences", "main", "run"]

STEPS = 20
FIRST_KEY = {"number": 0, "created_at": int(START * 1000), "signs_from": int(START * 1000)}
"""What a migrated database has besides its tables."""
CHECK = {"misfit_check": 0.5, "misfit_looks": [2, 3]}
_SEQUENCES = 2_000
_TOLD_EVERY = 100


@dataclass
class Collection:
    """What the model knows of a collection."""

    id: str
    max_answers: int | None
    keeps: bool
    state: str = "open"
    answers: dict[str, int] = field(default_factory=dict)
    keys: dict[str, str | None] = field(default_factory=dict)
    """What each answer was sent with."""
    receipts: dict[str, str] = field(default_factory=dict)

    @property
    def full(self) -> bool:
        return self.max_answers is not None and len(self.answers) >= self.max_answers

    @property
    def shown(self) -> str:
        """The state as the terms name it."""
        return "closed" if self.full else self.state


@dataclass(frozen=True)
class Ticket:
    """A ticket, where it is from, and when it expires."""

    text: str
    collection: str
    expires_at: float


class Sequences(RuleBasedStateMachine):
    """The rules; subclasses have a database."""

    collections = Bundle("collections")
    tickets = Bundle("tickets")
    answers = st.integers(0, 2)
    keys = st.sampled_from([RETRY_KEY, RETRY_KEY, RETRY_KEY, f"not-{RETRY_KEY}", None])

    def __init__(self) -> None:
        super().__init__()
        self.engine = self.database()
        transact(writing(self.engine), _clear)
        self.app, self.clock = _application(self.engine.url.render_as_string(hide_password=False))
        self.clock.now = START
        self.model: dict[str, Collection] = {}
        self.site: Site
        self.start()

    def database(self) -> Engine:
        """A database of this process's own."""
        raise NotImplementedError

    def start(self) -> None:
        self.changed = False
        """Whether anything has happened since: starts are the dear part, and one after the other they show nothing."""
        self.running = ExitStack()
        self.app.state.stopping.clear()
        self.site = Site(self.running.enter_context(TestClient(self.app)), self.clock, "")

    def teardown(self) -> None:
        for collection in self.model.values():
            purposes = [purpose_of(self.site.service.tickets.open(text).query) for text in collection.answers]
            self.site.learnt(collection.id, purposes.count("training"))
            rows = self.site.service.store.counts(self.site.service.collections.get(collection.id).number, "check")
            assert sum(row.count for row in rows) == purposes.count("check")
        self.running.close()
        check_counts(self.engine)

    @rule(target=collections, max_answers=st.none() | st.integers(1, 5), checked=st.booleans(), keeps=st.booleans())
    def create(self, max_answers: int | None, checked: bool, keeps: bool) -> str:
        policy = {"levels": 1, "policy": "fixed:0:1", "max_answers": max_answers, "keep_answers": keeps}
        self.changed = True
        collection = self.site.create(**policy, **(CHECK if checked else {}))
        self.model[collection] = Collection(collection, max_answers, keeps)
        return collection

    @rule(collection=collections, state=st.sampled_from(["open", "paused", "closed"]))
    def change_state(self, collection: str, state: str) -> None:
        self.changed = True
        known = self.model[collection]
        allowed = known.shown != "closed" or state == "closed"
        assert self.site.set_state(collection, state).status_code == (200 if allowed else 409)
        known.state = state if allowed else known.state

    @rule(target=tickets, collection=collections)
    def ask(self, collection: str) -> Ticket:
        known = self.model[collection]
        reply = self.site.client.post(f"/v1/collections/{collection}/tickets")
        issues = known.shown == "open"
        assert reply.status_code == (201 if issues else 409)
        text = reply.json()["ticket"] if issues else "no.ticket"
        return Ticket(text, collection, self.clock.now + TICKET_LIFE + SKEW)

    @rule(ticket=tickets, answer=answers, key=keys)
    def respond(self, ticket: Ticket, answer: int, key: str | None = RETRY_KEY) -> None:
        expected = self.fate(ticket, ticket.collection, answer, key)
        reply = self.site.respond(ticket.collection, ticket.text, answer, key)
        assert (reply.status_code, reply.json().get("type", "")) == expected
        self.keep_receipt(ticket, reply.json().get("receipt"))

    @rule(ticket=tickets)
    def respond_again(self, ticket: Ticket) -> None:
        """The same answer with the same key; or, unless there is one, the first."""
        known = self.model[ticket.collection]
        self.respond(ticket, known.answers.get(ticket.text, 1), known.keys.get(ticket.text, RETRY_KEY))

    @rule(ticket=tickets)
    def respond_otherwise(self, ticket: Ticket) -> None:
        """Another answer than the one that is stored."""
        self.respond(ticket, 1 - self.model[ticket.collection].answers.get(ticket.text, 1))

    @rule(ticket=tickets, answer=answers)
    def respond_too_late(self, ticket: Ticket, answer: int) -> None:
        """Answers while the clock says that the ticket has expired."""
        now, self.clock.now = self.clock.now, ticket.expires_at + 1
        self.respond(ticket, answer)
        self.clock.now = now

    @rule(ticket=tickets, collection=collections, answer=answers)
    def respond_elsewhere(self, ticket: Ticket, collection: str, answer: int) -> None:
        expected = self.fate(ticket, collection, answer, RETRY_KEY)
        reply = self.site.respond(collection, ticket.text, answer)
        assert (reply.status_code, reply.json().get("type", "")) == expected

    @rule(collection=collections, many=st.lists(st.tuples(tickets, answers, keys), max_size=6))
    def respond_with_many(self, collection: str, many: list[tuple[Ticket, int, str | None]]) -> None:
        expected = [self.fate(ticket, collection, answer, key) for ticket, answer, key in many]
        # A key that is null is none.
        bodies = [{"ticket": ticket.text, "answer": answer, "retry_key": key} for ticket, answer, key in many]
        items = self.site.send_batch(collection, bodies).json()["responses"]
        assert [(item["status"], item.get("type", "")) for item in items] == expected
        for (ticket, _, _), item in zip(many, items, strict=True):
            self.keep_receipt(ticket, item.get("receipt"))

    @rule(seconds=st.sampled_from([1.0, 3600.0, float(TICKET_LIFE), -3600.0, -2.0 * TICKET_LIFE]))
    def let_time_pass(self, seconds: float) -> None:
        self.clock.now += seconds

    @precondition(lambda self: self.changed)
    @rule()
    def restart(self) -> None:
        self.running.close()
        self.start()

    @precondition(lambda self: self.changed)
    @rule()
    def crash(self) -> None:
        """Nothing more is written: what is not committed by now, as the last snapshot, is lost."""
        self.site.service.writer._stopping = True
        self.running.close()
        # The dead process's place has expired.
        transact(writing(self.engine), lambda connection: connection.execute(delete(schema.replicas)))
        self.start()

    @invariant()
    def what_was_acknowledged_is_stored_and_counted(self) -> None:
        with self.engine.connect() as connection:
            kept, spent = (_rows(connection, table) for table in (schema.answers, schema.spent_tickets))
        model = {collection.id: collection for collection in self.model.values() if collection.answers}
        assert kept == {name: len(known.answers) for name, known in model.items() if known.keeps}
        assert spent == {name: len(known.answers) for name, known in model.items() if not known.keeps}
        terms = self.site.client.get("/v1/collections", headers=ADMIN).json()["collections"]
        told = {one["id"]: (one["answers"], one["state"]) for one in terms}
        assert told == {known.id: (len(known.answers), known.shown) for known in self.model.values()}
        check_counts(self.engine)

    def fate(self, ticket: Ticket, collection: str, answer: int, key: str | None) -> tuple[int, str]:
        """Status and problem that the contract asks for; stores the answer in the model if it is to be stored."""
        self.changed = True
        known = self.model[collection]
        if ticket.text == "no.ticket":
            return 403, "urn:dither:ticket-invalid"
        if ticket.collection != collection:
            return 403, "urn:dither:ticket-foreign"
        if answer > 1:
            return 422, "urn:dither:invalid-answer"
        if ticket.text in known.answers:
            same = (known.keys[ticket.text], known.answers[ticket.text]) == (key, answer)
            same |= not known.keeps
            return (200, "") if same else (409, "urn:dither:already-answered")
        if known.state == "closed":
            return 409, "urn:dither:collection-closed"
        if self.clock.now > ticket.expires_at:
            return 410, "urn:dither:ticket-expired"
        if known.full:
            return 409, "urn:dither:collection-full"
        known.answers[ticket.text], known.keys[ticket.text] = answer, key
        return 201, ""

    def keep_receipt(self, ticket: Ticket, receipt: str | None) -> None:
        """A ticket's receipt is the same for ever."""
        if receipt is not None:
            assert self.model[ticket.collection].receipts.setdefault(ticket.text, receipt) == receipt


def _clear(connection: Connection) -> None:
    for table in reversed(schema.metadata.sorted_tables):
        if table is not schema.audit_log:  # which refuses it
            connection.execute(delete(table))
    connection.execute(insert(schema.ticket_keys).values(FIRST_KEY))


def _rows(connection: Connection, table: Table) -> dict[str, int]:
    """How many rows each collection has there."""
    query = select(schema.collections.c.id, func.count()).join_from(
        table, schema.collections, table.c.collection == schema.collections.c.number
    )
    return {row[0]: row[1] for row in connection.execute(query.group_by(schema.collections.c.id))}


class OnSqlite(Sequences):
    def database(self) -> Engine:
        return _sqlite()


class OnPostgresql(Sequences):
    def database(self) -> Engine:
        return _postgresql()


@cache
def _application(url: str) -> tuple[FastAPI, FakeClock]:
    """One for all sequences on a database: most of the time of a restart would go into making its routes."""
    clock = FakeClock()
    return make_application(url, clock), clock


@cache
def _sqlite() -> Engine:
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    return _ready(f"sqlite:///{Path(folder.name) / 'test.sqlite'}")


@cache
def _postgresql() -> Engine:
    database = ExitStack()
    url = database.enter_context(new_database())
    atexit.register(database.close)
    return _ready(driver_url(url))


def _ready(url: str) -> Engine:
    engine = make_engine(url)
    atexit.register(engine.dispose)
    upgrade(engine)
    return engine


def run(machine: type[Sequences], examples: int, phases: tuple[Phase, ...] = tuple(Phase)) -> None:
    """Runs `examples` sequences, each of up to 20 steps. Raises what a step raises."""
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=STEPS,
            deadline=None,
            phases=phases,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
        ),
    )


def main(arguments: Sequence[str]) -> None:
    """Prints the table; raises what a sequence finds, in its shortest form."""
    number = int(arguments[0]) if arguments else _SEQUENCES
    logging.disable(logging.CRITICAL)  # each crash is worth some lines
    rows = []
    shares = (("SQLite", OnSqlite, number - number // 10), ("PostgreSQL", OnPostgresql, number // 10))
    for name, machine, share in shares:
        began = time.perf_counter()
        run(_told(machine, name), share)
        rows.append((name, f"{share:,}", "0", f"{time.perf_counter() - began:,.0f}"))
    title = f"Sequences of up to {STEPS} steps"
    print_table(title, ("database", "sequences", "of them against the model", "seconds"), rows)


def _told(machine: type[Sequences], name: str) -> type[Sequences]:
    """The machine, which also prints how many sequences are over."""
    over = count(1)

    def teardown(self: Sequences) -> None:
        machine.teardown(self)
        number = next(over)
        if number % _TOLD_EVERY == 0:
            print(f"{name}: {number:,} sequences", file=sys.stderr, flush=True)

    return type(f"Told{machine.__name__}", (machine,), {"teardown": teardown})


if __name__ == "__main__":
    main(sys.argv[1:])
