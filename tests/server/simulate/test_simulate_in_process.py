"""Simulations within the process: exact channels, reproducible, and the biases that respondents can cause."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dither_client import Laplace, Query
from dither_estimator.families import FloatArray, families
from dither_estimator.learning.learner import Learner
from dither_estimator.mechanisms.channels import channel_of
from dither_estimator.specification.specification import Specification
from dither_server.simulate.behaviours import Behaviours, InvalidBehaviour, draw_roles
from dither_server.simulate.in_process import simulate_in_process
from dither_server.simulate.outcome import Outcome

FALSE_ALARM = 1e-6


def simulate(
    values: FloatArray, seed: int, behaviours: Behaviours | None = None, **fields: Any
) -> tuple[Outcome, Learner]:
    spec = Specification.from_json({"family": "normal", "epsilon": 1, "particles": 500, **fields})
    for_roles, for_noise, for_learner = np.random.SeedSequence(seed).spawn(3)
    learner = Learner(spec, for_learner)
    roles = draw_roles(np.random.default_rng(for_roles), behaviours or Behaviours(), len(values))
    return simulate_in_process(learner, values, roles, np.random.default_rng(for_noise)), learner


def normal(seed: int, size: int) -> FloatArray:
    return families["normal"].sample(np.random.default_rng(seed), np.array([0.0, 1.0]), size)


def p_value(counts: Any, query: Query, cell: int) -> float:
    expected = channel_of(query).matrix[cell] * np.sum(counts)
    return float(stats.chisquare(counts, expected).pvalue)


@pytest.mark.parametrize(
    ("fields", "value", "cell"),
    [
        ({"policy": "fixed:-2:2", "levels": 1}, 0.5, 1),
        ({"policy": "fixed:-2:2", "levels": 4}, 0.9, 3),
        ({"policy": "fixed:-2:2", "levels": 4}, -9.0, 0),
        ({"policy": "fixed:-1:1", "mechanism": "randomized_response"}, 0.0, 1),
        ({"policy": "fixed:-1:1", "transform": "log", "levels": 2}, 1.0, 1),
        ({"policy": "fixed:-1:1", "transform": "log", "levels": 2}, -3.0, 0),
    ],
)
def test_answers_follow_the_exact_channel(fields: dict[str, Any], value: float, cell: int) -> None:
    """Chi-square on 20,000 answers, false alarm 1e-6; the row of another cell fails it."""
    _, learner = simulate(np.full(20_000, value), 5, **fields)
    [(query, counts)] = learner.counts.items()
    assert p_value(counts, query, cell) > FALSE_ALARM
    assert p_value(counts, query, 0 if cell else 1) < FALSE_ALARM


def test_a_seed_gives_the_same_simulation_again() -> None:
    one, again, other = (simulate(normal(1, 1_500), seed)[0].posterior for seed in (7, 7, 8))
    assert one == again
    assert one != other


def test_everything_that_is_sent_is_learnt_and_timed() -> None:
    outcome, learner = simulate(normal(1, 2_000), 3, Behaviours(drop_out=0.25))
    assert outcome.answers == learner.answers == outcome.posterior.answers
    assert outcome.answers + outcome.dropped_out == 2_000
    # Five standard deviations of the number of drop-outs: a false alarm in 1e6.
    assert abs(outcome.dropped_out - 500) < 5 * np.sqrt(2_000 * 0.25 * 0.75)
    assert outcome.estimator_seconds is not None
    assert 0 < outcome.estimator_seconds <= outcome.seconds
    assert outcome.sound


@pytest.mark.slow
@pytest.mark.parametrize(
    ("behaviours", "bias"),
    [
        (Behaviours(drop_out=0.1), 0.0),
        (Behaviours(drop_out=0.1, drop_out_by="value"), -0.06),
        (Behaviours(drop_out=0.1, drop_out_by="answer"), -0.18),
        (Behaviours(poison=0.05), 0.19),
    ],
    ids=["chance", "value", "answer", "poison"],
)
def test_the_bias_is_the_one_that_the_mathematics_gives(behaviours: Behaviours, bias: float) -> None:
    """Asymptotic bias of μ in σ, with questions about 0.8 σ on either side of the mean (ε = 1).

    The tolerance is five posterior sds at n = 300,000 (a false alarm in 1e6) and 0.01 for where the questions lie; so
    each of the four would fail as any other.
    """
    outcome, _ = simulate(normal(11, 300_000), 4, behaviours, range=[-5, 5])
    mu = outcome.posterior.posterior["mu"]
    assert abs(mu.mean - bias) < 5 * mu.sd + 0.01
    assert 5 * mu.sd + 0.01 < 0.06


def test_high_means_the_upper_half() -> None:
    certain = Behaviours(drop_out=1.0, drop_out_by="value")
    roles = draw_roles(np.random.default_rng(0), certain, 1)
    by_levels = {levels: Laplace(0, 1, levels, 1) for levels in (1, 2, 3)}
    struck = {n: [roles.drops_out(0, query, cell, 0) for cell in range(n + 1)] for n, query in by_levels.items()}
    assert struck == {1: [False, True], 2: [False, False, True], 3: [False, False, True, True]}


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan")])
@pytest.mark.parametrize(
    "make",
    [
        lambda share: Behaviours(drop_out=share),
        lambda share: Behaviours(retry=share),
        lambda share: Behaviours(late=share),
        lambda share: Behaviours(poison=share),
    ],
)
def test_shares_are_from_0_to_1(make: Callable[[float], Behaviours], value: float) -> None:
    with pytest.raises(InvalidBehaviour, match="must be from 0 to 1"):
        make(value)
