"""A collection's owner learns what is stored, whatever fails in between."""

import logging
import math
import threading
import time
from collections import Counter
from fractions import Fraction
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from dither_client import parse_query
from dither_client.posterior.wire import PosteriorReply, from_json
from dither_estimator.hierarchy.pooling import PooledDraws, pool_groups
from dither_estimator.learning import pooled_groups, separate_groups
from dither_estimator.learning.learner import Learner
from dither_server.api.messages.examples import POSTERIOR
from dither_server.owner import collection_learner, thread
from dither_server.owner.collection_learner import CollectionLearner
from dither_server.owner.persistence import PersistedLearner
from dither_server.owner.publications import read_editions
from dither_server.owner.published import Published, Question
from dither_server.owner.unhurried import Unhurried
from dither_server.replicas.leases import Lease
from dither_server.service import poller
from testing.patience import PATIENCE, until
from testing.servers.defaults import ADMIN
from testing.servers.site import Site


def test_what_is_stored_is_learnt(any_site: Site) -> None:
    collection = any_site.create()
    for count in (1, 10, 100):
        before = any_site.stored(collection)
        any_site.answer_in_turns(collection, count)
        posterior = any_site.learnt(collection, before + count)
    assert posterior["posterior"].keys() == {"mu", "sigma"}
    assert posterior["updated_at"] == "2027-01-15T08:00:00.000Z"
    assert 0 < posterior["ess"] <= 100


def test_the_posterior_is_that_of_the_counts(site: Site) -> None:
    collection = site.create(particles=10_000)
    site.answer_in_turns(collection, 2_000)
    site.learnt(collection, 2_000)
    queries = site.client.get(f"/v1/collections/{collection}/queries", headers=ADMIN).json()["queries"]
    table = {parse_query(item["query"]): item["counts"] for item in queries}
    learner = Learner(site.service.collections.get(collection).specification, 1)
    learner.learn_counts(table)
    served = site.client.get(f"/v1/collections/{collection}/posterior", headers=ADMIN).json()["posterior"]
    for name, summary in learner.posterior().to_json()["posterior"].items():
        assert abs(served[name]["mean"] - summary["mean"]) < 0.15 * summary["sd"]
        assert abs(served[name]["sd"] / summary["sd"] - 1) < 0.15


def test_questions_are_drawn_with_equal_probability(site: Site) -> None:
    pool = tuple(Question(bytes([i]), str(i)) for i in range(5))
    other = (Question(b"", "other"),)
    published = Published({Fraction(1, 2): other, Fraction(2): pool}, 0, from_json(PosteriorReply, POSTERIOR), None)
    drawn = Counter(site.service.learners.draw(published, Fraction(2)).json for _ in range(20_000))
    # Six standard deviations of a binomial count: a false alarm in fewer than one of 10^8 runs.
    assert all(abs(drawn[question.json] - 4_000) < 6 * (20_000 * 0.2 * 0.8) ** 0.5 for question in pool)


def test_a_failure_to_learn_leaves_the_old_posterior_and_is_made_good(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    collection = site.create()
    site.answer_in_turns(collection, 10)
    site.learnt(collection, 10)
    with monkeypatch.context() as patch:
        patch.setattr(Learner, "learn_counts", lambda *_: 1 / 0)
        site.answer_in_turns(collection, 10)
        until(lambda: "learning failed" in caplog.text)
        site.ticket(collection)
        site.learnt(collection, 10)
    site.answer_in_turns(collection, 1)
    site.learnt(collection, 21)


def test_a_collection_that_cannot_be_stored_holds_up_no_other(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is learnt and served all the same, and stored as soon as that is possible."""
    broken, other = site.create(), site.create()
    number, job = site.service.collections.get(broken).number, PersistedLearner.job

    def failing(learner: PersistedLearner, alone: bool, last: bool, at: int) -> Any:
        return 1 / 0 if learner.lease.collection == number else job(learner, alone, last, at)

    def stored(collection: str) -> int:
        found = read_editions(site.service._engine).get(site.service.collections.get(collection).number)
        return 0 if found is None else found.answers

    with monkeypatch.context() as patch:
        patch.setattr(PersistedLearner, "job", failing)
        for collection in (broken, other):
            site.answer_in_turns(collection, 10)
            site.learnt(collection, 10)
        until(lambda: stored(other) == 10)
        assert "ZeroDivisionError" in [getattr(record, "error", None) for record in caplog.records]
        assert stored(broken) == 0
    until(lambda: stored(broken) == 10)


def test_a_lease_that_was_away_for_a_moment_leaves_nothing_unlearnt(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    collection = site.create()
    site.answer_in_turns(collection, 10)
    site.learnt(collection, 10)
    attend, publish = thread.Learners._attend, CollectionLearner.publish

    def publish_without(learner: CollectionLearner) -> Published:
        site.service.learners.hold({}, (), alone=True)  # heartbeats came too late while it learnt
        return publish(learner)

    def attend_and_return(learners: thread.Learners, lease: Lease) -> float:
        rest = attend(learners, lease)
        learners.hold({lease.collection: lease}, (), alone=True)
        return rest

    with monkeypatch.context() as patch:
        patch.setattr(poller, "_POLLS_PER_COUNT_ALONE", 1)
        patch.setattr(thread.Learners, "_attend", attend_and_return)
        with monkeypatch.context() as once:
            once.setattr(CollectionLearner, "publish", publish_without)
            site.answer_in_turns(collection, 10)
            until(lambda: site.service.learners._known.get(site.service.collections.get(collection).number) != 10)
        site.learnt(collection, 20)


def test_what_was_read_while_a_lease_was_away_does_not_stay(site: Site) -> None:
    """The edition in the database is older than what the owner has learnt since, and answers no more need come."""
    collection = site.create()
    site.learnt(collection, 0)
    until(lambda: read_editions(site.service._engine))
    site.answer_in_turns(collection, 10)
    site.learnt(collection, 10)
    learners = site.service.learners
    leases = dict(learners._leases)
    learners.hold({}, (), alone=True)  # heartbeats came too late between two polls
    learners.look_around(count=False)
    learners.hold(leases, (), alone=True)
    site.learnt(collection, 10)


def test_a_database_that_is_away_is_told_of_once(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    collection = site.create()
    site.learnt(collection, 0)
    attempts = threading.Semaphore(0)

    def fail(*_: object) -> None:
        attempts.release()
        raise OperationalError("SELECT 1", {}, Exception("it is away"))

    with monkeypatch.context() as patch:
        patch.setattr(thread, "_LONGEST_REST", 0.05)
        patch.setattr(CollectionLearner, "catch_up", fail)
        site.answer_in_turns(collection, 1)
        for _ in range(3):
            assert attempts.acquire(timeout=PATIENCE)
    site.learnt(collection, 1)
    assert caplog.text.count("learning waits for the database") == 1
    assert "learning failed" not in caplog.text


def test_a_learner_that_cannot_be_made_asks_to_try_later(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    collection = site.create()
    with monkeypatch.context() as patch:
        patch.setattr(CollectionLearner, "__init__", lambda *_: 1 / 0)
        reply = site.client.post(f"/v1/collections/{collection}/tickets")
        assert (reply.status_code, reply.json()["type"]) == (503, "urn:dither:unavailable")
        assert int(reply.headers["retry-after"]) > 0
    assert site.client.post(f"/v1/collections/{collection}/tickets").status_code == 201


@pytest.mark.parametrize("family", ["normal", "nonparametric"])
def test_questions_of_groups_do_not_wait_for_their_posterior(
    site: Site, monkeypatch: pytest.MonkeyPatch, family: str
) -> None:
    """Publishing computes neither a group's posterior nor that of all: whoever reads it does."""
    groups = {"name": "region", "labels": ["north", "south"]}
    collection = site.service.collections.get(site.create(family=family, range=None, groups=groups))
    learner = CollectionLearner(collection, site.service.store, site.service.institutions, site.clock)

    def for_questions(*given: Any, **named: Any) -> PooledDraws:
        assert "fit" in named
        return pool_groups(*given, **named)

    monkeypatch.setattr(pooled_groups, "pool_groups", for_questions)
    monkeypatch.setattr(separate_groups, "_of_group", lambda *given: pytest.fail("computed for nobody"))
    published = learner.publish()
    assert published.posterior.groups == {}
    monkeypatch.undo()
    assert set(published.described.groups or {}) == {"north", "south"}


@pytest.mark.parametrize("family", ["normal", "nonparametric"])
def test_the_first_people_of_groups_are_asked_as_many_questions_as_those_without(site: Site, family: str) -> None:
    """Hundreds may be asked before the first answers are learnt, and eight questions would leave gaps.

    With eight, 1,000 people of four groups, 256 at once, left 2 to 4 times the standard deviation that they leave in
    process.
    """
    sizes = []
    for groups in (None, {"name": "region", "labels": ["north", "south"]}):
        identifier = site.create(family=family, range=None, **({} if groups is None else {"groups": groups}))
        [pool] = site.published(identifier).pools.values()
        sizes.append(len(pool))
    assert sizes == [64, 64]


def test_groups_take_turns_at_new_questions(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of hundreds may take minutes, in which no other collection would be published, and none get tickets."""
    labels = ["north", "south", "west"]
    identifier = site.create(family="nonparametric", range=None, groups={"name": "region", "labels": labels})
    path = f"/v1/collections/{identifier}/tickets"
    for label in labels:
        reply = site.client.post(path, json={"group": label}).json()
        assert site.respond(identifier, reply["ticket"]).status_code == 201
    made = collection_learner._questions

    def slowly(*given: Any) -> Any:
        time.sleep(2 * collection_learner._GROUP_SECONDS)
        return made(*given)

    monkeypatch.setattr(collection_learner, "_questions", slowly)
    collection = site.service.collections.get(identifier)
    learner = CollectionLearner(collection, site.service.store, site.service.institutions, site.clock)
    assert learner.catch_up() is not None  # which has the turn of the first group
    known = []
    while learner.owes_questions:
        known.append(set(learner.publish().group_pools))
    assert known == [{1, 2}, {1, 2, 3}, {1, 2, 3}]
    site.service.learners._drop(collection.number)
    site.service.learners._published.clear()
    until(lambda: len(site.published(identifier).group_pools) == len(labels))


def test_collections_take_turns_at_being_described(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though each has new answers all the time; and nothing begins while a lease is given up."""
    service, described = site.service, list[int]()
    learners = {}
    for _ in range(3):
        collection = service.collections.get(site.create())
        learner = CollectionLearner(collection, service.store, service.institutions, service.clock)
        learners[collection.number] = PersistedLearner(Lease(collection.number, "nobody", 1), learner)
    monkeypatch.setattr(PersistedLearner, "description_due", lambda *_: -math.inf)
    monkeypatch.setattr(PersistedLearner, "describe", lambda each: described.append(each.lease.collection))
    unhurried = Unhurried(service.writer, service.clock, service.learners._notifications)
    try:
        for _ in range(6):
            unhurried.store(learners, frozenset(), True)
            assert unhurried._computing is not None
            unhurried._computing.result(PATIENCE)
        assert described == 2 * sorted(learners)
        described.clear()
        unhurried.store(learners, frozenset(learners), True)
        assert unhurried._computing is None
    finally:
        unhurried.close()


def test_a_long_description_does_not_keep_a_server_from_its_last_snapshot(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    service, go_on = site.service, threading.Event()
    collection = service.collections.get(site.create())
    learner = CollectionLearner(collection, service.store, service.institutions, service.clock)
    persisted = PersistedLearner(Lease(collection.number, "nobody", 1), learner)
    monkeypatch.setattr(PersistedLearner, "description_due", lambda *_: -math.inf)
    monkeypatch.setattr(PersistedLearner, "describe", lambda _: go_on.wait(PATIENCE))
    unhurried = Unhurried(service.writer, service.clock, service.learners._notifications)
    try:
        unhurried.store({collection.number: persisted}, frozenset(), True)
        assert unhurried._computing is not None
        unhurried.store({collection.number: persisted}, frozenset([collection.number]), True)
        unhurried.close()
        assert not go_on.is_set()
    finally:
        go_on.set()


def test_what_nobody_waits_for_comes_once_no_question_is_urgent(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever collection is busy; and after half a minute in which one always was, so that it comes at all."""
    unhurried, now = site.service.learners._unhurried, 1_000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    assert unhurried.calm
    found = []
    for _ in range(130):
        unhurried.note_urgent(now)
        now += 0.25
        found.append(unhurried.calm)
    assert found == [False] * 119 + [True] * 11
    now += 0.1
    unhurried.note_urgent(now)
    assert not unhurried.calm
    now += 0.31
    assert unhurried.calm


def test_no_log_line_of_learning_says_what_went_wrong_inside(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise ValueError("-".join(["zebra", "17"]))

    collection = site.create()
    with caplog.at_level(logging.DEBUG), monkeypatch.context() as patch:
        patch.setattr(CollectionLearner, "catch_up", fail)
        site.client.post(f"/v1/collections/{collection}/tickets")
    assert "learning failed" in caplog.text
    assert "zebra-17" not in caplog.text + str([vars(record) for record in caplog.records])
