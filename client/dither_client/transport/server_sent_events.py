"""Server-sent events: parsing a response's bytes, and following a stream across broken connections."""

import time
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from dither_client.errors import BadResponse, Unreachable
from dither_client.protocol.flow import ConnectionFailed, Response, Retry, Send, Sleep
from dither_client.protocol.messages import parse_problem
from dither_client.transport.drivers import Driver
from dither_client.transport.waiting import Wait

__all__ = ["Event", "follow", "read_events"]

_HEADERS = {"accept": "text/event-stream", "cache-control": "no-store"}
_MAX_EVENT = 1 << 24
"""The largest number of bytes in an event."""
_MAX_PROBLEM = 1 << 16


class Event(NamedTuple):
    """One event; `data` is its unparsed bytes."""

    type: str
    data: bytes


def read_events(parts: Iterable[bytes]) -> Iterator[Event]:
    """The events in a body that arrives in parts (WHATWG HTML, section 9.2.6; lines end in LF or CRLF).

    An event that is incomplete when the body ends is dropped. Raises `BadResponse` for an event that is too long.
    """
    kind, data = "message", list[bytes]()
    for line in _lines(parts):
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if not line:
            if data:
                yield Event(kind, b"\n".join(data))
            kind, data = "message", []
        elif name == b"event":
            kind = value.decode(errors="replace")
        elif name == b"data":
            data.append(value)
            if sum(map(len, data)) > _MAX_EVENT:
                raise BadResponse("the server's event is too long")


def follow(driver: Driver, path: str, retry: Retry) -> Iterator[Event]:
    """The events at `path` for as long as the caller asks for more; reconnects when a connection ends.

    Raises `Problem` if the server refuses, and `Unreachable` after `retry.attempts` connections in a row without an
    event, or after `waiting.GIVE_UP` seconds without a reply.
    """
    attempt, wait = 0, Wait(driver.server)
    try:
        while True:
            wait.begin()
            response: Response | None = None
            try:
                with driver.opened(Send("GET", path, b"", _HEADERS)) as opened:
                    if opened.status_code == 200:
                        wait.end()
                        for event in read_events(opened.iter_raw()):
                            attempt = 0
                            yield event
                    else:
                        body = next(opened.iter_raw(_MAX_PROBLEM), b"")
                        response = Response(opened.status_code, opened.headers, body)
            except ConnectionFailed as failed:
                wait.note(failed)
            if response is not None and not response.to_be_repeated:
                raise parse_problem(response.status, response.body)
            attempt += 1
            if attempt >= retry.attempts:
                if response is not None:
                    raise parse_problem(response.status, response.body)
                raise Unreachable("its events have stopped: check the address, or try later")
            sleep = Sleep(retry.wait(attempt, response), retry.ends(attempt))
            wait.check(sleep)
            time.sleep(sleep.seconds)
    except Unreachable as error:
        error.args = (f"{driver.server}: {error}",)
        raise
    finally:
        wait.end()


def _lines(parts: Iterable[bytes]) -> Iterator[bytes]:
    rest = b""
    for part in parts:
        *lines, rest = (rest + part).split(b"\n")
        if len(rest) > _MAX_EVENT:
            raise BadResponse("the server's event is too long")
        for line in lines:
            yield line.removesuffix(b"\r")
