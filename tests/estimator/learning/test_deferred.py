"""Values that are computed when somebody first asks for them."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from dither_estimator.learning.deferred import Deferred


def test_it_is_computed_once_whichever_thread_asks() -> None:
    calls, started, release = [], threading.Event(), threading.Event()

    def compute() -> object:
        calls.append(threading.get_ident())
        started.set()
        release.wait(10)
        return object()

    value = Deferred(compute)
    assert calls == []
    with ThreadPoolExecutor(4) as threads:
        asked = [threads.submit(value) for _ in range(4)]
        assert started.wait(10)
        release.set()
        found = [future.result(10) for future in asked]
    assert len(calls) == 1
    assert all(each is value() for each in found)


def test_a_failure_is_everybodys_and_may_pass() -> None:
    outcomes = iter([ValueError("not yet"), 7])

    def compute() -> object:
        outcome = next(outcomes)
        if isinstance(outcome, ValueError):
            raise outcome
        return outcome

    value = Deferred(compute)
    with pytest.raises(ValueError, match="not yet"):
        value()
    assert value() == value() == 7
