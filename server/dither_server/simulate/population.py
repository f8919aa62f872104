"""Who is asked: values drawn from a member of a family, or taken from a column of a data file."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from dither_client import InvalidTable, Transform
from dither_client.tables.values import read_column
from dither_estimator.families import Family, FloatArray
from dither_server.simulate.best_fit import nearest_member

__all__ = ["InvalidPopulation", "Population", "draw_population", "parse_truth", "read_population"]


_SUPPORTS = {
    "real": "a finite number",
    "positive": "a finite number above 0",
    "unit": "above 0 and below 1",
}


class InvalidPopulation(ValueError):
    """A truth or a data file that makes no population; the text never repeats a cell of the file."""


@dataclass(frozen=True)
class Population:
    """`values`: in their own units, in the order in which they are asked, shape (n,).

    `truth`: the parameters on the transformed scale. Of a data file they are, for `normal`, the mean and standard
    deviation of its values there, and for any other family those of the member nearest to them.
    """

    values: FloatArray = field(repr=False)
    truth: Mapping[str, float]


def parse_truth(text: str, family: Family) -> dict[str, float]:
    """The parameters that a text such as `mu=50,sigma=3.16` gives. Raises `InvalidPopulation`."""
    form = ",".join(f"{name}=NUMBER" for name in family.names)
    pairs = [part.partition("=") for part in text.split(",")]
    given = {name.strip(): number for name, _, number in pairs}
    if len(pairs) != len(given) or set(given) != set(family.names):
        raise InvalidPopulation(f"the truth of the family {family.name} must be {form}")
    try:
        truth = {name: float(given[name]) for name in family.names}
    except ValueError:
        raise InvalidPopulation(f"the truth must be {form}, with a number for each") from None
    for parameter in family.parameters:
        low, high = parameter.limits
        if not low < truth[parameter.name] < high:
            raise InvalidPopulation(f"the truth of {parameter.name} must be {_SUPPORTS[parameter.support]}")
    return truth


def draw_population(
    rng: np.random.Generator, family: Family, truth: Mapping[str, float], transform: Transform, size: int
) -> Population:
    """`size` independent draws from the member `truth`. Raises `InvalidPopulation` if they have no finite values."""
    values = family.sample(rng, np.array([truth[name] for name in family.names]), size)
    if transform == "log":
        with np.errstate(over="ignore"):
            values = np.exp(values)
    if not np.isfinite(values).all():
        raise InvalidPopulation("the truth is too large: with transform log the values themselves must be finite")
    return Population(values, dict(truth))


def read_population(
    rng: np.random.Generator, path: Path, column: str, family: Family, transform: Transform, size: int | None
) -> Population:
    """`size` of the values in a column of a CSV or Parquet file, in random order; all of them unless it is given.

    Raises `InvalidPopulation`, `MissingExtra`.
    """
    try:
        values = np.array(read_column(path, column))
    except InvalidTable as error:
        raise InvalidPopulation(str(error)) from None
    if size is not None and size > len(values):
        raise InvalidPopulation(f"{path.name} has {len(values):,} values, so at most as many respondents")
    truth = _sample_truth(path, family, values, transform)
    return Population(rng.permutation(values)[:size], truth)


def _sample_truth(path: Path, family: Family, values: FloatArray, transform: Transform) -> dict[str, float]:
    if transform == "log":
        if values.min() <= 0:
            raise InvalidPopulation(f"{path.name} has values at or below 0, which the transform log cannot take")
        values = np.log(values)
    if family.name == "normal":
        return {"mu": float(values.mean()), "sigma": float(values.std())}
    member = nearest_member(family, values)
    if member is None:
        raise InvalidPopulation(f"{path.name} has values that no member of the family {family.name} can have")
    return member
