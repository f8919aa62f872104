"""What was learnt is stored as a snapshot, and a restart goes on from there, or from the counts alone."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Connection, delete, select, update
from sqlalchemy.exc import OperationalError

from dither_server.database.engine import make_engine, writing
from dither_server.database.reads import replace_snapshot
from dither_server.database.schema import answers, counts, snapshots
from dither_server.owner import persistence
from dither_server.owner.snapshot_particles import SnapshotParticles
from testing.patience import until
from testing.servers.site import FakeClock, Site, open_site

pytestmark = pytest.mark.usefixtures("nothing_expires")


def edit(url: str, change: Callable[[Connection], object]) -> Any:
    """Changes a database that no server uses."""
    engine = make_engine(url)
    with writing(engine).begin() as connection:
        result = change(connection)
    engine.dispose()
    return result


def snapshot_sizes(url: str) -> list[int]:
    """Answers in each stored snapshot."""
    return list(edit(url, lambda connection: connection.execute(select(snapshots.c.answers)).scalars().all()))


def test_a_restart_resumes_from_the_snapshot(database_url: str, clock: FakeClock) -> None:
    with open_site(database_url, clock) as site:
        collection = site.create()
        site.answer_in_turns(collection, 500)
        before = site.learnt(collection, 500)
    assert snapshot_sizes(database_url) == [500]
    with open_site(database_url, clock) as site:
        assert site.learnt(collection, 500) == before  # to the last digit: a rebuild would draw other particles
        site.answer_in_turns(collection, 10)
        site.learnt(collection, 510)
    assert snapshot_sizes(database_url) == [510]


def test_a_restart_applies_what_the_snapshot_lacks(sqlite_url: str, clock: FakeClock) -> None:
    with open_site(sqlite_url, clock) as site:
        collection = site.create()
        site.answer_in_turns(collection, 100)
    old = edit(sqlite_url, lambda connection: connection.execute(select(snapshots.c.content)).scalar_one())
    with open_site(sqlite_url, clock) as site:
        site.answer_in_turns(collection, 100)
        site.learnt(collection, 200)
    edit(sqlite_url, lambda connection: connection.execute(update(snapshots).values(content=old, answers=100)))
    with open_site(sqlite_url, clock) as site:
        site.learnt(collection, 200)


def test_the_particles_of_a_snapshot_are_estimated_once_until_there_is_a_newer_one(site: Site) -> None:
    """For all who ask a process that does not learn the collection itself."""
    collection = site.service.collections.get(site.create())
    particles = SnapshotParticles(site.service.store)
    first = particles.of(collection)
    assert particles.of(collection) is first
    site.answer_in_turns(collection.id, 50)
    until(lambda: particles.of(collection) is not first)


@pytest.mark.parametrize("content", [b"", b"nonsense", None])
def test_without_a_readable_snapshot_the_counts_are_learnt_again(
    sqlite_url: str, clock: FakeClock, content: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    with open_site(sqlite_url, clock) as site:
        collection = site.create(particles=1_000)
        site.answer_in_turns(collection, 500)
        before = site.learnt(collection, 500)["posterior"]
    change = delete(snapshots) if content is None else update(snapshots).values(content=content)
    edit(sqlite_url, lambda connection: connection.execute(change))
    with open_site(sqlite_url, clock) as site:
        after = site.learnt(collection, 500)["posterior"]
    for name in before:
        assert abs(after[name]["q50"] - before[name]["q50"]) < 0.5 * before[name]["sd"]
    assert ("snapshot refused" in caplog.text) == (content is not None)


@pytest.mark.parametrize("left", [0, 49])
def test_counts_that_went_back_are_learnt_afresh(
    sqlite_url: str, clock: FakeClock, caplog: pytest.LogCaptureFixture, left: int
) -> None:
    def go_back(connection: Connection) -> None:  # as from an older backup, the snapshot being newer
        if left == 0:
            connection.execute(delete(answers))
            connection.execute(delete(counts))
            return
        most = connection.execute(select(counts).order_by(counts.c.count.desc()).limit(1)).one()  # none stays at 0
        of_them = (answers.c.query == most.query, answers.c.answer == most.answer)
        one = connection.execute(select(answers).where(*of_them).limit(1)).one()
        connection.execute(delete(answers).where(answers.c.ticket == one.ticket))
        its_count = update(counts).where(counts.c.query == one.query, counts.c.answer == one.answer)
        connection.execute(its_count.values(count=counts.c.count - 1))

    with open_site(sqlite_url, clock) as site:
        collection = site.create()
        site.answer_in_turns(collection, 50)
        site.learnt(collection, 50)
    edit(sqlite_url, go_back)
    with open_site(sqlite_url, clock) as site:
        site.learnt(collection, left)
        site.answer_in_turns(collection, 10)
        site.learnt(collection, left + 10)
    assert "counts went back" in caplog.text


def test_snapshots_are_stored_while_running(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(persistence, "SNAPSHOT_SECONDS", 0.05)
    with open_site(sqlite_url) as site:
        collection = site.create()
        site.answer_in_turns(collection, 20)
        site.learnt(collection, 20)
        number = site.service.collections.get(collection).number
        until(lambda: site.service.store.snapshot(number) is not None)


def test_a_snapshot_that_could_not_be_stored_is_stored_later(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(persistence, "SNAPSHOT_SECONDS", 0.05)
    failures = iter([OperationalError("", None, Exception())] * 2)

    def store(*arguments: Any) -> None:
        for failure in failures:
            raise failure
        replace_snapshot(*arguments)

    monkeypatch.setattr(persistence, "replace_snapshot", store)
    with open_site(sqlite_url) as site:
        collection = site.create()
        site.answer_in_turns(collection, 20)
        site.learnt(collection, 20)
        until(lambda: snapshot_sizes(sqlite_url) == [20])  # nobody answers any more
    assert caplog.text.count("what was learnt is not stored yet") >= 2  # more if other jobs share a transaction
