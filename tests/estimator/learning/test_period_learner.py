"""The learner of a collection with periods: what it learns, and what it refuses."""

import pytest

from dither_client import Laplace
from dither_estimator.learning.period_learner import PeriodLearner
from dither_estimator.specification.fields import SpecificationError
from dither_estimator.specification.specification import Specification

QUESTION = Laplace(40, 60, 1, 1)


@pytest.fixture(params=[True, False])
def learner(request: pytest.FixtureRequest) -> PeriodLearner:
    fields = {"family": "normal", "epsilon": 1, "range": [0, 100], "particles": 100, "period": "day"}
    return PeriodLearner(Specification.from_json(fields | {"drift": request.param}), 1)


def test_an_answer_of_another_decade_is_refused_and_not_learnt(learner: PeriodLearner) -> None:
    """One by one or in a table, whether or not the answers before have been looked at."""
    learner.learn(QUESTION, 0, "2026-02-14")
    for _ in range(2):
        with pytest.raises(SpecificationError, match="at most 1,500 days"):
            learner.learn(QUESTION, 0, "2016-02-14")
        with pytest.raises(SpecificationError, match="at most 1,500 days"):
            learner.learn_period_counts({"2016-02-14": {QUESTION: [1, 0]}})
        assert learner.answers == 1
        assert [*learner.period_counts] == ["2026-02-14"]
    learner.learn(QUESTION, 1, "2026-02-12")
    over_time = learner.posterior().over_time
    assert over_time is not None
    assert over_time().labels == ("2026-02-12", "2026-02-13", "2026-02-14")


def test_what_is_no_period_is_refused(learner: PeriodLearner) -> None:
    with pytest.raises(SpecificationError, match="each period must be a day"):
        learner.learn(QUESTION, 0, "2026-W02")
    assert learner.answers == 0
