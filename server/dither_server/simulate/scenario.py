"""The specification of a simulation's collection, from options or a file, validated before anything runs."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from dither_client.commands._shared import read_object
from dither_estimator.specification.contradictions import new_specification
from dither_estimator.specification.specification import EXACT_FIELDS, Specification

__all__ = ["PAPER_PRIOR", "plain_object", "read_prior", "read_spec", "spec_from_options"]

PAPER_PRIOR: Mapping[str, Any] = {
    "mu": {"dist": "norm", "loc": 0, "scale": 100},
    "sigma": {"dist": "invgamma", "a": 1, "scale": 1, "of": "variance"},
}
"""`mu ~ N(0, 10^4)`, `sigma^2 ~ IG(1, 1)`."""

_NAME = "Simulation"


def spec_from_options(options: Mapping[str, Any]) -> tuple[dict[str, Any], Specification]:
    """The specification with the fields `options`, without those that are None. Raises `SpecificationError`."""
    return _checked({field: value for field, value in options.items() if value is not None})


def read_spec(file: str) -> tuple[dict[str, Any], Specification]:
    """The specification in a JSON file. Raises `SpecificationError`, `ValueError` and `OSError`."""
    return _checked(plain_object(file))


def read_prior(text: str) -> Mapping[str, Any]:
    """The prior that `paper` or the path of a JSON file names. Raises `ValueError` and `OSError`."""
    return PAPER_PRIOR if text == "paper" else plain_object(text)


def _checked(spec: dict[str, Any]) -> tuple[dict[str, Any], Specification]:
    specification = new_specification(spec)
    return {"name": _NAME, **spec}, specification


def plain_object(file: str) -> dict[str, Any]:
    """The JSON object in a file, whose numbers are floats, but for exact ones. Raises `ValueError` and `OSError`."""
    return {field: _plain(field, value) for field, value in read_object(file).items()}


def _plain(field: str, value: Any) -> Any:
    """Converts JSON read with exact decimals to JSON that can be written: ε and ρ as text, other numbers as floats."""
    if isinstance(value, Decimal):
        return str(value) if field in EXACT_FIELDS else float(value)
    if isinstance(value, dict):
        return {key: _plain(key, part) for key, part in value.items()}
    if isinstance(value, list):
        return [_plain(field, part) for part in value]
    return value
