"""Answers that do not go with those before: they are found after a jump, and rarely without one."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dither_client import Query, RandomizedResponse
from dither_estimator.drift import surprise as surprises
from dither_estimator.drift.surprise import RARE, surprise
from dither_estimator.drift.tracking import TrackedDraws, track
from dither_estimator.families import FloatArray
from dither_estimator.likelihood.counts import Counts
from dither_estimator.mechanisms.channels import channel_of
from dither_estimator.specification.specification import Specification

PRIOR = {"mu": {"dist": "norm", "loc": 50, "scale": 10}, "sigma": {"dist": "lognorm", "s": 0.3, "scale": 10}}
NORMAL = Specification.from_json({"family": "normal", "epsilon": 1, "prior": PRIOR}).prior


def table_of(rng: np.random.Generator, mu: float, people: int) -> Counts:
    """The answers of so many people of N(mu, 10²) to two questions about thirds around 50."""
    table: dict[Query, np.ndarray[tuple[int], np.dtype[np.int64]]] = {}
    for centre in (45.0, 55.0):
        query = RandomizedResponse([centre - 6, centre + 6], 1)
        cells = np.searchsorted(np.array(query.edges), rng.normal(mu, 10.0, people // 2))
        cumulative = np.cumsum(channel_of(query).matrix, axis=1)[cells, :-1]
        table[query] = np.bincount((rng.random(len(cells))[:, None] > cumulative).sum(axis=1), minlength=3)
    return table


def found_at(seed: int, path: FloatArray, latest: int) -> float:
    """How surprising `latest` answers of the last of the periods with these mu are after 400 of each other."""
    rng = np.random.default_rng([seed, latest])
    tables = [table_of(rng, mu, 400) for mu in path[:-1].tolist()]
    found = surprise(np.random.default_rng(1), NORMAL, [*tables, table_of(rng, float(path[-1]), latest)])
    assert found is not None
    return found


def test_a_jump_is_found_after_a_hundred_answers() -> None:
    """By three σ: in 12 of 12 runs, of which 9 must be; without it in none, of which one may be.

    At most 1% of runs without a jump have the warning, so that a false alarm comes in less than 1% of seeds.
    """
    calm, jumped = np.full(8, 50.0), np.array([50.0] * 7 + [80.0])
    assert sum(found_at(seed, jumped, 100) < RARE for seed in range(12)) >= 9
    assert sum(found_at(seed, calm, 100) < RARE for seed in range(12)) <= 1


def restless(seed: int) -> FloatArray:
    """A walk by 0.5 σ."""
    return np.asarray(50 + 5 * np.random.default_rng([seed, 3]).standard_normal(8).cumsum())


def test_the_usual_steps_of_a_restless_population_are_not_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The broken variant expects the population where it was in the period before."""
    assert sum(found_at(seed, restless(seed), 800) < RARE for seed in range(15)) <= 1

    def standing(*args: Any, **options: Any) -> TrackedDraws:
        draws = track(*args, **options)
        return replace(draws, scales=0 * draws.scales)

    monkeypatch.setattr(surprises, "track", standing)
    assert sum(found_at(seed, restless(seed), 800) < RARE for seed in range(15)) >= 3


def test_without_answers_on_either_side_nothing_is_said() -> None:
    rng = np.random.default_rng(1)
    table = table_of(rng, 50.0, 20)
    assert surprise(rng, NORMAL, []) is None
    assert surprise(rng, NORMAL, [table]) is None
    assert surprise(rng, NORMAL, [{}, table]) is None
    assert surprise(rng, NORMAL, [table, {}]) is None
    assert 0 <= (surprise(rng, NORMAL, [table, {}, table]) or -1.0) <= 1
