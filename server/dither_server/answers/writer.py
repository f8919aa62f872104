"""The one thread of a process that writes to its database.

Answers that arrive while a transaction runs form the next one together, so that the disk is waited for once for all
of them. Nobody is told that an answer is stored before its transaction is committed. Everything else that is written
goes through the same thread, as jobs, each in a transaction of its own, in the order in which all of it came.
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

from dither_server.answers.rules import Arrival, Fate, Ingest, Stored
from dither_server.database.engine import DATABASE_TROUBLE, reading, writing
from dither_server.errors import Overloaded, Unavailable
from dither_server.metrics import Metrics

__all__ = ["MAX_ROWS", "Writer"]

T = TypeVar("T")

MAX_ROWS = 4_096
"""A transaction takes no more submissions once it has this many answers."""
MAX_WAITING = 65_536
"""Answers beyond these are refused for now."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Answers:
    """What was handed in during one turn of the event loop, and who waits for how much of it."""

    loop: asyncio.AbstractEventLoop
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
        """Each statement on it is a transaction of its own, so that storing answers is one message, there and back."""
        self._ingest = ingest
        self._metrics = metrics
        self._on_commit = on_commit
        self._queue: SimpleQueue[_Answers | _Job | _Stop] = SimpleQueue()
        self._waiting = 0
        self._turn: _Answers | None = None
        self._handing_in = threading.Lock()
        self._stopping = False
        self._refused = 0
        """Transactions that the database has refused since the last one that it took."""
        self._thread = threading.Thread(target=self._run, name="dither-writer", daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Writes everything that was handed in, and ends the thread."""
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
        """The fates of `arrivals`, in order, once those that are stored are safe.

        Raises `Overloaded` when too much is waiting and `Unavailable` when the transaction failed; nothing was
        counted then. To be called from one event loop only.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[list[Fate]] = loop.create_future()
        with self._handing_in:
            if self._stopping:
                raise Unavailable
            if self._waiting + len(arrivals) > MAX_WAITING:
                raise Overloaded
            self._waiting += len(arrivals)
            if self._turn is None:
                self._turn = _Answers(loop, [], [])
                loop.call_soon(self._hand_over)
            self._turn.arrivals.extend(arrivals)
            self._turn.waiting.append((future, len(arrivals)))
            full = len(self._turn.arrivals) >= MAX_ROWS
        if full:
            self._hand_over()
        return await future

    def _hand_over(self) -> None:
        """Wakes the writer once for all requests of a turn: one by one, the first would get a transaction to itself."""
        with self._handing_in:
            if self._turn is not None:
                self._queue.put(self._turn)
                self._turn = None

    def submit(self, job: Callable[[Connection], T]) -> "Future[T]":
        """Runs `job` in a transaction of its own; the future has its result once that is committed, or its error."""
        future: Future[T] = Future()
        if self._stopping:
            future.set_exception(Unavailable())
        else:
            self._queue.put(_Job(job, future))
        return future

    async def run(self, job: Callable[[Connection], T]) -> T:
        """`submit` for coroutines."""
        return await asyncio.wrap_future(self.submit(job))

    def _run(self) -> None:
        try:
            self._work()
        finally:
            # If the thread dies, nobody is to wait for it for ever: what waits, and what comes, is refused.
            self._stopping = True
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
        """`first` and the answers that wait behind it, up to a job; and that job."""
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
        if self._at_once is not None and self._ingest.all_plain(arrivals):
            with self._at_once.connect() as connection:
                return self._ingest.store_at_once(connection, arrivals)
        with self._engine.begin() as connection:
            return self._ingest.store(connection, arrivals)

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
            with self._engine.begin() as connection:
                result = job.run(connection)
        except Exception as error:
            job.future.set_exception(self._failure(error))
        else:
            self._note_success()
            job.future.set_result(result)

    def _failure(self, error: Exception) -> Exception:
        """What to tell those whose transaction failed with `error`."""
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
        """Refuses what waits behind a transaction that failed: one after the other, each would wait as long again."""
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
