"""Exceptions that leave this package hold no value: error reporters send the local variables of every frame.

What is called with a respondent's value is `forgetful`; generators and coroutines have a decorator each. When it
raises, it lets go of its own arguments, and clears the local variables of the frames that the exception has passed
since, which have ended. Line numbers stay. The frames of whoever called it are the caller's.
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
    """`function`, whose exceptions come without local variables."""

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
    """The same for a coroutine."""

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
    """The same for a generator."""

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
    """Clears the frames of `error` and of all that it came from, up to what was being `handled` before."""
    seen: set[int] = set()
    waiting = [error]
    while waiting:
        one = waiting.pop()
        if one is None or one is handled or id(one) in seen:
            continue
        seen.add(id(one))
        traceback.clear_frames(one.__traceback__)
        waiting += [one.__cause__, one.__context__]
