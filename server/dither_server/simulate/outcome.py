"""The outcome of a simulation."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dither_client.posterior.wire import PosteriorReply

__all__ = ["Load", "Outcome", "Tally"]


@dataclass(frozen=True)
class Load:
    """The requests of a simulation over HTTP."""

    collection: str
    requests: int
    late: int
    """Answers that were held back until the end."""
    poisoned: int
    retried: int
    """Answers that were sent three times."""
    mismatches: int
    """Answers sent three times that were not stored exactly once under one receipt."""
    failures: Mapping[str, int]
    """Respondents who got no receipt, by reason."""
    ticket_seconds: Mapping[str, float]
    """Seconds that tickets took: `median`, `q99` and `longest`."""

    def to_json(self) -> dict[str, Any]:
        """The object `load` of the report."""
        return {**vars(self), "failures": dict(self.failures), "ticket_seconds": dict(self.ticket_seconds)}


@dataclass
class Tally:
    """What has become of the respondents of a simulation over HTTP so far."""

    answered: int = 0
    """Respondents with a receipt."""
    dropped_out: int = 0
    requests: int = 0
    late: int = 0
    poisoned: int = 0
    retried: int = 0
    mismatches: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    waits: list[float] = field(default_factory=list, repr=False)
    """Seconds that each ticket took."""

    @property
    def done(self) -> int:
        """How many respondents are finished."""
        return self.answered + self.dropped_out + self.failures.total()

    def add(self, other: "Tally") -> None:
        """Add what has become of others."""
        for name in ("answered", "dropped_out", "requests", "late", "poisoned", "retried", "mismatches"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.failures.update(other.failures)
        self.waits.extend(other.waits)

    def load(self, collection: str) -> Load:
        """The load that these respondents were to a collection's server."""
        quantiles = np.quantile(self.waits, (0.5, 0.99, 1.0)) if self.waits else np.zeros(3)
        return Load(
            collection=collection,
            requests=self.requests,
            late=self.late,
            poisoned=self.poisoned,
            retried=self.retried,
            mismatches=self.mismatches,
            failures=dict(self.failures),
            ticket_seconds=dict(zip(("median", "q99", "longest"), quantiles.tolist(), strict=True)),
        )


@dataclass(frozen=True)
class Outcome:
    """The result of a simulation. `answers` counts those learnt; over HTTP, those acknowledged to this simulation."""

    answers: int
    dropped_out: int
    seconds: float
    estimator_seconds: float | None
    """None over HTTP, where it cannot be measured from outside."""
    posterior: PosteriorReply = field(repr=False)
    interrupted: bool
    load: Load | None = None

    @property
    def sound(self) -> bool:
        """Whether the simulation was complete and without failures."""
        failed = self.load is not None and (self.load.mismatches or self.load.failures)
        return not (self.interrupted or failed)
