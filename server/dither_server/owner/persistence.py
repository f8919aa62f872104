"""What is stored of a learner under a lease, and when: for restarts, and for other processes."""

import logging
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection

from dither_server.answers.sql import number_queries
from dither_server.database.engine import not_to_the_disk
from dither_server.database.reads import replace_snapshot
from dither_server.owner.collection_learner import CollectionLearner
from dither_server.owner.publications import Edition, population_json, published_text, replace_publication
from dither_server.owner.published import REST, Published
from dither_server.replicas.leases import Lease, LeaseLost

__all__ = ["PersistedLearner"]

SNAPSHOT_SECONDS = 5.0
"""Minimum seconds between snapshots of a collection."""
PUBLICATION_SECONDS = 0.5
"""Minimum seconds between publications, unless the questions are new, and between descriptions of the population.
Without other processes, it is the time between snapshots."""

_NEVER = float("inf")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class _Description:
    """What a published state says about the population."""

    published: Published | None = None
    population: Mapping[str, Any] = field(default_factory=dict)
    at: float = -_NEVER
    """When it was made, on the clock `time.monotonic`."""
    took: float = 0.0
    """Seconds that it took."""


class PersistedLearner:
    """Used by the owner's thread alone, but for `note` and `describe`."""

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
        self._description = _Description()
        self._description_in_edition = self._description
        self._failed = False
        self._jobs = self._outcomes = 0

    def resume(self, stored: Edition) -> None:
        """Takes up what was stored of a settled learner that was let go, unless anything has been learnt since.

        To be called once, when the learner has caught up and its state is published.
        """
        if stored.term != self.lease.term:
            return
        self._edition = stored.version
        if stored.answers == self.learner.known:
            self._in_edition = self.published
            self._description = self._description_in_edition = _Description(self.published)

    @property
    def settled(self) -> Edition | None:
        """What is stored, if that is everything, and the learner can be made again from it; None if it is not."""
        owes = self.learner.owes_history or self.learner.owes_questions or self._jobs != self._outcomes
        described = self.published is self._description.published
        if owes or not described or self._snapshot_new() or self._edition_new():
            return None
        return Edition(self.lease.term, self._edition, self.learner.known)

    def due(self, alone: bool) -> float:
        """When something is to be stored next, on the clock `time.monotonic`; infinite for never."""
        return min(self._snapshot_due(), self._edition_due(alone))

    def description_due(self, alone: bool) -> float:
        """When the population is to be described next, on the clock `time.monotonic`; infinite for never."""
        if self.published is None or self.published is self._description.published:
            return _NEVER
        last = self._description
        return last.at + max(SNAPSHOT_SECONDS if alone else PUBLICATION_SECONDS, REST * last.took)

    def describe(self) -> None:
        """Describes the population, which takes some tenths of a second. Any thread may do so."""
        published = self.published
        if published is not None:
            began = time.monotonic()
            population = population_json(published)
            now = time.monotonic()
            self._description = _Description(published, population, now, now - began)

    def job(self, alone: bool, last: bool, at: int) -> Callable[[Connection], None] | None:
        """The job that stores what is due now, to be run while the lease is held; None if nothing is due.

        `last` asks for everything that is not stored yet; `at` is now, in milliseconds.
        """
        if self._failed:
            self._failed, self._snapshot_learnt, self._in_edition = False, -1, None
            self._numbered = set()
        last_described = self._description
        undescribed = last_described.at == -_NEVER and last_described.published is not self.published
        if not alone and (undescribed or (last and self.description_due(alone) < _NEVER)):
            self.describe()  # now, or else other processes had nothing to show
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
            self._in_edition, self._edition_stored = self.published, now
            self._description_in_edition = self._description
            jobs.append(self._edition_job(self.published, self._description_in_edition.population))
        if not jobs:
            return None
        self._jobs += 1

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
        self._outcomes += 1

    def _snapshot_new(self) -> bool:
        return self._failed or self.learner.learnt != self._snapshot_learnt

    def _edition_new(self) -> bool:
        stored = self.published is self._in_edition and self._description is self._description_in_edition
        return self._failed or not stored

    def _snapshot_due(self) -> float:
        return self._snapshot_stored + SNAPSHOT_SECONDS if self._snapshot_new() else _NEVER

    def _edition_job(self, published: Published, population: Mapping[str, Any]) -> Callable[[Connection], None]:
        """A job that publishes, after giving the questions rows, so that first answers do not wait for each other."""
        collection = self.lease.collection
        edition, text = (
            Edition(self.lease.term, self._edition, self.learner.known),
            published_text(published, population),
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
        return self._edition_stored + (SNAPSHOT_SECONDS if alone and not first else PUBLICATION_SECONDS)
