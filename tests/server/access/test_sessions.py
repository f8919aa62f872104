"""Signing in to the pages: what the cookie is, what it opens, and what it never does."""

import re

import pytest

from dither_server.access.sessions import SESSION_LIFE
from testing.servers.defaults import ADMIN
from testing.servers.pages import SAME, send_form, sign_in
from testing.servers.site import Site, open_site, problem


def made_token(site: Site, role: str, **fields: object) -> tuple[str, str]:
    """A new token: its secret and its id."""
    reply = site.client.post("/v1/tokens", json={"role": role, "name": "Ada", **fields}, headers=ADMIN).json()
    return reply["token"], reply["id"]


def reads(site: Site, collection: str) -> int:
    """The status of reading a private posterior with what the browser has."""
    return int(site.client.get(f"/v1/collections/{collection}/posterior").status_code)


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(site: Site) -> None:
    reply = sign_in(site, following="/new")
    assert (reply.status_code, reply.headers["location"]) == (303, "/new")
    cookie = reply.headers["set-cookie"]
    assert cookie.startswith("dither_session=environment.")
    assert {"HttpOnly", "Path=/", "SameSite=strict", f"Max-Age={SESSION_LIFE}"} <= set(cookie.split("; "))
    assert "the-admin-token" not in cookie + reply.text


def test_over_https_it_is_of_this_host_alone(site: Site) -> None:
    site.client.base_url = "https://testserver"
    cookie = sign_in(site).headers["set-cookie"]
    assert cookie.startswith("__Host-dither_session=")
    assert "Secure" in cookie.split("; ")
    assert reads(site, site.create()) == 200


def test_an_analyst_reads_with_it_and_signs_out(site: Site) -> None:
    collection = site.create()
    assert reads(site, collection) == 401
    secret, _ = made_token(site, "analyst")
    sign_in(site, secret)
    assert reads(site, collection) == 200
    page = site.client.get(f"/collections/{collection}").text
    assert "sigma" in page
    assert "analyst: Ada" in page
    assert "Pause" not in page
    assert send_form(site, "/sign-out", {}).status_code == 303
    assert reads(site, collection) == 401


def test_it_opens_no_more_than_its_token(site: Site) -> None:
    mine, other = site.create(), site.create()
    secret, _ = made_token(site, "analyst", collections=[mine])
    sign_in(site, secret)
    assert (reads(site, mine), reads(site, other)) == (200, 403)
    assert "your token is for other collections" in site.client.get(f"/collections/{other}").text
    assert problem(site.client.get("/new")) == (403, "forbidden")
    assert problem(send_form(site, f"/collections/{mine}/state", {"state": "closed"})) == (403, "forbidden")


@pytest.mark.parametrize("secret", ["", "not-a-token", "Bearer the-admin-token", "the-admin-token2"])
def test_whoever_has_no_token_stays_outside(site: Site, secret: str) -> None:
    reply = sign_in(site, secret)
    assert reply.status_code == 401
    assert "set-cookie" not in reply.headers
    assert "This token is not valid here" in reply.text
    assert secret == "" or secret not in reply.text


def test_a_gateways_token_is_for_no_page(site: Site) -> None:
    assert sign_in(site, made_token(site, "gateway")[0]).status_code == 401


def test_a_session_ends_with_its_token(site: Site) -> None:
    collection = site.create()
    secret, token_id = made_token(site, "analyst")
    sign_in(site, secret)
    assert reads(site, collection) == 200
    site.client.delete(f"/v1/tokens/{token_id}", headers=ADMIN)
    assert reads(site, collection) == 401


def test_a_session_ends_after_its_life(site: Site) -> None:
    collection = site.create()
    sign_in(site)
    site.clock.now += SESSION_LIFE - 1
    assert reads(site, collection) == 200
    site.clock.now += 1
    assert reads(site, collection) == 401


def test_a_session_outlives_a_restart_but_no_other_admin_token(sqlite_url: str) -> None:
    with open_site(sqlite_url) as site:
        collection = site.create()
        sign_in(site)
        cookie = site.client.cookies["dither_session"]
    for token, status in (("the-admin-token", 200), ("another-admin-token", 401)):
        with open_site(sqlite_url, admin_token=token) as site:
            site.client.cookies.set("dither_session", cookie)
            assert reads(site, collection) == status


def test_a_changed_cookie_is_none(site: Site) -> None:
    collection = site.create()
    sign_in(site)
    cookie = site.client.cookies["dither_session"]
    site.client.cookies.clear()
    name, began, signature = cookie.split(".")
    later = f"{name}.{int(began) + 60}.{signature}"
    other = f"{made_token(site, 'admin')[1]}.{began}.{signature}"
    for changed in (later, other, f"{name}.{began}", "", "..", "é.1.x", cookie + "A", "a" * 10_000):
        headers = {b"Cookie": f"dither_session={changed}".encode()}
        assert site.client.get(f"/v1/collections/{collection}/posterior", headers=headers).status_code == 401
    site.client.cookies.clear()
    site.client.cookies.set("dither_session", cookie)
    assert reads(site, collection) == 200


def test_calls_that_change_something_do_not_know_it(site: Site) -> None:
    """A form on another site can send a cookie where SameSite is not kept, but no header."""
    collection = site.create()
    sign_in(site)
    changes = [
        site.client.post("/v1/collections", json={}),
        site.client.patch(f"/v1/collections/{collection}", json={"state": "closed"}),
        site.client.post("/v1/tokens", json={"role": "admin"}),
        site.client.post(f"/v1/collections/{collection}/invitations", json={"count": 1}),
    ]
    assert [problem(reply) for reply in changes] == [(401, "unauthorized")] * 4


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "null"},
        {"Origin": "https://elsewhere.example"},
        {"Origin": "http://testserver:8080"},
        {"Sec-Fetch-Site": "cross-site", "Origin": "http://testserver"},
    ],
)
def test_a_form_of_another_site_does_nothing(site: Site, headers: dict[str, str]) -> None:
    collection = site.create()
    sign_in(site)
    refused = [
        send_form(site, "/sign-in", {"token": "the-admin-token"}, headers),
        send_form(site, "/sign-out", {}, headers),
        send_form(site, "/new", {"name": "Theirs", "family": "normal", "epsilon": "1"}, headers),
        send_form(site, f"/collections/{collection}/state", {"state": "closed"}, headers),
    ]
    assert [problem(reply) for reply in refused] == [(403, "forbidden")] * 4
    assert site.client.get(f"/v1/collections/{collection}").json()["state"] == "open"
    assert reads(site, collection) == 200


def test_an_older_browsers_form_is_known_by_its_origin(site: Site) -> None:
    assert SAME  # what newer ones send
    reply = send_form(site, "/sign-in", {"token": "the-admin-token"}, {"Origin": "http://testserver"})
    assert reply.status_code == 303


@pytest.mark.parametrize(
    "following", ["https://elsewhere.example", "//elsewhere.example", "/\\elsewhere.example", "/v1/tokens", "/new\n"]
)
def test_signing_in_leads_to_no_other_site(site: Site, following: str) -> None:
    assert sign_in(site, following=following).headers["location"] in ("/", "/new")
    page = site.client.get("/sign-in", params={"next": following}).text
    assert re.search(r'name="next" value="/(new)?"', page)


def test_where_people_come_by_https_nobody_signs_in_otherwise(sqlite_url: str) -> None:
    with open_site(sqlite_url, public_url="https://survey.example.org", trusted_proxies="10.0.0.1") as site:
        reply = sign_in(site)
        assert reply.status_code == 403
        assert "DITHER_TRUSTED_PROXIES" in reply.text
        assert "set-cookie" not in reply.headers
        site.client.base_url = "https://testserver"
        assert "Secure" in sign_in(site).headers["set-cookie"]


def test_a_proxy_that_is_not_known_is_warned_of_at_sign_in(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    site.client.headers["X-Forwarded-Proto"] = "https"
    assert sign_in(site).status_code == 303
    assert "DITHER_TRUSTED_PROXIES" in caplog.text


def test_one_cookie_is_found_among_many(site: Site) -> None:
    collection = site.create()
    sign_in(site)
    session = site.client.cookies["dither_session"]
    site.client.cookies.clear()
    header = "a=b; " * 2_000 + f"dither_session={session}; c=d"
    path = f"/v1/collections/{collection}/posterior"
    assert site.client.get(path, headers={"Cookie": header}).status_code == 200
    assert (
        site.client.get(path, headers={"Cookie": header.replace("dither_session", "xdither_session")}).status_code
        == 401
    )
