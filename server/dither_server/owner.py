"""The thread that runs the particle systems of a process's collections.

Whoever stores answers tells it which collections got some. It lets each collection's learner catch up with the count
table, and publishes the result as one immutable object, which requests read without locks.
"""

import asyncio
import logging
import random
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from fractions import Fraction

from sqlalchemy import Connection

from dither_estimator.misfit import Look
from dither_server.clock import Clock, milliseconds
from dither_server.collections import Collection, Collections
from dither_server.errors import Unavailable
from dither_server.keeper import Keeper, Published, Question
from dither_server.metrics import Metrics
from dither_server.store import HistoryRow, Store, add_history, add_look, replace_snapshot
from dither_server.writer import Writer

__all__ = ["Owner"]

_LONGEST_REST = 1.0
_SNAPSHOT_SECONDS = 5.0
"""A collection's snapshot is not stored more often than this."""

_log = logging.getLogger(__name__)


class Owner:
    """Owns the learners. `published` and `draw` are for the event loop, `notify` for any thread."""

    def __init__(self, collections: Collections, store: Store, writer: Writer, clock: Clock, metrics: Metrics) -> None:
        self._collections = collections
        self._store = store
        self._writer = writer
        self._clock = clock
        self._metrics = metrics
        self._published: dict[int, Published] = {}
        self._random = random.Random()
        self._wake = threading.Condition()
        self._due: dict[int, None] = {}
        self._waiting: dict[int, list[Future[Published]]] = {}
        self._stopping = False
        self._keepers: dict[int, Keeper] = {}
        self._snapshots: dict[int, tuple[int, float]] = {}
        """For each collection the answers in its last snapshot, and when that was stored."""
        self._thread = threading.Thread(target=self._run, name="dither-owner", daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Learns what is left, stores snapshots, and ends the thread."""
        with self._wake:
            self._stopping = True
            self._wake.notify()
        self._thread.join()

    @property
    def alive(self) -> bool:
        """Whether answers are being learnt."""
        return self._thread.is_alive() and not self._stopping

    def notify(self, collections: Iterable[int]) -> None:
        """Says that these collections have new counts, which are committed."""
        with self._wake:
            self._due.update(dict.fromkeys(collections))
            self._wake.notify()

    async def published(self, collection: Collection) -> Published:
        """The newest state of the collection's learner, which is made if need be. Raises `Unavailable`."""
        published = self._published.get(collection.number)
        if published is not None:
            return published
        future: Future[Published] = Future()
        with self._wake:
            self._waiting.setdefault(collection.number, []).append(future)
            self._wake.notify()
        return await asyncio.wrap_future(future)

    def draw(self, published: Published, epsilon: Fraction) -> Question:
        """A question at an ε that may be chosen, each of the pool as likely as another; by a coin, a check question."""
        if published.check_pools and self._random.random() < published.check_share:
            return self._random.choice(published.check_pools[epsilon])
        return self._random.choice(published.pools[epsilon])

    def _run(self) -> None:
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self._due or self._waiting or self._stopping, self._until_snapshot())
                due = self._due | dict.fromkeys(self._waiting)
                self._due = {}
                stopping = self._stopping
            rest = sum(self._attend(number) for number in due)
            self._store_snapshots(all_of_them=stopping)
            if stopping:
                return
            with self._wake:
                self._wake.wait_for(lambda: self._waiting or self._stopping, min(rest, _LONGEST_REST))

    def _attend(self, number: int) -> float:
        """Lets one collection's learner catch up, and publishes. Returns how long to rest from that (seconds)."""
        outcome: Published | Unavailable
        began = time.thread_time()
        try:
            outcome = self._published[number] = self._caught_up(number)
        except Exception as error:
            # What was published stays; the learner is made anew from what is stored when it is next needed.
            where = "".join(traceback.format_tb(error.__traceback__))
            facts = {"collection": number, "error": type(error).__name__, "where": where}
            _log.error("learning failed", extra=facts)
            self._keepers.pop(number, None)
            outcome = Unavailable("The collection's estimator is not available at present: try again later.")
        with self._wake:
            waiting = self._waiting.pop(number, [])
        for future in waiting:
            if not future.set_running_or_notify_cancel():
                continue
            if isinstance(outcome, Published):
                future.set_result(outcome)
            else:
                future.set_exception(outcome)
        # Answering respondents comes first; but while answers are few, each changes what to ask next.
        effort = min(max(outcome.answers / 100, 1), 20) if isinstance(outcome, Published) else 20
        return effort * (time.thread_time() - began)

    def _caught_up(self, number: int) -> Published:
        keeper = self._keepers.get(number)
        if keeper is None:
            keeper = Keeper(self._collections.numbered(number), self._store, self._clock)
            self._keepers[number] = keeper
            self._snapshots[number] = (keeper.answers, time.monotonic())
        keeper.catch_up()
        look = keeper.look()
        if look is not None:
            # Nobody hears of a look before it is stored for good.
            keeper.keep_looks(self._writer.submit(_look_job(number, look, milliseconds(self._clock()))).result())
        published = keeper.publish()
        self._metrics.learnt(keeper.collection.id, published.answers, published.posterior["ess"])
        row = keeper.history(published)
        if row is not None:
            self._writer.submit(_history_job(number, row))
        return published

    def _until_snapshot(self) -> float | None:
        """Seconds until a snapshot is to be stored; None if none is."""
        times = [
            stored + _SNAPSHOT_SECONDS
            for number, (answers, stored) in self._snapshots.items()
            if number in self._keepers and self._keepers[number].answers != answers
        ]
        return max(0.0, min(times) - time.monotonic()) if times else None

    def _store_snapshots(self, all_of_them: bool) -> None:
        jobs = []
        for number, keeper in self._keepers.items():
            answers, stored = self._snapshots[number]
            if keeper.answers == answers or not (all_of_them or time.monotonic() >= stored + _SNAPSHOT_SECONDS):
                continue
            self._snapshots[number] = (keeper.answers, time.monotonic())
            at = milliseconds(self._clock())
            jobs.append(self._writer.submit(_snapshot_job(number, keeper.answers, at, keeper.snapshot())))
        if all_of_them:
            for job in jobs:
                if job.exception() is not None:
                    _log.warning("a snapshot could not be stored: the next start learns the counts since the last one")


def _history_job(number: int, row: HistoryRow) -> Callable[[Connection], None]:
    return lambda connection: add_history(connection, number, [row])


def _look_job(number: int, look: Look, at: int) -> Callable[[Connection], list[Look]]:
    return lambda connection: add_look(connection, number, look, at)


def _snapshot_job(number: int, answers: int, at: int, content: bytes) -> Callable[[Connection], None]:
    return lambda connection: replace_snapshot(connection, number, answers, at, content)
