"""Groups that are estimated alone are said to have few answers while these are too few for the whole population."""

import pytest

from dither_client.posterior.particles import Particles
from dither_client.posterior.posterior import Posterior
from dither_client.posterior.sentences import few_answers_sentence
from dither_client.posterior.wire import GroupReply, ParameterSummary

SHARE = ParameterSummary(0.1, 0.01, 0.08, 0.09, 0.1, 0.11, 0.12)


def posterior(*answers: int, atoms: bool = False, borrowed: dict[str, float] | None = None) -> Posterior:
    groups = {
        f"g{number}": GroupReply(answers=each, posterior={}, covariance=(), borrowed=borrowed)
        for number, each in enumerate(answers)
    }
    return Posterior(
        "x", {}, [], sum(answers), 1.0, None, "", lambda: Particles((), (), ()), groups=groups,
        atoms={0.0: SHARE} if atoms else {}, terms={"family": "nonparametric", "groups": {"name": "region"}},
    )  # fmt: skip


def test_so_many_answers_of_each_group_are_enough() -> None:
    assert "lowest and highest values are told as more certain than" in few_answers_sentence(posterior(499, 500), False)
    assert few_answers_sentence(posterior(500, 500), False) == ""
    few = few_answers_sentence(posterior(4_999, 5_000, atoms=True), False)
    assert "lowest and highest values, and shares of declared values, are told" in few
    assert few_answers_sentence(posterior(5_000, 5_000, atoms=True), False) == ""


@pytest.mark.parametrize(
    "one", [posterior(), posterior(10), posterior(10, 0), posterior(10, 10, borrowed={"mu": 0.5, "log sigma": 0.5})]
)
def test_nothing_is_said_of_one_group_or_of_groups_that_borrow(one: Posterior) -> None:
    assert few_answers_sentence(one, False) == ""


def test_groups_without_answers_count_by_declared_shares() -> None:
    assert few_answers_sentence(posterior(600, 0), False) == ""
    assert few_answers_sentence(posterior(600, 0), True)


def test_what_a_posterior_rests_on_says_it() -> None:
    assert posterior(10, 10).basis.endswith("number of answers. " + few_answers_sentence(posterior(10, 10), False))
    assert posterior(10, 10).basis in posterior(10, 10).text()
