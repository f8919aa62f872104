"""Whoever waits for a server that is down is told which, and the waiting ends."""

import socket
import threading
from collections.abc import Iterator

import pytest

from dither_client.addresses import parse_address
from dither_client.commands import run
from dither_client.errors import Unreachable
from dither_client.protocol.flow import ConnectionFailed, Flow, Response, Retry, Send, Sleep, exchange
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
    monkeypatch.setattr(waiting, "_QUIET", PATIENCE)
    told = list[tuple[str, float]]()

    def again() -> Flow[None]:
        for _ in range(3):
            with pytest.raises(ConnectionFailed):
                yield REQUEST
            yield Sleep(0.001, 7.5)

    with told_of_waiting(lambda address, ends: told.append((address, ends))):
        driver.run(again())
        driver.run(again())
    assert told == [(down, 7.5)]


def test_whoever_waits_is_told_before_the_second_attempt(driver: Driver, down: str) -> None:
    """And for how long: that of all waits, were each as long as it may be."""
    told = list[tuple[str, float]]()

    def tell(address: str, ends: float) -> None:
        told.append((address, ends))
        raise InterruptedError

    with told_of_waiting(tell), pytest.raises(InterruptedError):
        driver.run(exchange(REQUEST, Retry(attempts=4, first=PATIENCE, longest=2 * PATIENCE)))
    assert told == [(down, min(5 * PATIENCE, waiting.GIVE_UP))]
    retry = Retry()
    longest = [retry.first * 2**n for n in range(retry.attempts - 1)]
    assert [retry.ends(attempt) for attempt in range(1, retry.attempts)] == [sum(longest[n:]) for n in range(5)]


def test_a_server_that_answers_is_not_waited_for(server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_QUIET", PATIENCE)
    timers = list[threading.Timer]()

    class Timer(threading.Timer):
        def start(self) -> None:
            timers.append(self)
            super().start()

    monkeypatch.setattr(threading, "Timer", Timer)
    with told_of_waiting(lambda address, _: pytest.fail(address)):
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
    """At once, not after a while."""
    monkeypatch.setattr(waiting, "_QUIET", PATIENCE)
    monkeypatch.setattr(waiting, "GIVE_UP", waiting.CONNECT + 1.5)
    assert run(["posterior", "wages", "--url", down]) == 1
    notice, failure = capsys.readouterr().err.splitlines()
    assert notice.startswith(
        f"dither: the server {down} has not answered yet: trying for up to 12 seconds. Is it running, and is that"
    )
    assert "DITHER_URL" in notice
    assert failure.startswith(f"dither: {down}: no response from the server in ")


def test_a_stream_of_a_server_that_accepts_and_never_answers_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many attempts are left: whoever watches is told, and then the waiting ends with a sentence."""
    monkeypatch.setattr(waiting, "_QUIET", 0.0)
    monkeypatch.setattr(waiting, "GIVE_UP", waiting.CONNECT + 0.1)
    told, heard = list[str](), threading.Event()

    def tell(address: str, _: float) -> None:
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
