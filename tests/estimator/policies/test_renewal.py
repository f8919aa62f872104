"""When pools are renewed: rarely where answers tell little or are many, at every answer where each tells much."""

from fractions import Fraction

import pytest

from dither_estimator.policies.pool_size import answers_until_renewal


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
