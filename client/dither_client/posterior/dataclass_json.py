"""Frozen dataclasses as JSON and back, by their own fields: no shape is written a second time.

A field whose metadata has `exclude_if` is left out where that says so, and a field with a default may be missing. A
number that is not finite is null, which a field with `infinite_if_null` reads as infinity. The other metadata are named
as pydantic names them, which reads the same classes for the server's OpenAPI.
"""

import math
import types
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

__all__ = ["from_json", "to_json"]

Shape = TypeVar("Shape")


def to_json(value: Any) -> Any:
    """A dataclass, or a mapping or a tuple of such, ready for `json.dumps`; mappings have strings as keys."""
    if is_dataclass(value):
        return {
            field.name: to_json(part)
            for field in fields(value)
            if not _excluded(field, part := getattr(value, field.name))
        }
    if isinstance(value, Mapping):
        return {name: to_json(part) for name, part in value.items()}
    if isinstance(value, tuple):
        return [to_json(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def from_json(shape: type[Shape], data: Any) -> Shape:
    """The dataclass `shape` of parsed JSON. Fields that it does not have are ignored.

    Raises `ValueError` where a field without a default is missing or holds something else.
    """
    found: Shape = _read(shape, data)
    return found


def _excluded(field: "Field[Any]", value: Any) -> bool:
    return "exclude_if" in field.metadata and bool(field.metadata["exclude_if"](value))


def _read(hint: Any, data: Any) -> Any:
    origin = get_origin(hint)
    if is_dataclass(hint):
        return _read_fields(hint, _checked(data, dict))
    if origin is dict:
        return {name: _read(get_args(hint)[1], part) for name, part in _checked(data, dict).items()}
    if origin is tuple:
        return tuple(_read(get_args(hint)[0], part) for part in _checked(data, list))
    if origin is types.UnionType:
        return None if data is None else _read(get_args(hint)[0], data)
    if hint is float:
        return float(_checked(data, (int, float)))
    return _checked(data, hint)


def _read_fields(shape: Any, data: Mapping[str, Any]) -> Any:
    hints = _hints(shape)
    given = {}
    for field in fields(shape):
        if data.get(field.name, "") is None and field.metadata.get("infinite_if_null"):
            given[field.name] = math.inf
        elif field.name in data:
            given[field.name] = _read(hints[field.name], data[field.name])
        elif field.default is MISSING:
            raise ValueError(f"{field.name} is missing")
    return shape(**given)


def _checked(data: Any, kind: Any) -> Any:
    """`data`, which must be of that kind; true and false are no numbers."""
    if not isinstance(data, kind) or (isinstance(data, bool) and kind is not bool):
        raise ValueError(f"{type(data).__name__} is not what is expected here")
    return data


_hints = cache(get_type_hints)
