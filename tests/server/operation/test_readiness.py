"""`/readyz` turns off, in bounded time, whatever it is that is away; `/healthz` stays."""

from pathlib import Path

import httpx2
import pytest

from dither_server.answers.writer import Writer
from dither_server.owner.thread import Learners
from testing.patience import PATIENCE, until
from testing.servers.cluster import Cluster
from testing.servers.defaults import ADMIN
from testing.servers.process import ServerProcess, running
from testing.servers.site import Site, open_site, problem


def ready(server: ServerProcess) -> int:
    """Status of `/readyz`, which comes though the database may never answer."""
    reply = httpx2.get(f"{server.url}/readyz", timeout=PATIENCE)
    if reply.status_code != 200:
        assert problem(reply) == (503, "unavailable")
        assert int(reply.headers["retry-after"]) > 0
    return reply.status_code


def turns(server: ServerProcess, status: int) -> None:
    """Waits until `/readyz` has this status."""
    until(lambda: ready(server) == status)


@pytest.mark.slow
@pytest.mark.postgres
def test_readiness_follows_a_postgresql_that_goes_hangs_and_comes_back(cluster: Cluster) -> None:
    with running(cluster.create_database()) as server:
        turns(server, 200)
        cluster.freeze()
        try:
            for _ in range(3):  # one after the other: no probe waits for those before it
                assert ready(server) == 503
            assert httpx2.get(f"{server.url}/healthz", timeout=PATIENCE).status_code == 200
            metrics = httpx2.get(f"{server.url}/metrics", headers=ADMIN, timeout=PATIENCE).text
            assert "dither_ready 0.0" in metrics.splitlines()
        finally:
            cluster.thaw()
        turns(server, 200)
        cluster.stop("immediate")
        turns(server, 503)
        assert httpx2.get(f"{server.url}/healthz", timeout=PATIENCE).status_code == 200
        cluster.start()
        turns(server, 200)


def test_a_file_that_was_removed_under_the_server_is_away(tmp_path: Path) -> None:
    """Though the connections that have it open would go on as if nothing were."""
    with open_site(f"sqlite:///{tmp_path / 'test.sqlite'}") as site:
        assert site.client.get("/readyz").status_code == 200
        (tmp_path / "test.sqlite").rename(tmp_path / "away.sqlite")
        assert problem(site.client.get("/readyz")) == (503, "unavailable")
        (tmp_path / "away.sqlite").rename(tmp_path / "test.sqlite")
        assert site.client.get("/readyz").status_code == 200


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # which is the thread's death
@pytest.mark.parametrize(("part", "method"), [(Learners, "_attend"), (Writer, "_perform")])
def test_a_server_whose_thread_has_died_is_not_ready(
    site: Site, monkeypatch: pytest.MonkeyPatch, part: type, method: str
) -> None:
    collection = site.create()
    site.ticket(collection)
    monkeypatch.setattr(part, method, lambda *_: 1 / 0)
    thread = site.service.learners._thread if part is Learners else site.service.writer._thread
    site.service.learners.notify([1])
    site.service.writer.submit(lambda connection: None)
    thread.join(PATIENCE)
    assert not thread.is_alive()
    reply = site.client.get("/readyz")
    assert problem(reply) == (503, "unavailable")
    assert "has died" in reply.json()["detail"]
    assert site.client.get("/healthz").status_code == 200
