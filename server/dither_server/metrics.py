"""What Prometheus may ask about: no label and no value says anything about a person."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

__all__ = ["Metrics"]

_LATENCIES = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)
_SIZES = (1, 4, 16, 64, 256, 1024, 4096, 16384)


class Metrics:
    """The metrics of one application; each has a registry of its own."""

    content_type = CONTENT_TYPE_PLAIN_0_0_4

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Histogram(
            "dither_request_seconds",
            "Time to answer a request, by call and status.",
            ("call", "status"),
            buckets=_LATENCIES,
            registry=self._registry,
        )
        self._answers = Counter(
            "dither_answers_total", "Answers by what became of them.", ("outcome",), registry=self._registry
        )
        self._tickets = Counter("dither_tickets_total", "Tickets issued.", registry=self._registry)
        self._commit_seconds = Histogram(
            "dither_commit_seconds", "Time of a transaction of answers.", buckets=_LATENCIES, registry=self._registry
        )
        self._commit_rows = Histogram(
            "dither_commit_rows", "Answers in a transaction.", buckets=_SIZES, registry=self._registry
        )
        self._learnt = Gauge(
            "dither_learnt_answers", "Answers learnt by the estimator.", ("collection",), registry=self._registry
        )
        self._ess = Gauge(
            "dither_effective_sample_size", "Of the particle system.", ("collection",), registry=self._registry
        )
        self._requests_by: dict[tuple[str, int], Histogram] = {}
        self._answers_by: dict[str, Counter] = {}

    def requested(self, call: str, status: int, seconds: float) -> None:
        """A request was answered. `call` is the name of a route's function."""
        child = self._requests_by.get((call, status))
        if child is None:  # looking a child up by its labels costs more than counting
            child = self._requests_by[call, status] = self._requests.labels(call, str(status))
        child.observe(seconds)

    def answered(self, outcome: str) -> None:
        """An answer was stored, repeated or refused."""
        child = self._answers_by.get(outcome)
        if child is None:
            child = self._answers_by[outcome] = self._answers.labels(outcome)
        child.inc()

    def issued(self, tickets: int) -> None:
        """Tickets were issued."""
        self._tickets.inc(tickets)

    def committed(self, rows: int, seconds: float) -> None:
        """A transaction of answers was committed."""
        self._commit_seconds.observe(seconds)
        self._commit_rows.observe(rows)

    def learnt(self, collection: str, answers: int, ess: float) -> None:
        """A collection's estimator has taken in this many answers."""
        self._learnt.labels(collection).set(answers)
        self._ess.labels(collection).set(ess)

    def exposition(self) -> bytes:
        """Everything, in Prometheus' text format."""
        return generate_latest(self._registry)
