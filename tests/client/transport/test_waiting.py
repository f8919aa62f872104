"""Whoever waits for a server that is down is told which, and the waiting ends."""

import socket
import threading
from collections.abc import Iterator

import pytest

from dither_client.addresses import parse_address
from dither_client.commands import run
from dither_client.errors import Unreachable
from dither_client.protocol.respondent import ConnectionFailed, Flow, Response, Retry, Send, Sleep, exchange
from dither_client.transport import waiting
from dither_client.transport.drivers import Driver
from dither_client.transport.server_sent_events import follow
from dither_client.transport.waiting import told_of_waiting
from testing.patience import PATIENCE
from testing.servers.fake_server import FakeServer
from testing.servers.process import free_port

REQUEST = Send("GET", "/v1/collections", b"", {})


@pytest.fixture
def down() -> str:
    """The address of a server that does not run."""
    return f"http://127.0.0.1:{free_port()}"


@pytest.fixture
def driver(down: str) -> Iterator[Driver]:
    driver = Driver(parse_address(down), timeout=PATIENCE)
    yield driver
    driver.close()


def test_whoever_waits_is_told_the_address_once(driver: Driver, down: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_QUIET", 0.01)
    told, heard = list[str](), threading.Event()

    def tell(address: str) -> None:
        told.append(address)
        heard.set()

    def until_told() -> Flow[None]:
        while not heard.is_set():
            with pytest.raises(ConnectionFailed):
                yield REQUEST
            yield Sleep(0.001)

    with told_of_waiting(tell):
        driver.run(until_told())
        driver.run(until_told())
    assert told == [down]


def test_a_server_that_answers_is_not_waited_for(server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_QUIET", PATIENCE)
    timers = list[threading.Timer]()

    class Timer(threading.Timer):
        def start(self) -> None:
            timers.append(self)
            super().start()

    monkeypatch.setattr(threading, "Timer", Timer)
    with told_of_waiting(pytest.fail):
        driver = Driver(parse_address(server.url), timeout=PATIENCE)
        response: Response = driver.run(exchange(REQUEST))
        driver.close()
    assert response.status == 200
    assert timers
    for timer in timers:
        timer.join(PATIENCE / 2)  # which it does not take, since it was cancelled
        assert not timer.is_alive()


def test_waiting_ends_however_many_attempts_are_left(
    driver: Driver, down: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "GIVE_UP", waiting.CONNECT + 0.1)
    with pytest.raises(Unreachable, match=f"^{down}: no response from the server in 0 s: check its address"):
        driver.run(exchange(REQUEST, Retry(attempts=10**9, first=0.01, longest=0.01)))


def test_a_command_says_what_it_waits_for_and_what_to_check(
    down: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first retry is half a second away at least, so the notice, due at once, comes before it."""
    monkeypatch.setattr(waiting, "_QUIET", 0.0)
    monkeypatch.setattr(waiting, "GIVE_UP", waiting.CONNECT + 1.5)
    assert run(["posterior", "wages", "--url", down]) == 1
    notice, failure = capsys.readouterr().err.splitlines()
    assert notice.startswith(
        f"dither: waiting for the server {down}, which has not answered yet. Is it running, and is"
    )
    assert "DITHER_URL" in notice
    assert failure.startswith(f"dither: {down}: no response from the server in ")


def test_a_stream_of_a_server_that_accepts_and_never_answers_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many attempts are left: whoever watches is told, and then the waiting ends with a sentence."""
    monkeypatch.setattr(waiting, "_QUIET", 0.0)
    monkeypatch.setattr(waiting, "GIVE_UP", waiting.CONNECT + 0.1)
    told, heard = list[str](), threading.Event()

    def tell(address: str) -> None:
        told.append(address)
        heard.set()

    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        driver = Driver(parse_address(address), timeout=0.2)
        with told_of_waiting(tell), pytest.raises(Unreachable, match=f"^{address}: no response from the server in "):
            list(follow(driver, "/stream", Retry(attempts=10**9, first=0.01, longest=0.01)))
        driver.close()
    assert heard.wait(PATIENCE)
    assert told == [address]
