import shutil
from pathlib import Path

from testing.servers.defaults import ADMIN
from testing.servers.site import Site, open_site, problem


def test_a_server_is_live_and_ready(any_site: Site) -> None:
    assert any_site.client.get("/healthz").json() == {"status": "ok"}
    assert any_site.client.get("/readyz").json() == {"status": "ready"}


def test_a_stopping_server_is_live_and_not_ready(site: Site) -> None:
    site.service.stopping.set()
    assert site.client.get("/healthz").status_code == 200
    reply = site.client.get("/readyz")
    assert problem(reply) == (503, "unavailable")
    assert int(reply.headers["retry-after"]) > 0


def test_a_server_whose_database_is_gone_is_not_ready(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    with open_site(f"sqlite:///{folder / 'test.sqlite'}") as site:
        site.close_connections()
        shutil.rmtree(folder)
        assert problem(site.client.get("/readyz")) == (503, "unavailable")
        assert problem(site.client.get("/v1/collections/unknown")) == (503, "unavailable")
        assert site.client.get("/healthz").status_code == 200


def test_every_reply_has_an_id_and_safe_headers(site: Site) -> None:
    replies = [
        site.client.get("/healthz"),
        site.client.get("/v1/missing"),
        site.client.post("/v1/collections", headers=ADMIN),
        site.client.post(f"/v1/collections/{site.create()}/tickets"),
    ]
    assert len({reply.headers["x-request-id"] for reply in replies}) == 4
    for reply in replies:
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["cache-control"] == "no-store"
        assert reply.headers["referrer-policy"] == "no-referrer"
