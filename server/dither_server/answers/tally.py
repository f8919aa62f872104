"""Counts tickets and answers by question, and refused answers by cause, in memory, and writes them about every second.

Neither issuing a ticket nor refusing an answer writes anything, so a flood of either causes no flood of writes: each
second there are at most as many rows as questions, gateways and causes. If a process dies, its unwritten counts are
missing only from these tables: they describe the quality of a collection, and no answer depends on them.
"""

import logging
import threading
from collections import Counter
from collections.abc import Collection, Mapping

from sqlalchemy import Connection, select
from sqlalchemy.exc import IntegrityError

from dither_server.answers.rules import Arrival
from dither_server.answers.sql import number_queries
from dither_server.answers.writer import Writer
from dither_server.database.engine import history_of, insert_into
from dither_server.database.schema import collections, refusals, tallies
from dither_server.errors import Unavailable

__all__ = ["PERIOD", "PROMPT", "Tally"]

PERIOD = 600
"""Seconds in a period; tickets issued in the same period are counted together."""
PROMPT = 3600
"""An answer is prompt if it comes within this many seconds of its ticket's issue."""

_FLUSH_SECONDS = 1.0

_log = logging.getLogger(__name__)


_Slice = tuple[int, bytes, int, int]
"""Collection, packed query, gateway and period of tickets. A plain tuple, since one is made for each ticket."""


class Tally:
    """The tally, which writes through `writer`. Thread-safe."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self.slot = 0
        """The number of the process, which has its own rows."""
        self._lock = threading.Lock()
        self._tickets: Counter[_Slice] = Counter()
        self._answers: Counter[_Slice] = Counter()
        self._late: Counter[_Slice] = Counter()
        """The answers that were not prompt."""
        self._refused: Counter[tuple[int, str]] = Counter()
        self._queries: dict[bytes, int] = {}
        self._history: str | None = None
        """The history of the database that the numbers of queries are of."""
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="dither-tally", daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Writes what is left, and ends the thread."""
        self._stopping.set()
        self._thread.join()

    def issued(self, collection: int, query: bytes, gateway: int, at: int) -> None:
        """Counts a ticket issued at `at` (seconds)."""
        with self._lock:
            self._tickets[collection, query, gateway, at // PERIOD] += 1

    def answered(self, arrivals: Collection[Arrival]) -> None:
        """Counts stored answers."""
        slices, late = [], []
        for (collection, ticket), query, _, received_at, _, gateway, _ in arrivals:
            at = int.from_bytes(ticket[:4], "big")
            of = (collection, query, gateway, at // PERIOD)
            slices.append(of)
            if received_at >= (at + PROMPT) * 1000:
                late.append(of)
        with self._lock:
            self._answers.update(slices)
            self._late.update(late)

    def refused(self, collection: int, cause: str, count: int = 1) -> None:
        """Counts refused answers; `cause` is the name of a problem."""
        with self._lock:
            self._refused[collection, cause] += count

    def flush(self) -> None:
        """Writes the counts. Raises what the writer raises, and then keeps the counts."""
        with self._lock:
            tickets, answers, late, refused = self._tickets, self._answers, self._late, self._refused
            self._tickets, self._answers, self._late, self._refused = Counter(), Counter(), Counter(), Counter()
        if not (tickets or answers or refused):
            return
        try:
            job = self._writer.submit(lambda connection: self._write(connection, tickets, answers, late, refused))
            if isinstance(job.exception(), IntegrityError):  # the row of a query was removed: look all of them up again
                self._queries = {}
                job = self._writer.submit(lambda connection: self._write(connection, tickets, answers, late, refused))
            self._queries |= job.result()
        except BaseException:
            with self._lock:
                self._tickets += tickets
                self._answers += answers
                self._late += late
                self._refused += refused
            raise

    def _run(self) -> None:
        while True:
            stopping = self._stopping.wait(_FLUSH_SECONDS)
            try:
                self.flush()
            except Unavailable:
                pass  # said by the writer; the next second tries again
            except Exception as error:
                _log.error("the tally could not be written", extra={"error": type(error).__name__})
            if stopping:
                return

    def _write(
        self,
        connection: Connection,
        tickets: Mapping[_Slice, int],
        answers: Mapping[_Slice, int],
        late: Mapping[_Slice, int],
        refused: Mapping[tuple[int, str], int],
    ) -> dict[bytes, int]:
        """Adds to the tables, and returns the row numbers of new queries. Counts of removed collections are dropped."""
        there = set(connection.execute(select(collections.c.number)).scalars())
        slices = {of for of in tickets.keys() | answers.keys() if of[0] in there}
        if history_of(connection) != self._history:
            self._queries, self._history = {}, history_of(connection)
        found = number_queries(connection, {query for _, query, _, _ in slices} - self._queries.keys())
        numbers = self._queries | found
        rows = [
            {
                "collection": of[0],
                "query": numbers[of[1]],
                "gateway": of[2],
                "period": of[3],
                "slot": self.slot,
                "tickets": tickets.get(of, 0),
                "answers": answers.get(of, 0),
                "prompt": answers.get(of, 0) - late.get(of, 0),
            }
            for of in slices
        ]
        if rows:
            add = insert_into(connection.dialect.name, tallies)
            more = {name: tallies.c[name] + add.excluded[name] for name in ("tickets", "answers", "prompt")}
            keys = ["collection", "query", "gateway", "period", "slot"]
            connection.execute(add.on_conflict_do_update(index_elements=keys, set_=more), rows)
        causes = [
            {"collection": collection, "cause": cause, "slot": self.slot, "count": count}
            for (collection, cause), count in refused.items()
            if collection in there
        ]
        if causes:
            add = insert_into(connection.dialect.name, refusals)
            more = {"count": refusals.c.count + add.excluded.count}
            keys = ["collection", "cause", "slot"]
            connection.execute(add.on_conflict_do_update(index_elements=keys, set_=more), causes)
        return found
