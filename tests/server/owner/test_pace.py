"""Tickets wait for better questions while stored answers would change them much, and not for long."""

import asyncio
import threading
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pytest

from dither_client import Admin
from dither_client.posterior.wire import PosteriorReply, from_json
from dither_estimator.learning.learner import Learner
from dither_estimator.specification.specification import Specification
from dither_server.api.messages.examples import POSTERIOR
from dither_server.database.engine import make_engine
from dither_server.database.notifications import FileNotifications, PostgresNotifications, notifications_of
from dither_server.database.watchdog import watch
from dither_server.owner import pace, thread
from dither_server.owner.collection_learner import CollectionLearner
from dither_server.owner.pace import Pace
from dither_server.owner.published import Published
from dither_server.simulate.behaviours import Behaviours, draw_roles
from dither_server.simulate.in_process import simulate_in_process
from dither_server.simulate.over_http import simulate_over_http
from dither_server.simulate.respondents import Respondents
from testing.patience import until
from testing.servers.defaults import ADMIN_TOKEN
from testing.servers.served import serving
from testing.servers.site import Site
from tests.server.replicas.test_replicas import replicas

EVER = 60.0
"""Seconds: so long nothing takes here, however busy the machine is."""


def published(answers: int, renew_at: float) -> Published:
    return Published({Fraction(1): ()}, answers, from_json(PosteriorReply, POSTERIOR), None, renew_at=renew_at)


async def waits_for_news(course: Pace) -> None:
    """A ticket of a collection with 5 answers waits until they are learnt."""
    waiting = asyncio.create_task(course.keep(1))
    await asyncio.sleep(0.01)
    assert not waiting.done()
    course.published(1, published(5, 9), 5, 5)
    await waiting


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tickets wait for as long as it takes."""
    monkeypatch.setattr(pace, "LONGEST_WAIT", EVER)


class TestPace:
    def test_nobody_waits_before_there_are_as_many_answers_as_a_pool_is_for(self) -> None:
        course = Pace()
        assert not course.behind(1)
        course.published(1, published(100, 112), 100, 0)
        course.note({1: 11})
        assert not course.behind(1)
        asyncio.run(course.keep(1))
        course.note({1: 1})
        assert course.behind(1)
        assert not course.behind(2)

    def test_questions_that_never_change_are_not_waited_for(self) -> None:
        course = Pace()
        course.published(1, published(0, float("inf")), 0, 0)
        course.note({1: 1_000_000})
        assert not course.behind(1)

    def test_all_who_wait_go_on_with_the_next_publication(self, patient: None) -> None:
        """One who goes away does not take the others along."""

        async def wait() -> list[Any]:
            waiting = [asyncio.create_task(course.keep(1)) for _ in range(3)]
            await asyncio.sleep(0)
            waiting[0].cancel()
            await asyncio.sleep(0)
            assert [task.done() for task in waiting] == [True, False, False]
            threading.Thread(target=lambda: course.published(1, published(4, 8), 4, 0)).start()
            return await asyncio.gather(*waiting, return_exceptions=True)

        course = Pace()
        course.published(1, published(0, 3), 0, 0)
        course.note({1: 4})
        cancelled, *rest = asyncio.run(wait())
        assert isinstance(cancelled, asyncio.CancelledError)
        assert rest == [None, None]

    def test_who_waits_waits_for_what_was_stored_before(self, patient: None) -> None:
        """Others go on answering through other processes: a publication without their last answers is good enough."""

        async def wait() -> None:
            waiting = asyncio.create_task(course.keep(1))
            await asyncio.sleep(0)
            course.found(1, 100, course.noted(1))
            course.published(1, published(10, 12), 10)
            course.found(1, 100, course.noted(1))
            await waiting
            assert course.behind(1)

        course = Pace()
        course.published(1, published(0, 3), 0)
        course.found(1, 10, course.noted(1))
        asyncio.run(wait())

    def test_a_stall_lets_those_go_who_have_waited_and_nobody_else(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Had everybody gone on after the first of these waits, a burst would be over before anything is learnt."""

        async def wait() -> None:
            monkeypatch.setattr(pace, "LONGEST_WAIT", 0.001)
            await asyncio.gather(*(course.keep(1) for _ in range(3)))
            monkeypatch.setattr(pace, "LONGEST_WAIT", EVER)
            await waits_for_news(course)

        course = Pace()
        course.published(1, published(0, 3), 0, 0)
        course.note({1: 5})
        asyncio.run(wait())

    def test_learning_that_stalls_is_not_waited_for_until_there_is_something_new(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def wait() -> None:
            monkeypatch.setattr(pace, "LONGEST_WAIT", 0.001)
            await course.keep(1)
            monkeypatch.setattr(pace, "LONGEST_WAIT", EVER)
            monkeypatch.setattr(pace, "LONGEST_STALL", 0.0)
            await asyncio.wait_for(course.keep(1), EVER / 2)
            monkeypatch.setattr(pace, "LONGEST_STALL", EVER)
            course.published(1, published(1, 4), 1, 0)
            await waits_for_news(course)

        course = Pace()
        course.published(1, published(0, 3), 0, 0)
        course.note({1: 5})
        asyncio.run(wait())

    def test_who_comes_later_waits_for_what_was_stored_by_then(self, patient: None) -> None:
        """A publication that rests on the first answers of a burst lets only those go who came that early."""

        async def wait() -> None:
            early = asyncio.create_task(course.keep(1))
            await asyncio.sleep(0)
            course.note({1: 96})
            late = asyncio.create_task(course.keep(1))
            await asyncio.sleep(0)
            course.published(1, published(4, 8), 4, 4)
            await early
            await asyncio.sleep(0.01)
            assert not late.done()
            course.published(1, published(100, 112), 100, 100)
            await late

        course = Pace()
        course.published(1, published(0, 3), 0, 0)
        course.note({1: 4})
        asyncio.run(wait())

    def test_answers_that_come_while_others_are_learnt_are_not_forgotten(self) -> None:
        course = Pace()
        course.published(1, published(0, 3), 0, 0)
        course.note({1: 5})
        noted = course.noted(1)
        course.note({1: 4})
        course.published(1, published(5, 8), 5, noted)
        assert course.behind(1)
        course.published(1, published(9, 18), 9, course.noted(1))
        assert not course.behind(1)

    def test_the_process_that_learns_is_told_once_for_each_publication(self) -> None:
        course = Pace()
        course.published(1, published(0, 3), 0)
        course.note({1: 2})
        assert not course.must_tell(1)
        course.note({1: 1})
        assert course.must_tell(1)
        course.note({1: 5})
        assert not course.must_tell(1)
        course.published(1, published(3, 5), 3)
        assert course.must_tell(1)
        course.published(1, published(8, 12), 8)
        assert not course.must_tell(1)
        assert not course.must_tell(2)

    def test_a_count_from_before_the_last_answers_forgets_none_of_them(self) -> None:
        course = Pace()
        course.published(1, published(0, 3), 0)
        noted = course.noted(1)
        course.note({1: 5})
        course.found(1, 0, noted)
        assert course.behind(1)
        course.found(1, 5, course.noted(1))
        course.published(1, published(5, 8), 5)
        assert not course.behind(1)


def answer(site: Site, collection: str, count: int) -> None:
    pairs = [(ticket, i % 2) for i, ticket in enumerate(site.tickets(collection, count))]
    assert {item["status"] for item in site.batch(collection, *pairs).json()["responses"]} == {201}


def asked(site: Site, collection: str) -> bytes:
    """The question of a new ticket, packed."""
    ticket: bytes = site.service.tickets.open(site.ticket(collection)).query
    return ticket


def test_a_ticket_waits_for_the_answers_before_it(any_site: Site, patient: None) -> None:
    """Each question follows from every answer that was acknowledged before it was asked for, as one by one.

    Without waiting, one of the first questions comes again.
    """
    collection = any_site.create(range=None, epsilon=2)
    any_site.published(collection)
    for count in (20, 40, 80):
        answer(any_site, collection, count)
        query = asked(any_site, collection)
        found = any_site.published(collection)
        assert found.answers == any_site.stored(collection)
        assert query in found.questions


def test_a_ticket_waits_for_answers_through_another_process(
    database_url: str, patient: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever owns the collection, and whichever is answered and asked, and without a poll in between."""
    with replicas(database_url, 2) as sites:
        until(lambda: not any(site.service.poller._alone for site in sites))
        collection = sites[0].create(range=None, epsilon=2)
        number = sites[0].service.collections.get(collection).number
        until(lambda: [number in site.service.learners._leases for site in sites].count(True) == 1)
        for site in sites:
            site.published(collection)
        monkeypatch.setattr("dither_server.service.poller.POLL_SECONDS", EVER)
        until(lambda: all(site.published(collection).answers == 0 for site in sites))
        for through in (*sites, *sites):
            before = through.stored(collection)
            answer(through, collection, 2 * max(before, 10))
            query = asked(through, collection)
            found = through.published(collection)
            assert found.answers == through.stored(collection)
            assert query in found.questions


def test_a_ticket_does_not_wait_for_a_learner_that_hangs(any_site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    collection = any_site.create(range=None)
    any_site.published(collection)
    hangs, catch_up = threading.Event(), CollectionLearner.catch_up

    def hang(learner: CollectionLearner) -> Any:
        hangs.wait(EVER)
        return catch_up(learner)

    monkeypatch.setattr(CollectionLearner, "catch_up", hang)
    try:
        answer(any_site, collection, 20)
        assert any_site.service.learners._pace.behind(any_site.service.collections.get(collection).number)
        first = asked(any_site, collection)
        assert first in any_site.published(collection).questions
        assert any_site.published(collection).answers == 0
    finally:
        hangs.set()
    any_site.learnt(collection, 20)


def test_the_owner_does_not_rest_while_questions_are_stale(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread, "_LONGEST_REST", EVER)
    collection = site.create(range=None, epsilon=2)
    for count in (50, 100, 200, 400):
        answer(site, collection, count)
    site.learnt(collection, 750)


def test_a_burst_teaches_what_the_same_answers_teach_in_process(database_url: str, patient: None) -> None:
    """256 at once, 1,500 people of N(120, 15²) under the default prior, at ε = 2: the sd of μ, medians of three.

    Twelve runs against a server that did not wait had a median of 10, five times as much as in process. With the law of
    40 runs in process, resampled, the ratio of two medians of three exceeds the limit in one of 100,000 runs.
    """
    live, beside = [], []
    with serving(database_url) as (address, _):
        for seed in range(3):
            values = np.random.default_rng(seed).normal(120, 15, 1_500)
            roles = draw_roles(np.random.default_rng(seed), Behaviours(), len(values))
            with Admin(address, ADMIN_TOKEN) as admin:
                spec = {"name": "Burst", "family": "normal", "epsilon": 2}
                collection = str(admin.create_collection(spec)["id"])
            outcome = simulate_over_http(address, ADMIN_TOKEN, collection, Respondents(values, roles, seed), 256)
            live.append(outcome.posterior.posterior["mu"].sd)
            learner = Learner(Specification.from_json({"family": "normal", "epsilon": 2}), seed, outstanding=256)
            found = simulate_in_process(learner, values, roles, np.random.default_rng(seed), outstanding=256)
            beside.append(found.posterior.posterior["mu"].sd)
    assert median(live) < 3 * median(beside)


class TestNotifications:
    def test_every_other_process_hears(self, database_url: str) -> None:
        """On SQLite, whoever sends hears it too."""
        engine = make_engine(database_url)
        itself = engine.dialect.name == "sqlite"
        ours, theirs = notifications_of(engine), notifications_of(engine)
        try:
            assert not ours.wait(0.01)
            assert not theirs.wait(0.01)
            for _ in range(3):
                ours.send()
                assert theirs.wait(EVER)
                assert ours.wait(EVER if itself else 0.01) == itself
                assert not theirs.wait(0.01)
            theirs.send()
            ours.send()
            assert ours.wait(EVER)
        finally:
            ours.close()
            theirs.close()
            engine.dispose()

    @pytest.mark.postgres
    def test_who_listens_is_not_taken_for_stuck(self, postgres_url: str) -> None:
        """A connection that is in use for long is cut, but one that listens is to be."""
        engine = make_engine(postgres_url)
        watch(engine, 0.3)
        listening, other = notifications_of(engine), notifications_of(engine)
        try:
            for _ in range(15):
                assert not listening.wait(0.1)
            other.send()
            assert listening.wait(EVER)
        finally:
            listening.close()
            engine.dispose()

    def test_a_database_that_is_away_is_told_nothing(self, tmp_path: Path) -> None:
        engine = make_engine("postgresql+psycopg://nobody@127.0.0.1:1/none")
        PostgresNotifications(engine).send()
        engine.dispose()
        FileNotifications(tmp_path / "none" / "none.sqlite-notify").send()

    def test_the_file_is_nobody_elses(self, tmp_path: Path) -> None:
        notifications_of(make_engine(f"sqlite:///{tmp_path}/a.sqlite")).send()
        [file] = tmp_path.iterdir()
        assert file.stat().st_mode & 0o777 == 0o600
        assert file.read_bytes() == b""
