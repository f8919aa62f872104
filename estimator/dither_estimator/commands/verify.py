"""Verify that a server's posterior is what its answers say, and its questions what its terms say."""

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Annotated, Any

import typer

from dither_client.analyst import Analyst, specification_of
from dither_client.commands._shared import CollectionId, Json, Url, fail, print_json, working
from dither_client.errors import InvalidQuery, OverCap
from dither_client.mechanisms.price import Price
from dither_client.posterior.names import answers_text
from dither_client.posterior.posterior import Posterior
from dither_client.protocol.messages import parse_terms
from dither_client.tables.counts import CountTable

__all__ = ["app"]

EXTRA = "estimator"

app = typer.Typer(add_completion=False)

_LEARNING_SECONDS = 30.0
"""Seconds in which the server has to learn what it has counted."""
_POLL_SECONDS = 0.5
_MAX_DISTANCE = 0.3
"""Standard deviations that Monte Carlo errors may account for, where the posterior has found the population."""
_REPEATS = 4
"""How often the answers are learnt anew, with other seeds, where one time is not that near."""
_Cells = Counter[tuple[Any, str, Any, Any]]
"""Counts by purpose, the label of a group or a period (empty without them), the id of a question, and the answer."""

_Token = Annotated[
    str | None,
    typer.Option(
        envvar="DITHER_TOKEN",
        help="An admin's or analyst's token; none is needed if the collection is public and keeps no answers.",
        show_default=False,
    ),
]


@dataclass(frozen=True)
class _Check:
    name: str
    passed: bool
    found: str
    """What was found, as a sentence."""


@app.command()
def verify(
    collection: CollectionId,
    url: Url,
    token: _Token = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the particles.")] = 0,
    as_json: Json = False,
) -> None:
    """Verify a collection: its questions against its terms, its counts against its answers, its posterior against both.

    The posterior is computed anew on this machine. What a server cannot prove is that the answers came from people.

    For example: dither verify k3xw8c2nqa
    """
    with Analyst(url, token) as analyst:
        with working("Reading the counts and the posterior"):
            terms = analyst.terms(collection)
            shown, table = _settled(analyst, collection)
            checks = [_questions_check(analyst, collection, parse_terms(terms).price)]
        with working("Counting the answers"):
            checks.append(_answers_check(analyst, collection, terms))
        with working("Learning the counts anew"):
            checks.append(_posterior_check(shown, specification_of(terms), table, seed))
    verified = all(check.passed for check in checks)
    if as_json:
        print_json(
            {
                "collection": collection,
                "answers": table.answers,
                "verified": verified,
                "checks": [asdict(check) for check in checks],
            }
        )
    else:
        for check in checks:
            typer.echo(f"{check.name}: {check.found}")
        typer.echo(f"{'Verified' if verified else 'NOT verified'} after {answers_text(table.answers)}.")
    raise typer.Exit(0 if verified else 1)


def _settled(analyst: Analyst, collection: str) -> tuple[Posterior, CountTable]:
    """The posterior that the server shows, and the counts on which it rests."""
    ends = time.monotonic() + _LEARNING_SECONDS
    while True:
        table = analyst.count_table(collection)
        shown = analyst.posterior(collection)
        if shown.answers == table.answers:
            return shown, table
        if time.monotonic() > ends:
            fail(
                f"the server has counted {table.answers:,} answers and its posterior rests on {shown.answers:,}: "
                "if many are arriving, pause the collection and try again"
            )
        time.sleep(_POLL_SECONDS)


def _questions_check(analyst: Analyst, collection: str, price: Price) -> _Check:
    """Whether every question costs at most what the terms say, and is of their kind."""
    asked = [*analyst.queries(collection), *analyst.queries(collection, "check")]
    for each in asked:
        try:
            price.check(each.query, each.query.epsilon if each.query.epsilon in price.choices else None)
        except (InvalidQuery, OverCap) as error:
            return _Check("questions", False, f"one is not what the terms say: {error}.")
    different = len({each.query.id for each in asked})
    cost = "the only one costs and asks" if different == 1 else f"all {different:,} cost and ask"
    return _Check("questions", True, f"{cost} what the terms say.")


def _answers_check(analyst: Analyst, collection: str, terms: Mapping[str, Any]) -> _Check:
    """Whether the answers that are kept are those that were counted, each to a ticket of its own.

    While answers arrive, the counts of before are the fewest that there can be, and those of afterwards the most.
    """
    if terms.get("keep_answers") is False:
        return _Check("answers", True, "the collection keeps none, so that there are only counts to go by.")
    fewest, kept = _counted(analyst, collection), _Cells()
    tickets: set[object] = set()
    for answer in analyst.answers(collection):
        tickets.add(answer.get("ticket"))
        part = answer.get("group") or answer.get("period") or ""
        kept[answer.get("purpose", "training"), part, answer.get("query_id"), answer.get("answer")] += 1
    total, most = kept.total(), _counted(analyst, collection)
    if len(tickets) < total:
        return _Check("answers", False, f"{total - len(tickets):,} of {total:,} are second answers to a ticket.")
    if extra := (kept - most).total():
        return _Check("answers", False, f"{extra:,} of the {total:,} that are kept are not in the counts.")
    missing = (fewest - kept).total()
    if missing and terms.get("keep_answers_days") is None:
        return _Check(
            "answers", False, f"{missing:,} that are in the counts are not among the {total:,} that are kept."
        )
    dropped = f"; {missing:,} more were counted, and dropped when their time was over" if missing else ""
    held = "the only one that is kept is" if total == 1 else f"the {total:,} that are kept, each to its own ticket, are"
    return _Check("answers", True, f"{held} in the counts{dropped}.")


def _counted(analyst: Analyst, collection: str) -> _Cells:
    """How often each answer was given to each question."""
    found = _Cells()
    for purpose in ("training", "check"):
        table = analyst.count_table(collection, purpose)
        for label, queries in (table.groups or table.periods or {"": table.queries}).items():
            for query, counts in queries.items():
                found.update({(purpose, label, query.id, answer): count for answer, count in enumerate(counts)})
    return found


def _posterior_check(shown: Posterior, fields: dict[str, Any], table: CountTable, seed: int) -> _Check:
    """Whether the posterior that is shown is near one that is learnt anew.

    Until a population is found under a prior that is far too wide, those that are learnt anew differ from each other;
    the one that is shown may then be twice as far away as they are.
    """
    from dither_estimator.commands._agreement import differences
    from dither_estimator.commands._learn_table import as_read, learnt
    from dither_estimator.specification.specification import Specification

    specification = Specification.from_json(fields)
    anew: list[Posterior] = []
    found: list[tuple[float, str]] = []
    while len(anew) < _REPEATS and not (found and min(found)[0] <= _MAX_DISTANCE):
        anew.append(as_read(learnt(specification, table, seed + len(anew)), shown.collection, fields))
        found.append(_farthest(differences(shown, anew[-1])))
    most, name = min(found)
    said = f"learnt anew from the counts, it differs by at most {most:.2f} standard deviations ({name})"
    if most <= _MAX_DISTANCE:
        return _Check("posterior", True, f"{said}.")
    own = max(_farthest(differences(one, other))[0] for one, other in combinations(anew, 2))
    said += f"; {_REPEATS} that were learnt anew differ from each other by up to {own:.2f}"
    return _Check("posterior", most <= 2 * own, f"{said}.")


def _farthest(apart: dict[str, float]) -> tuple[float, str]:
    return max(((distance, name) for name, distance in apart.items()), default=(0.0, "there is nothing to compare"))
