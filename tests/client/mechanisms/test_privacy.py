"""No value of a respondent leaves the respondent's own memory: it is in no request, error, log or ledger.

Every test lets a recognisable value meet everything that can happen and then looks for it, in its decimal forms and as
the bytes of a double, in all that came out.
"""

import logging
import math
import struct
import traceback
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dither_client import (
    Client,
    DitherError,
    Gaussian,
    InvalidValue,
    Laplace,
    Ledger,
    MemoryLedger,
    RandomizedResponse,
    Retry,
    Terms,
)
from dither_client.mechanisms.price import Price
from dither_client.protocol.flow import ConnectionFailed, Finished, Flow, Response, Send, Sleep, advance
from dither_client.protocol.respondent import answer_flow
from testing.servers.fake_server import GAUSSIAN, LAPLACE, RANDOMIZED, Failure, FakeServer
from tests.client.protocol.test_flow import told

ALLOWED = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
SERVER = "https://example.org"

TICKET = b'{"ticket": "t", "query": %s, "expires_at": "2026-01-01T00:00:00Z"}'
QUESTIONS = (
    b'{"mechanism": "laplace", "low": 0, "high": 8, "levels": 8, "epsilon": 20, "transform": "identity"}',
    b'{"mechanism": "laplace", "low": 0, "high": 8, "levels": 1024, "epsilon": 20, "transform": "log"}',
    b'{"mechanism": "randomized_response", "cuts": [0, 1, 2], "epsilon": 20, "transform": "log"}',
    b'{"mechanism": "gaussian", "low": 0, "high": 8, "levels": 8, "rho": 9.5, "epsilon": 20, "transform": "identity"}',
    b'{"mechanism": "staircase", "cuts": [0, 1], "sets": [[0, 2], [1]], "weights": [1, 1], "epsilon": 20, '
    b'"transform": "log"}',
    b'{"mechanism": "laplace", "low": 0, "high": 8, "levels": 4096, "epsilon": 20, "transform": "identity"}',
    b'{"mechanism": "laplace", "low": 0, "high": 8, "levels": 8, "epsilon": 30, "transform": "identity"}',
    b"null",
)
TOLD = [
    told(20, mechanism=mechanism, transform=transform, rho=rho)
    for mechanism, transform, rho in (
        ("laplace", "identity", None),
        ("laplace", "log", None),
        ("randomized_response", "log", None),
        ("gaussian", "identity", 10),
        ("staircase", "log", None),
    )
]
"""Terms that fit the first questions."""
REFUSAL = b'{"type": "urn:dither:%s", "detail": "no", "status": 409}'

# Twelve digits, of which the first seven are not something like 1000000 that is there for another reason.
digits = st.integers(10**11, 10**12 - 1).filter(lambda number: len(set(str(number)[:7])) >= 4)
signed = st.builds(
    lambda number, scale, sign: sign * number / 10**scale, digits, st.integers(1, 7), st.sampled_from([1, -1])
)

replies = st.one_of(
    st.just(ConnectionFailed("ConnectError")),
    st.sampled_from(QUESTIONS).map(lambda question: Response(201, {}, TICKET % question)),
    st.sampled_from([b'{"receipt": "r"}', b"{}", b"<html>", b""]).map(lambda body: Response(201, {}, body)),
    st.sampled_from([b"ticket-expired", b"already-answered", b"collection-closed", b"not-found"]).map(
        lambda name: Response(409, {}, REFUSAL % name)
    ),
    st.sampled_from([429, 500, 503]).map(lambda status: Response(status, {"retry-after": "1"}, b"")),
)


def traces(value: float) -> Iterator[bytes]:
    """Whatever would give the value away: its leading digits, and the bytes of a double either way round."""
    digits = f"{abs(value):.17g}".replace(".", "").partition("e")[0][:7]
    yield digits.encode()
    yield f"{abs(value):.7g}".encode()
    yield f"{math.log(abs(value)):.9g}".encode()
    yield struct.pack("<d", value)
    yield struct.pack(">d", value)


def check(value: float, *shown: object) -> None:
    for one in shown:
        data = one if isinstance(one, bytes) else str(one).encode()
        plain = data.replace(b".", b"").replace(b",", b"").replace(b"_", b"")
        for trace in traces(value):
            assert trace not in data
            assert trace not in plain


def said(error: BaseException) -> list[str]:
    """All that an exception and its causes say, without the source lines of a traceback."""
    chain: traceback.TracebackException | None = traceback.TracebackException.from_exception(error)
    texts: list[str] = []
    while chain is not None:
        texts += list(chain.format_exception_only())
        chain = chain.__cause__ or (None if chain.__suppress_context__ else chain.__context__)
    return [*texts, repr(error), str(vars(error))]


def run(flow: Flow[Any], script: list[Response | ConnectionFailed]) -> list[object]:
    """Everything that a flow shows of itself when it meets `script`."""
    shown: list[object] = []
    reply: Response | ConnectionFailed | None = None
    try:
        for _ in range(20):
            step = advance(flow, reply)
            shown += [repr(step)]
            if isinstance(step, Finished):
                break
            if isinstance(step, Send):
                shown += [step.body, step.path, str(step.headers)]
            reply = None if isinstance(step, Sleep) else (script.pop(0) if script else ConnectionFailed("end"))
    except DitherError as error:
        shown += said(error)
    return shown


@settings(deadline=None, max_examples=300)
@given(
    signed,
    st.lists(replies, max_size=8),
    st.sampled_from([None, Fraction(1, 2), Fraction(1), Fraction(30)]),
    st.sampled_from(TOLD),
)
def test_whatever_a_server_does(
    value: float, script: list[Response | ConnectionFailed], epsilon: Fraction | None, terms: Terms
) -> None:
    ledger = MemoryLedger(max_epsilon=25)
    for _ in range(2):
        flow = answer_flow(SERVER, "c", value, ledger, Retry(attempts=3), epsilon=epsilon, terms=terms)
        check(value, *run(flow, script), repr(flow))
    check(value, repr(ledger), repr(ledger.entries()), repr(ledger.find(SERVER, "c")))


@settings(deadline=None, max_examples=40, suppress_health_check=ALLOWED)
@given(signed, st.sampled_from(QUESTIONS[:4]), st.booleans())
def test_the_bytes_of_the_ledger(
    tmp_path_factory: pytest.TempPathFactory, value: float, question: bytes, sent: bool
) -> None:
    folder = tmp_path_factory.mktemp("ledger")
    script: list[Response | ConnectionFailed] = [Response(201, {}, TICKET % question)]
    terms = TOLD[QUESTIONS.index(question)]
    with Ledger(folder / "ledger.sqlite", max_epsilon=25) as ledger:
        run(
            answer_flow(SERVER, "c", value, ledger, Retry(attempts=1), terms=terms),
            script + [Response(201, {}, b'{"receipt": "r"}')] * sent,
        )
        assert [charge.state for charge in ledger.entries()] == ["sent" if sent else "drawn"]
        files = list(folder.iterdir())
        assert len(files) == 3
        check(value, *(file.read_bytes() for file in files), repr(ledger), repr(ledger.entries()))
    check(value, *(file.read_bytes() for file in folder.iterdir()))


@settings(deadline=None, max_examples=25, suppress_health_check=ALLOWED)
@given(
    value=signed, failures=st.lists(st.sampled_from([None, Failure(), Failure(late=True), Failure(503)]), max_size=4)
)
def test_real_requests_and_logs(
    server: FakeServer, caplog: pytest.LogCaptureFixture, value: float, failures: list[Failure | None]
) -> None:
    caplog.set_level(logging.DEBUG)
    caplog.clear()
    server.requests.clear()
    server.failures.clear()
    server.failures += failures
    server.questions = {"laplace": LAPLACE, "randomized": RANDOMIZED, "gaussian": GAUSSIAN}
    shown: list[object] = []
    with Client(server.url, MemoryLedger(), retry=Retry(attempts=3, first=0.0001)) as client:
        for collection in ("laplace", "randomized", "gaussian", "nothing"):
            try:
                shown += [repr(client.answer(collection, value))]
            except DitherError as error:
                shown += said(error)
        shown += [repr(client), repr(vars(client))]
    for request in server.requests:
        shown += [request.path, str(request.headers), request.body]
    check(value, caplog.text, *shown)


def knowing(*categories: str) -> MemoryLedger:
    """A ledger that knows the price, so that nothing has to be asked."""
    ledger = MemoryLedger()
    ledger.keep_price(SERVER, "c", Price("laplace", "identity", Fraction(1), categories=categories))
    return ledger


@given(st.text("0123456789.,-é", min_size=9) | signed.map(str) | st.binary(min_size=9) | st.integers(10**309, 10**320))
def test_refused_values_are_not_repeated(value: Any) -> None:
    for refuse in (
        lambda: next(answer_flow(SERVER, "c", value, knowing())),
        lambda: next(answer_flow(SERVER, "c", value, knowing("never", "daily"))),
        lambda: Laplace(0, 1, 1, 1).answer(value),
        lambda: RandomizedResponse([0], 1).cell(value),
        lambda: Gaussian(0, 1, 1, 1, 2).answer(value),
    ):
        with pytest.raises(InvalidValue) as caught:
            refuse()
        for text in said(caught.value):
            assert str(value) not in text
            assert repr(value) not in text


def test_the_search_would_find_it() -> None:
    value = -31415.92653589793
    for shown in (
        "x = -31415.92653589793",
        "31415.93",
        "3.141592653589793e4",
        struct.pack("<d", value),
        b"1_31_415926",
    ):
        with pytest.raises(AssertionError):
            check(value, shown)
    check(value, "31415", "answer 3 of 5", b"\x00" * 100)
