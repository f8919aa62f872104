"""Flows: what a client does, step by step, without I/O.

A flow is a generator:

- It yields `Send`, and is sent the `Response` or has `ConnectionFailed` thrown in.
- It yields `Sleep`, and is resumed after that many seconds.
- It returns its result.

`advance` makes one such step.
"""

import random
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from dither_client.errors import Unreachable

__all__ = [
    "USUAL_RETRY",
    "ConnectionFailed",
    "Finished",
    "Flow",
    "Response",
    "Retry",
    "Send",
    "Sleep",
    "advance",
    "exchange",
]


class Send(NamedTuple):
    """A request to make; `path` is below the server's URL."""

    method: str
    path: str
    body: bytes
    headers: Mapping[str, str]


class Sleep(NamedTuple):
    """A request to wait before the next step."""

    seconds: float
    ends: float = 0.0
    """The most seconds for which attempts then go on, this wait included, if each fails at once; 0 for none."""


class Response(NamedTuple):
    """The server's response; the names of `headers` are in lower case, or the mapping ignores case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def to_be_repeated(self) -> bool:
        """Whether the same request may fare better later."""
        return self.status >= 500 or self.status == 429


class ConnectionFailed(Exception):
    """Thrown into a flow in place of a response that never came."""


_T = TypeVar("_T")

Flow = Generator[Send | Sleep, Response | None, _T]


@dataclass(frozen=True, slots=True)
class Finished(Generic[_T]):
    """The result of a flow that has ended."""

    value: _T


@dataclass(frozen=True, slots=True)
class Retry:
    """When to try again after a failed connection, a status of 500 or above, or 429.

    The wait before attempt n + 1 is uniform on `[1/2, 1] first 2^(n-1)` seconds. The server's Retry-After may lengthen
    it, and it never exceeds `longest`.
    """

    attempts: int = 6
    first: float = 0.5
    longest: float = 30.0

    def wait(self, attempt: int, response: Response | None) -> float:
        """Seconds to wait after the failed `attempt`, counted from 1."""
        backoff = self.first * 2.0 ** (attempt - 1) * (1 + random.random()) / 2
        asked = response.headers.get("retry-after", "") if response else ""
        # The header may also hold a date, which is ignored because the client never reads the clock.
        seconds = float(asked) if asked.isascii() and asked.isdigit() else 0.0
        return min(max(backoff, seconds), self.longest)

    def ends(self, attempt: int) -> float:
        """The most seconds from the failed `attempt` to the last one, if each fails at once."""
        return sum(min(self.first * 2.0 ** (n - 1), self.longest) for n in range(attempt, min(self.attempts, 100)))


USUAL_RETRY = Retry()


def advance(flow: Flow[_T], reply: Response | ConnectionFailed | None) -> Send | Sleep | Finished[_T]:
    """Makes one step of a flow. `reply` is the outcome of its last `Send`, or None at the start and after a `Sleep`."""
    try:
        if isinstance(reply, ConnectionFailed):
            return flow.throw(reply)
        return flow.send(reply)
    except StopIteration as stop:
        return Finished(stop.value)


def exchange(request: Send, retry: Retry = USUAL_RETRY) -> Flow[Response]:
    """Makes a request, which may be repeated, and returns the response. Raises `Unreachable`."""
    response: Response | None = None
    for attempt in range(1, retry.attempts + 1):
        try:
            response = yield request
        except ConnectionFailed:
            response = None
        if response is not None and not response.to_be_repeated:
            return response
        if attempt < retry.attempts:
            yield Sleep(retry.wait(attempt, response), retry.ends(attempt))
    if response is None:
        attempts = "one attempt" if retry.attempts == 1 else f"{retry.attempts} attempts"
        raise Unreachable(f"no response from the server in {attempts}: check its address, or try later")
    return response
