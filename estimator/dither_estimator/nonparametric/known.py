"""A population whose distribution is known, for designs and benchmarks."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dither_client import Query, Transform
from dither_estimator.families import Family, FloatArray
from dither_estimator.likelihood.counts import Counts
from dither_estimator.nonparametric.support import ANYWHERE, Support

__all__ = ["KnownPopulation"]

_LEVELS = np.arange(1, 500) / 500
_OUTSIDE = 1e-9


@dataclass(frozen=True, eq=False)
class KnownPopulation:
    """A distribution of values, in their own units."""

    cdf: Callable[[FloatArray], FloatArray]
    """The share of the population at or below each of the values (k,)."""
    points: FloatArray
    """Quantiles that cover the population, increasing, shape (n,)."""
    support: Support = ANYWHERE

    def __post_init__(self) -> None:
        """Raises `ValueError` if somebody is outside the support."""
        low, high = self.support.minimum, self.support.maximum
        below = 0.0 if low is None else self.cdf(np.array([math.nextafter(low, -math.inf)]))[0]
        above = 0.0 if high is None else 1 - self.cdf(np.array([high]))[0]
        if max(below, above) > _OUTSIDE:
            raise ValueError("the population has values outside minimum and maximum: they must hold all of them")

    @classmethod
    def of_values(cls, values: FloatArray, support: Support = ANYWHERE) -> "KnownPopulation":
        """The population of these values (n,)."""
        ordered = np.sort(values)
        points = np.unique(np.quantile(ordered, _LEVELS, method="inverted_cdf"))
        return cls(lambda x: np.searchsorted(ordered, x, side="right") / len(ordered), points, support)

    @classmethod
    def of_member(
        cls, family: Family, theta: FloatArray, transform: Transform, support: Support = ANYWHERE
    ) -> "KnownPopulation":
        """The population of the member `theta` (d,) of a family that holds on the transformed scale.

        Its values are rounded where those of the support are.
        """
        row = theta[np.newaxis]

        def cdf(x: FloatArray) -> FloatArray:
            x = support.smooth(x)
            if transform == "identity":
                return family.cdf(row, x)[0]
            below = family.cdf(row, np.log(np.where(x > 0, x, 1.0)))[0]
            return np.where(x > 0, below, 0.0)

        points = np.unique(family.quantiles(row, _LEVELS)[0])
        return cls(cdf, np.exp(points) if transform == "log" else points, support)

    def chances(self, query: Query) -> FloatArray:
        """The probability of each answer to a query, shape (answers,)."""
        shares = np.diff(self.cdf(np.array(query.edges)), prepend=0.0, append=1.0)
        return np.asarray(shares @ np.array(query.channel()))

    def expected(self, queries: Sequence[Query], respondents: int) -> Counts:
        """The counts of so many people's answers, asked equally often, if each answer comes as often as is expected."""
        share = respondents / len(queries)
        return {query: np.rint(share * self.chances(query)).astype(int) for query in queries}
