"""The posterior of each period of a collection, and what it says about change."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dither_client import Transform
from dither_client.posterior.wire import DriftTest, ParameterSummary, PeriodReply
from dither_estimator.drift.constancy import THRESHOLD, constancy
from dither_estimator.drift.surprise import surprise
from dither_estimator.drift.tracking import SWEEPS, TrackedDraws, track
from dither_estimator.families import Family, FloatArray
from dither_estimator.learning.description import number_fields
from dither_estimator.learning.population import FamilyPopulation
from dither_estimator.learning.summarise import summarise
from dither_estimator.likelihood.counts import Counts, total_answers
from dither_estimator.particles.system import ParticleSystem
from dither_estimator.specification.specification import Specification

__all__ = ["OverTime", "PeriodTables", "draw_count", "drift_test", "follow", "in_order", "surprise_of"]

_SEED = 1
"""Every estimate begins with this seed, so that whoever has the same counts has the same posterior."""
_MOST_DRAWS = 1_000
_LEAST_DRAWS = 200
_ALL_DRAWS = 50_000
"""How many draws there are of all periods together, within the limits above for each period."""

PeriodTables = Mapping[str, Counts]
"""The count table of each period by its label."""


@dataclass(frozen=True)
class OverTime:
    """The posterior of each period, from the first with answers to the last."""

    family: Family
    transform: Transform
    labels: tuple[str, ...]
    starts: tuple[str, ...]
    """The first day of each period."""
    answers: tuple[int, ...]
    draws: TrackedDraws = field(repr=False)
    test: DriftTest | None = None
    surprise: float | None = None
    """What `surprise_of` returns, with drift."""

    def theta(self, place: int) -> FloatArray:
        """Equally likely parameters in the period at this place, shape (draws, d)."""
        return self.family.constrain(self.draws.coordinates[:, place])

    def summaries(self, place: int) -> tuple[dict[str, ParameterSummary], FloatArray]:
        """Summaries of the parameters in the period at this place, and their covariance."""
        theta = self.theta(place)
        return summarise(self.family.names, theta, np.full(len(theta), 1 / len(theta)))

    def fields(self, levels: Sequence[float], above: Sequence[float]) -> dict[str, Any]:
        """The fields of a reply that say something about time, with the quantiles and shares that a goal names."""
        if not self.labels:
            return {"periods": {}}
        names = tuple(parameter.coordinate for parameter in self.family.parameters)
        scales = self.draws.scales
        step, _ = summarise(names, scales, np.full(len(scales), 1 / len(scales)))
        periods = {label: self._reply(place, levels, above) for place, label in enumerate(self.labels)}
        return {"periods": periods, "step": step, "drift_test": self.test, "surprise": self.surprise}

    def _reply(self, place: int, levels: Sequence[float], above: Sequence[float]) -> PeriodReply:
        parameters, covariance = self.summaries(place)
        population = FamilyPopulation(self.family, self.transform, self.theta(place))
        return PeriodReply(
            start=self.starts[place],
            answers=self.answers[place],
            posterior=parameters,
            covariance=tuple(map(tuple, covariance.tolist())),
            **number_fields(population, levels, above),
        )


def in_order(specification: Specification, tables: PeriodTables) -> tuple[list[str], list[Counts]]:
    """The labels and tables of all periods from the first with answers to the last, in a fixed order of questions."""
    assert specification.period is not None
    labels = specification.period.between({label: table for label, table in tables.items() if table})
    return labels, [dict(sorted(tables.get(label, {}).items(), key=lambda item: item[0].id)) for label in labels]


def draw_count(specification: Specification, periods: int) -> int:
    """How many draws the posterior of so many periods has."""
    return min(specification.particles, max(_LEAST_DRAWS, min(_MOST_DRAWS, _ALL_DRAWS // max(periods, 1))))


def follow(
    specification: Specification,
    tables: PeriodTables,
    draws: int | None = None,
    sweeps: int = SWEEPS,
    fit: ParticleSystem | None = None,
) -> OverTime:
    """The posterior of every period; whoever has the same counts has the same draws, unless from another `fit`."""
    period, (labels, ordered) = specification.period, in_order(specification, tables)
    assert period is not None
    size = draws or draw_count(specification, len(labels))
    rng = np.random.default_rng(_SEED)
    found = track(rng, specification.prior, ordered or [{}], size, sweeps=sweeps, fit=fit)
    starts = tuple(period.start(period.number_of(label)).isoformat() for label in labels)
    answers = tuple(map(total_answers, ordered))
    return OverTime(specification.family, specification.transform, tuple(labels), starts, answers, found)


def surprise_of(specification: Specification, tables: PeriodTables) -> float | None:
    """How likely it is that the latest period's answers are so far from what all before foretell."""
    _, ordered = in_order(specification, tables)
    return surprise(np.random.default_rng(_SEED), specification.prior, ordered)


def drift_test(specification: Specification, tables: PeriodTables) -> DriftTest | None:
    """The test of drift after these answers; None without answers, and while nobody knows where values lie."""
    labels, ordered = in_order(specification, tables)
    found = constancy(np.random.default_rng(_SEED), specification.prior, ordered) if labels else None
    if found is None:
        return None
    highest, farthest = int(np.argmax(found.evidence)), int(np.argmax(found.changes))
    most, threshold = float(found.evidence[highest]), float(np.log(THRESHOLD))
    change = float(found.changes[farthest])
    return DriftTest(
        log_evidence=float(found.evidence[-1]),
        highest=most,
        period=labels[highest],
        threshold=threshold,
        alarm=most >= threshold or change >= found.change_threshold,
        change=change,
        change_period=labels[farthest],
        change_threshold=found.change_threshold,
    )
