"""Waiting for what must come: a test waits for a condition, and gives up only long after any machine would be done."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

from dither_client import Retry

__all__ = ["PATIENCE", "PATIENT", "ever", "until"]

T = TypeVar("T")

PATIENCE = 300.0
"""Seconds until a test takes what it waits for as never to come. A failsafe: no outcome depends on it."""
PATIENT = partial(Retry, attempts=int(PATIENCE), longest=1.0)
"""Makes a client that tries again for as long as a killed server takes to start on any machine."""

_PAUSE = 0.02


def until(found: Callable[[], T], else_says: object = "") -> T:
    """What `found` returns, once that is true. Raises `AssertionError` with `else_says`, called if it can be."""
    deadline = time.monotonic() + PATIENCE
    while not (value := found()):
        if time.monotonic() > deadline:
            raise AssertionError(else_says() if callable(else_says) else else_says)
        time.sleep(_PAUSE)
    return value


async def ever(found: Callable[[], Awaitable[T]], else_says: object = "") -> T:
    """`until` for coroutines."""
    deadline = time.monotonic() + PATIENCE
    while not (value := await found()):
        if time.monotonic() > deadline:
            raise AssertionError(else_says() if callable(else_says) else else_says)
        await asyncio.sleep(_PAUSE)
    return value
