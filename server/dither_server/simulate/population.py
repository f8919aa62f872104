"""Who is asked: values drawn from a member of a family, or taken from a column of a data file."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dither_client import Transform
from dither_client.extras import require_extra
from dither_client.files import file_trouble
from dither_estimator.families import Family, FloatArray
from dither_server.simulate.best_fit import nearest_member

if TYPE_CHECKING:
    from pandas import Series

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
    values = _read_column(path, column)
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


def _read_column(path: Path, column: str) -> FloatArray:
    ending = path.suffix.lower()
    if ending not in (".csv", ".parquet"):
        raise InvalidPopulation(f"{path.name} must end in .csv or .parquet")
    require_extra("tables", "pandas", "pyarrow")
    read = _read_csv if ending == ".csv" else _read_parquet
    try:
        # The file's own errors quote what they stumbled on, so none of them is passed on.
        cells = read(path, column)
    except InvalidPopulation:
        raise
    except OSError as error:
        raise InvalidPopulation(file_trouble(error)) from None
    except Exception:
        kind = "CSV file in UTF-8" if ending == ".csv" else "Parquet file"
        raise InvalidPopulation(f"{path.name} is not a {kind}") from None
    return _numbers(path, column, cells)


def _read_csv(path: Path, column: str) -> "Series[Any]":
    import pandas

    # Blank lines are kept, or a column with blanks would pass for a shorter one without. All columns are read and
    # warnings are errors, or rows with too many cells would pass.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frame = pandas.read_csv(
            path, dtype=str, keep_default_na=False, skip_blank_lines=False, index_col=False, encoding="utf-8-sig"
        )
    _check_column(path, column, list(frame.columns))
    return frame[column].str.strip()


def _read_parquet(path: Path, column: str) -> "Series[Any]":
    import pandas
    from pyarrow import parquet

    with path.open("rb") as file:
        _check_column(path, column, parquet.read_schema(file).names)
        file.seek(0)
        cells: Series[Any] = pandas.read_parquet(file, columns=[column])[column]
    if cells.dtype.kind not in "iuf" and not cells.isna().any():
        raise InvalidPopulation(f"the column {column} of {path.name} must hold numbers")
    return cells


def _check_column(path: Path, column: str, columns: list[str]) -> None:
    if column not in columns:
        raise InvalidPopulation(f"{path.name} has no column {column}")


def _numbers(path: Path, column: str, cells: "Series[Any]") -> FloatArray:
    import pandas

    if cells.empty:
        raise InvalidPopulation(f"{path.name} has no rows")
    numbers = pandas.to_numeric(cells, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    wrong = np.flatnonzero(~np.isfinite(numbers))
    if len(wrong):
        cell = cells.iloc[wrong[0]]
        what = "blank" if pandas.isna(cell) or cell == "" else "not a finite number"
        raise InvalidPopulation(f"row {wrong[0] + 1:,} of the column {column} of {path.name} is {what}")
    values: FloatArray = numbers
    return values
