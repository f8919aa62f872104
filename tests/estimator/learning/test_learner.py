"""The learner: what it asks, what it remembers, and that laziness changes nothing."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from populations import answer, interview, specification

from dither_client import Laplace, Query
from dither_estimator.learning.learner import InvalidSnapshot, Learner
from dither_estimator.learning.learners import new_learner
from dither_estimator.learning.second_opinion import Steering
from dither_estimator.likelihood.institutions import MemberCount
from dither_estimator.particles.system import ParticleSystem
from dither_estimator.policies.policy import Adaptive, Fixed
from dither_estimator.specification.specification import Specification


def _interviewed(policy: str = "adaptive", answers: int = 200, **fields: object) -> Learner:
    rng = np.random.default_rng(11)
    learner = Learner(specification(policy=policy, particles=200, **fields), 11)
    interview(learner, rng.normal(50, 3, answers), rng)
    return learner


@pytest.mark.parametrize("policy", ["adaptive", "thompson", "fixed:20:80"])
@pytest.mark.parametrize("mechanism", ["laplace", "randomized_response"])
def test_every_policy_learns(policy: str, mechanism: str) -> None:
    learner = _interviewed(policy, 300, mechanism=mechanism)
    posterior = learner.posterior()
    assert posterior.answers == learner.answers == 300
    assert sum(int(row.sum()) for row in learner.counts.values()) == 300
    assert posterior.queries == len(learner.counts)
    assert posterior.parameters["mu"].mean == pytest.approx(50, abs=12)
    assert posterior.parameters["mu"].q05 < posterior.parameters["mu"].q95


def test_same_seed_same_answers_same_posterior() -> None:
    assert _interviewed().posterior().to_json() == _interviewed().posterior().to_json()


def test_reading_often_changes_nothing_but_monte_carlo_error() -> None:
    rng = np.random.default_rng(3)
    questions = [Laplace(cut - 1, cut + 1, 1, 1) for cut in (46.0, 50.0, 54.0)]
    values = rng.normal(50, 3, 600)
    eager, lazy = (Learner(specification(particles=4_000), seed) for seed in (1, 2))
    for i, value in enumerate(values.tolist()):
        query = questions[i % 3]
        said = answer(rng, query, value)
        lazy.learn(query, said)
        eager.learn(query, said)
        eager.posterior()
    first, second = eager.posterior().parameters["mu"], lazy.posterior().parameters["mu"]
    assert first.mean == pytest.approx(second.mean, abs=0.12 * second.sd)
    assert first.sd == pytest.approx(second.sd, rel=0.12)


def test_a_table_is_learnt_like_its_answers() -> None:
    whole, single = (Learner(specification(particles=200), 5) for _ in range(2))
    query: Query = Laplace(48, 52, 3, 1)
    whole.learn_counts({query: [3, 0, 1, 2]})
    for said, count in enumerate([3, 0, 1, 2]):
        for _ in range(count):
            single.learn(query, said)
    assert whole.answers == single.answers == 6
    assert whole.posterior().to_json() == single.posterior().to_json()


@pytest.mark.parametrize("seed", range(3))
def test_the_same_question_for_everyone_finds_values_far_narrower_than_the_default_prior(seed: int) -> None:
    fields = {"family": "normal", "policy": "fixed:-5:5", "mechanism": "randomized_response", "levels": 8, "epsilon": 1}
    learner, rng = Learner(Specification.from_json(fields), seed), np.random.default_rng(seed)
    for value in rng.normal(0, 1, 1_500).tolist():
        learner.learn(query := learner.ask(), answer(rng, query, value))
        learner.update()
    sigma = learner.posterior().parameters["sigma"]
    assert 0.5 < sigma.q05 < sigma.q95 < 2  # by quadrature about 0.8 and 1.3


def test_snapshot_resumes_exactly() -> None:
    learner = _interviewed()
    resumed = Learner.restore(learner.specification, learner.snapshot())
    assert resumed.posterior().to_json() == learner.posterior().to_json()
    assert resumed.counts.keys() == learner.counts.keys()
    for one in (learner, resumed):
        one.learn_counts({Laplace(48, 52, 3, 1): [30, 0, 1, 20]})
    assert resumed.answers == learner.answers == 251
    assert resumed.posterior().to_json() == learner.posterior().to_json()


def test_snapshot_before_the_first_answer() -> None:
    learner = Learner(specification(particles=100), 1)
    assert Learner.restore(learner.specification, learner.snapshot()).answers == 0


@pytest.mark.parametrize("damage", [b"", b"nonsense", None])
def test_unreadable_snapshots_are_refused(damage: bytes | None) -> None:
    learner = _interviewed(answers=5)
    snapshot = learner.snapshot()
    with pytest.raises(InvalidSnapshot):
        Learner.restore(learner.specification, snapshot[:-200] if damage is None else damage)


def test_a_snapshot_of_another_number_of_particles_is_refused() -> None:
    learner = _interviewed(answers=5)
    with pytest.raises(InvalidSnapshot, match="another"):
        Learner.restore(specification(particles=300), learner.snapshot())


@pytest.mark.parametrize("fields", [{"family": "normal"}, {}])
@pytest.mark.parametrize("said", [-1, 2, 10**30])
def test_answers_out_of_range_are_refused(said: int, fields: dict[str, str]) -> None:
    learner = new_learner(Specification.from_json({"epsilon": 1, "particles": 100, **fields}), 1)
    with pytest.raises(ValueError, match="from 0 to 1"):
        learner.learn(Laplace(0, 1, 1, 1), said)
    learner.update()
    assert (learner.answers, learner.moves, dict(learner.counts)) == (0, 0, {})


@pytest.mark.parametrize("row", [[1], [1, -1], [0.5, 0.5], [1, 2, 3]])
def test_what_is_no_count_table_is_refused(row: list[float]) -> None:
    learner = Learner(specification(particles=100), 1)
    with pytest.raises(ValueError, match="count"):
        learner.learn_counts({Laplace(0, 1, 1, 1): row})  # type: ignore[dict-item]
    assert learner.answers == 0


def test_the_pool_is_as_large_as_asked_and_stays_until_answers_grow() -> None:
    learner = _interviewed(answers=500)
    pool = learner.pool(16)
    assert len(pool) == 16
    assert learner.pool(16) is pool
    assert {learner.ask() for _ in range(16)} == set(pool)
    learner.learn_counts({pool[0]: [40, 40]})
    assert learner.pool(16) is not pool


class FewQuestions(Adaptive):
    """Finds three, however many it is asked for, as where most would lie beyond a bound."""

    def pool(
        self, rng: np.random.Generator, particles: ParticleSystem, size: int, repeats: float, epsilon: Fraction
    ) -> tuple[Query, ...]:
        return super().pool(rng, particles, size, repeats, epsilon)[:3]


@pytest.mark.parametrize("kind", [Fixed, FewQuestions])
def test_a_pool_of_fewer_questions_than_were_asked_for_stays_as_well(kind: type[Fixed | FewQuestions]) -> None:
    spec = specification(policy="fixed:20:80" if kind is Fixed else "adaptive", particles=200)
    learner = Learner(spec, 1, kind(spec))
    learner.learn_counts({Laplace(49, 51, 1, 1): [40, 40]})
    pool = learner.pool(16)
    assert len(pool) < 16
    learner.learn(pool[0], 0)
    assert learner.pool(16) is pool
    assert learner.pool(17) is not pool


@pytest.mark.slow
def test_few_distinct_questions_after_many_answers() -> None:
    """100,000 answers, fewer than 500 distinct questions."""
    rng = np.random.default_rng(6)
    learner = Learner(specification(), 6)
    interview(learner, rng.normal(50, 10**0.5, 100_000), rng)
    assert learner.posterior().queries < 500


@pytest.mark.parametrize("policy", ["adaptive", "thompson", "fixed:20:80"])
def test_each_choice_of_epsilon_has_questions_of_its_own(policy: str) -> None:
    learner = _interviewed(policy, epsilon_choices=["0.5", 1, 4])
    for epsilon in learner.specification.epsilon_choices:
        assert learner.ask(epsilon).epsilon == epsilon
        assert {query.epsilon for query in learner.pool(8, epsilon)} == {epsilon}
    assert learner.ask().epsilon == learner.specification.epsilon


def test_the_bound_on_contamination_is_found_anew_when_the_answers_have_grown_by_a_tenth() -> None:
    learner = Learner(specification(), 3)
    query = learner.ask()
    found = []
    for _ in range(100):
        learner.learn(query, 0)
        found.append(learner.posterior().poison)
    assert len({id(bound) for bound in found}) < 40
    assert found[0] is not found[1]
    assert found[-1] is not found[-11]
    assert learner.posterior().poison is found[-1]


def test_counts_of_members_change_the_bound_on_contamination() -> None:
    learner = _interviewed()
    bound = learner.posterior().poison
    assert learner.posterior().poison is bound
    learner.learn_members({MemberCount(50.0, 2_000, Fraction(1), 1_000): 1})
    assert learner.posterior().poison is not bound


def test_a_corrected_posterior_keeps_nothing_of_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither its bound on contamination nor its evidence, which snapshots would store as that of the new one."""
    monkeypatch.setattr(Steering, "corrected", lambda _, rng, system: replace(system))
    spec = Specification.from_json(
        {"families": [{"family": "normal"}, {"family": "laplace"}], "epsilon": 1, "particles": 200, "range": [0, 100]}
    )
    learner = Learner(spec, 1)
    learner.learn_counts({Laplace(48, 52, 1, 1): [30, 20]})
    before = learner.posterior()
    assert learner.pool()
    after = learner.posterior()
    assert before.comparison is not None
    assert after.comparison is not None
    assert after.poison is not before.poison
    assert after.comparison.families[0].log_evidence != before.comparison.families[0].log_evidence
