"""The owner's work that nobody waits for: snapshots, descriptions of the population, the history.

It comes after questions that people wait for: once no collection's questions have been urgent for a moment, or in the
midst of it if there has always been one for long. What takes long is computed in a thread of its own, one thing at a
time, so that questions which become urgent meanwhile do not wait for it.
"""

import logging
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial

from sqlalchemy import Connection

from dither_server.answers.writer import Writer
from dither_server.clock import Clock, milliseconds
from dither_server.database.notifications import Notifications
from dither_server.database.reads import HistoryRow, add_history
from dither_server.owner.persistence import PersistedLearner
from dither_server.replicas.leases import Lease, held

__all__ = ["Unhurried"]

_CALM = 0.3
"""Seconds without urgent questions after which such work begins."""
_LONGEST_DELAY = 30.0
"""Seconds of urgent questions after which such work begins all the same."""
_LAST_SECONDS = 1.0
"""Seconds for which what is being computed holds up a lease that is given up; its result is not needed."""
_LOOK_SECONDS = 0.02
"""Seconds between checks of whether the next computation can begin."""
_NEVER = float("inf")

_log = logging.getLogger(__name__)


class Unhurried:
    """Stores what is due of the learners of one process. Used by the owner's thread alone."""

    def __init__(self, writer: Writer, clock: Clock, notifications: Notifications) -> None:
        self._writer = writer
        self._clock = clock
        self._notifications = notifications
        self._busy_since = self._busy_until = 0.0
        """Since when and until when some questions are urgent, on the clock `time.monotonic`."""
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="dither-describer")
        self._computing: Future[None] | None = None
        self._last = 0
        """The number of the collection for which something was computed last."""

    def close(self) -> None:
        """Ends the thread, after what it is computing."""
        self._thread.shutdown(wait=False)

    def note_urgent(self, now: float) -> None:
        """Records that some collection's questions were urgent until `now`."""
        if now >= self._busy_until:
            self._busy_since = now
        self._busy_until = now + _CALM

    @property
    def calm(self) -> bool:
        """Whether nothing more urgent is to be done."""
        return time.monotonic() >= self._calm_from

    @property
    def _calm_from(self) -> float:
        return min(self._busy_until, self._busy_since + _LONGEST_DELAY)

    def until_due(self, learners: Iterable[PersistedLearner], alone: bool) -> float:
        """Seconds until something is to be stored, at most one; `alone` says that there are no other processes."""
        now = time.monotonic()
        dues, to_compute = [], [_NEVER]
        for persisted in learners:
            dues.append(persisted.due(alone))
            to_compute.append(-_NEVER if persisted.learner.owes_history else persisted.description_due(alone))
        next_look = now + _LOOK_SECONDS if self._computing else self._calm_from
        return max(0.0, min([now + 1.0, *dues, max(min(to_compute), next_look)]) - now)

    def store(
        self, learners: Mapping[int, PersistedLearner], leaving: frozenset[int], alone: bool
    ) -> dict[int, Exception]:
        """Stores what is due, and everything of collections that are given up, which are `leaving`.

        Returns the errors of the collections of which nothing could be written down; it stores the others.
        """
        if self._computing is not None and (leaving or self._computing.done()):
            wait([self._computing], _LAST_SECONDS)
            self._computing = None
        failed: dict[int, Exception] = {}
        for number, persisted in learners.items():
            try:
                self._store_one(persisted, number in leaving, alone)
            except Exception as error:
                failed[number] = error
        if self._computing is None and self.calm and not leaving:
            self._compute_next(learners, alone)
        return failed

    def _store_one(self, persisted: PersistedLearner, last: bool, alone: bool) -> None:
        job = persisted.job(alone, last, milliseconds(self._clock()))
        if job is not None:
            stored = self._writer.submit(held(persisted.lease, job))
            stored.add_done_callback(persisted.note)
            if not alone:
                stored.add_done_callback(lambda _: self._notifications.send())
        if last:
            self._store_row(persisted.lease, _next_row(persisted, calm=True))

    def add_row(self, persisted: PersistedLearner) -> None:
        """Stores the next row of a collection's history, if there is one that takes no time to compute."""
        self._store_row(persisted.lease, _next_row(persisted, calm=False))

    def _compute_next(self, learners: Mapping[int, PersistedLearner], alone: bool) -> None:
        """Begins to compute a row of the history that was put off, or a description.

        Collections take turns, so that none waits for as long as others get answers.
        """
        now = time.monotonic()
        for number in sorted(learners, key=lambda each: (each <= self._last, each)):
            persisted = learners[number]
            row = _next_row(persisted, calm=True)
            if row is not None or persisted.description_due(alone) <= now:
                self._last = number
                self._computing = self._thread.submit(
                    persisted.describe if row is None else partial(self._store_row, persisted.lease, row)
                )
                self._computing.add_done_callback(_log_failure)
                return

    def _store_row(self, lease: Lease, row: Callable[[], HistoryRow] | None) -> None:
        if row is not None:
            self._writer.submit(held(lease, _history_job(lease.collection, row())))


def _next_row(persisted: PersistedLearner, calm: bool) -> Callable[[], HistoryRow] | None:
    published = persisted.published
    return None if published is None else persisted.learner.history(published, calm)


def _history_job(number: int, row: HistoryRow) -> Callable[[Connection], None]:
    return lambda connection: add_history(connection, number, row)


def _log_failure(computed: Future[None]) -> None:
    error = computed.exception()
    if error is not None:
        where = "".join(traceback.format_tb(error.__traceback__))
        _log.error("describing the population failed", extra={"error": type(error).__name__, "where": where})
