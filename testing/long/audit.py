"""An audit of the client as a black box: is the ε that its answers show ever above the ε that its ledger is charged?

The client's own program answers a fixed question over HTTP for values at both extremes, at a cell's edge on either
side and in the middle. For sets of answers that are fixed beforehand, the chance of each from each value is bounded
from both sides (Clopper & Pearson 1934), all at once by Bonferroni's inequality. The largest `log(lower bound / upper
bound)` over sets and pairs of values is then a lower bound of the client's ε at that confidence. A client that keeps
its promise exceeds what it charges with a probability below `FALSE_ALARMS`.

    python -m testing.long.audit [ANSWERS]
"""

import math
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import combinations, product
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
from scipy.stats import beta

from dither_client import (
    Client,
    ComponentQuery,
    Gaussian,
    JointQuery,
    Laplace,
    MemoryLedger,
    Query,
    RandomizedResponse,
    Staircase,
    parse_query,
)
from dither_client.ledger.protocol import LedgerProtocol
from dither_client.mechanisms.gaussian_epsilon import gaussian_epsilon
from dither_client.mechanisms.grouped_randomized_response import GroupedRandomizedResponse
from dither_client.mechanisms.query import Held
from dither_client.mechanisms.sampling import RandBelow, discrete_laplace
from testing.servers.question_server import asking, named
from testing.tables import print_table

__all__ = [
    "BROKEN", "FALSE_ALARMS", "QUESTIONS", "Verdict", "audit", "broken_client", "detectable", "epsilon_bound", "main",
    "own_sets", "values_of",
]  # fmt: skip

FALSE_ALARMS = 1e-6
"""The probability that one audit accuses a client that keeps its promise."""

_ANSWERS = 4_000
"""For each value."""
_EPSILONS = ("0.1", "1", "3")
_POWER = 0.9
_CLIENTS = 16
"""How many respondents answer at the same time, since a client mostly waits."""

Answering = Callable[[Query, Held, RandBelow], int]
Sets = Sequence[frozenset[int]]


def _laplace(epsilon: Fraction) -> Query:
    return Laplace(0, 4, 4, epsilon)


def _randomized_response(epsilon: Fraction) -> Query:
    return RandomizedResponse([-1, 1], epsilon)


def _staircase(epsilon: Fraction) -> Query:
    return Staircase([-1, 1], [[0, 1], [0, 2], [1, 2]], [1, 1, 1], epsilon)


def _gaussian(epsilon: Fraction) -> Query:
    """The largest ρ of four decimals with at most that ε, which is then its own."""
    low, high = 1, 500_000
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if gaussian_epsilon(4, Fraction(middle, 10_000)) <= epsilon else (low, middle)
    rho = Fraction(low, 10_000)
    return Gaussian(0, 4, 4, rho, gaussian_epsilon(4, rho))


def _grouped_randomized_response(epsilon: Fraction) -> Query:
    return GroupedRandomizedResponse([[0, 3], [1], [2, 4]], epsilon)


def _component(epsilon: Fraction) -> Query:
    return ComponentQuery(1, _laplace(epsilon))


def _joint(epsilon: Fraction) -> Query:
    channel = RandomizedResponse([0.0, 1.0, 2.0], epsilon)
    return JointQuery([0, 1, 2], "odd_one_out", [[-1], [0], [1]], ["identity"] * 3, channel)


QUESTIONS: Mapping[str, Callable[[Fraction], Query]] = MappingProxyType(
    {
        "laplace": _laplace,
        "randomized_response": _randomized_response,
        "staircase": _staircase,
        "gaussian": _gaussian,
        "grouped_randomized_response": _grouped_randomized_response,
        "component": _component,
        "joint": _joint,
    }
)
"""A question of each mechanism, few enough answers that every set of them is looked at."""

FINE = Laplace(0, 64, 64, "0.1")
"""A question in which every single answer is rare: it shows a client that now and then tells the truth."""


def values_of(query: Query) -> list[Held]:
    """Far below and far above every edge, at the first edge (a tie) and just above it, and in the middle.

    Of categories every one; of several numbers, one below and one above each cut.
    """
    if isinstance(query, JointQuery):
        sides = [(-1e9, 1e9) if number in query.about else (0.0,) for number in range(query.about[-1] + 1)]
        return [*product(*sides)]
    if isinstance(query, ComponentQuery):
        return [(0.0, value) for value in values_of(query.query) if isinstance(value, float)]
    if isinstance(query, GroupedRandomizedResponse):
        return [float(category) for category in range(query.n_cells)]
    first, middle = query.edges[0], query.edges[len(query.edges) // 2]
    return [-1e9, first, math.nextafter(first, math.inf), math.nextafter(middle, math.inf), 1e9]


def own_sets(query: Query, values: Sequence[Held]) -> Sets:
    """The sets of answers that are looked at, and one for all that is no answer; fixed before anything is seen.

    All of them if there are at most 64, otherwise the answers that are the values' own cells, and those up to each.
    """
    answers = range(query.n_answers)
    outside = frozenset({-1})
    if query.n_answers <= 6:
        sizes = range(1, query.n_answers)
        return [outside, *(frozenset(some) for size in sizes for some in combinations(answers, size))]
    cells = sorted({query.cell(value) for value in values})
    tails = [frozenset(range(cell + 1)) for cell in cells if cell < query.n_answers - 1]
    return [outside, *(frozenset({cell}) for cell in cells), *tails, *(frozenset(answers) - tail for tail in tails)]


def epsilon_bound(tallies: npt.NDArray[np.int64], sets: Sets, false_alarms: float = FALSE_ALARMS) -> float:
    """The ε that is exceeded, but for a probability of `false_alarms`; at least 0.

    `tallies` has a row for each value and a column for each answer, the last for whatever is no answer.
    """
    hits = np.array([[row[sorted(some)].sum() for some in sets] for row in tallies])
    n = tallies.sum(axis=1, keepdims=True)
    level = false_alarms / (2 * hits.size)
    lower = np.where(hits > 0, beta.ppf(level, hits, n - hits + 1), 0.0)
    upper = np.where(hits < n, beta.isf(level, hits + 1, n - hits), 1.0)
    ratio = float((lower.max(axis=0) / upper.min(axis=0)).max())
    return math.log(ratio) if ratio > 1 else 0.0


@dataclass(frozen=True)
class Verdict:
    """What an audit found: the ε that was charged for an answer, and the ε that the answers show at least."""

    charged: float
    shown: float

    @property
    def broken(self) -> bool:
        """Whether the client is not as private as it charges."""
        return self.shown > self.charged


def audit(
    query: Query, answers: int, values: Sequence[Held] = (), ledger: Callable[[], LedgerProtocol] | None = None
) -> Verdict:
    """Has the client answer `query` so often for each value, each time with the ledger of a new respondent.

    The client is the one that is installed, over HTTP; a verdict `broken` on one that keeps its promise has a
    probability below `FALSE_ALARMS`.
    """
    values = values or values_of(query)
    ledger = ledger or partial(MemoryLedger, query.epsilon)  # which allows this answer, whatever it costs
    turns = [k for k in range(len(values)) for _ in range(answers)]
    random.shuffle(turns)
    with asking(query) as server:

        def answer_all(some: Sequence[tuple[int, int]]) -> set[Fraction]:
            charges: set[Fraction] = set()
            with Client(server.url, ledger()) as client:
                for turn, k in some:
                    client.ledger = ledger()
                    client.answer(f"{k}-{turn}", named(query, values[k]))
                    charges.update(charge.epsilon for charge in client.ledger.entries())
            return charges

        numbered = list(enumerate(turns))
        with ThreadPoolExecutor(_CLIENTS) as pool:
            charges = set().union(*pool.map(answer_all, (numbered[i::_CLIENTS] for i in range(_CLIENTS))))
    tallies = np.zeros((len(values), query.n_answers + 1), dtype=np.int64)
    for heard in server.heard:
        known = isinstance(heard.answer, int) and 0 <= heard.answer < query.n_answers
        tallies[int(heard.collection.partition("-")[0]), heard.answer if known else -1] += 1
    assert (tallies.sum(axis=1) == answers).all(), "every answer was sent once"
    return Verdict(float(max(charges)), epsilon_bound(tallies, own_sets(query, values)))


def detectable(make: Callable[[Fraction], Query], epsilon: Fraction, answers: int) -> float:
    """The least ε' such that a client that charges ε and is ε'-private is caught with a probability of 90%.

    Infinity if there is none up to `4 ε + 1`. By simulation of the mechanism's own channel at ε', 60 audits each, so to
    about 0.01.
    """
    rng = np.random.default_rng(1)
    charged = float(make(epsilon).epsilon)
    values = values_of(make(epsilon))

    def caught(query: Query) -> float:
        rows = [[*query.channel()[query.cell(value)], 0.0] for value in values]
        sets = own_sets(query, values)
        runs = (np.array([rng.multinomial(answers, np.array(row) / sum(row)) for row in rows]) for _ in range(60))
        return float(np.mean([epsilon_bound(run, sets) > charged for run in runs]))

    low, high = charged, 4 * charged + 1
    if caught(make(Fraction(round(high * 1_000_000), 1_000_000))) < _POWER:
        return math.inf
    while high - low > 0.005:
        middle = (low + high) / 2
        low, high = (
            (low, middle) if caught(make(Fraction(round(middle * 1_000_000), 1_000_000))) >= _POWER else (middle, high)
        )
    return high


# Clients that break their promise, by what they answer.


def _at_twice_epsilon(query: Query, value: Held, randbelow: RandBelow) -> int:
    fields = query.to_json()
    fields["epsilon"] = 2 * query.epsilon
    if query.rho is not None:
        fields["rho"] = 2 * query.rho
        fields["epsilon"] = gaussian_epsilon(query.n_answers - 1, 2 * query.rho)
    return parse_query(fields).sample(query.cell(value), randbelow)


def _unclipped(query: Query, value: Held, randbelow: RandBelow) -> int:
    """The value is rounded to a level, but not clipped to the interval first."""
    if not (isinstance(query, Laplace) and isinstance(value, float | int)):
        raise TypeError("this is about intervals")
    level = round((value - query.low) / (query.high - query.low) * query.levels)
    noise = discrete_laplace(query.epsilon.numerator, query.epsilon.denominator * query.levels, randbelow)
    return min(max(level + noise, 0), query.levels)


def _seeded(query: Query, value: Held, randbelow: RandBelow) -> int:
    """The same "random" numbers for every respondent."""
    return query.sample(query.cell(value), random.Random(0).randrange)


def _seeded_by_value(query: Query, value: Held, randbelow: RandBelow) -> int:
    return query.sample(query.cell(value), random.Random(repr(value)).randrange)


def _truthful(percent: int) -> Answering:
    def answer(query: Query, value: Held, randbelow: RandBelow) -> int:
        cell = query.cell(value)
        return cell if randbelow(100) < percent else query.sample(cell, randbelow)

    return answer


BROKEN: Mapping[str, Answering] = MappingProxyType(
    {
        "noise at half scale": _at_twice_epsilon,
        "value not clipped": _unclipped,
        "generator seeded with 0 each time": _seeded,
        "generator seeded with the value": _seeded_by_value,
        "the truth in 20% of the answers": _truthful(20),
        "the truth in 5% of the answers": _truthful(5),
        "the truth in 1% of the answers": _truthful(1),
    }
)


_TRUTHFUL = {
    "the truth in 20% of the answers": 600,
    "the truth in 5% of the answers": 3_000,
    "the truth in 1% of the answers": 20_000,
}
"""Answers a value that it takes to see it."""


@contextmanager
def broken_client(answering: Answering) -> Iterator[None]:
    """The client answers so, everything else about it as it is."""
    right = Query.answer
    Query.answer = answering  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        Query.answer = right  # type: ignore[method-assign]


def main(arguments: Sequence[str]) -> None:
    """Prints the tables; the argument is the number of answers for each value."""
    answers = int(arguments[0]) if arguments else _ANSWERS
    confidence = f"confidence 1 − {FALSE_ALARMS:g} each"
    columns = ("mechanism", "charged ε", "ε shown, at least", "verdict", "smallest ε that would be caught")
    print_table(f"Audit: {answers:,} answers for each of 5 values, {confidence}", columns, _rows(answers))
    broken = ("broken client", "question", "answers a value", "charged ε", "ε shown, at least", "verdict")
    print_table("Audit: clients that break their promise", broken, _broken_rows(answers))


def _rows(answers: int) -> Iterator[tuple[object, ...]]:
    for name, make in QUESTIONS.items():
        for epsilon in map(Fraction, _EPSILONS):
            found = audit(make(epsilon), answers)
            yield name, *_cells(found), f"{detectable(make, epsilon, answers):.2f}"


def _broken_rows(answers: int) -> Iterator[tuple[object, ...]]:
    for name, answering in BROKEN.items():
        values: Sequence[Held] = ()
        query, many = _laplace(Fraction(1)), answers
        if name in _TRUTHFUL:  # rare, so it takes a question in which every single answer is rarer still
            query, many, values = FINE, _TRUTHFUL[name], values_of(FINE)[::3]
        with broken_client(answering):
            found = audit(query, many, values)
        yield name, f"laplace, {query.n_answers} answers", f"{many:,}", *_cells(found)


def _cells(found: Verdict) -> tuple[str, str, str]:
    return f"{found.charged:.3g}", f"{found.shown:.3f}", "broken" if found.broken else "keeps its promise"


if __name__ == "__main__":
    main(sys.argv[1:])
