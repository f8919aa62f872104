"""Token buckets for tickets: what they allow, whom they mean, and that neither time nor memory runs away."""

import logging
import random
from collections import Counter
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.requests import HTTPConnection
from starlette.testclient import TestClient

from dither_server.access.limits import MAX_KEYS, AtOnce, Buckets, limited_as
from dither_server.errors import StartRefused, TooManyStreams, TooManyTickets
from dither_server.settings import load_settings
from testing.patience import PATIENCE
from testing.servers.defaults import ADMIN, SPEC
from testing.servers.process import forked
from testing.servers.site import FakeClock, open_client, problem


def wait_for(buckets: Buckets, key: str, count: int = 1) -> int:
    """0 if the tickets were granted, else the seconds to wait."""
    try:
        buckets.take(key, count)
    except TooManyTickets as refusal:
        return refusal.retry_after
    return 0


def test_a_bucket_is_a_minutes_worth_and_fills_up_again() -> None:
    clock = FakeClock()
    buckets = Buckets(600, clock)
    assert [wait_for(buckets, "a") for _ in range(600)] == [0] * 600
    assert wait_for(buckets, "a") == 1
    assert wait_for(buckets, "b") == 0
    clock.now += 0.1
    assert [wait_for(buckets, "a") for _ in range(2)] == [0, 1]
    clock.now += 3600
    assert [wait_for(buckets, "a") for _ in range(601)] == [0] * 600 + [1]


def test_a_request_for_many_is_granted_once_the_bucket_is_full_and_paid_off_by_waiting() -> None:
    clock = FakeClock()
    buckets = Buckets(60, clock)
    assert wait_for(buckets, "a", 10_000) == 0
    assert wait_for(buckets, "a") == 10_000 - 60 + 1
    clock.now += 10_000 - 59
    assert [wait_for(buckets, "a") for _ in range(2)] == [0, 1]
    assert wait_for(buckets, "a", 10_000) == 60


def test_whatever_is_asked_the_average_holds() -> None:
    """Over any stretch, at most a bucket and its refill, and the last request's excess: 10,000 random requests."""
    clock, generator = FakeClock(), random.Random(7)
    buckets = Buckets(120, clock)
    granted = biggest = 0
    began = clock.now
    for _ in range(10_000):
        clock.now += generator.expovariate(3)
        count = generator.choice((1, 1, 1, 5, 200))
        if not wait_for(buckets, "a", count):
            granted += count
            biggest = max(biggest, count)
        assert granted <= 120 + (clock.now - began) * 2 + biggest
    assert granted > (clock.now - began) * 2 * 0.9


def test_waiting_as_long_as_was_said_is_enough() -> None:
    clock = FakeClock()
    buckets = Buckets(7, clock)
    for count in (7, 1, 3, 50, 7, 2):
        wait = wait_for(buckets, "a", count)
        if wait:
            clock.now += wait - 1.01
            assert wait_for(buckets, "a", count)
            clock.now += 1.01
            assert not wait_for(buckets, "a", count)


def test_the_memory_of_buckets_is_bounded_and_the_longest_silent_are_forgotten() -> None:
    clock = FakeClock()
    buckets = Buckets(1, clock)
    buckets.take("first", 1)
    buckets.take("busy", 1)
    for number in range(MAX_KEYS + 100):
        buckets.take(str(number), 1)
        if number % 1000 == 0:
            assert wait_for(buckets, "busy") == 60
    assert len(buckets._full_at) == MAX_KEYS
    assert wait_for(buckets, "busy") == 60
    assert wait_for(buckets, "first") == 0


def test_no_limit_keeps_nothing() -> None:
    buckets = Buckets(0)
    assert not any(wait_for(buckets, "a", 10_000) for _ in range(100))
    assert not buckets._full_at


@pytest.mark.parametrize(
    ("host", "key"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("127.0.0.1", None),
        ("127.9.9.9", None),
        ("::1", None),
        ("::ffff:127.0.0.1", None),
        ("no address", "unknown"),
        ("", "unknown"),
    ],
)
def test_whom_an_address_stands_for(host: str, key: str | None) -> None:
    assert limited_as(host) == key


def ask(client: TestClient, collection: str, headers: dict[str, str] | None = None, **body: Any) -> httpx2.Response:
    return client.post(f"/v1/collections/{collection}/tickets", json=body, headers=headers)


def create(client: TestClient, **fields: Any) -> str:
    return str(client.post("/v1/collections", json=SPEC | fields, headers=ADMIN).json()["id"])


def test_an_address_that_asks_too_often_is_told_when_to_come_back(
    sqlite_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    with open_client(sqlite_url, "192.0.2.7", tickets_per_minute=2) as client:
        collection, other = create(client), create(client)
        assert [ask(client, collection).status_code, ask(client, other).status_code] == [201, 201]
        with caplog.at_level(logging.WARNING):
            for number in range(3):
                spoofed = {"X-Forwarded-For": f"198.51.100.{number}"}
                reply = ask(client, collection, headers=spoofed)
                assert problem(reply) == (429, "too-many-tickets")
                assert reply.headers["retry-after"] in ("29", "30")
        assert [record.message for record in caplog.records if "DITHER_TRUSTED_PROXIES" in record.message] != []
        assert len([record for record in caplog.records if "DITHER_TRUSTED_PROXIES" in record.message]) == 1
        assert "192.0.2.7" not in caplog.text
        # What was begun may be finished: answers, terms and posteriors have no such limit.
        assert client.get(f"/v1/collections/{collection}").status_code == 200


def test_guesses_at_invitations_count_too(sqlite_url: str) -> None:
    with open_client(sqlite_url, "192.0.2.7", tickets_per_minute=3) as client:
        collection = create(client, admission="invite")
        replies = [ask(client, collection, invitation=f"guess{i}", retry_key="k" * 16) for i in range(4)]
        assert [reply.status_code for reply in replies] == [403, 403, 403, 429]


def test_this_machine_is_not_limited_nor_is_anyone_where_the_limit_is_off(sqlite_url: str) -> None:
    for host, limit in (("127.0.0.1", 1), ("::1", 1), ("192.0.2.7", 0)):
        with open_client(sqlite_url, host, tickets_per_minute=limit) as client:
            collection = create(client)
            assert {ask(client, collection, count=100).status_code for _ in range(3)} == {201}


def test_a_gateway_is_limited_by_its_token_and_not_by_its_address(sqlite_url: str) -> None:
    with open_client(sqlite_url, "192.0.2.7", tickets_per_minute=1, token_tickets_per_minute=3) as client:
        collection = create(client, admission="gateway")
        bearers = []
        for _ in range(2):
            made = client.post("/v1/tokens", json={"role": "gateway"}, headers=ADMIN).json()
            bearers.append({"Authorization": f"Bearer {made['token']}"})
        for headers in bearers:
            statuses = [ask(client, collection, headers).status_code for _ in range(4)]
            assert statuses == [201, 201, 201, 429]
        assert problem(ask(client, collection)) == (401, "unauthorized")


def test_a_trusted_proxy_says_who_is_asking_and_nobody_else_does(sqlite_url: str) -> None:
    settings: dict[str, Any] = {"tickets_per_minute": 1, "trusted_proxies": "10.0.0.0/8, 127.0.0.1"}
    with open_client(sqlite_url, "10.1.2.3", **settings) as client:
        collection = create(client)

        def status(forwarded: str) -> int:
            return ask(client, collection, headers={"X-Forwarded-For": forwarded}).status_code

        assert [status("192.0.2.1"), status("192.0.2.1"), status("192.0.2.2")] == [201, 429, 201]
        # Whatever a respondent writes into the header itself comes first, and is not believed.
        assert [status(f"203.0.113.{i}, 192.0.2.3, 10.9.9.9") for i in range(3)] == [201, 429, 429]
        assert [status(f"127.0.0.1, {host}") for host in ("192.0.2.4", "192.0.2.4")] == [201, 429]
        assert [status(f"garbage{i}") for i in range(2)] == [201, 429]
    with open_client(sqlite_url, "192.0.2.9", **settings) as client:
        forwarded = [{"X-Forwarded-For": f"198.51.100.{i}"} for i in range(3)]
        assert [ask(client, collection, headers).status_code for headers in forwarded] == [201, 429, 429]


@pytest.mark.parametrize(
    "value", ["*", "proxy.example.org", "10.0.0.0/33", "10.0.0.1/8", "10.0.0.1;10.0.0.2", "10.0.0.0/8,unix"]
)
def test_proxies_that_are_no_addresses_are_refused(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("DITHER_TRUSTED_PROXIES", value)
    with pytest.raises(StartRefused, match=r"^DITHER_TRUSTED_PROXIES cannot be used: it must be addresses or networks"):
        load_settings()


@pytest.mark.parametrize(
    "value", ["*", "app.example.org", "https://a.example/", "https://a.example/x", "null", "https://"]
)
def test_origins_that_are_none_are_refused(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("DITHER_CORS_ORIGINS", value)
    with pytest.raises(StartRefused, match=r"^DITHER_CORS_ORIGINS cannot be used: it must be origins such as"):
        load_settings()


def test_lists_are_read_from_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DITHER_TRUSTED_PROXIES", " 10.0.0.0/8 ,::1,")
    monkeypatch.setenv("DITHER_CORS_ORIGINS", "https://a.example,http://localhost:3000")
    settings = load_settings()
    assert settings.trusted_proxies == ("10.0.0.0/8", "::1/128")
    assert settings.cors_origins == ("https://a.example", "http://localhost:3000")


ORIGIN = {"Origin": "https://app.example.org"}
PREFLIGHT = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type,authorization"}
SAFE = {
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


def test_other_origins_may_not_call_unless_they_are_named(sqlite_url: str) -> None:
    def allowed(reply: httpx2.Response) -> str | None:
        return reply.headers.get("access-control-allow-origin")

    with open_client(sqlite_url, "127.0.0.1") as client:
        collection = create(client)
        for reply in (client.get("/v1/collections", headers=ORIGIN), ask(client, collection, headers=ORIGIN)):
            assert not [name for name in reply.headers if name.startswith("access-control")]
        assert client.options("/v1/collections", headers=ORIGIN | PREFLIGHT).status_code == 405
    with open_client(sqlite_url, "127.0.0.1", cors_origins="https://app.example.org") as client:
        preflight = client.options(f"/v1/collections/{collection}/tickets", headers=ORIGIN | PREFLIGHT)
        assert (preflight.status_code, allowed(preflight)) == (200, ORIGIN["Origin"])
        assert "access-control-allow-credentials" not in preflight.headers
        refused = ask(client, "none", headers=ORIGIN)
        assert (refused.status_code, allowed(refused)) == (404, ORIGIN["Origin"])
        assert "Retry-After" in refused.headers["access-control-expose-headers"]
        for other in ("https://app.example.org.evil.example", "http://app.example.org", "null"):
            assert allowed(client.get("/v1/collections", headers={"Origin": other})) is None
        for reply in (preflight, refused):
            assert SAFE.items() <= dict(reply.headers).items()


def test_every_response_has_safe_headers(sqlite_url: str) -> None:
    with open_client(sqlite_url, "192.0.2.7", tickets_per_minute=1) as client:
        collection = create(client)
        ask(client, collection)
        replies = [
            client.get(path)
            for path in (
                "/",
                "/docs",
                "/openapi.json",
                "/style.css",
                "/healthz",
                "/metrics",
                f"/collections/{collection}",
            )
        ]
        replies += [
            client.get("/nothing"),
            client.put("/v1/collections"),
            client.get("/v1/tokens"),
            client.get(f"/v1/collections/{collection}/posterior"),
            client.get(f"/v1/collections/{collection}/queries?purpose=none"),
            client.post("/v1/collections", content=b"{", headers=ADMIN),
            client.post(f"/v1/collections/{collection}/responses", content=b" " * 70_000),
            ask(client, collection),
        ]
        assert Counter(reply.status_code for reply in replies) == {
            200: 6,
            404: 1,
            405: 1,
            401: 3,
            422: 1,
            400: 1,
            413: 1,
            429: 1,
        }
        for reply in replies:
            # Browsers are to say from where a form of the dashboard is sent.
            page = reply.status_code == 200 and reply.headers["content-type"].startswith("text/html")
            own = {"referrer-policy": "same-origin"} if page else {}
            assert (SAFE | own).items() <= dict(reply.headers).items(), reply.url
            assert "default-src 'none'" in reply.headers["content-security-policy"]
            assert "set-cookie" not in reply.headers
            assert "strict-transport-security" not in reply.headers  # it came by http


def test_what_came_by_https_comes_so_again(sqlite_url: str) -> None:
    with open_client(sqlite_url, "192.0.2.7") as client:
        client.base_url = httpx2.URL("https://testserver")
        for path in ("/", "/healthz", "/nothing", "/web/dither.js"):
            assert client.get(path).headers["strict-transport-security"] == "max-age=31536000"


def test_pages_of_other_sites_may_load_the_module_and_nothing_else(sqlite_url: str) -> None:
    with open_client(sqlite_url, "192.0.2.7") as client:
        name = "cross-origin-resource-policy"
        assert client.get("/web/dither.js").headers[name] == "cross-origin"
        for path in ("/", "/style.css", "/static/1/plots.js", "/answer/answer.js", "/v1/collections"):
            assert client.get(path).headers[name] == "same-origin"


def test_streams_are_counted_by_address_and_in_all() -> None:
    def asking(host: str) -> HTTPConnection:
        return HTTPConnection({"type": "http", "client": (host, 1), "headers": []})

    streams = AtOnce(5, per_address=2, refusal=TooManyStreams)
    first = streams.open(asking("192.0.2.7"))
    streams.open(asking("192.0.2.7"))
    with pytest.raises(TooManyStreams):
        streams.open(asking("192.0.2.7"))
    streams.open(asking("127.0.0.1"))
    streams.open(asking("127.0.0.1"))
    with pytest.raises(TooManyStreams):  # this machine is an address like others
        streams.open(asking("127.0.0.1"))
    streams.open(asking("2001:db8::1"))
    with pytest.raises(TooManyStreams) as refusal:
        streams.open(asking("192.0.2.8"))
    assert refusal.value.retry_after > 0
    first()
    streams.open(asking("192.0.2.8"))
    with pytest.raises(TooManyStreams):
        streams.open(asking("192.0.2.9"))


def test_a_process_believes_no_forwarded_address_unless_told(tmp_path: Path) -> None:
    """uvicorn by itself would believe whoever connects from this machine."""
    forwarded = [{"X-Forwarded-For": "192.0.2.1"}] * 3
    with forked(f"sqlite:///{tmp_path / 'a.sqlite'}", tickets_per_minute=1) as [server]:
        assert statuses(server.url, forwarded) == [201, 201, 201]
    with forked(f"sqlite:///{tmp_path / 'b.sqlite'}", tickets_per_minute=1, trusted_proxies="127.0.0.1") as [server]:
        assert statuses(server.url, forwarded) == [201, 429, 429]


def statuses(url: str, headers: list[dict[str, str]]) -> list[int]:
    with httpx2.Client(base_url=url, timeout=PATIENCE) as client:
        made = client.post("/v1/collections", json=SPEC, headers=ADMIN).json()
        path = f"/v1/collections/{made['id']}/tickets"
        return [client.post(path, json={}, headers=some).status_code for some in headers]
