"""Periods under load: real server processes on either database, of which one is killed and started again.

Nobody can tell a server what time it is. Two earlier months are therefore answered with a clock of the test's own, in
its own process, before the servers start on the same database.
"""

import time
from collections import Counter
from typing import Any

import numpy as np
import pytest

from dither_client import Analyst
from dither_estimator.specification.periods import Period
from dither_server.simulate.behaviours import Behaviours, draw_roles
from dither_server.simulate.outcome import Outcome
from dither_server.simulate.over_http import simulate_over_http
from dither_server.simulate.respondents import Respondents
from testing.patience import until
from testing.servers.defaults import ADMIN_TOKEN
from testing.servers.killed_pair import KilledPair
from testing.servers.site import FakeClock, open_site

SECRET = "the-secret-of-the-tests-of-periods"
MONTH = 31 * 86_400
SIZE = 60
EARLIER = 25


def answered_earlier(url: str) -> tuple[str, Counter[str]]:
    """A collection that people answered two months ago, and the month before that; how many in which month."""
    clock, counted = FakeClock(), Counter[str]()
    with open_site(url, clock, secret=SECRET) as site:
        clock.now = time.time() - 3 * MONTH
        collection = site.create(name="Test", range=[-5, 5], period="month", drift=True, particles=100)
        for _ in range(2):
            site.batch(collection, *((ticket, 0) for ticket in site.tickets(collection, EARLIER)))
            counted[Period("month").label(Period("month").number(clock.now))] += EARLIER
            site.learnt(collection, counted.total())
            clock.now += MONTH
    return collection, counted


def by_period(analyst: Analyst, collection: str) -> dict[str, int]:
    """The answers that the posterior says each period has."""
    periods: Any = analyst.posterior(collection).periods
    return {label: each.answers for label, each in periods.items() if each.answers}


@pytest.mark.slow
def test_two_processes_of_which_one_is_killed_count_every_answer_in_its_period(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every receipt is one count in one period, in the database and in what both processes say, after `kill -9`.

    The two processes, one of which began anew, say the same of every period.
    """

    def ask(url: str, seed: int) -> Outcome:
        values = np.random.default_rng(seed).normal(size=SIZE)
        roles = draw_roles(np.random.default_rng(seed), Behaviours(retry=0.1), SIZE)
        return simulate_over_http(url, ADMIN_TOKEN, collection, Respondents(values, roles, seed), 8)

    collection, expected = answered_earlier(database_url)
    began = time.time()
    with KilledPair(monkeypatch, ADMIN_TOKEN, database_url, SECRET) as pair:
        with Analyst(pair.urls[1], ADMIN_TOKEN) as analyst:
            outcomes = pair.asked(ask, lambda: analyst.terms(collection)["answers"] >= 2 * EARLIER + SIZE // 4)
            answered = sum(outcome.answers for outcome in outcomes)
            assert answered == 2 * SIZE
            until(lambda: analyst.posterior(collection).answers == answered + 2 * EARLIER)
            counted: Counter[str] = Counter()
            for item in analyst.queries(collection):
                counted[str(item.period)] += item.answers
            listed = Counter(str(item["period"]) for item in analyst.answers(collection))
        month = Period("month")
        now = {month.label(month.number(at)) for at in (began, time.time())}  # two if a month ended meanwhile
        assert listed == counted
        assert {label: number for label, number in counted.items() if label not in now} == expected
        assert sum(counted[label] for label in now) == answered
        said = []
        for url in pair.urls:
            with Analyst(url, ADMIN_TOKEN) as analyst:
                until(lambda analyst=analyst: by_period(analyst, collection) == counted)  # type: ignore[misc]
                said.append(analyst.posterior(collection).periods)
        assert said[0] == said[1]
