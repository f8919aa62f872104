"""What is stored of a learner, and when."""

import time
from dataclasses import replace
from typing import Any

import pytest

from dither_server.owner import persistence
from dither_server.owner.collection_learner import CollectionLearner
from dither_server.owner.persistence import PUBLICATION_SECONDS, PersistedLearner
from dither_server.owner.published import REST, Published
from dither_server.replicas.leases import Lease
from testing.servers.site import Site


@pytest.fixture
def persisted(site: Site) -> PersistedLearner:
    """The learner of a new collection, which nobody has answered."""
    service = site.service
    collection = service.collections.get(site.create())
    learner = CollectionLearner(collection, service.store, service.institutions, service.clock)
    persisted = PersistedLearner(Lease(collection.number, "me", 1), learner)
    persisted.published = learner.publish()
    return persisted


def published_of(persisted: PersistedLearner) -> Published:
    assert persisted.published is not None
    return persisted.published


def described_renewals(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """`renew_at` of each state that is described from now on."""
    found = []

    def describe(published: Published) -> dict[str, Any]:
        found.append(published.renew_at)
        return {}

    monkeypatch.setattr(persistence, "population_json", describe)
    return found


def test_new_questions_are_stored_before_the_population_is_described(
    persisted: PersistedLearner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A description takes longer than all else, and people wait for questions: it is stored once it is there."""
    now, described = [1000.0], described_renewals(monkeypatch)
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    first = published_of(persisted)
    assert persisted.job(False, False, 0) is not None
    described.clear()
    for step in range(1, 4):
        now[0] += 1.1 * PUBLICATION_SECONDS
        persisted.published = replace(first, renew_at=first.renew_at + step)
        assert persisted.job(False, False, 0) is not None
        assert described == []
    assert persisted.description_due(False) <= now[0]
    assert persisted.due(False) > now[0]
    persisted.describe()
    assert described == [first.renew_at + 3]
    assert persisted.description_due(False) > now[0]
    now[0] += 1.1 * PUBLICATION_SECONDS
    assert persisted.due(False) <= now[0]
    assert persisted.job(False, False, 0) is not None
    assert persisted.due(False) > now[0]
    assert described == [first.renew_at + 3]


def test_other_processes_get_a_description_with_the_first_and_the_last_publication(
    persisted: PersistedLearner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They would show none, or an old one; without other processes, nobody shows them."""
    now, described = [1000.0], described_renewals(monkeypatch)
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    first = published_of(persisted)
    for alone, last, expected in ((True, False, []), (True, True, []), (False, False, [first.renew_at])):
        now[0] += 100.0
        persisted.published = replace(first)
        assert persisted.due(alone) <= now[0]
        assert persisted.job(alone, last, 0) is not None
        assert described == expected
    persisted.published = replace(first, renew_at=first.renew_at + 1)
    now[0] += 100.0
    assert persisted.job(False, False, 0) is not None
    assert described == [first.renew_at]
    assert persisted.job(False, True, 0) is not None
    assert described == [first.renew_at, first.renew_at + 1]


@pytest.mark.parametrize(("alone", "fewest", "most"), [(False, 15, 20), (True, 1, 3)])
def test_questions_that_are_always_new_do_not_leave_the_population_undescribed(
    persisted: PersistedLearner, monkeypatch: pytest.MonkeyPatch, alone: bool, fewest: int, most: int
) -> None:
    """In ten seconds, with a new state in each tenth of them."""
    now, described = [1000.0], described_renewals(monkeypatch)
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    first = published_of(persisted)
    for step in range(100):
        now[0] += 0.1
        persisted.published = replace(first, renew_at=first.renew_at + step)
        if persisted.description_due(alone) <= now[0]:
            persisted.describe()
    assert fewest <= len(described) <= most


def test_a_description_that_takes_long_is_seldom_made_anew(
    persisted: PersistedLearner, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])

    def describe(published: Published) -> dict[str, Any]:
        now[0] += 30.0
        return {}

    monkeypatch.setattr(persistence, "population_json", describe)
    persisted.describe()
    persisted.published = replace(published_of(persisted))
    assert persisted.description_due(False) == persisted.description_due(True) == now[0] + REST * 30.0
