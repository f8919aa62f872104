"""Simulations over HTTP against a real server process: nothing lost, nothing twice, whatever respondents do."""

import asyncio
import signal
import socket
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dither_client import Admin, Analyst, Problem, Retry
from dither_client.addresses import parse_address
from dither_client.protocol.flow import ConnectionFailed, Response, Send
from dither_client.transport.json_api import Api
from dither_server.simulate import over_http
from dither_server.simulate.behaviours import Behaviours, Roles, draw_roles
from dither_server.simulate.connections import Connections
from dither_server.simulate.crowd import Crowd
from dither_server.simulate.outcome import Outcome
from dither_server.simulate.over_http import simulate_over_http
from dither_server.simulate.respondents import Respondents
from testing.patience import PATIENT, until
from testing.servers.process import RunningServer, forked

TOKEN = "the-admin-token"
SPEC = {"name": "Test", "family": "normal", "epsilon": "1", "range": [-5, 5], "particles": 200}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("server")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[RunningServer]:
    with forked(f"sqlite:///{folder / 'dither.sqlite'}") as [server]:
        yield server


def create(server: RunningServer, **fields: Any) -> str:
    with Admin(server.url, TOKEN) as admin:
        return str(admin.create_collection(SPEC | fields)["id"])


def simulate(
    server: RunningServer,
    collection: str,
    size: int,
    behaviours: Behaviours | None = None,
    concurrency: int = 16,
    seed: int | None = 1,
) -> Outcome:
    values = np.random.default_rng(3).normal(size=size)
    roles = draw_roles(np.random.default_rng(4), behaviours or Behaviours(), size)
    return simulate_over_http(server.url, TOKEN, collection, Respondents(values, roles, seed), concurrency)


@contextmanager
def reading(folder: Path) -> Iterator[sqlite3.Connection]:
    database = sqlite3.connect(f"file:{folder / 'dither.sqlite'}?mode=ro", uri=True)
    try:
        yield database
    finally:
        database.close()


def number(database: sqlite3.Connection, collection: str) -> int:
    [(row,)] = database.execute("SELECT number FROM collections WHERE id = ?", (collection,))
    return int(row)


def stored(folder: Path, collection: str) -> tuple[int, int]:
    """How many rows of answers a collection has in the database, and how many its counts say."""
    with reading(folder) as database:
        own = number(database, collection)
        [(rows,)] = database.execute("SELECT count(*) FROM answers WHERE collection = ?", (own,))
        [(counted,)] = database.execute("SELECT coalesce(sum(count), 0) FROM counts WHERE collection = ?", (own,))
    return rows, counted


@pytest.mark.parametrize("policy", ["adaptive", "thompson"])
def test_many_levels_are_asked_where_the_design_has_them(server: RunningServer, policy: str) -> None:
    """In 12 runs the sd of μ was 0.6 in the median and 1.3 at most; levels on the lattice left 28 to 81, or 1.7."""
    terms = {"range": [0, 100], "goal": "mu", "levels": 64, "particles": 1_000, "policy": policy}
    values = np.random.default_rng(3).normal(50.0, 10**0.5, 1_000)
    roles = draw_roles(np.random.default_rng(4), Behaviours(), len(values))
    outcome = simulate_over_http(server.url, TOKEN, create(server, **terms), Respondents(values, roles, 1), 8)
    assert outcome.posterior.posterior["mu"].sd < (4 if policy == "adaptive" else 1.6)
    assert outcome.posterior.queries < 500


@pytest.mark.parametrize(
    "behaviours",
    [
        Behaviours(),
        Behaviours(drop_out=0.2),
        Behaviours(drop_out=0.5, drop_out_by="value"),
        Behaviours(drop_out=0.5, drop_out_by="answer"),
        Behaviours(retry=0.3),
        Behaviours(late=0.3),
        Behaviours(poison=0.3),
        Behaviours(drop_out=0.1, retry=0.2, late=0.2, poison=0.1),
    ],
    ids=lambda behaviours: ",".join(name for name, value in vars(behaviours).items() if value not in (0, "chance")),
)
def test_acknowledged_answers_are_stored_counted_and_learnt_once(
    server: RunningServer, folder: Path, behaviours: Behaviours
) -> None:
    collection = create(server)
    outcome = simulate(server, collection, 400, behaviours)
    assert outcome.sound
    assert (outcome.answers, outcome.answers) == stored(folder, collection)
    assert outcome.answers == outcome.posterior.answers
    assert outcome.answers + outcome.dropped_out == 400
    load = outcome.load
    assert load is not None
    assert load.mismatches == 0
    # Each share struck about as many as it should: five standard deviations, a false alarm in 1e6.
    for count, share in ((load.retried, behaviours.retry), (load.late, behaviours.late)):
        expected = share * outcome.answers
        assert abs(count - expected) <= 5 * np.sqrt(expected * (1 - share))
    assert (load.poisoned > 0) == (behaviours.poison > 0)
    assert (outcome.dropped_out > 0) == (behaviours.drop_out > 0)
    # A ticket and an answer each, and two copies more of whoever retried; drop-outs have only asked for a ticket.
    assert load.requests == 400 + outcome.answers + 2 * load.retried


def test_late_answers_come_after_all_others(server: RunningServer, folder: Path) -> None:
    """The late ones are marked by an answer that at ε = 50 nobody gives by chance."""
    collection = create(server, epsilon=50, policy="fixed:-1:1", levels=1)
    first = np.arange(60) < 20
    roles = Roles("chance", may_drop_out=first & False, retries=first & False, late=first, poisons=first)
    outcome = simulate_over_http(server.url, TOKEN, collection, Respondents(np.full(60, -9.0), roles, 1), 4)
    assert outcome.load is not None
    assert outcome.load.late == 20
    with reading(folder) as database:
        by_answer = "SELECT answer, min(received_at), max(received_at), count(*) FROM answers"
        rows = database.execute(
            f"{by_answer} WHERE collection = {number(database, collection)} GROUP BY answer"
        ).fetchall()
    (low, _, last_in_time, in_time), (high, first_late, _, late) = sorted(rows)
    assert (low, in_time, high, late) == (0, 40, 1, 20)
    assert first_late >= last_in_time


def test_a_poisoner_sends_the_highest_answer(server: RunningServer) -> None:
    collection = create(server)
    simulate(server, collection, 50, Behaviours(poison=1.0))
    with Analyst(server.url, TOKEN) as analyst:
        counts = [query.counts for query in analyst.queries(collection)]
    assert all(count is not None and sum(count[:-1]) == 0 for count in counts)


def test_everybody_is_asked_at_the_epsilon_it_chose(server: RunningServer) -> None:
    """At ε about 50 nearly every answer is the value itself, so the counts say who was asked at which ε."""
    collection = create(server, epsilon=50, epsilon_choices=[49, 50], policy="fixed:0:8", levels=8)
    values = np.tile(np.arange(9, dtype=np.float64), 10)
    choices = [Fraction(49) if value < 4 else Fraction(50) for value in values]
    roles = draw_roles(np.random.default_rng(4), Behaviours(), 90)
    outcome = simulate_over_http(server.url, TOKEN, collection, Respondents(values, roles, 1, choices), 8)
    assert outcome.sound
    assert outcome.posterior.answers_by_epsilon == {"49": 40, "50": 50}
    with Analyst(server.url, TOKEN) as analyst:
        counts = {query.query.epsilon: query.counts for query in analyst.queries(collection)}
    assert sum((counts[Fraction(49)] or ())[:5]) > 30
    assert sum((counts[Fraction(50)] or ())[3:]) > 40


def test_a_seed_gives_the_same_answers_to_the_same_questions(server: RunningServer) -> None:
    def answers(seed: int, concurrency: int = 16) -> list[Any]:
        collection = create(server, policy="fixed:-1:1", levels=8)
        simulate(server, collection, 100, concurrency=concurrency, seed=seed)
        with Analyst(server.url, TOKEN) as analyst:
            return [query.counts for query in analyst.queries(collection)]

    assert answers(5) == answers(5, concurrency=1) != answers(6)


def test_a_collection_that_closes_is_a_failure_with_a_name(server: RunningServer) -> None:
    collection = create(server)
    with Admin(server.url, TOKEN) as admin:
        admin.set_state(collection, "closed")
    outcome = simulate(server, collection, 20)
    assert outcome.load is not None
    assert outcome.load.failures == {"collection-closed": 20}
    assert not outcome.sound


def test_a_full_collection_takes_no_more(server: RunningServer, folder: Path) -> None:
    collection = create(server, max_answers=30)
    outcome = simulate(server, collection, 50)
    assert outcome.answers == 30
    assert stored(folder, collection) == (30, 30)
    assert outcome.load is not None
    assert sum(outcome.load.failures.values()) == 20


def test_a_posterior_that_cannot_be_read_is_known_before_anybody_is_asked(server: RunningServer) -> None:
    collection = create(server)
    values = np.zeros(5)
    roles = draw_roles(np.random.default_rng(4), Behaviours(), 5)
    with pytest.raises(Problem, match="needs an analyst's token"):
        simulate_over_http(server.url, None, collection, Respondents(values, roles, 1), 4)
    with Admin(server.url, TOKEN) as admin:
        assert admin.set_state(collection, "open")["answers"] == 0


def test_a_crash_while_answers_come_loses_none_of_the_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server is killed under load and started again on the same port; everybody's flow survives it."""
    monkeypatch.setattr(over_http, "Retry", PATIENT)
    monkeypatch.setattr(over_http, "Api", partial(Api, retry=PATIENT()))
    with forked(f"sqlite:///{tmp_path / 'dither.sqlite'}") as [server]:
        collection = create(server)
        outcomes: list[Outcome] = []
        load = threading.Thread(target=lambda: outcomes.append(simulate(server, collection, 1_500)))
        load.start()
        while stored(tmp_path, collection)[0] < 200:
            time.sleep(0.01)
        server.kill()
        server.start()
        load.join()
        [outcome] = outcomes
        assert outcome.sound
        assert stored(tmp_path, collection) == (1_500, 1_500)
        assert outcome.posterior.answers == outcome.answers == 1_500


def test_a_server_that_is_gone_ends_the_simulation() -> None:
    with closed_port() as url:
        roles = draw_roles(np.random.default_rng(4), Behaviours(), 1_000)
        crowd = Crowd(parse_address(url), "abc", Respondents(np.zeros(1_000), roles, 1), Retry(2, 0.01, 0.01))
        asyncio.run(crowd.run(8))
    # Eight were on their way when the first of them gave up.
    assert crowd.tally.answered == 0
    assert 1 <= crowd.tally.failures["unreachable"] <= 8


@contextmanager
def closed_port() -> Iterator[str]:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{held.getsockname()[1]}"


def exchange_with(reply: bytes, close: bool, requests: int = 1) -> tuple[list[Response | ConnectionFailed], int]:
    """What requests to a server that always says `reply` get, and how many connections they took."""
    served: list[asyncio.Task[Any]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        served.append(task)
        while await reader.read(65_536):
            writer.write(reply)
            if close:
                break
        writer.close()
        await writer.wait_closed()

    async def run() -> list[Response | ConnectionFailed]:
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as listener:
            port = listener.sockets[0].getsockname()[1]
            pool = Connections(parse_address(f"http://127.0.0.1:{port}/below"))
            replies = [await pool.request(Send("POST", "/x", b"{}", {"a": "b"})) for _ in range(requests)]
            pool.close()
            await asyncio.gather(*served)
            return replies

    return asyncio.run(run()), len(served)


def test_a_connection_is_used_again() -> None:
    ok = b"HTTP/1.1 201 Created\r\nRetry-After: 7\r\nContent-Length: 2\r\n\r\n{}"
    replies, connections = exchange_with(ok, close=False, requests=3)
    assert replies == [Response(201, {"retry-after": "7", "content-length": "2"}, b"{}")] * 3
    assert connections == 1


def test_a_connection_that_the_server_closes_is_not_used_again() -> None:
    ok = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}"
    replies, connections = exchange_with(ok, close=True, requests=3)
    assert [reply.status for reply in replies if isinstance(reply, Response)] == [200, 200, 200]
    assert connections == 3


@pytest.mark.parametrize(
    "reply", [b"this is not HTTP at all\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", b""]
)
def test_what_is_no_response_is_a_failed_connection(reply: bytes) -> None:
    replies, _ = exchange_with(reply, close=True)
    assert isinstance(replies[0], ConnectionFailed)


def test_the_first_interrupt_ends_it_with_what_was_done(server: RunningServer, folder: Path) -> None:
    collection = create(server)

    def interrupt() -> None:
        until(lambda: stored(folder, collection)[0] > 0)
        signal.raise_signal(signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    outcome = simulate(server, collection, 100_000)
    thread.join()
    assert outcome.interrupted
    assert not outcome.sound
    assert 0 < outcome.answers < 100_000
    assert stored(folder, collection) == (outcome.answers, outcome.answers)
