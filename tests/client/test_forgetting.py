"""No exception that leaves the client has a frame that holds the value: what an error reporter would send is looked at.

The reporter takes the local variables of every frame of an exception and of all that it came from, and whatever can be
reached from them by attributes, items, closures and generators' frames.
"""

import asyncio
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest

import dither_client.forgetting
from dither_client import AsyncClient, Client, Gaussian, InvalidValue, Laplace, MemoryLedger, RandomizedResponse, Retry
from dither_client.commands import run
from dither_client.protocol.flow import Response
from testing.servers.fake_server import FakeServer, problem
from tests.client.protocol.test_flow import FAILED, RECEIPT, answer, play, ticket

VALUE = 31415.926535
DIGITS = "31415.9"


def reached(start: object, depth: int = 7) -> Iterator[str]:
    """The reprs of all that a reporter could reach from an object, but for modules and classes."""
    seen: set[int] = set()
    waiting: list[tuple[object, int]] = [(start, depth)]
    kept = []  # so that no id is used twice
    while waiting:
        one, left = waiting.pop()
        if id(one) in seen or left < 0 or isinstance(one, types.ModuleType | type):
            continue
        seen.add(id(one))
        kept.append(one)
        with suppress(Exception):
            yield repr(one)
        inner: list[object] = []
        if isinstance(one, Mapping):
            inner = [*one.keys(), *one.values()]
        elif isinstance(one, list | tuple | set | frozenset):
            inner = list(one)
        elif isinstance(one, types.GeneratorType):
            inner = [one.gi_frame.f_locals if one.gi_frame else None, one.gi_yieldfrom]
        elif isinstance(one, types.CoroutineType):
            inner = [one.cr_frame.f_locals if one.cr_frame else None, one.cr_await]
        elif isinstance(one, types.FunctionType):
            inner = [cell.cell_contents for cell in one.__closure__ or () if cell != types.CellType()]
        else:
            inner = list(getattr(one, "__dict__", {}).values())
            for name in (name for kind in type(one).__mro__ for name in getattr(kind, "__slots__", ())):
                with suppress(Exception):
                    inner.append(getattr(one, name))
        waiting += [(each, left - 1) for each in inner]


def report(error: BaseException, own: str = __file__) -> list[str]:
    """What would be sent of an exception, without the frames of this file, which are the caller's."""
    shown, waiting, seen = [], [error], set()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        shown += [repr(one), str(vars(one))]
        frame = one.__traceback__
        while frame is not None:
            if frame.tb_frame.f_code.co_filename != own:
                shown += reached(dict(frame.tb_frame.f_locals))
            frame = frame.tb_next
        waiting += [each for each in (one.__cause__, one.__context__) if each is not None]
    return shown


def gives_away(error: BaseException) -> bool:
    return any(DIGITS in text for text in report(error))


def caught(work: Callable[[], object]) -> BaseException:
    try:
        work()
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


class Broken(Exception):
    pass


def breaking(method: str) -> MemoryLedger:
    """A ledger one of whose methods fails."""

    def fail(*_: object) -> Any:
        raise Broken

    return type("Fails", (MemoryLedger,), {method: fail})()


def no_noise(n: int) -> int:
    raise KeyboardInterrupt


def flows() -> dict[str, Callable[[], Any]]:
    """A failure at each step of the flow."""
    bad = Response(201, {}, b"{}")
    steps: dict[str, list[Any]] = {
        "ticket": [FAILED] * 2, "garbage": [bad], "over the price": [ticket(epsilon=2)],
        "answer": [ticket(), *[FAILED] * 2],
        "late": [ticket(), Response(410, {}, b'{"type": "urn:dither:ticket-expired", "detail": "x"}')],
        "receipt": [ticket(), bad],
    }  # fmt: skip
    works: dict[str, Callable[[], Any]] = {}

    def raising(flow: Any, *script: Any) -> None:
        outcome, _, _ = play(flow, *script)
        if isinstance(outcome, BaseException):
            raise outcome

    def broken(method: str) -> None:
        raising(answer(breaking(method), VALUE), ticket(), RECEIPT)

    def scripted(script: list[Any]) -> None:
        raising(answer(MemoryLedger(), VALUE, retry=Retry(attempts=2, first=0)), *script)

    works |= {name: partial(scripted, script) for name, script in steps.items()}
    works |= {method: partial(broken, method) for method in ("find", "keep_price", "charge", "draw", "mark_sent")}
    works["noise"] = lambda: raising(answer(MemoryLedger(), VALUE, randbelow=no_noise), ticket(), RECEIPT)
    works["text"] = lambda: raising(answer(MemoryLedger(), f"{VALUE} €"))
    return works


@pytest.mark.parametrize("name", sorted(flows()))
def test_the_flow(name: str) -> None:
    assert not gives_away(caught(flows()[name]))


@pytest.mark.parametrize("query", [Laplace(0, 9, 9, 1), RandomizedResponse([1.0], 1, "log"), Gaussian(0, 1, 1, 1, 2)])
def test_a_question(query: Any) -> None:
    for work in (
        lambda: query.answer(VALUE, no_noise),
        lambda: query.answer(str(VALUE)),
        lambda: query.cell([VALUE]),
    ):
        assert not gives_away(caught(work))


def cut(request: httpx2.Request) -> httpx2.Response:
    if request.method == "GET":
        raise Broken
    raise AssertionError


@pytest.fixture
def clients(server: FakeServer) -> dict[str, Callable[[], Any]]:
    """Failures around the flow: what the driver and the network raise."""
    quick = Retry(attempts=1)
    server.refusals["/v1/collections/long"] = (200, b" " * (1 << 21))
    server.refusals["/v1/collections/laplace/responses"] = problem(409, "already-answered", "no")

    def ask(collection: str, value: Any = VALUE, **options: Any) -> None:
        with Client(server.url, MemoryLedger(), retry=quick, **options) as client:
            client.answer(collection, value)

    def share(values: Any) -> None:
        with Client(server.url, MemoryLedger(), retry=quick, token="t") as client:
            client.share("laplace", values)

    async def ask_async(collection: str, seconds: float) -> None:
        async with AsyncClient(server.url, MemoryLedger(), retry=Retry(attempts=9, first=9)) as client:
            await asyncio.wait_for(client.answer(collection, VALUE), seconds)

    def unreachable() -> None:
        with Client("http://127.0.0.1:9", MemoryLedger(), retry=quick) as client:
            client.answer("laplace", VALUE)

    server.refusals["/v1/collections/down"] = problem(500, "internal", "no")
    return {
        "too long": lambda: ask("long"),
        "missing": lambda: ask("nothing"),
        "answered": lambda: ask("laplace"),
        "text": lambda: ask("laplace", f"{VALUE} €"),
        "transport": lambda: ask("laplace", transport=httpx2.MockTransport(cut)),
        "unreachable": unreachable,
        "share": lambda: share([1.0, VALUE]),
        "share text": lambda: share([1.0, f"{VALUE} €"]),
        "async too long": lambda: asyncio.run(ask_async("long", 9)),
        "async answered": lambda: asyncio.run(ask_async("laplace", 9)),
        "async cancelled": lambda: asyncio.run(ask_async("down", 0.2)),
    }


def test_clients(clients: dict[str, Callable[[], Any]]) -> None:
    found = {name: gives_away(caught(work)) for name, work in clients.items()}
    assert not any(found.values()), found


@pytest.mark.parametrize("typed", [[str(VALUE)], ["-"]])
def test_the_command(server: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: list[str]) -> None:
    """An exception that `dither` does not know. The list of arguments is the process's own."""

    def broken(*_: object, **__: object) -> Any:
        raise Broken

    monkeypatch.setattr("dither_client.protocol.respondent.check_told", broken)
    monkeypatch.setattr("dither_client.commands.answer.read_input", lambda _: str(VALUE).encode())
    arguments = ["answer", "laplace", *typed, "--url", server.url, "--ledger", str(tmp_path / "ledger.sqlite")]
    error = caught(lambda: run(arguments))
    assert isinstance(error, Broken)
    if typed == ["-"]:
        assert not gives_away(error)


def test_what_the_caller_is_handling_is_left_alone() -> None:
    def own() -> None:
        mine = "a variable of the caller's"
        raise Broken(mine[:0])

    try:
        own()
    except Broken:
        error = caught(lambda: Laplace(0, 1, 1, 1).answer("x"))  # type: ignore[arg-type]
    assert isinstance(error, InvalidValue)
    context = error.__context__
    assert isinstance(context, Broken)
    frame = context.__traceback__
    assert frame is not None
    assert frame.tb_next is not None
    assert frame.tb_next.tb_frame.f_locals == {"mine": "a variable of the caller's"}


def test_without_forgetting_the_reporter_finds_it(
    clients: dict[str, Callable[[], Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dither_client.forgetting, "_forget", lambda *_: None)
    found = {name for name, work in {**flows(), **clients}.items() if gives_away(caught(work))}
    assert {"ticket", "noise", "text", "charge", "missing", "share", "unreachable"} <= found
