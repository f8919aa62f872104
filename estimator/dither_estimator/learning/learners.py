"""The learner that a specification asks for."""

import numpy as np

from dither_estimator.learning.categorical_learner import CategoricalLearner
from dither_estimator.learning.count_learner import CountLearner
from dither_estimator.learning.joint_learner import JointLearner
from dither_estimator.learning.learner import Learner
from dither_estimator.learning.nonparametric_learner import NonparametricLearner
from dither_estimator.specification.specification import Specification

__all__ = ["new_learner", "restore_learner"]


def new_learner(specification: Specification, seed: int | np.random.SeedSequence, outstanding: int = 1) -> CountLearner:
    """A learner without answers; the arguments are those of `CountLearner`.

    With groups, it is a `GroupedLearner` that learns, and with periods a `PeriodLearner`. Raises `ValueError` for such
    a specification.
    """
    return _kind(specification)(specification, seed, outstanding=outstanding)


def restore_learner(specification: Specification, snapshot: bytes) -> CountLearner:
    """The learner that wrote the snapshot. Raises `InvalidSnapshot`."""
    return _kind(specification).restore(specification, snapshot)


def _kind(specification: Specification) -> type[Learner | NonparametricLearner | CategoricalLearner | JointLearner]:
    if specification.groups is not None:
        raise ValueError("a collection with groups has a learner of its own, GroupedLearner")
    if specification.period is not None:
        raise ValueError("a collection with periods has a learner of its own, PeriodLearner")
    if specification.components:
        return JointLearner
    if specification.categories:
        return CategoricalLearner
    return NonparametricLearner if specification.nonparametric else Learner
