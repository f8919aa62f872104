"""How long drawing takes says nothing to whoever waits for the answer: that goes on at a fixed time after it began.

And the measurement of it (`python -m benchmarks.timing`) sees what there is to see.
"""

import json
import time

import numpy as np
import pytest

from benchmarks.timing import dependence
from dither_client import Client, Laplace, MemoryLedger, RandomizedResponse
from dither_client.protocol.flow import Response, Send, Sleep, advance
from dither_client.protocol.messages import parse_terms
from dither_client.protocol.respondent import answer_flow
from testing.servers.question_server import asking, terms_of

QUERY = Laplace(0, 4, 4, 1)
TICKET = {"ticket": "t", "query": QUERY.to_json(), "expires_at": "2100-01-01T00:00:00Z"}
REPLY = Response(201, {}, json.dumps(TICKET).encode())


@pytest.mark.parametrize("slow", [0.0, 0.02, 0.2])
def test_an_answer_goes_on_at_a_fixed_time_however_long_drawing_takes(slow: float) -> None:
    """The sleep makes up for the drawing; until it is over, nothing that takes time is done with the answer."""

    def randbelow(n: int) -> int:
        if n == 2:  # the sign, which is drawn once or a few times
            time.sleep(slow)
        return n - 1

    ledger = MemoryLedger()
    terms = parse_terms(terms_of(QUERY))
    flow = answer_flow("http://localhost", "c", 2.2, ledger, randbelow=randbelow, settle=0.1, terms=terms)
    advance(flow, None)
    began = time.perf_counter()
    step = advance(flow, REPLY)
    took = time.perf_counter() - began
    assert isinstance(step, Sleep)
    assert 0.1 - took - 0.02 <= step.seconds <= max(0.1 - slow, 0.0)
    entry = ledger.find("http://localhost", "c")
    assert entry is not None
    assert entry.state == "charged"
    assert isinstance(advance(flow, None), Send)


def test_questions_of_many_cells_wait_longer() -> None:
    """In proportion to the cells, which are public: drawing for 1,024 takes longer than what few cells wait."""
    query = RandomizedResponse(range(1023), 1)
    reply = Response(201, {}, json.dumps(TICKET | {"query": query.to_json()}).encode())
    flow = answer_flow("http://localhost", "c", 2.2, MemoryLedger(), settle=5.0, terms=parse_terms(terms_of(query)))
    advance(flow, None)
    step = advance(flow, reply)
    assert isinstance(step, Sleep)
    assert 5.0 * 1024 / 8 - 60 < step.seconds <= 5.0 * 1024 / 8
    flow.close()


def test_the_client_waits_far_longer_than_drawing_takes() -> None:
    with asking(QUERY) as server, Client(server.url, MemoryLedger()) as client:
        for turn in range(5):
            client.ledger = MemoryLedger()
            client.answer(f"c{turn}", 2.2)
    began = time.thread_time()  # of this thread alone, however busy the machine is
    for _ in range(100):
        QUERY.answer(2.2)
    drawing = (time.thread_time() - began) / 100
    assert min(heard.waited for heard in server.heard) / 1e9 > 5e-3
    assert drawing < 2e-3


def rows(draws: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.random.Generator]:
    """Classes, answers with noise, the noise, and the generator, which is seeded."""
    rng = np.random.default_rng(5)
    classes = rng.integers(3, size=draws)
    noise = rng.integers(-1, 2, size=draws)
    return classes, classes + noise, noise, rng


def test_times_that_follow_the_value_are_seen() -> None:
    classes, answers, _, rng = rows(6_000)
    found = dependence(classes, answers, (rng.normal(1000, 10, 6_000) + 3 * classes).astype(np.int64))
    assert max(found.distance_p, found.alone_p) < 0.01


def test_times_that_follow_the_noise_are_seen_beside_the_answer_alone() -> None:
    classes, answers, noise, rng = rows(6_000)
    found = dependence(classes, answers, (rng.normal(1000, 10, 6_000) + 10 * abs(noise)).astype(np.int64))
    assert found.beside_p < 0.01
    assert found.beside > 10
    assert found.alone_p > 0.01


def test_times_that_follow_nothing_are_let_be() -> None:
    classes, answers, _, rng = rows(6_000)
    found = dependence(classes, answers, rng.normal(1000, 10, 6_000).astype(np.int64))
    assert min(found.distance_p, found.alone_p, found.beside_p) > 0.01
    assert abs(found.beside) < 5
