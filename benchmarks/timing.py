"""Whether the time that the client takes tells anything about the value, alone or beside the answer.

The value's classes are below, at, and above the cells' edges. Two questions are asked of times: do they differ between
classes (the largest Kolmogorov-Smirnov distance of two classes; mutual information of class and time), and do they say
more about the class than the answer does (mutual information of class and time *given* the answer, which is what a
server could use, as it has the answer, too)? Each has a p-value by permuting classes, within answers for the last.
Information is in millinats, less the mean over permutations, which is what chance alone gives.
"""

import json
import math
import secrets
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import combinations

import numpy as np
import numpy.typing as npt

from dither_client import Client, MemoryLedger, Query
from dither_client.client import _SETTLE
from dither_client.protocol.flow import Response, Send, Sleep, advance
from dither_client.protocol.messages import parse_terms
from dither_client.protocol.respondent import answer_flow
from testing.long.audit import QUESTIONS
from testing.servers.question_server import asking, terms_of
from testing.tables import print_table

__all__ = ["Findings", "client_times", "dependence", "flow_times", "main", "sampler_times"]

_DRAWS = 40_000
_FLOWS = 3_000
_BINS = 12
_PERMUTATIONS = 400

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Findings:
    """How times depend on classes; p-values are by permutation."""

    median: float
    """Microseconds."""
    apart: float
    """The largest difference between medians of two classes, in microseconds."""
    distance: float
    """The largest Kolmogorov-Smirnov distance of two classes."""
    distance_p: float
    alone: float
    """Millinats of class and time."""
    alone_p: float
    beside: float
    """Millinats of class and time, given the answer."""
    beside_p: float


def classes_of(query: Query) -> list[float]:
    """Clipped values, one on an edge (a tie), one just above it, and one in the middle of the question."""
    edge, last = query.edges[0], query.edges[-1]
    return [-1e9, edge, math.nextafter(edge, math.inf), (edge + last) / 2, 1e9]


def sampler_times(query: Query, draws: int) -> tuple[Integers, Integers, Integers]:
    """Classes, answers and nanoseconds of that many calls, the classes in random order."""
    values = classes_of(query)
    classes = [secrets.randbelow(len(values)) for _ in range(draws)]
    answers, times = [], []
    for k in classes:
        value = values[k]
        began = time.perf_counter_ns()
        drawn = query.answer(value)
        times.append(time.perf_counter_ns() - began)
        answers.append(drawn)
    return np.array(classes), np.array(answers), np.array(times)


def client_times(query: Query, flows: int) -> tuple[Integers, Integers, Integers]:
    """The same for the whole client: from when the ticket is sent to when the answer has come, as a server sees it."""
    values = classes_of(query)
    classes = [secrets.randbelow(len(values)) for _ in range(flows)]
    with asking(query) as server, Client(server.url, MemoryLedger()) as client:
        for i, k in enumerate(classes):
            client.ledger = MemoryLedger()
            client.answer(f"{k}-{i}", values[k])
    answers = np.array([heard.answer for heard in server.heard])
    return np.array(classes), answers, np.array([heard.waited for heard in server.heard])


def flow_times(query: Query, draws: int, settle: float) -> tuple[Integers, Integers, Integers]:
    """The same for the protocol's flow: from the ticket to the answer, as the best network there could be shows it."""
    values = classes_of(query)
    classes = [secrets.randbelow(len(values)) for _ in range(draws)]
    ticket = {"ticket": "t", "query": query.to_json(), "expires_at": "2100-01-01T00:00:00Z"}
    reply, terms = Response(201, {}, json.dumps(ticket).encode()), parse_terms(terms_of(query))
    answers, times = [], []
    for k in classes:
        flow = answer_flow("http://localhost", "c", values[k], MemoryLedger(), settle=settle, terms=terms)
        advance(flow, None)
        began = time.perf_counter_ns()
        step = advance(flow, reply)
        while isinstance(step, Sleep):
            time.sleep(step.seconds)
            step = advance(flow, None)
        times.append(time.perf_counter_ns() - began)
        assert isinstance(step, Send)
        answers.append(json.loads(step.body)["answer"])
    return np.array(classes), np.array(answers), np.array(times)


def dependence(classes: Integers, answers: Integers, times: Integers, seed: int = 0) -> Findings:
    """What times say about classes. Times are cut into a dozen equally frequent bins for the information."""
    rng = np.random.default_rng(seed)
    cuts = np.quantile(times, np.linspace(0, 1, _BINS + 1)[1:-1])
    bins = np.searchsorted(cuts, times, side="right")
    medians = [float(np.median(times[classes == k])) / 1000 for k in np.unique(classes)]
    order = np.argsort(times, kind="stable")
    by_answer = [np.flatnonzero(answers == s) for s in np.unique(answers)]
    shuffled = np.empty_like(classes)

    def within() -> Integers:
        for rows in by_answer:
            shuffled[rows] = classes[rng.permutation(rows)]
        return shuffled

    distances = [_distance(rng.permutation(classes), times, order) for _ in range(_PERMUTATIONS)]
    alone = [_information(rng.permutation(classes), bins) for _ in range(_PERMUTATIONS)]
    beside = [_conditional(within(), bins, by_answer) for _ in range(_PERMUTATIONS)]
    seen = (_distance(classes, times, order), _information(classes, bins), _conditional(classes, bins, by_answer))
    ps = [
        (1 + sum(one >= real for one in null)) / (1 + _PERMUTATIONS)
        for real, null in zip(seen, (distances, alone, beside), strict=True)
    ]
    return Findings(
        median=float(np.median(times)) / 1000,
        apart=max(medians) - min(medians),
        distance=seen[0],
        distance_p=ps[0],
        alone=1000 * (seen[1] - float(np.mean(alone))),
        alone_p=ps[1],
        beside=1000 * (seen[2] - float(np.mean(beside))),
        beside_p=ps[2],
    )


def _distance(classes: Integers, times: Integers, order: npt.NDArray[np.intp]) -> float:
    ends = np.append(np.diff(times[order]) > 0, True)  # equal times count together
    curves = []
    for k in np.unique(classes):
        hits = classes[order] == k
        curves.append((np.cumsum(hits) / hits.sum())[ends])
    return max(float(np.abs(one - other).max()) for one, other in combinations(curves, 2))


def _information(classes: Integers, bins: Integers) -> float:
    """Mutual information of two discrete variables, by their frequencies, in nats."""
    table = np.zeros((int(classes.max()) + 1, int(bins.max()) + 1))
    np.add.at(table, (classes, bins), 1.0)
    joint = table / table.sum()
    product = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    seen = joint > 0
    return float((joint[seen] * np.log(joint[seen] / product[seen])).sum())


def _conditional(classes: Integers, bins: Integers, groups: Sequence[npt.NDArray[np.intp]]) -> float:
    return sum(len(rows) / len(classes) * _information(classes[rows], bins[rows]) for rows in groups)


def main(arguments: Sequence[str]) -> None:
    """Prints the tables; the arguments are the numbers of draws and of whole flows."""
    draws = int(arguments[0]) if arguments else _DRAWS
    flows = int(arguments[1]) if len(arguments) > 1 else _FLOWS
    columns = (
        "mechanism", "median, µs", "medians apart, µs", "KS distance (p)", "class and time, millinats (p)",
        "given the answer, millinats (p)",
    )  # fmt: skip
    print_table(f"The sampler alone: {draws:,} draws", columns, _rows(partial(sampler_times, draws=draws)))
    hasty, settled = partial(flow_times, draws=draws, settle=0), partial(flow_times, draws=flows, settle=_SETTLE)
    print_table(f"From ticket to answer, if nothing were done about it: {draws:,} flows", columns, _rows(hasty))
    print_table(f"From ticket to answer, as the client does it: {flows:,} flows", columns, _rows(settled))
    over_http = partial(client_times, flows=flows)
    print_table(f"The whole client over HTTP, as a server sees it: {flows:,} flows", columns, _rows(over_http))


def _rows(measure: Callable[[Query], tuple[Integers, Integers, Integers]]) -> Iterator[tuple[object, ...]]:
    for name, make in QUESTIONS.items():
        found = dependence(*measure(make(Fraction(1))))
        tests = ((found.distance, found.distance_p), (found.alone, found.alone_p), (found.beside, found.beside_p))
        cells = [f"{size:.3g} ({p:.2g})" for size, p in tests]
        yield name, f"{found.median:.1f}", f"{found.apart:.2f}", *cells


if __name__ == "__main__":
    main(sys.argv[1:])
