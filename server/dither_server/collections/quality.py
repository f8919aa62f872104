"""The quality of a collection: refused answers, completion by question, the share of each gateway, warnings."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from dither_client import parse_query
from dither_client.posterior.names import period_name
from dither_client.posterior.wire import ParameterSummary, PosteriorReply
from dither_estimator.checks.completion import ALPHA, CompletionLook
from dither_estimator.checks.prior_conflict import prior_conflicts
from dither_estimator.drift.surprise import RARE
from dither_estimator.specification.specification import Specification
from dither_server.clock import iso_time, milliseconds
from dither_server.collections.collection import Collection
from dither_server.collections.completion import CompletionTest, closed_before, middle
from dither_server.database.conduct import Conduct, ConductReads, TallyRow

__all__ = ["LARGEST_SHARE", "Quality"]

LARGEST_SHARE = 0.5
"""A gateway with more than this share of the answers through gateways causes a warning, if there are several."""
_MIN_ANSWERS = 100
"""The number of answers below which shares say little."""


class Quality:
    """Reports the quality of collections."""

    def __init__(self, reads: ConductReads) -> None:
        self._reads = reads
        self._completion = CompletionTest(reads)

    def report(self, collection: Collection, posterior: PosteriorReply, now: float) -> dict[str, Any]:
        """The report at `now` (seconds), ready for JSON; `posterior` is the collection's present one."""
        counted, looks = self._counted(collection, now)
        return {
            "refused": counted.refusals,
            "completion": {
                "tickets": sum(row.tickets for row in counted.tallies),
                "answers": sum(row.answers for row in counted.tallies),
                "questions": _questions(counted.tallies),
                "looks": [{"tickets": one.tickets, "p_value": one.p_value, "alpha": one.alpha} for one in looks],
                "alarm": any(one.alarm for one in looks),
            },
            "gateways": _gateways(counted),
            "warnings": _warnings(collection.specification, posterior, counted, looks),
            "updated_at": iso_time(milliseconds(now)),
        }

    def warnings(self, collection: Collection, posterior: PosteriorReply, now: float) -> list[str]:
        """The warnings of `report` alone."""
        return _warnings(collection.specification, posterior, *self._counted(collection, now))

    def _counted(self, collection: Collection, now: float) -> tuple[Conduct, list[CompletionLook]]:
        closed = closed_before(now)
        counted = self._reads.of(collection.number, closed)
        return counted, self._completion.looks(collection, counted.tallies, closed)


def _questions(rows: Sequence[TallyRow]) -> list[dict[str, Any]]:
    """Completion by question, in the order of the questions' places."""
    questions: dict[str, dict[str, Any]] = {}
    for row in rows:
        item = questions.get(row.query_id)
        if item is None:
            query = json.loads(row.query)
            item = questions[row.query_id] = {"id": row.query_id, "query": query, "tickets": 0, "answers": 0}
        item["tickets"] += row.tickets
        item["answers"] += row.answers
    return sorted(questions.values(), key=lambda item: middle(parse_query(item["query"])))


def _warnings(
    specification: Specification, posterior: PosteriorReply, counted: Conduct, looks: Sequence[CompletionLook]
) -> list[str]:
    return [
        *_prior_warnings(specification, posterior),
        *_period_warnings(specification, posterior),
        *_completion_warnings(looks),
        *_gateway_warnings(_gateways(counted)),
    ]


def _gateways(counted: Conduct) -> list[dict[str, Any]]:
    tickets: Counter[int] = Counter()
    answers: Counter[int] = Counter()
    known = counted.gateways
    for row in counted.tallies:
        if row.gateway:
            tickets[row.gateway] += row.tickets
            answers[row.gateway] += row.answers
    total = max(1, answers.total())
    return [
        {
            "id": known[number][0],
            "name": known[number][1],
            "tickets": tickets[number],
            "answers": answers[number],
            "share": answers[number] / total,
        }
        for number in sorted(tickets, key=lambda number: (-answers[number], number))
    ]


def _prior_warnings(specification: Specification, posterior: PosteriorReply) -> list[str]:
    alone = {part.name: part.specification for part in specification.components}
    several = {name: found.posterior for name, found in (posterior.components or {}).items()}
    conflicts = _conflicts(specification, posterior.posterior) + [
        f"{parameter} of {name}" for name, found in several.items() for parameter in _conflicts(alone[name], found)
    ]
    if not conflicts:
        return []
    return [
        f"The answers lead far from what the collection's range or prior expects of {' and '.join(conflicts)}: fewer "
        "than one population in 200 would lie as far out. Intervals may be too narrow and their middle too near "
        "to the range; a new collection with a wider one, or with none, finds such values."
    ]


def _conflicts(specification: Specification, found: Mapping[str, ParameterSummary]) -> list[str]:
    if not found or specification.has_default_prior:  # no family, no posterior yet, or nothing expected
        return []
    return prior_conflicts(specification.prior, {name: summary.q50 for name, summary in found.items()})


def _period_warnings(specification: Specification, posterior: PosteriorReply) -> list[str]:
    if specification.period is None or not posterior.periods or posterior.surprise is None:
        return []
    if posterior.surprise >= RARE:
        return []
    kind = specification.period.name
    latest = period_name(kind, list(posterior.periods)[-1])
    return [
        f"The answers of {latest} do not go with those before it: after a sudden change its figures may lag behind "
        f"until more have come. (By chance alone, 1% of {kind}s get this warning.)"
    ]


def _completion_warnings(looks: Sequence[CompletionLook]) -> list[str]:
    if not any(one.alarm for one in looks):
        return []
    return [
        "Completion depends on the question: dropping out seems to depend on the value, so the posterior may be "
        f"wrong. (By chance alone, {ALPHA:.0%} of collections get this warning.)"
    ]


def _gateway_warnings(gateways: Sequence[dict[str, Any]]) -> list[str]:
    if len(gateways) < 2 or sum(gateway["answers"] for gateway in gateways) < _MIN_ANSWERS:
        return []
    first = gateways[0]
    if first["share"] <= LARGEST_SHARE:
        return []
    brought = f"One gateway of {len(gateways)} brought {first['share']:.0%} of the answers"  # pages tell all readers
    return [f"{brought}: it could have determined the result alone."]
