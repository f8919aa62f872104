"""The one thread of a process that writes to its database.

Answers that arrive while a transaction runs form the next one together, so that they share one wait for the disk.
Nobody is told that an answer is stored before its transaction is committed. All other writes go through the same thread
as jobs, each in a transaction of its own, in order of arrival.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import IntegrityError

from dither_server.answers.rules import Arrival, Fate, Ingest, Stored
from dither_server.database.engine import DATABASE_TROUBLE, reading, transact, writing
from dither_server.errors import Overloaded, Unavailable
from dither_server.metrics import Metrics

__all__ = ["GATHER_SECONDS", "MAX_ROWS", "Writer"]

T = TypeVar("T")

MAX_ROWS = 4_096
"""A transaction accepts no more submissions once it has this many answers."""
GATHER_SECONDS = 0.01
"""The longest time for which answers that have come wait for others that come with them."""
MAX_WAITING = 65_536
"""The most answers that may wait; further ones are refused for now."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Answers:
    """The answers submitted together, and the futures that wait for parts of them."""

    loop: asyncio.AbstractEventLoop
    began: float
    """When the first came, by the loop's clock."""
    arrivals: list[Arrival]
    waiting: list[tuple["asyncio.Future[list[Fate]]", int]]


@dataclass(frozen=True, slots=True)
class _Job:
    run: Callable[[Connection], Any]
    future: "Future[Any]"


class _Stop:
    pass


class Writer:
    """Owns all writes. `on_commit` is called in the writer's thread after each transaction that stored answers."""

    def __init__(self, engine: Engine, ingest: Ingest, metrics: Metrics, on_commit: Callable[[Stored], None]) -> None:
        self._engine = writing(engine)
        self._at_once = reading(engine) if engine.dialect.name == "postgresql" else None
        """An engine on which each statement is a transaction of its own, so that storing answers is one round trip."""
        self._ingest = ingest
        self._metrics = metrics
        self._on_commit = on_commit
        self._queue: SimpleQueue[_Answers | _Job | _Stop] = SimpleQueue()
        self._waiting = 0
        self._gathering: _Answers | None = None
        self._handing_in = threading.Lock()
        self._stopping = False
        self._refused = 0
        """The number of transactions that the database has refused since it last accepted one."""
        self._thread = threading.Thread(target=self._run, name="dither-writer", daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Writes everything that was submitted, and ends the thread."""
        with self._handing_in:
            self._stopping = True
        self._hand_over()
        self._queue.put(_Stop())
        self._thread.join()

    @property
    def alive(self) -> bool:
        """Whether answers can be stored."""
        return self._thread.is_alive() and not self._stopping

    async def store(self, arrivals: Sequence[Arrival]) -> list[Fate]:
        """Stores `arrivals`, and returns their fates, in order, after the commit.

        Raises `Overloaded` if too many answers wait, and `Unavailable` if the transaction failed; nothing is counted
        then. Call it from one event loop only.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[list[Fate]] = loop.create_future()
        with self._handing_in:
            if self._stopping:
                raise Unavailable
            if self._waiting + len(arrivals) > MAX_WAITING:
                raise Overloaded
            self._waiting += len(arrivals)
            if self._gathering is None:
                self._gathering = _Answers(loop, loop.time(), [], [])
                loop.call_soon(self._look, self._gathering, len(arrivals))
            self._gathering.arrivals.extend(arrivals)
            self._gathering.waiting.append((future, len(arrivals)))
            full = len(self._gathering.arrivals) >= MAX_ROWS
        if full:
            self._hand_over()
        return await future

    def _look(self, answers: _Answers, before: int) -> None:
        """Hands `answers` over, unless there are more than `before`: then the event loop is busy, and brings others.

        So whoever comes alone does not wait, while a busy server has fewer transactions, each of which costs as much as
        several answers.
        """
        if answers is not self._gathering:
            return
        size = len(answers.arrivals)
        if size > before and answers.loop.time() - answers.began < GATHER_SECONDS:
            answers.loop.call_soon(self._look, answers, size)
        else:
            self._hand_over()

    def _hand_over(self) -> None:
        with self._handing_in:
            if self._gathering is not None:
                self._queue.put(self._gathering)
                self._gathering = None

    def submit(self, job: Callable[[Connection], T]) -> "Future[T]":
        """Runs `job` in a transaction of its own; the future has its result once that is committed, or its error."""
        future: Future[T] = Future()
        with self._handing_in:
            if self._stopping:
                future.set_exception(Unavailable())
            else:
                self._queue.put(_Job(job, future))
        return future

    async def run(self, job: Callable[[Connection], T]) -> T:
        """Does what `submit` does, for coroutines."""
        return await asyncio.wrap_future(self.submit(job))

    def _run(self) -> None:
        try:
            self._work()
        finally:
            # If the thread dies, nobody is to wait for it for ever: what waits, and what comes, is refused.
            with self._handing_in:
                self._stopping = True
            self._hand_over()
            self._refuse_waiting()

    def _work(self) -> None:
        following: _Answers | _Job | _Stop | None = None
        while True:
            item = following or self._queue.get()
            following = None
            if isinstance(item, _Answers):
                batch, following = self._gather(item)
                self._store(batch)
            elif isinstance(item, _Job):
                self._perform(item)
            else:
                return

    def _gather(self, first: _Answers) -> tuple[list[_Answers], _Answers | _Job | _Stop | None]:
        """Returns `first` with the answers that wait behind it, up to the next job, and that job."""
        batch = [first]
        rows = len(first.arrivals)
        while rows < MAX_ROWS:
            try:
                item = self._queue.get_nowait()
            except Empty:
                break
            if not isinstance(item, _Answers):
                return batch, item
            batch.append(item)
            rows += len(item.arrivals)
        return batch, None

    def _store(self, batch: list[_Answers]) -> None:
        arrivals = [arrival for item in batch for arrival in item.arrivals]
        outcome: list[Fate] | Exception
        began = time.perf_counter()
        try:
            stored = self._stored(arrivals)
        except Exception as error:
            outcome = self._failure(error)
        else:
            outcome = stored.fates
            self._note_success()
            self._metrics.committed(len(arrivals), time.perf_counter() - began)
            self._ingest.committed(stored)
            self._on_commit(stored)
        # One call for all of them: waking the event loop is dear.
        batch[0].loop.call_soon_threadsafe(self._tell, batch, outcome)

    def _stored(self, arrivals: list[Arrival]) -> Stored:
        try:
            return self._stored_now(arrivals)
        except IntegrityError:  # a query's row, or a collection, was removed meanwhile
            self._ingest.forget_queries()
            return self._stored_now(arrivals)

    def _stored_now(self, arrivals: list[Arrival]) -> Stored:
        if self._at_once is not None and self._ingest.all_plain(arrivals):
            with self._at_once.connect() as connection:
                if self._ingest.knows(connection):
                    return self._ingest.store_at_once(connection, arrivals)
        return transact(self._engine, lambda connection: self._ingest.store(connection, arrivals))

    def _tell(self, batch: list[_Answers], outcome: list[Fate] | Exception) -> None:
        at = 0
        for future, size in (waiting for item in batch for waiting in item.waiting):
            self._waiting -= size
            if future.done():  # whoever asked has gone
                pass
            elif isinstance(outcome, Exception):
                future.set_exception(outcome)
            else:
                future.set_result(outcome[at : at + size])
            at += size

    def _perform(self, job: _Job) -> None:
        if not job.future.set_running_or_notify_cancel():
            return
        try:
            result = transact(self._engine, job.run)
        except Exception as error:
            job.future.set_exception(self._failure(error))
        else:
            self._note_success()
            job.future.set_result(result)

    def _failure(self, error: Exception) -> Exception:
        """The exception for the callers of a transaction that failed with `error`."""
        if not isinstance(error, DATABASE_TROUBLE):
            return error
        if not self._refused:
            _log.error("the database refuses transactions", extra={"error": type(error).__name__})
        self._refused += 1
        self._refuse_waiting()
        return Unavailable()

    def _note_success(self) -> None:
        if self._refused:
            _log.warning("the database takes transactions again", extra={"refused": self._refused})
        self._refused = 0

    def _refuse_waiting(self) -> None:
        """Refuses everything queued behind a failed transaction: one by one, each would wait as long again."""
        stop = None
        refused: list[_Answers] = []
        for _ in range(self._queue.qsize()):
            item = self._queue.get()
            if isinstance(item, _Answers):
                refused.append(item)
            elif isinstance(item, _Job):
                if item.future.set_running_or_notify_cancel():
                    item.future.set_exception(Unavailable())
            else:
                stop = item
        if refused:
            refused[0].loop.call_soon_threadsafe(self._tell, refused, Unavailable())
        if stop is not None:
            self._queue.put(stop)
