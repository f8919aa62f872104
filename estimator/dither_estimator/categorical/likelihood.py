"""The exact likelihood of shares, given how often each group of categories was the answer."""

from dataclasses import dataclass

import numpy as np

from dither_client import Query
from dither_estimator.families import FloatArray
from dither_estimator.likelihood.counts import Counts

__all__ = ["SharesLikelihood", "answer_chances"]


@dataclass(frozen=True)
class SharesLikelihood:
    """`Σ times · log(chances @ shares)`: one term for each answer that somebody gave."""

    chances: FloatArray
    """The chance of each answer in each category, shape (answers, categories)."""
    times: FloatArray
    """How often each answer was given, shape (answers,)."""

    @classmethod
    def of(cls, counts: Counts, categories: int) -> "SharesLikelihood":
        """The likelihood of a count table. Raises `ValueError` for a question about anything else."""
        chances, times = [np.empty((0, categories))], [np.empty(0)]
        for query, row in counts.items():
            if len(query.labels) != categories:
                raise ValueError(f"every question must be about groups of the {categories} categories")
            given = row > 0
            chances.append(answer_chances(query)[given])
            times.append(row[given].astype(float))
        return cls(np.concatenate(chances), np.concatenate(times))

    def information(self, shares: FloatArray) -> FloatArray:
        """Minus its second derivative at shares (…, categories), shape (…, categories, categories)."""
        weights = self.times / (shares @ self.chances.T) ** 2
        return np.asarray((self.chances.T * weights[..., np.newaxis, :]) @ self.chances)


def answer_chances(query: Query) -> FloatArray:
    """`P(answer | category)`, shape (answers, categories)."""
    return np.array(query.channel()).T
