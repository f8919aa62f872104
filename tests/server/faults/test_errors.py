"""Every call while the database is gone: 503 with `Retry-After` where it is needed, and never 500."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from testing.patience import until
from testing.servers.cluster import Cluster
from testing.servers.defaults import ADMIN, SPEC
from testing.servers.oblivious import ask, refusal
from testing.servers.site import Site, open_site, problem

FROM_MEMORY = {
    ("get", "/healthz"),
    ("get", "/metrics"),
    ("get", "/docs"),
    ("get", "/style.css"),
    ("get", "/ohttp-keys"),
    ("get", "/ohttp"),
    ("get", "/v1/deletions/key"),
    ("get", "/v1/families"),
    ("get", "/v1/tokens"),
    ("post", "/v1/collections/{collection_id}/tickets"),
    ("get", "/v1/collections/{collection_id}/posterior"),
    ("get", "/v1/collections/{collection_id}/posterior/particles"),
    ("get", "/v1/collections/{collection_id}/posterior/stream"),
}
"""Calls that need no database; every other one does."""
PAGES = [("get", page) for page in ("/", "/collections/{collection_id}", "/docs", "/style.css")]
GATEWAY = ("post", "/ohttp")
STREAM = ("get", "/v1/collections/{collection_id}/posterior/stream")


INVITATIONS = "/v1/collections/{collection_id}/invitations"


def check_every_call(
    site: Site, collection: str, by_invitation: str, bodies: dict[tuple[str, str], Any], token: str
) -> None:
    """Fails unless each call does what it can without a database."""
    document = site.client.app.openapi()  # type: ignore[attr-defined]
    calls = [(method, path) for path, methods in document["paths"].items() for method in methods]
    assert len(calls) > 15
    for call in [*calls, *PAGES]:
        if call == STREAM:
            continue  # it ends when the server does, so it is tested with real ones
        if call == GATEWAY:
            check_inside_the_gateway(site, collection)
            continue
        method, path = call
        one = by_invitation if path == INVITATIONS else collection
        address = path.replace("{collection_id}", one).replace("{token_id}", token)
        content = {"json": bodies.get(call, {})} if method in ("post", "patch") else {}
        reply: httpx2.Response = site.client.request(method, address, headers=ADMIN, **content)
        if call in FROM_MEMORY:
            assert reply.status_code in (200, 201), (call, reply.text)
        else:
            assert problem(reply) == (503, "unavailable"), (call, reply.text)
            assert int(reply.headers["retry-after"]) > 0


def check_inside_the_gateway(site: Site, collection: str) -> None:
    """The refusal comes encapsulated, since the relay has to learn nothing of it."""
    inner = ask(site.client, "GET", f"/v1/collections/{collection}")
    assert refusal(inner) == (503, "unavailable")
    assert int(dict(inner.headers)["retry-after"]) > 0


@contextmanager
def trouble(url: str) -> Iterator[tuple[Site, Any]]:
    """A site, and the check to be made while its database is away."""
    with open_site(url) as site:
        collection, by_invitation = (
            site.create(visibility="public", member_cuts=[40, 60]),
            site.create(admission="invite"),
        )
        ticket, another = site.tickets(collection, 2)
        assert site.respond(collection, ticket).status_code == 201
        site.learnt(collection, 1)
        path = "/v1/collections/{collection_id}"
        bodies = {
            ("post", "/v1/collections"): SPEC,
            ("patch", path): {"state": "paused"},
            ("post", f"{path}/responses"): {"ticket": another, "answer": 0},
            ("post", f"{path}/responses/batch"): {"responses": [{"ticket": another, "answer": 0}]},
            ("post", INVITATIONS): {"count": 1},
            ("post", f"{path}/member-counts"): {"size": 10, "counts": [3, 2]},
            ("post", "/v1/tokens"): {"role": "analyst", "name": "Ana"},
        }
        token = site.client.post("/v1/tokens", json={"role": "analyst", "name": "Bo"}, headers=ADMIN).json()["id"]
        yield site, lambda: check_every_call(site, collection, by_invitation, bodies, token)
        # The trouble is over.
        until(lambda: site.client.get("/readyz").status_code == 200)
        assert site.stored(collection) == 1
        assert site.respond(collection, another).status_code == 201
        assert site.client.delete(f"/v1/tokens/{token}", headers=ADMIN).status_code == 204
        site.learnt(collection, 2)
        assert (
            len(site.client.get("/v1/collections", headers=ADMIN).json()["collections"]) == 2
        )  # what was refused left nothing
        site.check_counts()


@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.parametrize("mode", ["immediate", "fast"])
def test_postgresql_is_gone(cluster: Cluster, mode: str) -> None:
    with trouble(cluster.create_database()) as (_, check):
        cluster.stop(mode)
        check()
        cluster.start()


def test_sqlites_folder_is_gone(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    with trouble(f"sqlite:///{folder / 'test.sqlite'}") as (site, check):
        site.close_connections()
        shutil.move(folder, tmp_path / "elsewhere")
        check()
        shutil.move(tmp_path / "elsewhere", folder)
