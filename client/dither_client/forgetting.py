"""Decorators that keep a respondent's value out of tracebacks, since error reporters send every frame's variables.

Functions that are called with a value are `forgetful`; coroutines and generators have decorators of their own. When
such a function raises, the decorator drops its arguments and clears the local variables of the frames that the
exception has left behind. Line numbers stay. The caller's own frames are not touched.
"""

import sys
import traceback
from collections.abc import Callable, Coroutine, Generator
from functools import wraps
from typing import Any, ParamSpec, TypeVar

__all__ = ["forgetful", "forgetful_coroutine", "forgetful_flow"]

_P = ParamSpec("_P")
_T = TypeVar("_T")
_Yield = TypeVar("_Yield")
_Sent = TypeVar("_Sent")


def forgetful(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Wraps `function` so that its exceptions carry no local variables."""

    @wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        handled = sys.exc_info()[1]
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            del args, kwargs
            _forget(error, handled)
            raise

    return call


def forgetful_coroutine(
    function: Callable[_P, Coroutine[Any, Any, _T]],
) -> Callable[_P, Coroutine[Any, Any, _T]]:
    """`forgetful` for a coroutine function."""

    @wraps(function)
    async def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        handled = sys.exc_info()[1]
        made = function(*args, **kwargs)
        del args, kwargs
        try:
            return await made
        except BaseException as error:
            _forget(error, handled)
            raise

    return call


def forgetful_flow(
    function: Callable[_P, Generator[_Yield, _Sent, _T]],
) -> Callable[_P, Generator[_Yield, _Sent, _T]]:
    """`forgetful` for a generator function."""

    @wraps(function)
    def flow(*args: _P.args, **kwargs: _P.kwargs) -> Generator[_Yield, _Sent, _T]:
        handled = sys.exc_info()[1]
        made = function(*args, **kwargs)
        del args, kwargs
        try:
            return (yield from made)
        except BaseException as error:
            _forget(error, handled)
            raise

    return flow


def _forget(error: BaseException | None, handled: BaseException | None) -> None:
    """Clears the frames of `error`, its causes and its contexts, but not of `handled`, which the caller is handling."""
    seen: set[int] = set()
    waiting = [error]
    while waiting:
        one = waiting.pop()
        if one is None or one is handled or id(one) in seen:
            continue
        seen.add(id(one))
        traceback.clear_frames(one.__traceback__)
        waiting += [one.__cause__, one.__context__]
