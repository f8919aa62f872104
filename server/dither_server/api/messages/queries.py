"""The questions: a model for each mechanism, built from the fields that its query class declares."""

from functools import reduce
from operator import or_
from types import GenericAlias
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pydantic import BaseModel, Field, create_model

from dither_client.mechanisms.query import Schema
from dither_client.mechanisms.registry import QUERY_TYPES

__all__ = ["EXAMPLE_QUERY", "Query"]

EXAMPLE_QUERY = {
    "mechanism": "laplace",
    "low": 6.0,
    "high": 6.25,
    "levels": 1,
    "epsilon": 1,
    "transform": "log",
}

_KEYWORDS = {
    "minimum": "ge",
    "maximum": "le",
    "exclusiveMinimum": "gt",
    "minItems": "min_length",
    "maxItems": "max_length",
    "description": "description",
}
"""Pydantic's names for the keywords of JSON Schema."""


def _type(schema: Schema) -> Any:
    if "enum" in schema:
        return Literal[tuple(schema["enum"])]
    if schema["type"] == "array":
        return GenericAlias(list, _type(schema["items"]))
    if schema["type"] == "object":
        return dict[str, Any]
    return {"integer": int, "number": float}.get(str(schema["type"]), int | float)


def _field(schema: Schema) -> Any:
    return _type(schema), Field(**{_KEYWORDS[name]: value for name, value in schema.items() if name in _KEYWORDS})


_MODELS: tuple[type[BaseModel], ...] = tuple(
    create_model(
        f"{kind.__name__}Query", __doc__=kind.asks, **{name: _field(schema) for name, schema in kind.schema().items()}
    )
    for kind in QUERY_TYPES.values()
)

if TYPE_CHECKING:
    Query: TypeAlias = BaseModel
else:
    Query = reduce(or_, _MODELS)
