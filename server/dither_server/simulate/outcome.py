"""The outcome of a simulation."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dither_client.posterior.wire import PosteriorReply

__all__ = ["Load", "Outcome"]


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
