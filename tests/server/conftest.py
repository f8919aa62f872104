"""Fixtures: applications in the test's own process, each with a database of its own, on SQLite and on PostgreSQL."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest

from dither_server.database.engine import make_engine, upgrade
from dither_server.replicas import membership
from testing.databases import driver_url, new_database
from testing.patience import PATIENCE
from testing.servers.cluster import Cluster, ClusterMissing, make_cluster
from testing.servers.site import FakeClock, Site, open_site
from testing.tools import skip_or_fail


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable of whoever runs the tests has a say."""
    for name in [name for name in os.environ if name.startswith("DITHER_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """The URL of an SQLite database that does not exist yet."""
    return f"sqlite:///{tmp_path / 'test.sqlite'}"


@pytest.fixture
def postgres_url() -> Iterator[str]:
    """The URL of an empty PostgreSQL database, which is dropped at the end."""
    with ExitStack() as stack:
        try:
            url = stack.enter_context(new_database())
        except psycopg.OperationalError as error:
            skip_or_fail(f"no PostgreSQL: {error}")
        yield driver_url(url)


@pytest.fixture(scope="session")
def migrated_postgres() -> Iterator[str]:
    """The name of a PostgreSQL database with the newest schema, which nothing has been stored in."""
    with ExitStack() as stack:
        try:
            url = stack.enter_context(new_database())
        except psycopg.OperationalError as error:
            skip_or_fail(f"no PostgreSQL: {error}")
        engine = make_engine(driver_url(url))
        upgrade(engine)
        engine.dispose()
        yield url.rpartition("/")[2]


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """A PostgreSQL of the test's own."""
    with ExitStack() as stack:
        try:
            cluster = stack.enter_context(make_cluster())
        except ClusterMissing as error:
            skip_or_fail(f"no PostgreSQL of its own: {error}")
        yield cluster


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database_url(request: pytest.FixtureRequest) -> str:
    """A fresh database of either kind."""
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url


@pytest.fixture
def migrated_sqlite_url(sqlite_url: str, migrated: Path) -> str:
    """The URL of an SQLite database with the newest schema, which nothing has been stored in."""
    shutil.copyfile(migrated, sqlite_url.removeprefix("sqlite:///"))
    return sqlite_url


@pytest.fixture
def migrated_postgres_url(migrated_postgres: str) -> Iterator[str]:
    """The URL of such a PostgreSQL database, which is dropped at the end."""
    with new_database(like=migrated_postgres) as url:
        yield driver_url(url)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def migrated_url(request: pytest.FixtureRequest) -> str:
    """A database of either kind, with the newest schema and without the time that the migrations take."""
    url: str = request.getfixturevalue(f"migrated_{request.param}_url")
    return url


@pytest.fixture
def clock() -> FakeClock:
    """A clock that stands still."""
    return FakeClock()


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An SQLite database with the newest schema, which nothing has been stored in."""
    file = tmp_path_factory.mktemp("migrated") / "test.sqlite"
    engine = make_engine(f"sqlite:///{file}")
    upgrade(engine)
    engine.dispose()
    return file


@pytest.fixture
def site(migrated_sqlite_url: str, clock: FakeClock) -> Iterator[Site]:
    """An application on SQLite."""
    with open_site(migrated_sqlite_url, clock) as site:
        yield site


@pytest.fixture
def any_site(migrated_url: str, clock: FakeClock) -> Iterator[Site]:
    """An application on either database."""
    with open_site(migrated_url, clock) as site:
        yield site


@pytest.fixture
def nothing_expires(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests that compare what was learnt before and after a restart.

    On a busy machine heartbeats may come too late, and a lease that was away has a learner that is made anew.
    """
    monkeypatch.setattr(membership, "LEASE_SECONDS", 10 * PATIENCE)


@pytest.fixture
def reopen(nothing_expires: None) -> Callable[..., Any]:
    """`open_site`, for tests that restart."""
    return open_site
