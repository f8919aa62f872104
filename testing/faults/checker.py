"""What must hold after any fault: database = acknowledged = counts = posterior."""

import random
from base64 import urlsafe_b64decode
from itertools import pairwise
from operator import le
from typing import Any

import httpx2
from sqlalchemy import Engine, select

from dither_client import Query, parse_query
from dither_estimator.learning.learner import Learner
from dither_estimator.specification.specification import Specification
from dither_server.database.engine import make_engine
from dither_server.database.schema import answers, history, misfit_looks
from testing.databases import check_counts
from testing.faults.load import COLLECTION, Load
from testing.patience import PATIENCE, until
from testing.servers.defaults import ADMIN, RETRY_KEY

__all__ = ["Acknowledged", "check", "check_database", "check_service", "check_single"]

Acknowledged = dict[str, tuple[int, str]]
"""Answer and receipt by ticket."""


def check(load: Load) -> None:
    """Fails unless nothing was lost, nothing counted twice, nobody was told anything wrong. The load has stopped."""
    assert load.acknowledged
    assert not load.wrong, load.wrong[:3]
    check_database(load.database, load.acknowledged)
    for server in load.servers:
        check_service(server.url, load.collection, load.acknowledged)


def check_database(database: str, acknowledged: Acknowledged, exactly: bool = True) -> None:
    """Fails unless the rows are those that were acknowledged, and the counts those of the rows.

    Without `exactly` there may be more rows: answers that were on their way.
    """
    engine = make_engine(database)
    try:
        check_counts(engine)
        check_single(engine)
        with engine.connect() as connection:
            rows: dict[bytes, int] = {
                bytes(ticket): answer
                for ticket, answer in connection.execute(select(answers.c.ticket, answers.c.answer))
            }
    finally:
        engine.dispose()
    said = {_key(ticket): answer for ticket, (answer, _) in acknowledged.items()}
    assert said == ({key: rows.get(key) for key in said} if not exactly else rows)


def check_single(engine: Engine) -> None:
    """Fails unless history and looks are as one process after the other writes them: the later, the more answers."""
    columns = (history.c.collection, history.c.answers, history.c.at)
    looks = (misfit_looks.c.collection, misfit_looks.c.look, misfit_looks.c.check_answers, misfit_looks.c.at)
    with engine.connect() as connection:
        for some in (columns, looks):
            rows = connection.execute(select(*some).order_by(*some[:2])).all()
            for before, after in pairwise(rows):
                assert before[0] < after[0] or all(map(le, before[1:], after[1:])), "two have written at once"


def check_service(url: str, collection: str, acknowledged: Acknowledged, exactly: bool = True) -> None:
    """Fails unless a server tells the same of terms, questions, posterior and receipts."""
    path = f"{url}/v1/collections/{collection}"
    with httpx2.Client(timeout=PATIENCE, headers=ADMIN) as client:
        terms = client.get(path).json()
        stored = terms["answers"]
        assert stored == len(acknowledged) or (stored > len(acknowledged) and not exactly)
        counts, of_check = _counts(client, path, "training"), _counts(client, path, "check")
        learnt = _total(counts)
        assert learnt + _total(of_check) == stored
        _check_posterior(_learnt(client, path, learnt), counts)
        some = random.Random(1).sample(sorted(acknowledged.items()), min(50, len(acknowledged)))
        for ticket, (answer, receipt) in some:
            body = {"ticket": ticket, "answer": answer, "retry_key": RETRY_KEY}
            again = client.post(f"{path}/responses", json=body)
            assert (again.status_code, again.json().get("receipt")) == (200, receipt)
            other = client.post(f"{path}/responses", json=body | {"answer": 1 - answer if answer < 2 else 0})
            assert other.status_code == 409
            del body["retry_key"]
            guess = client.post(f"{path}/responses", json=body)
            assert (guess.status_code, guess.content) == (409, other.content)
        assert client.get(path).json() == terms


def _key(ticket: str) -> bytes:
    payload = ticket.split(".")[1]
    return urlsafe_b64decode(payload + "=" * (-len(payload) % 4))[:20]


def _counts(client: httpx2.Client, path: str, purpose: str) -> dict[Query, list[int]]:
    queries = client.get(f"{path}/queries", params={"purpose": purpose}).json()["queries"]
    return {parse_query(item["query"]): item["counts"] for item in queries}


def _total(counts: dict[Query, list[int]]) -> int:
    return sum(sum(row) for row in counts.values())


def _learnt(client: httpx2.Client, path: str, stored: int) -> dict[str, Any]:
    posterior: dict[str, Any] = {}

    def there() -> bool:
        posterior.update(client.get(f"{path}/posterior").json())
        return bool(posterior["answers"] == stored)

    until(there, lambda: f"learnt {posterior['answers']} of {stored} answers")
    return posterior


def _check_posterior(served: dict[str, Any], counts: dict[Query, list[int]]) -> None:
    """Against another learner, which gets all counts at once.

    Of 4,000 particles at least half are effective: a quantile's Monte Carlo error is below 0.05 posterior sd, that of
    the difference of two below 0.07. Six of those for 10 quantiles: a false alarm in fewer than one of 10^7 checks.
    """
    rebuilt = Learner(Specification.from_json(COLLECTION), 1)
    rebuilt.learn_counts(counts)
    for name, summary in rebuilt.posterior().to_json()["posterior"].items():
        for quantile in ("q05", "q25", "q50", "q75", "q95"):
            difference = abs(served["posterior"][name][quantile] - summary[quantile])
            assert difference < 0.42 * summary["sd"], (name, quantile)
