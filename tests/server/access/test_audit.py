"""The audit: each thing that is done with a token's power is a line that says who did what, and holds no secret."""

import json
import logging

import pytest

from dither_server.audit import LOGGER
from dither_server.logs import log_formatter, set_up_logs
from dither_server.settings import Settings
from testing.servers.defaults import ADMIN
from testing.servers.site import Site, open_site, problem


@pytest.fixture
def audited(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, LOGGER)
    return caplog


def lines(caplog: pytest.LogCaptureFixture) -> list[dict[str, object]]:
    """The facts of the audit's lines, as a machine reads them."""
    written = log_formatter("json")
    found = [json.loads(written.format(record)) for record in caplog.records if record.name == LOGGER]
    assert {line["event"] for line in found} <= {"audit"}
    return [
        {
            key: value
            for key, value in line.items()
            if key not in ("event", "message", "level", "timestamp", "request_id")
        }
        for line in found
    ]


def test_what_admins_do_is_told_and_no_secret(any_site: Site, audited: pytest.LogCaptureFixture) -> None:
    site, http = any_site, any_site.client
    made = http.post("/v1/tokens", json={"role": "admin", "name": "zebra-name"}, headers=ADMIN).json()
    own = {"Authorization": f"Bearer {made['token']}"}
    collection = http.post(
        "/v1/collections", json={"name": "c", "family": "normal", "epsilon": 1, "admission": "invite"}, headers=own
    ).json()["id"]
    codes = http.post(f"/v1/collections/{collection}/invitations", json={"count": 2}, headers=own).json()["invitations"]
    assert http.patch(f"/v1/collections/{collection}", json={"state": "paused"}, headers=own).status_code == 200
    key = http.post("/v1/keys", headers=own).json()["keys"][-1]["number"]
    assert http.delete(f"/v1/tokens/{made['id']}", headers=ADMIN).status_code == 204
    me = made["id"]
    assert lines(audited) == [
        {"what": "token made", "by": "environment", "token": me, "role": "admin"},
        {"what": "collection created", "by": me, "collection": collection},
        {"what": "invitations made", "by": me, "collection": collection, "count": 2},
        {"what": "state changed", "by": me, "collection": collection, "state": "paused"},
        {"what": "key made", "by": me, "key": key},
        {"what": "token revoked", "by": "environment", "token": me},
    ]
    for secret in (made["token"], "the-admin-token", "zebra-name", *codes):
        assert secret not in audited.text
        assert secret not in json.dumps(lines(audited))
    assert site.service.access.list() == []


def test_what_is_done_on_the_pages_is_told(site: Site, audited: pytest.LogCaptureFixture) -> None:
    collection = site.create(admission="invite")
    audited.clear()
    own = {"Sec-Fetch-Site": "same-origin"}
    for path, form in (
        ("/sign-in", {"token": "the-admin-token"}),
        (f"/collections/{collection}/state", {"state": "paused"}),
        (f"/collections/{collection}/invitations", {"count": "3"}),
    ):
        assert site.client.post(path, data=form, headers=own).status_code == 200
    told = lines(audited)
    assert [line["what"] for line in told] == ["signed in", "state changed", "invitations made"]
    assert {line["by"] for line in told} == {"environment"}
    assert "the-admin-token" not in audited.text


def test_what_is_refused_is_not_done(site: Site, audited: pytest.LogCaptureFixture) -> None:
    assert site.client.post("/v1/tokens", json={"role": "admin"}).status_code == 401
    assert site.client.delete("/v1/tokens/none", headers=ADMIN).status_code == 404
    assert site.client.post("/v1/tokens", json={"role": "king"}, headers=ADMIN).status_code == 422
    assert lines(audited) == []


def test_what_no_collection_is_called(any_site: Site) -> None:
    assert any_site.client.get("/v1/audit?collection=nothing", headers=ADMIN).json() == {"audit": [], "next": None}
    assert problem(any_site.client.get("/v1/audit?collection=%00", headers=ADMIN)) == (422, "invalid-body")


def test_the_first_admins_token_is_told_of(sqlite_url: str, audited: pytest.LogCaptureFixture) -> None:
    with open_site(sqlite_url, admin_token=None) as site:
        [token] = site.service.access.list()
    assert lines(audited) == [{"what": "token made", "by": "server", "token": token.id, "role": "admin"}]
    assert "dither_admin_" not in audited.text


def test_the_audit_is_written_whatever_the_level() -> None:
    root = logging.getLogger()
    before = root.handlers, root.level
    try:
        set_up_logs(Settings(log_level="error"))
        assert logging.getLogger(LOGGER).isEnabledFor(logging.INFO)
        assert not logging.getLogger("dither_server.owner.thread").isEnabledFor(logging.INFO)
    finally:
        root.handlers, level = before
        root.setLevel(level)
        set_up = ("dither_client", "dither_estimator", "dither_migrations", "dither_server", LOGGER)
        for name in set_up:
            logging.getLogger(name).setLevel(logging.NOTSET)
