"""What a simulation did."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dither_client.posterior.wire import PosteriorReply

__all__ = ["Load", "Outcome"]


@dataclass(frozen=True)
class Load:
    """What happened over HTTP."""

    collection: str
    requests: int
    late: int
    """Answers that were kept until the end."""
    poisoned: int
    retried: int
    """Answers that were sent three times."""
    mismatches: int
    """Of those, the ones that were not stored exactly once under one receipt."""
    failures: Mapping[str, int]
    """Respondents who got no receipt, by the reason."""
    ticket_seconds: Mapping[str, float]
    """How long tickets took: `median`, `q99` and `longest`."""

    def to_json(self) -> dict[str, Any]:
        """The object `load` of the report."""
        return {**vars(self), "failures": dict(self.failures), "ticket_seconds": dict(self.ticket_seconds)}


@dataclass(frozen=True)
class Outcome:
    """`answers` are those that were learnt, over HTTP those that the server acknowledged to this simulation."""

    answers: int
    dropped_out: int
    seconds: float
    estimator_seconds: float | None
    """None over HTTP, where the server's share cannot be told from outside."""
    posterior: PosteriorReply = field(repr=False)
    interrupted: bool
    load: Load | None = None

    @property
    def sound(self) -> bool:
        """Whether everything went as it should."""
        failed = self.load is not None and (self.load.mismatches or self.load.failures)
        return not (self.interrupted or failed)
