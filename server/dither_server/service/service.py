"""The parts behind the routes: created when the application starts, and stopped when it ends."""

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import anyio.to_thread
from anyio import CapacityLimiter
from fastapi import Request
from sqlalchemy import Connection, Engine
from threadpoolctl import threadpool_limits

from dither_server.access.audit_trail import AuditTrail
from dither_server.access.first_admin import make_first_admin
from dither_server.access.gateways import Gateways
from dither_server.access.invitations import Invitations
from dither_server.access.limits import READS_OF_ADDRESS, STREAMS_OF_ADDRESS, AtOnce, TicketLimits
from dither_server.access.sessions import Sessions
from dither_server.access.ticket_keys import TicketKeys
from dither_server.access.tokens import Access
from dither_server.answers.rules import Ingest, Stored
from dither_server.answers.tally import Tally
from dither_server.answers.writer import Writer
from dither_server.clock import Clock
from dither_server.collections.collection import Collection
from dither_server.collections.collections import Collections
from dither_server.collections.deletion import Deletions
from dither_server.collections.deletion_receipt import ReceiptSigner
from dither_server.collections.institutions import Institutions
from dither_server.collections.quality import Quality
from dither_server.database.conduct import ConductReads
from dither_server.database.engine import (
    DATABASE_TROUBLE,
    PATIENCE_SECONDS,
    make_engine,
    reading,
    renew_together,
    transact,
    upgrade,
)
from dither_server.database.notifications import notifications_of
from dither_server.database.pulse import Pulse
from dither_server.database.reads import Store
from dither_server.database.watchdog import watch
from dither_server.errors import Overloaded, StartRefused, TooManyStreams, Unavailable
from dither_server.http.connections import room
from dither_server.metrics import Metrics
from dither_server.owner.published import Particles, Published
from dither_server.owner.thread import Learners
from dither_server.replicas.membership import Membership, have_secret
from dither_server.service.descriptions import Descriptions
from dither_server.service.housekeeper import Housekeeper
from dither_server.service.poller import Poller
from dither_server.settings import Settings
from dither_server.tickets.oblivious_keys import ObliviousKeys
from dither_server.tickets.office import TicketOffice
from dither_server.tickets.secret import Keys, load_secret

__all__ = ["Service", "prepare", "service_of"]

_LONG_READS = 256
"""Long reads that may be under way in all."""
_LONG_THREADS = 4
"""Threads that compute them; short calls have others, which long reads cannot fill up."""
_TOO_MANY_READS = "Your address has too many long reads under way, or all addresses together: ask again later."

_P = ParamSpec("_P")
_T = TypeVar("_T")


class Service:
    """One running server. Raises `StartRefused` if it cannot start."""

    def __init__(self, settings: Settings, clock: Clock, metrics: Metrics, stopping: threading.Event) -> None:
        self.clock = clock
        self.metrics = metrics
        self.stopping = stopping
        """Set when the process has to stop: readiness checks fail, and event streams end."""
        self._engine, keys = _prepared(settings, clock)
        self._reserved = _watched(make_engine(settings.database, reserved=True))
        """Connections that readers cannot take: of the writer, heartbeats, leases, ticket keys and notifications."""
        renew_together(self._engine, self._reserved)
        reads, reserved_reads = reading(self._engine), reading(self._reserved)
        transact_at_once = partial(self._transact, self._reserved)
        self._ingest = Ingest()
        self.writer = Writer(self._reserved, self._ingest, metrics, self._committed)
        self.membership = Membership(transact_at_once, self._take_slot, keys.fingerprint)
        self.tickets = TicketOffice(keys, clock)
        self.oblivious_keys = ObliviousKeys(keys, self.tickets, clock)
        self.keys = TicketKeys(reserved_reads, self.writer, self.tickets, clock)
        self.store = Store(reads)
        self.conduct = ConductReads(reads)
        self.quality = Quality(self.conduct)
        self._pulse = Pulse(partial(self._ping, Store(reserved_reads)))
        self.metrics_token = settings.metrics_token
        self.public_metrics = settings.public_metrics
        self.public_listing = settings.public_listing
        self.public_url = settings.public_url
        self.embed_origins = settings.embed_origins
        self.tally = Tally(self.writer)
        self.gateways = Gateways(reads, self.writer)
        self.collections = Collections(reads, self.store, self.writer, clock, self.membership.holder)
        self.access = Access(reads, self.writer, clock, settings.admin_token)
        self.trail = AuditTrail(reads, self.writer, clock)
        self.sessions = Sessions(keys, self.access, self.trail, clock)
        self.institutions = Institutions(reads)
        receipts = ReceiptSigner(keys.deletion)
        transact_in_turn = partial(self._transact, self._engine)
        self.deletions = Deletions(
            reads, transact_in_turn, self.collections, receipts, clock, stopping, settings.restore_days
        )
        self.housekeeper = Housekeeper(self.deletions)
        self.invitations = Invitations(reads, self.writer)
        self.limits = TicketLimits(settings)
        self.streams = AtOnce(max(1, room() // 2), STREAMS_OF_ADDRESS, TooManyStreams)
        self.reads = AtOnce(_LONG_READS, READS_OF_ADDRESS, partial(Overloaded, _TOO_MANY_READS))
        self._long_threads = CapacityLimiter(_LONG_THREADS)
        notifications = notifications_of(self._reserved)
        self.learners = Learners(
            reads, self.collections, self.store, self.institutions, self.writer, clock, metrics, notifications
        )
        self.descriptions = Descriptions(self.learners, self.compute)
        self.poller = Poller(
            reserved_reads,
            transact_at_once,
            self.membership,
            self.store,
            self.collections,
            self.access,
            self.keys,
            self.learners,
            notifications,
        )

    def start(self) -> None:
        """Starts the threads."""
        # Small matrix products are faster on one thread, which leaves the other cores for requests.
        self._blas_limit = threadpool_limits(limits=1)
        self.writer.start()
        self.tally.start()
        self.membership.start()
        self.poller.start()
        self.learners.start()
        self.housekeeper.start()

    def stop(self) -> None:
        """Stops all parts: learns the last answers, stores snapshots, commits, and closes the database."""
        self.stopping.set()
        self.housekeeper.stop()
        self.poller.stop()
        self.learners.stop()
        self.tally.stop()
        self.membership.stop()
        self.writer.stop()
        self._reserved.dispose()
        self._engine.dispose()
        self._blas_limit.restore_original_limits()

    async def create_collection(self, body: bytes, tell: Callable[[Collection], object]) -> Collection:
        """Creates a collection, unless `tell` raises; this process holds its lease at first."""
        collection = await self.collections.create(body, tell)
        await asyncio.to_thread(self.poller.share_leases)
        self.learners.prepare(collection.number)
        return collection

    async def compute(self, function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """What `function` returns, run in one of the threads for what may take long; others wait without a thread."""
        return await anyio.to_thread.run_sync(partial(function, *args, **kwargs), limiter=self._long_threads)

    async def particles(self, collection: Collection, published: Published) -> Particles:
        """The particles of what is published, or those of the last snapshot if another process runs them."""
        if published.particles is not None:
            return published.particles
        return await self.compute(self.learners.snapshots.of, collection)

    async def check_ready(self) -> None:
        """Raises `Unavailable`, or what the database raises, unless answers can be stored and learnt."""
        if self.stopping.is_set():
            raise Unavailable("The server is stopping.")
        if not all(thread.alive for thread in (self.writer, self.learners, self.poller)):
            raise Unavailable("A thread of the server has died: the server has to be restarted.")
        if not (self.membership.alive and self.keys.fresh):
            raise Unavailable("The server has not reached its database for some seconds.")
        await self._pulse.check()

    async def ready(self) -> bool:
        """Whether `check_ready` would pass."""
        try:
            await self.check_ready()
        except (Unavailable, *DATABASE_TROUBLE):
            return False
        return True

    def _ping(self, store: Store) -> None:
        # A removed SQLite file keeps working for processes that have it open, and its data is lost when they close it.
        if self._engine.dialect.name == "sqlite" and not Path(self._engine.url.database or "").exists():
            raise Unavailable("The file of the database is gone.")
        store.ping()

    def _transact(self, engine: Engine, job: Callable[[Connection], Any]) -> Any:
        """Runs a small job in a transaction of its own; on SQLite, which allows one writer, the writer runs it."""
        if engine.dialect.name == "sqlite":
            return self.writer.submit(job).result()
        return transact(engine, job)

    def _take_slot(self, slot: int) -> None:
        self._ingest.slot = slot
        self.tally.slot = slot

    def _committed(self, stored: Stored) -> None:
        self.tally.answered(stored.new)
        self.collections.note_totals(stored.totals)
        self.metrics.unlearnt(stored.added)
        self.learners.stored(stored.added)


def prepare(settings: Settings) -> tuple[Engine, Keys]:
    """Opens the database at the newest schema, and loads the keys.

    Raises `StartRefused`: every fault of an installation is found here.
    """
    engine = make_engine(settings.database)
    keys = Keys(load_secret(settings))
    upgrade(engine)
    with engine.connect() as connection:
        one_secret = have_secret(connection, keys.fingerprint)
    if not one_secret:
        engine.dispose()
        raise StartRefused(
            "Another server on this database has a different secret, and neither would accept the other's tickets: "
            "give both the same DITHER_SECRET, or stop the other one first."
        )
    return engine, keys


def _prepared(settings: Settings, clock: Clock) -> tuple[Engine, Keys]:
    """As `prepare`, with a first admin's token where there is none."""
    engine, keys = prepare(settings)
    admin = make_first_admin(engine, settings, clock)
    if admin is not None:
        admin.tell()
    return _watched(engine), keys


def _watched(engine: Engine) -> Engine:
    watch(engine, PATIENCE_SECONDS)
    return engine


def service_of(request: Request) -> Service:
    """The service of the application that received the request."""
    service: Service = request.scope["app"].service  # busy calls ask, and Starlette's ways take longer
    return service
