"""The learner of any collection: of groups, of periods, or of neither."""

import numpy as np

from dither_estimator.learning.count_learner import CountLearner
from dither_estimator.learning.grouped_learner import GroupedLearner
from dither_estimator.learning.learners import new_learner, restore_learner
from dither_estimator.learning.period_learner import PeriodLearner
from dither_estimator.specification.specification import Specification

__all__ = ["AnyLearner", "any_learner", "restore_any_learner"]

AnyLearner = CountLearner | GroupedLearner | PeriodLearner


def any_learner(specification: Specification, seed: int | np.random.SeedSequence, outstanding: int = 1) -> AnyLearner:
    """The learner that the specification asks for, without answers; the arguments are those of `CountLearner`."""
    if specification.groups is not None:
        return GroupedLearner(specification, seed, outstanding)
    if specification.period is not None:
        return PeriodLearner(specification, seed, outstanding)
    return new_learner(specification, seed, outstanding)


def restore_any_learner(specification: Specification, snapshot: bytes) -> AnyLearner:
    """The learner that wrote the snapshot. Raises `InvalidSnapshot`."""
    if specification.groups is not None:
        return GroupedLearner.restore(specification, snapshot)
    if specification.period is not None:
        return PeriodLearner.restore(specification, snapshot)
    return restore_learner(specification, snapshot)
