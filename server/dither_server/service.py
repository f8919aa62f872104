"""Everything behind the routes: made when the application starts, stopped in reverse when it ends."""

import sys
import threading

from fastapi import Request
from sqlalchemy import Engine
from threadpoolctl import threadpool_limits

from dither_server.access import Access
from dither_server.clock import Clock
from dither_server.collections import Collections
from dither_server.database import make_engine, upgrade
from dither_server.errors import Unavailable
from dither_server.ingest import Ingest, Stored
from dither_server.metrics import Metrics
from dither_server.owner import Owner
from dither_server.secret import Keys, derive_keys, load_secret
from dither_server.settings import Settings
from dither_server.store import Store
from dither_server.tickets import TicketOffice
from dither_server.writer import Writer

__all__ = ["Service", "prepare", "service_of"]


class Service:
    """One running server. Raises `StartRefused` if it cannot be."""

    def __init__(self, settings: Settings, clock: Clock, metrics: Metrics, stopping: threading.Event) -> None:
        self.clock = clock
        self.metrics = metrics
        self.stopping = stopping
        """Set once the process is to end: readiness goes, streams finish."""
        self._engine, keys = prepare(settings)
        self.tickets = TicketOffice(keys, clock)
        self.store = Store(self._engine)
        self.writer = Writer(self._engine, Ingest(), metrics, self._committed)
        self.collections = Collections(self._engine, self.store, self.writer, clock)
        self.access = Access(self._engine, self.writer, clock, settings.admin_token)
        self.owner = Owner(self.collections, self.store, self.writer, clock, metrics)

    def start(self) -> None:
        """Starts the threads, and prints an admin's token if there is no admin yet."""
        # Small matrix products are faster on one thread, and the other cores are for answering.
        self._blas_limit = threadpool_limits(limits=1)
        self.writer.start()
        self.owner.start()
        token = self.access.first_token()
        if token is not None:
            print(f"Admin token, shown this once: {token}", file=sys.stderr, flush=True)

    def stop(self) -> None:
        """Finishes what was begun: learns the last answers, stores snapshots, commits, and closes the database."""
        self.stopping.set()
        self.owner.stop()
        self.writer.stop()
        self._engine.dispose()
        self._blas_limit.restore_original_limits()

    def check_ready(self) -> None:
        """Raises `Unavailable`, or what the database raises, unless answers can be stored and learnt."""
        if self.stopping.is_set() or not self.writer.alive or not self.owner.alive:
            raise Unavailable("The server is stopping.")
        self.store.ping()

    def _committed(self, stored: Stored) -> None:
        self.collections.note_totals(stored.totals)
        self.owner.notify(stored.totals)


def prepare(settings: Settings) -> tuple[Engine, Keys]:
    """The database at the newest schema, and the keys: all that can be wrong with an installation is found here.

    Raises `StartRefused`.
    """
    engine = make_engine(settings.database)
    keys = derive_keys(load_secret(settings))
    upgrade(engine)
    return engine, keys


def service_of(request: Request) -> Service:
    """The service behind a request's application."""
    service: Service = request.app.state.service
    return service
