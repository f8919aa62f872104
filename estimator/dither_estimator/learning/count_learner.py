"""What every learner does, whatever its model: it counts answers, and asks from pools of questions.

Answers are exchangeable given their questions, so they are kept as counts and applied together when needed: for a
summary, or when a pool is due for renewal. What is read is always the posterior given every answer learnt.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import cycle

import numpy as np
import numpy.typing as npt

from dither_client import Query
from dither_estimator.families import FloatArray
from dither_estimator.learning.summary import Posterior
from dither_estimator.likelihood.counts import Counts, check_counts, total_answers
from dither_estimator.likelihood.institutions import Members
from dither_estimator.policies.pool_size import pool_size
from dither_estimator.specification.specification import Specification

__all__ = ["CountLearner"]


@dataclass(slots=True)
class _Pool:
    """The questions at one ε, the number of answers at which to renew them, and the order of their turns."""

    queries: tuple[Query, ...]
    size: int
    """How many there are, or were to be found."""
    renew_at: int
    turns: Iterator[Query]


class CountLearner(ABC):
    """The posterior of a collection, and the questions that follow from it.

    `seed` makes everything reproducible; `outstanding` is the number of respondents who hold a question at any time.
    Not safe for use by several threads at once.
    """

    _most_questions = 8
    """A pool has at most this many questions unless more are requested."""

    def __init__(self, specification: Specification, seed: int | np.random.SeedSequence, outstanding: int = 1) -> None:
        self.specification = specification
        self._outstanding = outstanding
        self._rng = np.random.default_rng(seed)
        self._answers = 0
        self._pending: dict[Query, list[int]] = {}
        self._pools: dict[Fraction | None, _Pool] = {}

    @property
    def answers(self) -> int:
        """The number of answers learnt."""
        return self._answers

    @property
    @abstractmethod
    def moves(self) -> int:
        """How often the particles have been moved; pending answers may move them again."""

    @property
    @abstractmethod
    def counts(self) -> Counts:
        """Every answer learnt, as a count table."""

    @property
    @abstractmethod
    def members(self) -> Members:
        """All counts of members that were learnt from institutions."""

    def pool(self, size: int = 1, epsilon: Fraction | None = None) -> tuple[Query, ...]:
        """About `size` questions, each to be asked of equally many respondents; renewed as answers arrive.

        There are more if pools are larger, and fewer if there are no more: policy `fixed` has one. They are in the
        order in which to ask respondents who come one by one. ε is one of the specification's choices; None is its
        default.
        """
        pool = self._pools.get(epsilon)
        if pool is None or self._answers >= pool.renew_at or pool.size < size:
            pool = self._renewed(size, epsilon)
        return pool.queries

    @property
    def renew_at(self) -> float:
        """The number of answers at which the first of the current pools is due for renewal; infinite if never."""
        if not self._renews:
            return math.inf
        return min((pool.renew_at for pool in self._pools.values()), default=math.inf)

    def ask(self, epsilon: Fraction | None = None) -> Query:
        """The next question of a pool whose questions take turns; at ε as in `pool`."""
        pool = self._pools.get(epsilon)
        if pool is None or self._answers >= pool.renew_at:
            pool = self._renewed(pool_size(self._answers, self._outstanding), epsilon)
        return next(pool.turns)

    def _renewed(self, size: int, epsilon: Fraction | None) -> "_Pool":
        at = self.specification.epsilon if epsilon is None else epsilon
        due = self._begin_epoch(at)
        length = max(size, min(due, self._most_questions))
        known: dict[Query, Query] = {}
        queries = tuple(
            known.setdefault(query, query) for query in self._questions(length, max(due, length) / length, at)
        )
        pool = self._pools[epsilon] = _Pool(queries, max(length, len(queries)), self._answers + due, cycle(queries))
        return pool

    def learn(self, query: Query, answer: int) -> None:
        """Learn one answer. Raises `ValueError` if it is not an answer to the query."""
        known = self._pending.get(query)
        row = known or [0] * query.n_answers
        if not 0 <= answer < len(row):
            raise ValueError(f"the answer must be from 0 to {len(row) - 1}")
        if known is None:
            self._pending[query] = row
        row[answer] += 1
        self._answers += 1

    def learn_counts(self, table: Mapping[Query, Sequence[int] | npt.NDArray[np.int64]]) -> None:
        """Learn a table of answers. Raises `ValueError`, and learns nothing, if the table is invalid."""
        checked = check_counts(table)
        for query, counts in checked.items():
            row = self._pending.setdefault(query, [0] * query.n_answers)
            for answer, count in enumerate(counts.tolist()):
                row[answer] += count
        self._answers += total_answers(checked)

    @abstractmethod
    def update(self) -> None:
        """Update the posterior with what was learnt now, rather than when somebody reads it."""

    @abstractmethod
    def learn_members(self, members: Members) -> None:
        """Learn the counts that institutions shared; pools made before are dropped."""

    @abstractmethod
    def posterior(self) -> Posterior:
        """Summaries of the posterior given every answer learnt."""

    @property
    @abstractmethod
    def particle_names(self) -> tuple[str, ...]:
        """The names of the columns of `particles`."""

    @abstractmethod
    def particles(self) -> tuple[FloatArray, FloatArray]:
        """Draws from the posterior (n, d), and normalised weights (n,)."""

    @abstractmethod
    def snapshot(self) -> bytes:
        """The whole state as bytes, for `restore`."""

    @property
    @abstractmethod
    def _renews(self) -> bool:
        """Whether questions change as answers arrive."""

    @abstractmethod
    def _begin_epoch(self, epsilon: Fraction) -> int:
        """How many answers the next pool at ε serves."""

    @abstractmethod
    def _questions(self, size: int, repeats: float, epsilon: Fraction) -> tuple[Query, ...]:
        """About `size` questions at ε in the order in which to ask them, each of about `repeats` respondents."""

    def _taken(self) -> Counts:
        """Returns the answers that no model has learnt yet, and counts them as learnt from now on."""
        new = {query: np.array(row, dtype=np.int64) for query, row in self._pending.items() if any(row)}
        self._pending = {}
        return new
