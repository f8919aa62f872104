"""What the owner computes and stores that nobody waits for: snapshots, descriptions of the population, the history.

It comes after questions that people wait for: once no collection's questions have been urgent for a moment, or in the
midst of it if there has always been one for long.
"""

import time
from collections.abc import Callable, Iterable, Mapping

from sqlalchemy import Connection

from dither_server.answers.writer import Writer
from dither_server.clock import Clock, milliseconds
from dither_server.database.notifications import Notifications
from dither_server.database.reads import HistoryRow, add_history
from dither_server.owner.persistence import PersistedLearner
from dither_server.replicas.leases import held

__all__ = ["Unhurried"]

_CALM = 0.3
"""Seconds without urgent questions after which it is calm."""
_LONGEST_DELAY = 30.0
"""Seconds of urgent questions after which it counts as calm all the same."""


class Unhurried:
    """Stores what is due of the learners of one process. Used by the owner's thread alone."""

    def __init__(self, writer: Writer, clock: Clock, notifications: Notifications) -> None:
        self._writer = writer
        self._clock = clock
        self._notifications = notifications
        self._busy_since = self._busy_until = 0.0
        """When the collections are calm whose questions were urgent, on the clock `time.monotonic`."""

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
        dues, owing = [], False
        for persisted in learners:
            dues.append(persisted.due(alone))
            owing = owing or persisted.learner.owes_history
        calm = self._calm_from
        return max(0.0, min([now + 1.0, *dues, *([calm] if calm > now or owing else [])]) - now)

    def store(self, learners: Mapping[int, PersistedLearner], leaving: frozenset[int], alone: bool) -> None:
        """Stores what is due, and everything of collections that are given up, which are `leaving`."""
        at = milliseconds(self._clock())
        for number, persisted in learners.items():
            job = persisted.job(alone, number in leaving, self.calm, at)
            if job is not None:
                stored = self._writer.submit(held(persisted.lease, job))
                stored.add_done_callback(persisted.note)
                if not alone:
                    stored.add_done_callback(lambda _: self._notifications.send())
        self._add_history(learners, leaving)

    def _add_history(self, learners: Mapping[int, PersistedLearner], leaving: frozenset[int]) -> None:
        """Stores a row of the history that waited until nobody waits for questions; of what is given up, one of each.

        One at a time, so that questions that become urgent meanwhile wait for no more than one.
        """
        for number, persisted in learners.items():
            if self.add_row(persisted, number in leaving or self.calm) and not leaving:
                return

    def add_row(self, persisted: PersistedLearner, calm: bool) -> bool:
        """Stores the next row of a collection's history, if there is one; returns whether there is."""
        row = None if persisted.published is None else persisted.learner.history(persisted.published, calm)
        if row is not None:
            self._writer.submit(held(persisted.lease, _history_job(persisted.lease.collection, row)))
        return row is not None


def _history_job(number: int, row: HistoryRow) -> Callable[[Connection], None]:
    return lambda connection: add_history(connection, number, row)
