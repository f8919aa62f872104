"""Which family holds: evidence, probabilities under equal weights beforehand, and when it is too early to tell."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dither_client import Transform
from dither_estimator.families import FloatArray
from dither_estimator.particles.evidence import Evidence

__all__ = ["CANNOT_TELL", "Comparison", "FamilyEvidence", "compare"]

CANNOT_TELL = "cannot tell yet"

_SURE = 0.95
"""A family is preferred when its probability is above this, with the Monte Carlo errors against it."""
_ERRORS = 2.0
"""How many standard errors of each log ratio are held against the leading family."""


@dataclass(frozen=True)
class FamilyEvidence:
    """One family's part of a comparison."""

    family: str
    transform: Transform
    evidence: Evidence
    probability: float

    def to_json(self) -> dict[str, Any]:
        """`{"family", "transform", "log_evidence", "mc_error", "probability"}`."""
        return {
            "family": self.family,
            "transform": self.transform,
            "log_evidence": self.evidence.log,
            "mc_error": self.evidence.error,
            "probability": self.probability,
        }


@dataclass(frozen=True)
class Comparison:
    """Families in the order in which they were given, and which of them is preferred, in words."""

    families: tuple[FamilyEvidence, ...]
    verdict: str

    def to_json(self) -> dict[str, Any]:
        """The fields `families` and `verdict` of the wire format."""
        return {"families": [family.to_json() for family in self.families], "verdict": self.verdict}


def compare(names: Sequence[tuple[str, Transform]], evidences: Sequence[Evidence]) -> Comparison:
    """The comparison of families, each with a name and a transform, that weighed the same before the answers."""
    logs = np.array([evidence.log for evidence in evidences])
    errors = np.array([evidence.error for evidence in evidences])
    probabilities = np.exp(logs - np.logaddexp.reduce(logs))
    rows = zip(names, evidences, probabilities.tolist(), strict=True)
    families = tuple(FamilyEvidence(*name, evidence, probability) for name, evidence, probability in rows)
    return Comparison(families, _verdict(names, logs, errors))


def _verdict(names: Sequence[tuple[str, Transform]], logs: FloatArray, errors: FloatArray) -> str:
    leader = int(np.argmax(logs))
    against = logs - logs[leader] + _ERRORS * np.hypot(errors, errors[leader])
    against[leader] = 0.0
    if np.exp(-np.logaddexp.reduce(against)) <= _SURE:
        return CANNOT_TELL
    family, transform = names[leader]
    return f"{family} with transform {transform}"
