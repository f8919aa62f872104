"""What tests by simulation-based calibration share (Talts et al. 2018)."""

from collections.abc import Sequence

import pytest
from scipy import stats

from dither_estimator.families import Family, FloatArray
from dither_estimator.hierarchy.group_likelihood import GroupLikelihood
from dither_estimator.likelihood.counts import Counts

__all__ = ["count_nine_times", "least_p_value"]


def least_p_value(ranks: FloatArray) -> float:
    """The least p-value of uniform ranks (runs, numbers), each between 0 and 1."""
    return min(float(stats.kstest(column, "uniform").pvalue) for column in ranks.T)


def count_nine_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """Breaks the likelihood of groups: every answer counts nine times, so that a posterior is a third as wide."""

    def repeated(cls: type[GroupLikelihood], family: Family, tables: Sequence[Counts]) -> GroupLikelihood:
        return exact(family, [{query: 9 * row for query, row in table.items()} for table in tables])

    exact = GroupLikelihood.of
    monkeypatch.setattr(GroupLikelihood, "of", classmethod(repeated))
