"""Behind real nginx: the file that Compose uses, and a proxy with a certificate before it."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import httpx2
import pytest
import yaml

from testing.repository import ROOT
from testing.servers.defaults import ADMIN, SPEC
from testing.servers.process import running
from testing.servers.proxies import CLIENT, inner_proxy, outer_proxy

SETTINGS = {
    "DITHER_TICKETS_PER_MINUTE": "1",
    "DITHER_TRUSTED_PROXIES": "127.0.0.1",
    "DITHER_PUBLIC_URL": "https://survey.example.org",
}


@pytest.fixture(scope="module")
def urls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The addresses of the outer proxy and of the inner one."""
    folder = tmp_path_factory.mktemp("proxies")
    with (
        running(f"sqlite:///{folder / 'test.sqlite'}", files=None, **SETTINGS) as server,
        inner_proxy(folder / "inner", server.port) as inner,
        outer_proxy(folder / "outer", inner) as outer,
    ):
        yield outer, f"http://127.0.0.1:{inner}"


@pytest.fixture
def outer(urls: tuple[str, str]) -> Iterator[httpx2.Client]:
    """A client of the outer proxy."""
    with httpx2.Client(base_url=urls[0], verify=False, timeout=60) as client:
        yield client


def create(client: httpx2.Client) -> str:
    return str(client.post("/v1/collections", json=SPEC, headers=ADMIN).raise_for_status().json()["id"])


def ask(client: httpx2.Client, collection: str, address: str, **headers: str) -> int:
    """The status of a request for a ticket by a respondent at that address."""
    path = f"/v1/collections/{collection}/tickets"
    return client.post(path, json={}, headers={CLIENT: address} | headers).status_code


def test_respondents_behind_two_proxies_have_a_limit_each(outer: httpx2.Client) -> None:
    collection = create(outer)
    found = [ask(outer, collection, f"198.51.100.{n}") for n in (1, 2, 3, 1, 2)]
    assert found == [201, 201, 201, 429, 429]


def test_what_a_respondent_says_of_its_address_is_not_believed(outer: httpx2.Client) -> None:
    collection = create(outer)
    forged: dict[str, Any] = {"X-Forwarded-For": "192.0.2.77", "X-Real-IP": "192.0.2.78", "Forwarded": "for=192.0.2.79"}
    assert [ask(outer, collection, "198.51.100.9", **forged) for _ in range(2)] == [201, 429]
    forged["X-Forwarded-For"] = "192.0.2.80"
    assert ask(outer, collection, "198.51.100.9", **forged) == 429


def test_whoever_comes_to_the_inner_proxy_itself_is_not_believed(urls: tuple[str, str]) -> None:
    """From another address than the proxies': were it believed, the second request would be one too many."""
    stranger = httpx2.HTTPTransport(local_address="127.0.0.9")
    with httpx2.Client(base_url=urls[1], transport=stranger, timeout=60) as client:
        collection = create(client)
        headers = {"X-Forwarded-For": "198.51.100.50", "X-Forwarded-Proto": "https"}
        replies = [client.post(f"/v1/collections/{collection}/tickets", json={}, headers=headers) for _ in range(2)]
        assert [reply.status_code for reply in replies] == [201, 201]
        assert all("strict-transport-security" not in reply.headers for reply in replies)


def test_sessions_are_secure_behind_two_proxies(outer: httpx2.Client, urls: tuple[str, str]) -> None:
    form = {"token": "the-admin-token", "next": "/"}
    origin = {"Sec-Fetch-Site": "same-origin"}
    reply = outer.post("/sign-in", data=form, headers=origin)
    assert reply.status_code == 303
    cookie = reply.headers["set-cookie"]
    assert cookie.startswith("__Host-dither_session=")
    assert "Secure" in cookie
    assert reply.headers["strict-transport-security"] == "max-age=31536000"
    with httpx2.Client(base_url=urls[1], timeout=60) as inner:
        plain = inner.post("/sign-in", data=form, headers=origin)
    assert plain.status_code == 403
    assert "set-cookie" not in plain.headers


class _Dying(BaseHTTPRequestHandler):
    """A process that dies whenever something is posted to it, and after it has taken it in."""

    posted: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self) -> None:
        self.posted.append(self.path)
        self.close_connection = True

    def log_message(self, format: str, *arguments: Any) -> None:
        """Says nothing."""


def test_what_must_not_be_done_twice_is_not_sent_to_a_second_process(tmp_path: Path) -> None:
    """A ticket and an answer are sent again when a process dies; a request for a new collection is not."""
    _Dying.posted.clear()
    with ExitStack() as stack:
        processes = [stack.enter_context(ThreadingHTTPServer(("127.0.0.1", 0), _Dying)) for _ in range(2)]
        for process in processes:
            threading.Thread(target=process.serve_forever, daemon=True).start()
            stack.callback(process.shutdown)
        port = stack.enter_context(inner_proxy(tmp_path, *(process.server_port for process in processes)))
        of_one = "/v1/collections/abc"
        for path in ("", "/tickets", "/responses", "/responses/batch"):
            url = f"http://127.0.0.1:{port}{of_one if path else '/v1/collections'}{path}"
            assert httpx2.post(url, json={}, timeout=60).status_code == 502
    assert Counter(_Dying.posted) == {
        "/v1/collections": 1,
        f"{of_one}/tickets": 2,
        f"{of_one}/responses": 2,
        f"{of_one}/responses/batch": 2,
    }


def test_compose_trusts_the_network_that_it_makes_and_no_other() -> None:
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    [network] = [entry["subnet"] for entry in compose["networks"]["default"]["ipam"]["config"]]
    assert compose["services"]["server"]["environment"]["DITHER_TRUSTED_PROXIES"] == network
    assert compose["configs"]["proxy"] == {"file": "deploy/nginx.conf"}
    lines = (ROOT / "deploy" / "nginx.conf").read_text().splitlines()
    trusted = [line.split()[1].rstrip(";") for line in lines if line.startswith("set_real_ip_from")]
    assert trusted == [network, "127.0.0.1"]
    assert [line.split()[0] for line in lines if line.endswith(" 1;") and line.startswith("  ")] == trusted
