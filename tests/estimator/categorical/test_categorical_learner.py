"""Collections of categories: what a specification may say, what is asked, learnt, kept and read back."""

import json
from typing import Any

import numpy as np
import pytest

from dither_client import GroupedRandomizedResponse
from dither_estimator.learning.categorical_learner import CategoricalLearner
from dither_estimator.learning.learners import new_learner, restore_learner
from dither_estimator.learning.snapshot import InvalidSnapshot
from dither_estimator.specification.specification import Specification, SpecificationError

NAMES = ["never", "monthly", "weekly", "daily"]
SHARES = np.array([0.5, 0.3, 0.15, 0.05])


def specification(**fields: Any) -> Specification:
    return Specification.from_json(
        {"family": "categorical", "categories": NAMES, "epsilon": 2, "particles": 400} | fields
    )


@pytest.fixture(scope="module")
def learner() -> CategoricalLearner:
    """It has learnt 2,000 answers, of which each of 64 is asked before the first of them is learnt."""
    found = new_learner(specification(), 1, outstanding=64)
    assert isinstance(found, CategoricalLearner)
    rng = np.random.default_rng(2)
    for start in range(0, 2_000, 64):
        size = min(64, 2_000 - start)
        queries = [found.ask() for _ in range(size)]
        for query, category in zip(queries, rng.choice(4, size, p=SHARES), strict=True):
            found.learn(query, int(rng.choice(query.n_answers, p=query.channel()[category])))
    return found


def test_it_learns_the_shares(learner: CategoricalLearner) -> None:
    """Within five posterior sds of the truth: four false alarms in a million, had the seeds not been fixed."""
    reply = learner.posterior().to_json()
    assert (reply["posterior"], reply["covariance"], reply["log_evidence"]) == ({}, [], None)
    assert list(reply["categories"]) == NAMES
    for share, summary in zip(SHARES, reply["categories"].values(), strict=True):
        assert abs(summary["mean"] - share) < 5 * summary["sd"]
        assert 0 < summary["sd"] < 0.04
        assert summary["q05"] < summary["q50"] < summary["q95"]
    assert not {"quantiles", "distribution", "atoms"} & reply.keys()
    assert learner.particle_names == tuple(NAMES)
    values, weights = learner.particles()
    assert values.shape == (400, 4)
    assert weights.sum() == pytest.approx(1)


def test_it_keeps_up_with_few_questions_and_few_estimates(learner: CategoricalLearner) -> None:
    assert len(learner.counts) < 15, "there are 14 divisions of four categories"
    assert learner.moves < 30
    assert all(isinstance(query, GroupedRandomizedResponse) for query in learner.counts)


def test_what_is_kept_is_read_back(learner: CategoricalLearner) -> None:
    again = restore_learner(learner.specification, learner.snapshot())
    assert again.counts.keys() == learner.counts.keys()
    assert again.posterior().to_json() == learner.posterior().to_json() | {"moves": again.moves}
    with pytest.raises(InvalidSnapshot):
        restore_learner(learner.specification, b"nothing")


def test_every_epsilon_has_questions_of_its_own() -> None:
    learner = new_learner(specification(epsilon_choices=[0.5, 2]), 1)
    for epsilon in learner.specification.epsilon_choices:
        assert {query.epsilon for query in learner.pool(32, epsilon)} == {epsilon}


def test_two_categories_have_one_question_for_ever() -> None:
    learner = new_learner(specification(categories=["no", "yes"]), 1)
    assert {query.to_json()["groups"] == [[0], [1]] for query in learner.pool(8)} == {True}
    assert learner.renew_at == np.inf


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"categories": None}, "categories must be a list of 2 to 64 texts"),
        ({"categories": ["a"]}, "2 to 64 texts"),
        ({"categories": [str(i) for i in range(65)]}, "2 to 64 texts"),
        ({"categories": ["a", "a"]}, "all be different"),
        ({"categories": ["a", " b"]}, "without blanks around it"),
        ({"categories": ["a", "b\n"]}, "printable text"),
        ({"mechanism": "all"}, "mechanism must be grouped_randomized_response for categories, or be left out"),
        ({"categories": ["a", ""]}, "printable text"),
        ({"categories": ["a", 7]}, "printable text"),
        ({"categories": ["a", "b" * 101]}, "at most 100 characters"),
        ({"range": [0, 1]}, "range cannot go with categories"),
        ({"atoms": [0]}, "atoms cannot go with categories"),
        ({"misfit_check": True}, "misfit_check cannot go with categories"),
        ({"levels": 3}, "levels cannot go with categories"),
        ({"mechanism": "laplace"}, "mechanism must be grouped_randomized_response"),
        ({"transform": "log"}, "transform must be identity"),
        ({"policy": "thompson"}, "policy must be adaptive"),
        ({"goal": "mu"}, "goal must be categories"),
        ({"epsilon": 0}, "epsilon must be"),
        ({"family": "normal"}, "categories need the family categorical"),
    ],
)
def test_what_is_refused(fields: dict[str, Any], reason: str) -> None:
    with pytest.raises(SpecificationError, match=reason):
        specification(**fields)


def test_the_posterior_is_json() -> None:
    json.dumps(new_learner(specification(), 1).posterior().to_json(), allow_nan=False)
