"""The population that is asked: values drawn from a member of a family, or taken from a column of a data file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from dither_client import InvalidTable, Transform
from dither_client.mechanisms.bounds import Bounds
from dither_client.tables.values import read_values
from dither_estimator.families import Family, FloatArray
from dither_estimator.learning.description import QUANTILE_LEVELS
from dither_server.simulate.best_fit import nearest_member

__all__ = [
    "InvalidPopulation",
    "Population",
    "check_bounds",
    "described",
    "draw_categories",
    "draw_population",
    "parse_shares",
    "parse_truth",
    "quantiles_of",
    "read_population",
    "shares_of",
]


_SUPPORTS = {
    "real": "a finite number",
    "positive": "a finite number above 0",
    "unit": "above 0 and below 1",
}


class InvalidPopulation(ValueError):
    """A truth or a data file that does not give a population; the message never repeats a cell of the file."""


@dataclass(frozen=True)
class Population:
    """`values`: in their own units, in the order in which they are asked, shape (n,).

    `truth`: the parameters on the transformed scale. For a data file, they are the mean and standard deviation of the
    transformed values if the family is `normal`, and otherwise the parameters of the member nearest to those values.
    Without a family, they are quantiles of the values, by level. Of categories, values are their numbers, and the
    truth is the share of each.
    """

    values: FloatArray = field(repr=False)
    truth: Mapping[str, float]


def parse_truth(text: str, family: Family, chosen: bool = True) -> dict[str, float]:
    """The parameters in a text such as `mu=50,sigma=3.16`. Raises `InvalidPopulation`.

    `chosen` says whether the family is one that `--family` may change.
    """
    form = ",".join(f"{name}=NUMBER" for name in family.names)
    pairs = [part.partition("=") for part in text.split(",")]
    given = {name.strip(): number for name, _, number in pairs}
    if len(pairs) != len(given) or set(given) != set(family.names):
        other = ", or --family must name another family" if chosen else ""
        raise InvalidPopulation(f"the truth of the family {family.name} must be {form}{other}")
    try:
        truth = {name: float(given[name]) for name in family.names}
    except ValueError:
        raise InvalidPopulation(f"the truth must be {form}, with a number for each") from None
    for parameter in family.parameters:
        low, high = parameter.limits
        if not low < truth[parameter.name] < high:
            raise InvalidPopulation(f"the truth of {parameter.name} must be {_SUPPORTS[parameter.support]}")
    return truth


def parse_shares(text: str | None, categories: Sequence[str]) -> FloatArray:
    """The shares in a text such as `never=0.6,daily=0.4`, made to sum to 1; without one, the k-th is 1/k of the first.

    Raises `InvalidPopulation`.
    """
    if text is None:
        shares = 1 / np.arange(1.0, len(categories) + 1)
        return np.asarray(shares / shares.sum())
    pairs = [part.rpartition("=") for part in text.split(",")]
    given = {name.strip(): number for name, _, number in pairs}
    wrong = InvalidPopulation("the truth must give each category a share, such as never=0.6,daily=0.4")
    if len(pairs) != len(given) or set(given) != set(categories):
        raise wrong
    try:
        shares = np.array([float(given[name]) for name in categories])
    except ValueError:
        raise wrong from None
    if not (np.isfinite(shares).all() and (shares >= 0).all() and np.isfinite(shares.sum()) and shares.sum() > 0):
        raise wrong
    return np.asarray(shares / shares.sum())


def draw_categories(rng: np.random.Generator, categories: Sequence[str], shares: FloatArray, size: int) -> Population:
    """`size` people whose categories are drawn with these chances (categories,)."""
    values = rng.choice(len(categories), size, p=shares).astype(float)
    return Population(values, shares_of(values, categories))


def shares_of(values: FloatArray, categories: Sequence[str]) -> dict[str, float]:
    """The share of each category among people with these numbers of categories; nobody has any."""
    found = np.bincount(values.astype(int), minlength=len(categories)) / max(len(values), 1)
    return dict(zip(categories, found.tolist(), strict=True))


def check_bounds(values: FloatArray, bounds: Bounds) -> None:
    """Raises `InvalidPopulation` if a value lies outside the collection's bounds: a device would refuse it."""
    low = -np.inf if bounds.minimum is None else bounds.minimum
    high = np.inf if bounds.maximum is None else bounds.maximum
    outside = int(((values < low) | (values > high)).sum())
    if outside:
        raise InvalidPopulation(
            f"{outside:,} of the {len(values):,} values lie outside the collection's bounds, and devices would "
            f"refuse them: values must be {bounds}"
        )


def quantiles_of(values: FloatArray) -> dict[str, float]:
    """The quantiles of values that every posterior gives, by level."""
    found = np.quantile(values, QUANTILE_LEVELS, method="inverted_cdf").tolist()
    return {f"{level:g}": value for level, value in zip(QUANTILE_LEVELS, found, strict=True)}


def described(values: FloatArray) -> dict[str, float]:
    """The quantiles of values, by level, and their mean."""
    return {**quantiles_of(values), "mean_value": float(values.mean())}


def draw_population(
    rng: np.random.Generator,
    family: Family,
    truth: Mapping[str, float],
    transform: Transform,
    size: int,
    decimals: int | None = None,
) -> Population:
    """`size` independent draws from the member `truth`, rounded to so many decimals; None for all that they have.

    Raises `InvalidPopulation` if they have no finite values.
    """
    values = family.sample(rng, np.array([truth[name] for name in family.names]), size)
    if transform == "log":
        with np.errstate(over="ignore"):
            values = np.exp(values)
    if not np.isfinite(values).all():
        where = "with transform log the values themselves" if transform == "log" else "values"
        raise InvalidPopulation(f"the truth has values that are too large: {where} must be finite")
    return Population(values if decimals is None else values.round(decimals), dict(truth))


def read_population(
    rng: np.random.Generator, path: Path, column: str | None, family: Family, transform: Transform, size: int | None
) -> Population:
    """`size` values from a file, or a column of it, by default all of them, in random order.

    Raises `InvalidPopulation`, `MissingExtra`.
    """
    try:
        values = np.array(read_values(path, column))
    except InvalidTable as error:
        raise InvalidPopulation(str(error)) from None
    if size is not None and size > len(values):
        many = f"{len(values):,} value{'' if len(values) == 1 else 's'}"
        raise InvalidPopulation(f"{path.name} has {many}: there cannot be more respondents")
    truth = _sample_truth(path, family, values, transform)
    return Population(rng.permutation(values)[:size], truth)


def _sample_truth(path: Path, family: Family, values: FloatArray, transform: Transform) -> dict[str, float]:
    if transform == "log":
        if values.min() <= 0:
            raise InvalidPopulation(f"{path.name} has values at or below 0, which the transform log cannot take")
        values = np.log(values)
    if not family.parameters:
        return quantiles_of(values)
    if (fitted := family.fitted(values)) is not None:
        return dict(zip(family.names, fitted.tolist(), strict=True))
    member = nearest_member(family, values)
    if member is None:
        raise InvalidPopulation(f"{path.name} has values that no member of the family {family.name} can have")
    return member
