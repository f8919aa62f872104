"""A collection's learner as its owner uses it, with groups, periods or neither: its count tables, by these."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from dither_client import Query
from dither_estimator.learning.any_learner import AnyLearner
from dither_estimator.learning.grouped_learner import GroupedLearner
from dither_estimator.learning.period_learner import PeriodLearner
from dither_estimator.likelihood.counts import Counts, counts_beyond

__all__ = ["Tables", "learn", "learnt", "missing_from"]

Tables = Mapping[str | None, Counts]
"""A count table for each group or period by its label, or one for None where there are neither."""


def learnt(learner: AnyLearner) -> Tables:
    """Every answer that was learnt."""
    if isinstance(learner, GroupedLearner):
        return dict(learner.group_counts.items())
    if isinstance(learner, PeriodLearner):
        return dict(learner.period_counts.items())
    return {None: learner.counts}


def learn(learner: AnyLearner, tables: Tables) -> None:
    """Learns further answers."""
    labelled = {label: table for label, table in tables.items() if label is not None}
    if isinstance(learner, GroupedLearner):
        learner.learn_group_counts(labelled)
    elif isinstance(learner, PeriodLearner):
        learner.learn_period_counts(labelled)
    elif None in tables:
        learner.learn_counts(tables[None])


def missing_from(learnt: Tables, stored: Tables) -> dict[str | None, dict[Query, npt.NDArray[np.int64]]] | None:
    """The counts that are stored beyond those learnt, without empty tables; None if fewer are stored anywhere."""
    found: dict[str | None, dict[Query, npt.NDArray[np.int64]]] = {}
    for label in {**learnt, **stored}:
        more = counts_beyond(stored.get(label, {}), learnt.get(label, {}))
        if more is None:
            return None
        if more:
            found[label] = more
    return found
