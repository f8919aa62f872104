"""A learner under a lease: what of it is stored for restarts and other processes, and when."""

import logging
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from sqlalchemy import Connection

from dither_server.answers.sql import number_queries
from dither_server.database.engine import not_to_the_disk
from dither_server.database.reads import replace_snapshot
from dither_server.owner.collection_learner import Keeper, Published
from dither_server.owner.publications import Edition, published_text, replace_publication
from dither_server.replicas.leases import Lease, LeaseLost

__all__ = ["Kept"]

SNAPSHOT_SECONDS = 5.0
"""A collection's snapshot is not stored more often than this."""
PUBLICATION_SECONDS = 0.5
"""Nor what others are to read, unless its questions are new. Without any it is stored with the snapshot."""

_NEVER = float("inf")

_log = logging.getLogger(__name__)


class Kept:
    """Used by the owner's thread alone, but for `note`."""

    def __init__(self, lease: Lease, keeper: Keeper) -> None:
        self.lease = lease
        self.keeper = keeper
        self.published: Published | None = None
        """What requests read; the owner sets it."""
        self._numbered: set[bytes] = set()
        """Packed questions of the last edition, which have rows."""
        self._snapshot_learnt = keeper.learnt
        self._snapshot_stored = time.monotonic()
        self._edition = 0
        self._in_edition: Published | None = None
        self._edition_stored = 0.0
        self._failed = False

    def due(self, alone: bool) -> float:
        """When something is to be stored next, as `time.monotonic` tells time; never is infinite."""
        return min(self._snapshot_due(), self._edition_due(alone))

    def job(self, alone: bool, last: bool, at: int) -> Callable[[Connection], None] | None:
        """What is to be stored now, to be run while the lease is held; None if nothing is.

        `last` asks for everything that is not stored yet; `at` is now, in milliseconds.
        """
        if self._failed:
            self._failed, self._snapshot_learnt, self._in_edition = False, -1, None
            self._numbered = set()
        now = time.monotonic()
        with_snapshot = self._snapshot_new() and (last or self._snapshot_due() <= now)
        with_edition = self._edition_new() and (last or self._edition_due(alone) <= now)
        collection = self.lease.collection
        jobs: list[Callable[[Connection], None]] = []
        if with_snapshot:
            self._snapshot_learnt, self._snapshot_stored = self.keeper.learnt, now
            answers, content = self.keeper.answers, self.keeper.snapshot()
            jobs.append(lambda connection: replace_snapshot(connection, collection, answers, at, content))
        if with_edition and self.published is not None:
            self._edition += 1
            self._in_edition, self._edition_stored = self.published, now
            jobs.append(self._edition_job(self.published))
        if not jobs:
            return None

        def run(connection: Connection) -> None:
            not_to_the_disk(connection)
            for job in jobs:
                job(connection)

        return run

    def note(self, stored: "Future[Any]") -> None:
        """Takes note of what became of a job. For any thread."""
        error = stored.exception()
        if error is not None:
            self._failed = True
            level = logging.INFO if isinstance(error, LeaseLost) else logging.WARNING
            facts = {"collection": self.lease.collection, "error": type(error).__name__}
            _log.log(level, "what was learnt is not stored yet; the counts have it", extra=facts)

    def _snapshot_new(self) -> bool:
        return self._failed or self.keeper.learnt != self._snapshot_learnt

    def _edition_new(self) -> bool:
        return self._failed or self.published is not self._in_edition

    def _snapshot_due(self) -> float:
        return self._snapshot_stored + SNAPSHOT_SECONDS if self._snapshot_new() else _NEVER

    def _edition_job(self, published: Published) -> Callable[[Connection], None]:
        """Publishes, and gives questions rows before others ask them: or first answers would wait for each other."""
        collection = self.lease.collection
        edition, text = Edition(self.lease.term, self._edition, self.keeper.known), published_text(published)
        new, self._numbered = published.questions - self._numbered, published.questions

        def run(connection: Connection) -> None:
            number_queries(connection, new)
            replace_publication(connection, collection, edition, text)

        return run

    def _renewed(self) -> bool:
        """Whether the questions are others than those in the last edition."""
        new, old = self.published, self._in_edition
        return new is not None and (old is None or new.renew_at != old.renew_at)

    def _edition_due(self, alone: bool) -> float:
        if not self._edition_new():
            return _NEVER
        if not alone and self._renewed():
            return self._edition_stored
        first = self._in_edition is None and not self._edition
        return self._edition_stored + PUBLICATION_SECONDS if first or not alone else self._snapshot_due()
