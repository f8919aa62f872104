"""A learner under a lease: what is stored of it, for restarts and other processes, and when."""

import logging
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

from sqlalchemy import Connection

from dither_server.answers.sql import number_queries
from dither_server.database.engine import not_to_the_disk
from dither_server.database.reads import replace_snapshot
from dither_server.owner.collection_learner import CollectionLearner, Published
from dither_server.owner.publications import Edition, population_json, published_text, replace_publication
from dither_server.replicas.leases import Lease, LeaseLost

__all__ = ["PersistedLearner"]

SNAPSHOT_SECONDS = 5.0
"""Minimum seconds between snapshots of a collection."""
PUBLICATION_SECONDS = 0.5
"""Minimum seconds between publications, unless the questions are new. Without other processes, one is stored with
the snapshot."""
_PATIENCE_SECONDS = 2.0
"""The longest time for which new questions, which people may be waiting for, are stored without a new description of
the population, which takes longer to compute than they do."""

_NEVER = float("inf")

_log = logging.getLogger(__name__)


class PersistedLearner:
    """Used by the owner's thread alone, but for `note`."""

    def __init__(self, lease: Lease, learner: CollectionLearner) -> None:
        self.lease = lease
        self.learner = learner
        self.published: Published | None = None
        """The state that requests read; the owner sets it."""
        self._numbered: set[bytes] = set()
        """Packed questions of the last edition, which have rows."""
        self._snapshot_learnt = learner.learnt
        self._snapshot_stored = time.monotonic()
        self._edition = 0
        self._in_edition: Published | None = None
        self._edition_stored = 0.0
        self._described: Published | None = None
        """The state whose description of the population is stored."""
        self._population: Mapping[str, Any] = {}
        self._described_at = -_NEVER
        self._failed = False

    def due(self, alone: bool) -> float:
        """When something is to be stored next, on the clock `time.monotonic`; infinite for never."""
        return min(self._snapshot_due(), self._edition_due(alone))

    def job(self, alone: bool, last: bool, calm: bool, at: int) -> Callable[[Connection], None] | None:
        """The job that stores what is due now, to be run while the lease is held; None if nothing is due.

        `last` asks for everything that is not stored yet; `at` is now, in milliseconds. Unless it is `calm`, the
        population is not described anew.
        """
        if self._failed:
            self._failed, self._snapshot_learnt, self._in_edition = False, -1, None
            self._numbered = set()
            self._described, self._described_at = None, -_NEVER
        now = time.monotonic()
        with_snapshot = self._snapshot_new() and (last or self._snapshot_due() <= now)
        with_edition = self._edition_new() and (last or self._edition_due(alone) <= now)
        collection = self.lease.collection
        jobs: list[Callable[[Connection], None]] = []
        if with_snapshot:
            self._snapshot_learnt, self._snapshot_stored = self.learner.learnt, now
            answers, content = self.learner.answers, self.learner.snapshot()
            jobs.append(lambda connection: replace_snapshot(connection, collection, answers, at, content))
        if with_edition and self.published is not None:
            self._edition += 1
            pause = _PATIENCE_SECONDS if self._renewed() else PUBLICATION_SECONDS
            self._in_edition, self._edition_stored = self.published, now
            missed = self._described is None and not alone
            if last or missed or (calm and now >= self._described_at + pause):
                self._described, self._described_at = self.published, now
                self._population = population_json(self.published)
            jobs.append(self._edition_job(self.published))
        if not jobs:
            return None

        def run(connection: Connection) -> None:
            not_to_the_disk(connection)
            for job in jobs:
                job(connection)

        return run

    def note(self, stored: "Future[Any]") -> None:
        """Records the outcome of a job. Thread-safe."""
        error = stored.exception()
        if error is not None:
            self._failed = True
            level = logging.INFO if isinstance(error, LeaseLost) else logging.WARNING
            facts = {"collection": self.lease.collection, "error": type(error).__name__}
            _log.log(level, "what was learnt is not stored yet; the counts have it", extra=facts)

    def _snapshot_new(self) -> bool:
        return self._failed or self.learner.learnt != self._snapshot_learnt

    def _edition_new(self) -> bool:
        return self._failed or self.published is not self._described

    def _snapshot_due(self) -> float:
        return self._snapshot_stored + SNAPSHOT_SECONDS if self._snapshot_new() else _NEVER

    def _edition_job(self, published: Published) -> Callable[[Connection], None]:
        """A job that publishes, after giving the questions rows, so that first answers do not wait for each other."""
        collection = self.lease.collection
        edition, text = (
            Edition(self.lease.term, self._edition, self.learner.known),
            published_text(published, self._population),
        )
        new, self._numbered = published.questions - self._numbered, published.questions

        def run(connection: Connection) -> None:
            number_queries(connection, new)
            replace_publication(connection, collection, edition, text)

        return run

    def _renewed(self) -> bool:
        """Whether the questions differ from those in the last edition."""
        new, old = self.published, self._in_edition
        return new is not None and (old is None or new.renew_at != old.renew_at)

    def _edition_due(self, alone: bool) -> float:
        if not self._edition_new():
            return _NEVER
        if not alone and self._renewed():
            return self._edition_stored
        first = self._in_edition is None and not self._edition
        return self._edition_stored + PUBLICATION_SECONDS if first or not alone else self._snapshot_due()
