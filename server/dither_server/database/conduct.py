"""How a collection is answered: the operating counts that `answers.tally` writes.

The reads of `tallies`, `refusals`, `gateways` and of their `queries` are here. A collection has a row of `tallies` for
each question, gateway and ten minutes, which soon are hundreds of thousands: the database sums them, and what is read
for each period is read in steps.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, Engine, case, func, select, tuple_

from dither_server.database.schema import gateways, queries, refusals, tallies
from dither_server.tickets.packing import query_id_of

__all__ = ["Conduct", "ConductReads", "TallyRow"]

IntArray = npt.NDArray[np.int64]

_AT_ONCE = 100_000
"""The most rows that one statement returns: it takes far less time than a statement may."""


@dataclass(frozen=True, slots=True)
class TallyRow:
    """Tickets for one query that one gateway requested, and how many of them were answered."""

    number: int
    """The number of the query's row, which it has for each purpose and group."""
    query_id: str
    query: str
    """JSON."""
    group: int
    """The number of the group that was asked."""
    gateway: int
    tickets: int
    answers: int
    closed: int
    """Those of the tickets that were issued in closed periods."""


@dataclass(frozen=True, slots=True)
class Conduct:
    """The operating counts of a collection, all read at one moment."""

    tallies: list[TallyRow]
    """Summed over periods and slots, in a fixed order."""
    refusals: dict[str, int]
    """Refused answers by cause."""
    gateways: dict[int, tuple[str, str]]
    """The id and the name of each gateway's token, by the gateway's number."""


class ConductReads:
    """Reads of operating counts."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def of(self, collection: int, closed_before: int) -> Conduct:
        """The operating counts of a collection, from one database snapshot, since they are written together.

        Periods before `closed_before` count as closed.
        """
        with self._engine.connect() as connection:
            if connection.dialect.name == "postgresql":  # by default, each statement would see its own snapshot
                connection.execution_options(isolation_level="REPEATABLE READ")
            counted = _tallies(connection, collection, closed_before)
            return Conduct(counted, _refusals(connection, collection), _gateways(connection))

    def closed(self, collection: int, before: int) -> IntArray:
        """The tickets of the periods before that one, shape (rows, 4): query's number, period, tickets, prompt answers.

        There is a row for each query, gateway and period in which tickets were issued, summed over slots.
        """
        steps = [self._closed_after(collection, before, (-1, 0, 0, 0))]
        while len(steps[-1]) == _AT_ONCE:  # closed periods change no more, so it need not be one transaction
            steps.append(self._closed_after(collection, before, steps[-1][-1, :4].tolist()))
        rows = np.concatenate(steps)
        if not len(rows):
            return rows[:, :4]
        starts = np.flatnonzero(np.any(np.diff(rows[:, :3], axis=0, prepend=-1), axis=1))
        summed = np.column_stack((rows[starts][:, [0, 2]], np.add.reduceat(rows[:, 4:], starts)))
        return summed[summed[:, 2] > 0]

    def _closed_after(self, collection: int, before: int, after: Sequence[int]) -> IntArray:
        """The next rows in the order of query, gateway, period and slot, and with them tickets and prompt answers."""
        key = [tallies.c[name] for name in ("query", "gateway", "period", "slot")]
        found = (
            select(*key, tallies.c.tickets, tallies.c.prompt)
            .where(tallies.c.collection == collection, tallies.c.period < before, tuple_(*key) > tuple_(*after))
            .order_by(*key)
            .limit(_AT_ONCE)
        )
        with self._engine.connect() as connection:
            numbers = chain.from_iterable(connection.execute(found))
            return np.fromiter(numbers, dtype=np.int64).reshape(-1, 6)

    def recent_answers(self, first_period: int) -> dict[int, int]:
        """The number of answers by collection to tickets of `first_period` and later periods."""
        found = (
            select(tallies.c.collection, func.sum(tallies.c.answers))
            .where(tallies.c.period >= first_period)
            .group_by(tallies.c.collection)
        )
        with self._engine.connect() as connection:
            return {number: int(total) for number, total in connection.execute(found)}


def _tallies(connection: Connection, collection: int, closed_before: int) -> list[TallyRow]:
    """One row for each query and gateway, so long texts are joined to sums, and not to the rows of every period."""
    key = (tallies.c.query, tallies.c.gateway)
    closed = case((tallies.c.period < closed_before, tallies.c.tickets), else_=0)
    sums = {"tickets": tallies.c.tickets, "answers": tallies.c.answers, "closed": closed}
    totals = [func.sum(column).label(name) for name, column in sums.items()]
    summed = select(*key, *totals).where(tallies.c.collection == collection).group_by(*key).subquery()
    columns = (queries.c.number, queries.c.id, queries.c.query, queries.c.group_number)
    found = (
        select(*columns, summed.c.gateway, summed.c.tickets, summed.c.answers, summed.c.closed)
        .join_from(summed, queries, summed.c.query == queries.c.number)
        .order_by(queries.c.id, queries.c.number, summed.c.gateway)
    )
    return [
        TallyRow(number, query_id_of(row), query, group, gateway, int(issued), int(done), int(closed))
        for number, row, query, group, gateway, issued, done, closed in connection.execute(found)
    ]


def _refusals(connection: Connection, collection: int) -> dict[str, int]:
    found = (
        select(refusals.c.cause, func.sum(refusals.c.count))
        .where(refusals.c.collection == collection)
        .group_by(refusals.c.cause)
        .order_by(refusals.c.cause)
    )
    return {cause: int(count) for cause, count in connection.execute(found)}


def _gateways(connection: Connection) -> dict[int, tuple[str, str]]:
    rows = connection.execute(select(gateways.c.number, gateways.c.token, gateways.c.name))
    return {number: (token, name) for number, token, name in rows}
