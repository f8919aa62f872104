"""Values that are computed when somebody first asks for them."""

from collections.abc import Callable
from functools import partial
from threading import Lock
from typing import Any, Generic, TypeVar, overload

__all__ = ["Deferred", "DeferredProperty"]

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


class DeferredProperty(Generic[_T]):
    """A property of an immutable object that is computed once, by whichever thread first asks this object for it.

    Other objects' readers do not wait: `functools.cached_property` before Python 3.12 has one lock for all objects of a
    class, so that what takes seconds for one of them holds up the others; later ones compute it in each thread.
    """

    def __init__(self, compute: Callable[[Any], _T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> "DeferredProperty[_T]": ...

    @overload
    def __get__(self, instance: object, owner: type) -> _T: ...

    def __get__(self, instance: object | None, owner: type) -> "DeferredProperty[_T] | _T":
        if instance is None:
            return self
        kept = vars(instance)
        value: Deferred[_T] | None = kept.get(self._name)
        if value is None:
            value = kept.setdefault(self._name, Deferred(partial(self._compute, instance)))  # another one may be first
        return value()

    def __set__(self, instance: object, value: object) -> None:
        raise AttributeError(f"{self._name} is computed, and cannot be set")
