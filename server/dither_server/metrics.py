"""Metrics for Prometheus. No label and no value says anything about a person.

The number of series is bounded: calls, statuses and outcomes are few, and only the `MAX_SERIES` collections that learnt
most recently have series of their own. `docs/operators.md` lists every metric, which a test compares with this module.
"""

import re
import threading
import time
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.metrics_core import GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

__all__ = ["MAX_SERIES", "Metrics"]

MAX_SERIES = 100
"""The largest number of collections that have series of their own."""

_LATENCY_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)
_DURATION_BUCKETS = (0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10, 60)
_SIZE_BUCKETS = (1, 4, 16, 64, 256, 1024, 4096, 16384)

_COLLECTION = re.compile(rb'[{,]collection="([^"]*)"')

_Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class _Learnt:
    """The state of a collection's learner after its last update."""

    answers: int
    ess: float
    width: float


class _Learners(Collector):
    """The state of each collection's learner, and the answers that wait to be learnt. Thread-safe.

    Values are computed when Prometheus asks, since waiting times grow by themselves.
    """

    def __init__(self, clock: _Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._owned: Mapping[int, str] = {}
        self._learnt: OrderedDict[str, _Learnt] = OrderedDict()
        self._waiting: dict[int, tuple[int, float]] = {}
        """The committed answers of each collection that are not learnt yet, and since when the oldest waits."""

    def hold(self, collections: Mapping[int, str]) -> None:
        with self._lock:
            for number in self._owned.keys() - collections.keys():
                self._learnt.pop(self._owned[number], None)
                self._waiting.pop(number, None)
            self._owned = dict(collections)

    def wait(self, added: Mapping[int, int]) -> None:
        with self._lock:
            for number, more in added.items():
                if number not in self._owned:
                    continue
                before, since = self._waiting.get(number, (0, self._clock()))
                self._waiting[number] = (before + more, since)

    def waiting(self, number: int) -> int:
        with self._lock:
            return self._waiting.get(number, (0, 0.0))[0]

    def learn(self, collection: str, number: int, taken: int, began: float, learnt: _Learnt) -> None:
        with self._lock:
            left = self._waiting.get(number, (0, 0.0))[0] - taken
            if left > 0:  # these arrived while the learner was running
                self._waiting[number] = (left, began)
            else:
                self._waiting.pop(number, None)
            self._learnt[collection] = learnt
            self._learnt.move_to_end(collection)
            if len(self._learnt) > MAX_SERIES:
                self._learnt.popitem(last=False)

    def collect(self) -> Iterable[Metric]:
        with self._lock:
            owned, learnt = set(self._owned.values()), dict(self._learnt)
            waiting = list(self._waiting.values())
        now = self._clock()
        yield GaugeMetricFamily(
            "dither_unlearnt_answers",
            "Answers that this process has committed and still has to learn.",
            sum(count for count, _ in waiting),
        )
        yield GaugeMetricFamily(
            "dither_learning_lag_seconds",
            "Seconds for which the oldest committed answer has waited to be learnt; 0 if none waits.",
            max((now - since for _, since in waiting), default=0.0),
        )
        yield GaugeMetricFamily(
            "dither_owned_collections", "Collections whose particle system this process runs.", float(len(owned))
        )
        yield _by_collection(
            "dither_collection_owner",
            "1 if this process runs the collection's particle system.",
            {name: float(name in owned) for name in learnt},
        )
        yield _by_collection(
            "dither_learnt_answers",
            "Answers learnt by the collection's estimator.",
            {name: float(one.answers) for name, one in learnt.items()},
        )
        yield _by_collection(
            "dither_effective_sample_size",
            "Effective sample size of the collection's particles.",
            {name: one.ess for name, one in learnt.items()},
        )
        yield _by_collection(
            "dither_question_width",
            "Distance between the outermost cell edges of the current questions, on the collection's scale.",
            {name: one.width for name, one in learnt.items()},
        )


class _Requests(Collector):
    """The times of requests by call and status. Call `observe` in one thread only.

    The library's own histogram has a lock for each number, which takes longer than all the rest of it.
    """

    def __init__(self) -> None:
        self._found: dict[tuple[str, int], tuple[list[int], list[float]]] = {}
        """The requests in each bucket, the last of which has no bound, and the sum of their times."""

    def observe(self, call: str, status: int, seconds: float) -> None:
        found = self._found.get((call, status))
        if found is None:
            found = self._found[call, status] = ([0] * (len(_LATENCY_BUCKETS) + 1), [0.0])
        counts, total = found
        counts[bisect_left(_LATENCY_BUCKETS, seconds)] += 1
        total[0] += seconds

    def collect(self) -> Iterable[Metric]:
        family = HistogramMetricFamily(
            "dither_request_seconds", "Time to answer a request, by call and status.", labels=("call", "status")
        )
        names = [*map(floatToGoString, _LATENCY_BUCKETS), "+Inf"]
        for (call, status), (counts, [total]) in list(self._found.items()):
            family.add_metric((call, str(status)), list(zip(names, accumulate(counts), strict=True)), total)
        yield family


class Metrics:
    """The metrics of one application; each has a registry of its own."""

    content_type = CONTENT_TYPE_PLAIN_0_0_4

    def __init__(self, clock: _Clock = time.monotonic) -> None:
        self._clock = clock
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        GCCollector(registry=self._registry)
        self._learners = _Learners(clock)
        self._registry.register(self._learners)
        self._ready = Gauge(
            "dither_ready", "1 if answers can be stored and learnt, as /readyz says.", registry=self._registry
        )
        self._requests = _Requests()
        self._registry.register(self._requests)
        self._answers = Counter("dither_answers_total", "Answers by outcome.", ("outcome",), registry=self._registry)
        self._tickets = Counter("dither_tickets_total", "Tickets issued.", registry=self._registry)
        self._commit_seconds = self._histogram(
            "dither_commit_seconds", "Time of a transaction of answers.", _LATENCY_BUCKETS
        )
        self._commit_rows = self._histogram("dither_commit_rows", "Answers in a transaction.", _SIZE_BUCKETS)
        self._updates = self._histogram(
            "dither_learning_seconds", "Time to learn new answers and to renew questions.", _DURATION_BUCKETS
        )
        self._moves = Counter(
            "dither_particle_moves_total", "Times that all particles of a collection moved.", registry=self._registry
        )
        self._move_seconds = Counter(
            "dither_particle_move_seconds_total",
            "Time to learn new answers where the particles had to move.",
            registry=self._registry,
        )
        self._answers_by: dict[str, Counter] = {}

    def requested(self, call: str, status: int, seconds: float) -> None:
        """Records an answered request; `call` is the name of the route's function. Call it on the event loop only."""
        self._requests.observe(call, status, seconds)

    def answered(self, outcome: str, count: int = 1) -> None:
        """Counts `count` answers with this outcome: stored, repeated, or the reason for refusal."""
        child = self._answers_by.get(outcome)
        if child is None:  # looking a child up by its labels costs more than counting
            child = self._answers_by[outcome] = self._answers.labels(outcome)
        child.inc(count)

    def issued(self, tickets: int) -> None:
        """Counts issued tickets."""
        self._tickets.inc(tickets)

    def committed(self, rows: int, seconds: float) -> None:
        """Records a committed transaction of answers."""
        self._commit_seconds.observe(seconds)
        self._commit_rows.observe(rows)

    def unlearnt(self, added: Mapping[int, int]) -> None:
        """Counts committed answers, by collection number, that this process still has to learn."""
        self._learners.wait(added)

    def holds(self, collections: Mapping[int, str]) -> None:
        """Sets the collections (ids by number) whose particle systems this process runs."""
        self._learners.hold(collections)

    def learning(self, number: int) -> tuple[int, float]:
        """What `learnt` needs as `began`; call this before the learner reads the counts."""
        return self._learners.waiting(number), self._clock()

    def learnt(
        self, collection: str, number: int, began: tuple[int, float], answers: int, ess: float, width: float
    ) -> None:
        """Records that a collection's learner has learnt everything committed when `learning` returned `began`."""
        self._learners.learn(collection, number, *began, _Learnt(answers, ess, width))

    def updated(self, moves: int, seconds: float) -> None:
        """Records an update of a particle system and the number of moves that it needed."""
        self._updates.observe(seconds)
        if moves:
            self._moves.inc(moves)
            self._move_seconds.inc(seconds)

    def exposition(self, ready: bool, shown: Callable[[str], bool] | None = None) -> bytes:
        """All metrics in Prometheus' text format; of the series of collections only those whose ids are `shown`."""
        self._ready.set(ready)
        text = generate_latest(self._registry)
        if shown is None:
            return text
        lines = text.splitlines(keepends=True)
        ids = [_COLLECTION.search(line) for line in lines]
        return b"".join(
            line for line, found in zip(lines, ids, strict=True) if found is None or shown(found[1].decode())
        )

    def _histogram(self, name: str, text: str, buckets: tuple[float, ...]) -> Histogram:
        return Histogram(name, text, buckets=buckets, registry=self._registry)


def _by_collection(name: str, text: str, values: Mapping[str, float]) -> Metric:
    family = GaugeMetricFamily(name, text, labels=["collection"])
    for collection, value in values.items():
        family.add_metric([collection], value)
    return family
