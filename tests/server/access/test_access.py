import hashlib
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from dither_server.clock import iso_time, milliseconds
from dither_server.database.engine import make_engine, reading
from dither_server.database.schema import tokens
from testing.servers.defaults import ADMIN
from testing.servers.site import FakeClock, Site, open_site, problem


def make(site: Site, role: str, name: str = "Ada") -> dict[str, Any]:
    reply = site.client.post("/v1/tokens", json={"role": role, "name": name}, headers=ADMIN)
    assert reply.status_code == 201, reply.text
    return dict(reply.json())


def bearer(token: dict[str, Any]) -> dict[str, str]:
    return {"Authorization": f"Bearer {token['token']}"}


CALLS = {
    ("POST", "/v1/collections"): "admin",
    ("PATCH", "/v1/collections/{id}"): "admin",
    ("POST", "/v1/tokens"): "admin",
    ("GET", "/v1/tokens"): "admin",
    ("DELETE", "/v1/tokens/0"): "admin",
    ("GET", "/v1/collections/{id}/posterior"): "analyst",
    ("GET", "/v1/collections/{id}/posterior/history"): "analyst",
    ("GET", "/v1/collections/{id}/posterior/particles"): "analyst",
    ("GET", "/v1/collections/{id}/posterior/stream"): "analyst",
    ("GET", "/v1/collections/{id}/answers"): "analyst",
}


@pytest.mark.parametrize("call", list(CALLS), ids=" ".join)
def test_a_call_is_for_its_role_alone(site: Site, call: tuple[str, str]) -> None:
    method, path = call[0], call[1].format(id=site.create())

    def status(headers: dict[str, str]) -> int:
        return site.client.request(method, path, headers=headers).status_code

    assert status({}) == 401
    for header in ("", "Bearer", "Bearer ", "Bearer wrong", "Basic the-admin-token", "the-admin-token", "Bearer é"):
        assert status({"Authorization": header.encode("latin-1")}) == 401  # type: ignore[dict-item]
    for role in ("analyst", "gateway"):
        expected = 403 if role != CALLS[call] else None
        if expected:
            reply = site.client.request(method, path, headers=bearer(make(site, role)))
            assert problem(reply) == (403, "forbidden")
            assert CALLS[call] in reply.json()["detail"]


@pytest.mark.parametrize("role", ["admin", "analyst"])
def test_admins_and_analysts_read_the_posterior(site: Site, role: str) -> None:
    collection = site.create()
    headers = bearer(make(site, role))
    for path in ("posterior", "posterior/history", "posterior/particles", "answers"):
        assert site.client.get(f"/v1/collections/{collection}/{path}", headers=headers).status_code == 200


def test_anyone_reads_a_public_posterior_but_not_the_answers(site: Site) -> None:
    collection = site.create(visibility="public")
    for path in ("posterior", "posterior/history", "posterior/particles"):
        assert site.client.get(f"/v1/collections/{collection}/{path}").status_code == 200
    assert problem(site.client.get(f"/v1/collections/{collection}/answers")) == (401, "unauthorized")


def test_a_refusal_asks_for_a_bearer_token(site: Site) -> None:
    assert site.client.get("/v1/tokens").headers["www-authenticate"] == "Bearer"


def test_a_token_is_shown_once_and_stored_as_a_hash(database_url: str, clock: FakeClock) -> None:
    with open_site(database_url, clock) as site:
        made = make(site, "analyst", "Ada Lovelace")
        assert made.keys() == {"id", "token", "role", "name", "created_at", "expires_at", "collections"}
        assert made["token"].startswith("dither_analyst_")
        listed = site.client.get("/v1/tokens", headers=ADMIN).json()["tokens"]
        assert listed == [{name: value for name, value in made.items() if name != "token"}]
    engine = make_engine(database_url)
    with reading(engine).connect() as connection:
        rows = connection.execute(select(tokens)).all()
    engine.dispose()
    assert made["token"] not in str(rows)
    assert [row.hash for row in rows] == [hashlib.sha256(made["token"].encode()).digest()]
    with open_site(database_url, clock) as site:
        assert site.client.get("/v1/tokens", headers=bearer(made)).status_code == 403
        assert site.client.get("/v1/tokens", headers=ADMIN).json()["tokens"] == listed


def test_a_revoked_token_is_worth_nothing_at_once_and_after_a_restart(sqlite_url: str, clock: FakeClock) -> None:
    with open_site(sqlite_url, clock) as site:
        made = make(site, "admin")
        assert site.client.get("/v1/tokens", headers=bearer(made)).status_code == 200
        assert site.client.delete(f"/v1/tokens/{made['id']}", headers=ADMIN).status_code == 204
        assert problem(site.client.get("/v1/tokens", headers=bearer(made))) == (401, "unauthorized")
        assert problem(site.client.delete(f"/v1/tokens/{made['id']}", headers=ADMIN)) == (404, "not-found")
    with open_site(sqlite_url, clock) as site:
        assert problem(site.client.get("/v1/tokens", headers=bearer(made))) == (401, "unauthorized")


@pytest.mark.parametrize(
    "body",
    [
        {"role": "owner", "name": "x"},
        {"name": "x"},
        *({"role": "admin", "name": name} for name in (3, "a\x00", "a\x85", "a\u202eb", "a\u200bb", "a\u2028b", " ")),
    ],
)
def test_a_bad_token_request_is_refused(site: Site, body: dict[str, Any]) -> None:
    assert problem(site.client.post("/v1/tokens", json=body, headers=ADMIN)) == (422, "invalid-body")
    assert site.client.get("/v1/tokens", headers=ADMIN).json() == {"tokens": []}


def test_the_first_start_makes_an_admins_token_once(
    sqlite_url: str, tmp_path: Path, clock: FakeClock, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_site(sqlite_url, clock, admin_token=None) as site:
        token = (tmp_path / "test.sqlite.admin-token").read_text().strip()
        assert token.startswith("dither_admin_")
        headers = {"Authorization": f"Bearer {token}"}
        assert site.client.get("/v1/tokens", headers=headers).status_code == 200
        assert site.client.get("/v1/tokens", headers=ADMIN).status_code == 401
    with open_site(sqlite_url, clock, admin_token=None) as site:
        assert site.client.get("/v1/tokens", headers=headers).status_code == 200
        assert len(site.service.access.list()) == 1
    printed = capsys.readouterr()
    assert token not in printed.out + printed.err


def test_a_given_admins_token_is_stored_nowhere_and_ends_with_its_setting(
    sqlite_url: str, clock: FakeClock, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_site(sqlite_url, clock) as site:
        assert site.client.get("/v1/tokens", headers=ADMIN).json() == {"tokens": []}
        assert capsys.readouterr().err == ""
    with open_site(sqlite_url, clock, admin_token="another") as site:
        assert site.client.get("/v1/tokens", headers=ADMIN).status_code == 401


def test_a_token_expires_in_every_process(database_url: str, clock: FakeClock) -> None:
    with open_site(database_url, clock) as one, open_site(database_url, clock) as other:
        body = {"role": "analyst", "name": "Ada", "days": 30}
        made = one.client.post("/v1/tokens", json=body, headers=ADMIN).json()
        assert made["expires_at"] == iso_time(milliseconds(clock.now + 30 * 86_400))
        path = f"/v1/collections/{one.create()}/posterior"
        other.client.post("/sign-in", data={"token": made["token"]}, headers={"Sec-Fetch-Site": "same-origin"})
        clock.now += 30 * 86_400 - 1
        assert [site.client.get(path, headers=bearer(made)).status_code for site in (one, other)] == [200, 200]
        clock.now += 1
        assert [problem(site.client.get(path, headers=bearer(made))) for site in (one, other)] == [
            (401, "unauthorized")
        ] * 2
        again = other.client.post("/sign-in", data={"token": made["token"]}, headers={"Sec-Fetch-Site": "same-origin"})
        assert again.status_code == 401
        listed = other.client.get("/v1/tokens", headers=ADMIN).json()["tokens"]
        assert [token["expires_at"] for token in listed] == [made["expires_at"]]
        assert other.client.delete(f"/v1/tokens/{made['id']}", headers=ADMIN).status_code == 204


def test_a_session_ends_with_its_token(site: Site, clock: FakeClock) -> None:
    made = site.client.post("/v1/tokens", json={"role": "analyst", "days": 1}, headers=ADMIN).json()
    clock.now += 86_400 - 60
    session = site.service.sessions.begin(made["token"])
    assert site.service.sessions.token(session).id == made["id"]
    clock.now += 60
    assert site.service.sessions.token(session) is None


@pytest.mark.parametrize("name", ["", "Ada", "Åda 🙂 of the 2nd floor", "x" * 200])
def test_a_name_is_printable_or_none(site: Site, name: str) -> None:
    assert make(site, "analyst", name)["name"] == name


@pytest.mark.parametrize("days", [0, -1, 3651, 1.5, "30", True])
def test_a_life_that_is_none_is_refused(site: Site, days: object) -> None:
    reply = site.client.post("/v1/tokens", json={"role": "analyst", "days": days}, headers=ADMIN)
    assert problem(reply) == (422, "invalid-body")
    assert reply.json()["detail"].startswith("days")
    assert site.service.access.list() == []


def test_a_stream_tells_nothing_more_once_its_token_is_revoked(any_site: Site) -> None:
    site, collection = any_site, any_site.create()
    made = make(site, "analyst")
    own = bearer(made)
    with site.client.stream("GET", f"/v1/collections/{collection}/posterior/stream", headers=own) as events:
        lines = events.iter_lines()
        assert next(lines) == "event: posterior"
        assert site.client.delete(f"/v1/tokens/{made['id']}", headers=ADMIN).status_code == 204
        site.respond(collection, site.ticket(collection))
        rest = "\n".join(lines)
    assert "event: posterior" not in rest
