"""Values that are computed when somebody first asks for them."""

from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

__all__ = ["Deferred"]

_T = TypeVar("_T")


class Deferred(Generic[_T]):
    """A value that is computed once, by whichever thread first asks for it; the others wait for it.

    `compute` may use only what does not change any more. If it raises, so does the call, and the next tries again.
    """

    def __init__(self, compute: Callable[[], _T]) -> None:
        self._lock = Lock()
        self._compute: Callable[[], _T] | None = compute
        self._value: list[_T] = []

    def __call__(self) -> _T:
        with self._lock:
            if self._compute is not None:
                self._value.append(self._compute())
                self._compute = None  # with all that it holds
            return self._value[0]
