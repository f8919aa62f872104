"""A simulated day of 100,000,000 answers through the count path, on one machine: batches of counts, no HTTP.

    python -m benchmarks.day [ANSWERS [STEP]]

Each step the owner says what to ask; so many respondents each hold a value of the population and answer one of these
questions. Given the question their answers are independent, so their counts are multinomial, and are drawn as such from
the exact channel. The counts are added to the `counts` table of an SQLite database in one transaction a step, and the
server's own learner learns from there what it lacks and chooses the next questions. The first steps are smaller: nobody
would ask 100,000 people before anything is known.
"""

import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
from sqlalchemy import func, insert, select
from threadpoolctl import threadpool_limits

from dither_client import Query
from dither_estimator.design.design import optimal_design
from dither_estimator.families import FloatArray
from dither_estimator.mechanisms.channels import channel_of
from dither_estimator.specification.specification import Specification
from dither_server.answers.rules import Ingest
from dither_server.answers.sql import add_counts, number_queries
from dither_server.answers.writer import Writer
from dither_server.collections.collections import Collections
from dither_server.collections.institutions import Institutions
from dither_server.database.engine import make_engine, upgrade, writing
from dither_server.database.reads import Store
from dither_server.database.schema import collections, counts
from dither_server.metrics import Metrics
from dither_server.owner.collection_learner import CollectionLearner
from dither_server.tickets.packing import pack_query, unpack_query
from testing.tables import print_table

__all__ = ["main"]

_ANSWERS = 100_000_000
_STEP = 100_000
_TRUTH = np.array([50.0, 10.0])
_SPEC = {
    "name": "Day", "family": "normal", "epsilon": 1, "range": [0, 100], "mechanism": "randomized_response",
}  # fmt: skip


@dataclass
class _Day:
    """Where the time went, in seconds, and the result."""

    answers: int = 0
    steps: int = 0
    times: Counter[str] = field(default_factory=Counter)
    """Seconds of each part: respondents, counting, learning."""
    slowest: float = 0.0
    """Seconds of the slowest step, without the respondents' part."""


def main(arguments: Sequence[str]) -> None:
    """Prints the tables; the arguments are the answers of the day, and of a step."""
    total = int(arguments[0]) if arguments else _ANSWERS
    step = int(arguments[1]) if len(arguments) > 1 else _STEP
    columns = ("answers", "mu", "sigma", "asymptotic sd: mu, sigma", "sds off: mu, sigma")
    with threadpool_limits(1), tempfile.TemporaryDirectory() as folder:
        day, learner, path = _Day(), _new_learner(Path(folder)), Path(folder) / "day.sqlite"
        print_table(f"Day: {total:,} answers, N(50, 10²), ε = 1", columns, _rows(day, learner, path, total, step))
        _print_costs(day, learner, path)


def _new_learner(folder: Path) -> CollectionLearner:
    """The server's learner of a new collection in a new database."""
    engine = make_engine(f"sqlite:///{folder / 'day.sqlite'}")
    upgrade(engine)
    row = {"id": "day", "specification": json.dumps(_SPEC), "state": "open", "created_at": 0}
    with writing(engine).begin() as connection:
        connection.execute(insert(collections), [row])
    store = Store(engine)
    writer = Writer(engine, Ingest(), Metrics(), lambda stored: None)
    collection = Collections(engine, store, writer, time.time, "day").numbered(1)
    return CollectionLearner(collection, store, Institutions(engine), time.time)


def _rows(day: _Day, learner: CollectionLearner, path: Path, total: int, step: int) -> Iterator[tuple[str, ...]]:
    spec = learner.collection.specification
    rng = np.random.default_rng(1)
    numbers: dict[Query, int] = {}
    variances = _variances(spec)
    engine = writing(make_engine(f"sqlite:///{path}"))
    shown = 10_000
    while day.answers < total:
        began = time.perf_counter()
        published = learner.publish()
        questions = [unpack_query(question.packed) for question in published.pools[spec.epsilon]]
        asked = time.perf_counter()
        size = min(step, max(len(questions), day.answers // 12), total - day.answers)
        table = _answers(rng, spec, questions, size)
        answered = time.perf_counter()
        with engine.begin() as connection:
            new = {pack_query(query): query for query in table if query not in numbers}
            numbers |= {new[packed]: number for packed, number in number_queries(connection, new).items()}
            add_counts(connection, 0, _tally(table, numbers))
        counted = time.perf_counter()
        learner.catch_up()
        learnt = time.perf_counter()
        day.answers, day.steps = day.answers + size, day.steps + 1
        day.times.update(
            {
                "respondents": answered - asked,
                "counting": counted - answered,
                "learning": learnt - counted + asked - began,
            }
        )
        day.slowest = max(day.slowest, learnt - answered + asked - began)
        if day.answers >= min(shown, total):
            shown *= 10
            yield _row(learner, variances)
    engine.dispose()


def _answers(
    rng: np.random.Generator, spec: Specification, questions: Sequence[Query], size: int
) -> Mapping[Query, npt.NDArray[np.int64]]:
    """Counts of the answers of `size` respondents, each asked one of `questions`, as likely one as another."""
    table: dict[Query, npt.NDArray[np.int64]] = {}
    for query, people in zip(
        questions, rng.multinomial(size, np.full(len(questions), 1 / len(questions))), strict=True
    ):
        below = spec.family.cdf(_TRUTH[None], np.array(query.edges))[0]
        cells = np.diff(np.concatenate(([0.0], below, [1.0])))
        found = rng.multinomial(people, cells @ channel_of(query).matrix)
        table[query] = table[query] + found if query in table else found
    return table


def _tally(
    table: Mapping[Query, npt.NDArray[np.int64]], numbers: Mapping[Query, int]
) -> dict[tuple[int, int, int], int]:
    return {
        (1, numbers[query], answer): count
        for query, row in table.items()
        for answer, count in enumerate(row.tolist())
        if count
    }


def _variances(spec: Specification) -> FloatArray:
    """The variances per respondent that the best questions at the truth attain."""
    design = optimal_design(spec.family, _TRUTH, spec.mechanism, spec.epsilon, spec.goal, spec.levels)
    return np.array(design.variances, dtype=float)


def _row(learner: CollectionLearner, variances: FloatArray) -> tuple[str, ...]:
    posterior = learner.publish().posterior.posterior
    found = [posterior[name] for name in ("mu", "sigma")]
    limits = np.sqrt(variances / learner.answers)
    shown = [f"{one.mean:.5f} ± {one.sd:.5f}" for one in found]
    off = [(one.mean - true) / one.sd for one, true in zip(found, _TRUTH, strict=True)]
    return f"{learner.answers:,}", *shown, ", ".join(f"{x:.5f}" for x in limits), ", ".join(f"{x:+.1f}" for x in off)


def _print_costs(day: _Day, learner: CollectionLearner, path: Path) -> None:
    engine = make_engine(f"sqlite:///{path}")
    with engine.connect() as connection:
        rows, kept = connection.execute(select(func.count(), func.sum(counts.c.count))).one()
    engine.dispose()
    assert kept == learner.answers == day.answers, "every answer is counted and learnt once"
    own = day.times["counting"] + day.times["learning"]
    columns = (
        "steps",
        *(f"{part}, s" for part in day.times),
        "answers a second, without the respondents",
        "slowest step, s",
    )
    seconds = [f"{part:.1f}" for part in day.times.values()]
    row = (f"{day.steps:,}", *seconds, f"{day.answers / own:,.0f}", f"{day.slowest:.2f}")
    print_table("Day: time", columns, [row])
    size, snapshot = sum(part.stat().st_size for part in path.parent.iterdir()), len(learner.snapshot())
    columns = ("count rows", "database, KiB", "snapshot, KiB", "bytes an answer")
    row = (f"{rows:,}", f"{size / 1024:,.0f}", f"{snapshot / 1024:,.0f}", f"{(size + snapshot) / day.answers:.4f}")
    print_table("Day: what is kept", columns, [row])


if __name__ == "__main__":
    main(sys.argv[1:])
