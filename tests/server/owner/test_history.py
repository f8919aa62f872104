"""The history of a collection's posterior: which rows it has, and when they are computed."""

import json
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from dither_client import parse_query
from dither_server.clock import milliseconds
from dither_server.owner.collection_learner import CollectionLearner
from testing.patience import until
from testing.servers.defaults import ADMIN
from testing.servers.site import FakeClock, Site, open_site


def test_the_history_follows_the_posterior(sqlite_url: str, clock: FakeClock) -> None:
    def rows(site: Site, count: int) -> list[dict[str, Any]]:
        path = f"/v1/collections/{collection}/posterior/history"

        def found() -> list[dict[str, Any]]:
            return list(site.client.get(path, headers=ADMIN).json()["history"])

        until(lambda: len(found()) >= count)  # a row is written just after the posterior is published
        return found()

    with open_site(sqlite_url, clock) as site:
        collection = site.create()
        for answers_so_far in range(1, 6):
            clock.now += 1
            site.answer_in_turns(collection, 1)
            site.learnt(collection, answers_so_far)
        posterior = site.client.get(f"/v1/collections/{collection}/posterior", headers=ADMIN).json()
        before = rows(site, 5)
        assert [row["answers"] for row in before] == [1, 2, 3, 4, 5]
        assert before[-1]["posterior"] == posterior["posterior"]
        assert before[-1]["ess"] == posterior["ess"]
        assert before[-1]["at"] == "2027-01-15T08:00:05.000Z"
        for row in before:
            parse_query(row["query"])
    with open_site(sqlite_url, clock) as site:
        site.answer_in_turns(collection, 1)
        site.learnt(collection, 6)
        assert [row["answers"] for row in rows(site, 6)] == [1, 2, 3, 4, 5, 6]


@pytest.fixture
def learner(site: Site) -> CollectionLearner:
    """A learner of an empty collection."""
    collection = site.service.collections.get(site.create())
    return CollectionLearner(collection, site.service.store, site.service.institutions, site.clock)


def test_the_history_of_a_hundred_thousand_answers_has_a_few_hundred_rows(learner: CollectionLearner) -> None:
    published = learner.publish()
    kept = [n for n in range(100_001) if learner.history(replace(published, answers=n), True) is not None]
    assert 400 < len(kept) <= 600
    assert kept[:50] == list(range(1, 51))
    assert all(later <= 1.02 * earlier + 1 for earlier, later in pairwise(kept[49:]))


@pytest.mark.parametrize("family", ["normal", "nonparametric"])
def test_a_row_of_the_history_that_must_be_estimated_waits_until_it_is_calm(site: Site, family: str) -> None:
    collection = site.service.collections.get(site.create(family=family, range=None))
    learner = CollectionLearner(collection, site.service.store, site.service.institutions, site.clock)
    published = replace(learner.publish(), answers=7)
    busy = learner.history(published, False)
    assert (busy is not None) == (family == "normal")
    compute = busy or learner.history(published, True)
    assert compute is not None
    row = compute()
    assert row.answers == 7
    assert json.loads(row.posterior)
    assert learner.history(published, True) is None


@pytest.mark.parametrize("family", ["normal", "nonparametric"])
def test_what_changed_in_a_burst_is_in_the_history_afterwards(site: Site, family: str) -> None:
    collection = site.service.collections.get(site.create(family=family, range=None))
    learner = CollectionLearner(collection, site.service.store, site.service.institutions, site.clock)
    published = learner.publish()
    times, rows = [], []
    for so_far in range(100, 10_100, 100):
        site.clock.now += 1
        times.append(milliseconds(site.clock()))
        rows.append(learner.history(replace(published, answers=so_far), False))
    assert learner.owes_history == (family == "nonparametric")
    if family == "nonparametric":
        assert rows == [None] * len(rows)
        rows = []
        while learner.owes_history:
            rows.append(learner.history(replace(published, answers=10_000), True))
    found = [compute() for compute in rows if compute is not None]
    if family == "nonparametric":
        assert all(later.answers >= 1.25 * earlier.answers for earlier, later in pairwise(found[:-1]))
    assert 15 <= len(found) <= 100
    assert found[-1].answers >= 9_800
    assert [row.at for row in found] == [times[row.answers // 100 - 1] for row in found]
