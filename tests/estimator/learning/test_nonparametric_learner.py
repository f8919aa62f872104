"""The learner of a distribution without a family: questions from the first answer on, snapshots, summaries."""

import threading
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dither_client import Laplace, Query, RandomizedResponse
from dither_estimator.checks.averaging import average_distribution
from dither_estimator.families import FloatArray
from dither_estimator.learning.goal_questions import goal_questions
from dither_estimator.learning.learners import new_learner, restore_learner
from dither_estimator.learning.nonparametric_learner import NonparametricLearner
from dither_estimator.learning.population import DistributionPopulation
from dither_estimator.learning.snapshot import InvalidSnapshot
from dither_estimator.learning.summary import Posterior
from dither_estimator.nonparametric.questions import Templates
from dither_estimator.specification.specification import Specification

WIDE = RandomizedResponse(range(5), 2)
LEVELS = np.array([0.1, 0.25, 0.5, 0.75, 0.9])


def specification(**fields: Any) -> Specification:
    return Specification.from_json({"epsilon": 2, "particles": 300} | fields)


def interviewed(values: FloatArray, seed: int = 1, **fields: Any) -> NonparametricLearner:
    learner = new_learner(specification(**fields), seed)
    assert isinstance(learner, NonparametricLearner)
    random = Random(seed)
    for value in values.tolist():
        query = learner.ask()
        learner.learn(query, query.answer(value, random.randrange))
    return learner


@pytest.fixture(scope="module")
def learner() -> NonparametricLearner:
    """2,000 people, half of whom are N(-200, 20²), half N(300, 50²), at ε = 2 without a range."""
    rng = np.random.default_rng(3)
    return interviewed(np.where(rng.random(2_000) < 0.5, rng.normal(-200, 20, 2_000), rng.normal(300, 50, 2_000)))


def described(posterior: Posterior) -> DistributionPopulation:
    assert isinstance(posterior.population, DistributionPopulation)
    return posterior.population


def test_two_groups_far_from_0_are_found(learner: NonparametricLearner) -> None:
    """Five posterior sds, five numbers: a false alarm in about 3e-6 of seeds if the posterior is calibrated."""
    population = described(learner.posterior())
    x = np.array([-240.0, -200.0, 50.0, 300.0, 400.0])
    exact = 0.5 * stats.norm.cdf(x, -200, 20) + 0.5 * stats.norm.cdf(x, 300, 50)
    found = population.cdf(x)
    assert (np.abs(found.mean - exact) < 5 * found.sd + 0.01).all()
    assert found.sd[2] < 0.04
    misled = 0.5 * stats.norm.cdf(x, -100, 20) + 0.5 * stats.norm.cdf(x, 300, 50)
    assert not (np.abs(found.mean - misled) < 5 * found.sd + 0.01).all()


def test_the_posterior_is_that_of_the_counts_alone(learner: NonparametricLearner) -> None:
    other = new_learner(learner.specification, 99)
    other.learn_counts(dict(reversed(list(learner.counts.items()))))
    assert other.answers == learner.answers == 2_000
    ours, theirs = (described(each.posterior()).quantile(LEVELS) for each in (learner, other))
    assert (np.abs(theirs.mean - ours.mean) < 0.3 * ours.sd).all()
    again = new_learner(learner.specification, 5)
    again.learn_counts(learner.counts)
    assert (described(again.posterior()).quantile(LEVELS).values == ours.values).all()


def test_a_snapshot_goes_on_where_it_was(learner: NonparametricLearner) -> None:
    restored = restore_learner(learner.specification, learner.snapshot())
    assert restored.answers == learner.answers
    assert restored.counts.keys() == learner.counts.keys()
    assert (restored.particles()[0] == learner.particles()[0]).all()
    copy = restore_learner(learner.specification, learner.snapshot())
    assert [restored.ask() for _ in range(20)] == [copy.ask() for _ in range(20)]
    empty = new_learner(learner.specification, 1)
    assert restore_learner(learner.specification, empty.snapshot()).answers == 0


@pytest.mark.parametrize("content", [b"", b"nonsense", b"\x50\x4b\x03\x04"])
def test_a_snapshot_that_cannot_be_read_is_refused(content: bytes) -> None:
    with pytest.raises(InvalidSnapshot):
        restore_learner(specification(), content)


def test_a_snapshot_of_a_family_is_refused() -> None:
    normal = Specification.from_json({"family": "normal", "epsilon": 1, "particles": 100})
    with pytest.raises(InvalidSnapshot):
        restore_learner(specification(), new_learner(normal, 1).snapshot())
    with pytest.raises(InvalidSnapshot):
        restore_learner(normal, new_learner(specification(), 1).snapshot())


def test_particles_are_quantiles(learner: NonparametricLearner) -> None:
    values, weights = learner.particles()
    assert values.shape == (300, len(learner.particle_names))
    assert (np.diff(values, axis=1) >= 0).all()
    assert weights.sum() == pytest.approx(1)
    assert learner.particle_names[3] == "quantile_0.5"


def test_its_summary_has_no_parameters(learner: NonparametricLearner) -> None:
    document = learner.posterior().to_json()
    assert (document["posterior"], document["covariance"], document["log_evidence"]) == ({}, [], None)
    assert document["answers"] == 2_000
    assert document["quantiles"]["0.5"]["q05"] < document["quantiles"]["0.5"]["q95"]
    assert len(document["distribution"]["x"]) <= 257


@pytest.mark.parametrize("declared", [{"atoms": [0]}, {}], ids=["declared", "found out"])
def test_an_atom_is_told_apart(declared: dict[str, Any]) -> None:
    """A quarter has exactly 0: the share to five posterior sds, and what half of the people have."""
    rng = np.random.default_rng(4)
    values = np.where(rng.random(1_500) < 0.25, 0.0, rng.lognormal(4.2, 1.4, 1_500))
    found = interviewed(values, minimum=0, **declared).posterior()
    shares = described(found).atom_shares
    assert abs(shares.mean[0] - 0.25) < 5 * shares.sd[0]
    assert shares.sd[0] < 0.03
    median = described(found).quantile(np.array([0.5]))
    assert abs(median.mean[0] - 35.2) < 5 * median.sd[0]
    atoms = found.to_json()["atoms"]
    assert list(atoms) == ["0"]
    assert described(found).quantile(np.array([0.95])).mean[0] < 5_000  # the truth is 660


def test_a_bound_that_nobody_has_is_no_atom() -> None:
    values = np.random.default_rng(5).lognormal(6.2, 0.7, 1_500)
    found = interviewed(values, minimum=0).posterior()
    assert "atoms" not in found.to_json()
    assert described(found).distribution.atom_shares.mean[0] < 0.02


def test_questions_before_any_answer_and_at_every_epsilon() -> None:
    learner = new_learner(specification(epsilon_choices=[0.5, 2]), 1, outstanding=64)
    for epsilon in learner.specification.epsilon_choices:
        pool = learner.pool(64, epsilon)
        assert len(pool) >= 64
        assert {query.epsilon for query in pool} == {epsilon}
        assert all(isinstance(query, RandomizedResponse) for query in pool)


def test_it_keeps_up_with_few_questions_and_few_estimates(learner: NonparametricLearner) -> None:
    assert len(learner.counts) < 320
    assert learner.moves < 60
    assert learner.renew_at > 2_000


def test_questions_do_not_wait_for_draws_from_the_posterior(
    learner: NonparametricLearner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They follow from sketches alone, and the posterior is estimated when somebody looks: once, in any thread."""
    estimates = []

    def estimate(*arguments: Any) -> Any:
        estimates.append(threading.get_ident())
        return average_distribution(*arguments)

    monkeypatch.setattr("dither_estimator.learning.nonparametric_learner.average_distribution", estimate)
    again = new_learner(learner.specification, 1)
    for query, row in learner.counts.items():
        again.learn_counts({query: row})
        again.pool(16)
    posterior = again.posterior()
    assert (posterior.reply().answers, estimates) == (2_000, [])
    again.learn_counts({query: np.full(query.n_answers, 10_000) for query in again.pool(16)})
    with ThreadPoolExecutor(1) as thread:
        values, weights = thread.submit(posterior.draws).result()
        population = thread.submit(lambda: posterior.population).result()
    assert len(estimates) == 1
    assert threading.get_ident() not in estimates
    assert (values == learner.particles()[0]).all()
    assert len(weights) == 300
    assert described(posterior) is population


def asked(learner: NonparametricLearner, goal: Any, template: Query = WIDE) -> tuple[list[float], list[Query]]:
    """The cuts of 400 questions for a goal that are thresholds, and the other questions."""
    spec = specification(goal=goal)
    queries = goal_questions(
        np.random.default_rng(5), learner.distribution, spec.goal, Templates.of(template), None, 400, learner.counts
    )
    assert len(queries) == 400
    return [query.edges[0] for query in queries if query.n_cells == 2], [q for q in queries if q.n_cells > 2]


def test_a_share_is_asked_about_at_its_value_and_the_whole_beside_it(learner: NonparametricLearner) -> None:
    for template in (WIDE, Laplace(0.0, 1.0, 5, 2)):
        cuts, others = asked(learner, {"above": [250]}, template)
        assert set(cuts) == {250.0}
        assert len(others) == 100
    cuts, others = asked(learner, {"above": {"250": 1, "-200": 4}, "distribution": 2})
    assert len(cuts) == pytest.approx(204, abs=1)
    assert cuts.count(-200.0) == pytest.approx(136, abs=1)


def test_a_quantile_is_asked_about_wherever_it_may_lie(
    learner: NonparametricLearner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The median lies in the gap between the groups; questions there alone would not tell that there is one."""
    cuts, others = asked(learner, {"quantiles": [0.5]})
    assert -220 < min(cuts) < max(cuts) < 330
    assert np.ptp(cuts) > 50
    assert len(others) == 100
    assert len({query.edges for query in others}) >= 8
    monkeypatch.setattr("dither_estimator.learning.goal_questions._WHOLE_SHARE", 0.0)
    assert asked(learner, {"quantiles": [0.5]})[1] == []


def test_the_whole_distribution_has_no_thresholds(learner: NonparametricLearner) -> None:
    assert asked(learner, "distribution")[0] == []


def test_a_posterior_says_what_its_goal_names(learner: NonparametricLearner) -> None:
    spec = specification(goal={"quantiles": [0.33], "above": [100]})
    own = restore_learner(spec, learner.snapshot())
    reply = own.posterior().to_json()
    assert set(reply["above"]) == {"100"}
    assert abs(reply["above"]["100"]["mean"] - 0.5) < 5 * reply["above"]["100"]["sd"]
    assert reply["quantiles"]["0.33"]["sd"] > 0
    assert "quantile_0.33" in own.particle_names
    assert own.particles()[0].shape[1] == len(own.particle_names) == 8


def test_a_fixed_question_is_asked_of_everybody() -> None:
    learner = new_learner(specification(policy="fixed:0:10", mechanism="laplace"), 1)
    assert len({learner.ask() for _ in range(10)}) == 1
    assert learner.renew_at == np.inf


@pytest.mark.parametrize(
    "fields",
    [
        {"range": [-1e300, 1e300]},
        {"minimum": -1e300, "maximum": 1e300},
        {"minimum": 1, "maximum": 1 + 1e-12, "atoms": [1]},
        {"epsilon": 50, "levels": 64, "particles": 100},
        {"epsilon": 0.001, "atoms": list(range(16))},
    ],
)
def test_whatever_may_be_specified_is_learnt(fields: dict[str, Any]) -> None:
    learner = interviewed(np.full(12, 1.0), **fields)
    learner.learn_counts({query: np.full(query.n_answers, 200) for query in learner.pool(4)})
    assert np.isfinite(learner.particles()[0]).all()
