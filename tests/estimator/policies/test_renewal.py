"""How large pools are, and when they are renewed.

They are renewed rarely where answers tell little or are many, and at every answer where each tells much.
"""

from fractions import Fraction

import numpy as np
import pytest

from dither_estimator.learning.learner import Learner
from dither_estimator.policies.pool_size import answers_until_renewal, pool_size
from dither_estimator.specification.specification import Specification
from dither_server.simulate.in_process import simulate_in_process


@pytest.mark.parametrize(
    ("answers", "epsilon", "due"),
    [(0, "1", 3), (0, "10", 1), (0, "0.1", 240), (100, "1", 12), (1_000, "0.1", 240), (10_000, "1", 2_500)],
)
def test_a_pool_serves_so_many_answers(answers: int, epsilon: str, due: int) -> None:
    assert answers_until_renewal(answers, Fraction(epsilon)) == due


@pytest.mark.parametrize("epsilon", ["0.000001", "0.01", "1", "20", "100"])
def test_it_never_serves_fewer_as_answers_grow(epsilon: str) -> None:
    served = [answers_until_renewal(10**k, Fraction(epsilon)) for k in range(9)]
    assert served == sorted(served)
    assert served[0] >= 1
    assert served[-1] < 10**14


@pytest.mark.parametrize(
    ("answers", "outstanding", "size"),
    [(0, 1, 1), (0, 256, 64), (1, 256, 32), (1_535, 256, 32), (1_536, 256, 16), (96, 16, 16)],
)
def test_a_pool_has_so_many_questions(answers: int, outstanding: int, size: int) -> None:
    assert pool_size(answers, outstanding) == size


def test_many_at_a_time_come_near_people_who_lie_far_within_the_prior() -> None:
    """2,000 of N(0, 1) are asked at ε = 2, 256 at a time, under the default prior, whose mu has a scale of 100,000.

    The design promises errors of 0.05 and 0.06; those of six seeds are 0.11 and 0.07, and with pools of 16 questions
    after the first 1.4 and 4.2.
    """
    errors = []
    for seed in range(6):
        learner = Learner(Specification.from_json({"family": "normal", "epsilon": 2}), seed, outstanding=256)
        values = np.random.default_rng([seed, 5]).standard_normal(2_000)
        noise = np.random.default_rng([seed, 6])
        found = simulate_in_process(learner, values, None, noise, outstanding=256).posterior.posterior
        errors.append([found["mu"].mean, found["sigma"].mean - 1])
    assert (np.sqrt(np.mean(np.square(errors), axis=0)) < 0.4).all()
