"""What is asked where no design can be found."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from populations import interview

from dither_estimator.design.design import DesignError
from dither_estimator.families import FloatArray
from dither_estimator.learning.learner import Learner
from dither_estimator.policies import policy
from dither_estimator.specification.specification import Specification


def test_shares_without_a_design_get_the_first_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A learner that raised would never ask again, while answers to its old questions go on being stored."""
    spec = Specification.from_json({"family": "normal", "epsilon": 1, "range": [0, 100], "goal": {"above": [60]}})
    learner, rng, designed = Learner(spec, 1), np.random.default_rng(1), policy._designed

    def fails(spec: Specification, home: FloatArray, epsilon: Fraction, below: FloatArray) -> Any:
        if np.array_equal(below, spec.shares_below):
            return designed(spec, home, epsilon, below)
        raise DesignError("no design")

    monkeypatch.setattr(policy, "_designed", fails)
    interview(learner, rng.normal(50, 10, 200), rng)
    assert learner.answers == 200
    _, queries, weights = policy._questions(spec, learner.system, spec.epsilon)
    first, _ = designed(spec, spec.family.standard, spec.epsilon, spec.shares_below)
    assert queries == first
    assert weights.sum() == pytest.approx(1)
