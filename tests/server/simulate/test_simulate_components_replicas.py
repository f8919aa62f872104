"""Several numbers a person in a burst: two server processes on either database, of which one is killed."""

from collections import Counter
from functools import partial

import numpy as np
import pytest

from dither_client import Admin, Analyst
from dither_estimator.specification.specification import Specification
from dither_server.simulate.behaviours import Behaviours, draw_roles
from dither_server.simulate.by_component import draw_people_of_components
from dither_server.simulate.outcome import Outcome
from dither_server.simulate.over_http import simulate_over_http
from dither_server.simulate.respondents import Respondents
from testing.patience import until
from testing.servers.killed_pair import KilledPair
from tests.server.simulate.test_simulate_components import SPEC, TOKEN, TRUTH

SECRET = "the-secret-of-the-tests-of-components"
SIZE = 500
"""How many people answer at each process. Not before the medians are roughly known are two numbers asked about."""


@pytest.mark.slow
def test_two_processes_of_which_one_is_killed_count_every_answer(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every receipt is one count of one question, in the database and in what both processes say, after `kill -9`."""

    def ask(url: str, seed: int) -> Outcome:
        rng = np.random.default_rng(seed)
        people = draw_people_of_components(rng, Specification.from_json(SPEC), [], TRUTH, 0.5, SIZE)
        roles = draw_roles(rng, Behaviours(retry=0.1), SIZE)
        return simulate_over_http(url, TOKEN, collection, Respondents(people.values, roles, seed), 16)

    with KilledPair(monkeypatch, TOKEN, database_url, SECRET) as pair:
        with Admin(pair.urls[0], TOKEN) as admin:
            collection = str(admin.create_collection({"name": "Test", **SPEC})["id"])
        with Analyst(pair.urls[1], TOKEN) as analyst:
            outcomes = pair.asked(ask, lambda: analyst.terms(collection)["answers"] >= SIZE // 3)
            assert [outcome.answers for outcome in outcomes] == [SIZE, SIZE]
            until(lambda: analyst.posterior(collection).answers == 2 * SIZE)
            asked = {item.query.id: item for item in analyst.queries(collection)}
            listed = Counter(item["query_id"] for item in analyst.answers(collection))
            assert listed == {name: item.answers for name, item in asked.items()}
            assert listed.total() == 2 * SIZE
            assert {len(item.query.about) for item in asked.values()} == {1, 2}
        for url in pair.urls:
            with Analyst(url, TOKEN) as analyst:
                until(partial(described, analyst, collection))


def described(analyst: Analyst, collection: str) -> bool:
    """Whether all answers are learnt, and correlations are known: they are computed once nobody waits for questions."""
    posterior = analyst.posterior(collection)
    return posterior.answers == 2 * SIZE and bool(posterior.correlations)
