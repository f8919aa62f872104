"""The test of whether completion depends on the question, on the tickets of a collection."""

import json
import threading
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from dither_client import Query, parse_query
from dither_estimator.checks.completion import CompletionLook, Slices, completion_looks, next_look
from dither_server.answers.tally import PERIOD, PROMPT
from dither_server.collections.collection import Collection
from dither_server.database.conduct import ConductReads, TallyRow
from dither_server.tickets.office import SKEW

__all__ = ["CompletionTest", "closed_before", "middle"]

_NO_CHOICE = Fraction(0)
"""Stands for the ε of all questions where nobody chooses it: that of `gaussian` may differ with the same ρ."""


def closed_before(now: float) -> int:
    """The first period that is not closed at `now` (seconds).

    A period is closed once no further answer to its tickets can be prompt, and all prompt ones have been written.
    """
    return (int(now) - PROMPT - SKEW) // PERIOD


def middle(query: Query) -> float:
    """The middle of a question's edges, by which questions are ordered."""
    return sum(query.edges) / len(query.edges)


class CompletionTest:
    """The interim looks at completion. Those made stay as they are, so each is made once by a process. Thread-safe.

    The tickets of each period are read for a new look alone, which is due when there are twice as many as at the last.
    """

    def __init__(self, reads: ConductReads) -> None:
        self._reads = reads
        self._known: dict[int, list[CompletionLook]] = {}
        """The looks made so far, by the collection's number."""
        self._making = threading.Lock()

    def looks(self, collection: Collection, rows: Sequence[TallyRow], closed_before: int) -> list[CompletionLook]:
        """The looks that are due, where a collection has these rows with the periods before that one closed."""
        if self._is_due(collection, rows):
            with self._making:  # whoever else asks meanwhile waits, and finds it made
                if self._is_due(collection, rows):
                    slices = self._slices(collection, rows, closed_before)
                    made = completion_looks(slices, self._known.get(collection.number, ()))
                    self._known[collection.number] = made
        return self._known.get(collection.number, [])

    def _is_due(self, collection: Collection, rows: Sequence[TallyRow]) -> bool:
        return sum(row.closed for row in rows) >= next_look(self._known.get(collection.number, ()))

    def _slices(self, collection: Collection, rows: Sequence[TallyRow], closed_before: int) -> Slices:
        """The tickets of closed periods; each respondent has chosen an ε where the collection lets them."""
        chosen = len(collection.specification.epsilon_choices) > 1
        texts = {row.query_id: row.query for row in rows}
        parsed = {name: parse_query(json.loads(text)) for name, text in texts.items()}
        asked: dict[tuple[int, Fraction], int] = {}
        places: dict[int, float] = {}
        groups: dict[int, int] = {}
        for row in rows:
            query = parsed[row.query_id]
            places[row.number] = middle(query)
            group = (row.group, query.epsilon if chosen else _NO_CHOICE)
            groups[row.number] = asked.setdefault(group, len(asked))
        closed = self._reads.closed(collection.number, closed_before)
        closed = closed[np.isin(closed[:, 0], list(places))]  # a question written since then is in the next look
        distinct, which = np.unique(closed[:, 0], return_inverse=True)
        return Slices(
            periods=closed[:, 1],
            places=np.array([places[number] for number in distinct.tolist()], dtype=float)[which],
            tickets=closed[:, 2],
            completed=np.minimum(closed[:, 3], closed[:, 2]),
            groups=np.array([groups[number] for number in distinct.tolist()], dtype=np.int64)[which],
        )
