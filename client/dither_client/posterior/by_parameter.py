"""Numbers of a posterior by the names of its parameters."""

from typing import NoReturn, TypeVar

__all__ = ["ByParameter"]

_T = TypeVar("_T")


class ByParameter(dict[str, _T]):
    """A dictionary whose `KeyError` for a name that is missing says which there are."""

    def __missing__(self, name: str) -> NoReturn:
        raise KeyError(f"this posterior has no parameter {name!r}, but {', '.join(self) or 'none'}")
