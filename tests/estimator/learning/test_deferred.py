"""Values that are computed when somebody first asks for them."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from dither_estimator.learning.deferred import Deferred, DeferredProperty
from testing.patience import until


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


class Slow:
    """An object of which one number takes until it may."""

    def __init__(self, may: threading.Event) -> None:
        self.may = may
        self.calls = 0

    @DeferredProperty
    def number(self) -> int:
        """A number."""
        self.calls += 1
        assert self.may.wait(10)
        return 7


def test_a_property_of_one_object_does_not_wait_for_that_of_another() -> None:
    slow, quick = Slow(threading.Event()), Slow(threading.Event())
    quick.may.set()
    with ThreadPoolExecutor(3) as threads:
        asked = [threads.submit(lambda: slow.number) for _ in range(2)]
        until(lambda: slow.calls == 1)
        assert threads.submit(lambda: quick.number).result(5) == 7
        slow.may.set()
        assert [each.result(10) for each in asked] == [7, 7]
    assert (slow.number, slow.calls, quick.calls) == (7, 1, 1)
    assert Slow.number.__doc__ == "A number."
    with pytest.raises(AttributeError, match="number is computed"):
        slow.number = 8
