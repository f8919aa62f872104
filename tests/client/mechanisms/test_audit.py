"""The client as a black box: over HTTP, what it answers is as private as what its ledger is charged.

The noise is the operating system's, so nothing is seeded: each audit accuses a client that keeps its promise with a
probability below `FALSE_ALARMS`, one in a million, and the broken ones are caught all but always. The whole of it, with
more answers, is `python -m testing.long.audit`.
"""

from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from dither_client import JointQuery, Ledger
from dither_client.mechanisms.grouped_randomized_response import GroupedRandomizedResponse
from dither_client.mechanisms.registry import QUERY_TYPES
from testing.long.audit import (
    BROKEN,
    FINE,
    QUESTIONS,
    audit,
    broken_client,
    detectable,
    epsilon_bound,
    own_sets,
    values_of,
)

ONE = Fraction(1)
NAMES = list(BROKEN)
ANSWERS = dict.fromkeys(QUESTIONS, 550) | {"joint": 700, "staircase": 700}
"""Answers for each value that show a part of ε = 1: of sets of several answers it takes more."""


def test_every_mechanism_is_audited() -> None:
    assert set(QUESTIONS) == set(QUERY_TYPES)


@pytest.mark.parametrize("mechanism", sorted(QUESTIONS))
def test_questions_above_the_usual_price_are_audited_too(mechanism: str) -> None:
    assert audit(QUESTIONS[mechanism](Fraction(3)), 4).charged > 2


@pytest.mark.parametrize("mechanism", sorted(QUESTIONS))
def test_the_client_keeps_its_promise(mechanism: str) -> None:
    """The audit is not blind: it shows a part of ε = 1, but for a chance of less than 1e-4."""
    query = QUESTIONS[mechanism](ONE)
    found = audit(query, ANSWERS[mechanism], values_of(query)[::4])
    assert found.charged == pytest.approx(1, abs=0.01)
    assert 0 < found.shown <= found.charged


def test_with_the_ledger_on_the_disk_it_is_the_same(tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger.sqlite", max_epsilon="1000") as ledger:
        found = audit(QUESTIONS["laplace"](ONE), 10, (-1e9, 1e9), lambda: ledger)
        assert len(ledger.entries()) == 20
    assert found.charged == 1
    assert not found.broken


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "answers", "every"),
    [(NAMES[0], 1_000, 4), (NAMES[1], 150, 2), (NAMES[2], 150, 2), (NAMES[3], 150, 2), (NAMES[4], 600, 3)],
)
def test_a_broken_client_is_caught(name: str, answers: int, every: int) -> None:
    """What is to be noticed is five standard deviations or more from what would not be."""
    query = FINE if "truth" in name else QUESTIONS["laplace"](ONE)
    with broken_client(BROKEN[name]):
        found = audit(query, answers, values_of(query)[::every])
    assert found.broken, found


# What the audit computes.


def test_the_bounds_are_those_of_clopper_and_pearson() -> None:
    """Two values, two answers: the bound is the ratio of two intervals' ends at the level that Bonferroni asks for."""
    tallies = np.array([[70, 30, 0], [20, 80, 0]])
    sets = [frozenset({0})]
    alpha = 0.01 / 2  # two values, one set
    ends = [binomtest(k, 100).proportion_ci(1 - alpha, "exact") for k in (70, 20)]
    assert epsilon_bound(tallies, sets, 0.01) == pytest.approx(np.log(ends[0].low / ends[1].high))


def test_nothing_seen_shows_nothing() -> None:
    assert epsilon_bound(np.zeros((2, 3), dtype=np.int64), [frozenset({0})]) == 0
    assert epsilon_bound(np.array([[50, 0, 0], [50, 0, 0]]), [frozenset({0}), frozenset({1})]) == 0


def test_what_is_no_answer_counts_as_one() -> None:
    """A client that sends -1 for one value and never for another is caught, however it answers otherwise."""
    tallies = np.array([[0, 0, 500], [250, 250, 0]])
    assert epsilon_bound(tallies, [frozenset({-1})]) > 2


@pytest.mark.parametrize("mechanism", sorted(QUESTIONS))
def test_false_alarms_are_as_rare_as_stated(mechanism: str) -> None:
    """400 audits of each mechanism's exact law at the level 0.1: more than 65 alarms have a chance below 1e-4."""
    rng = np.random.default_rng(20)
    query = QUESTIONS[mechanism](ONE)
    values = values_of(query)
    rows = [[*query.channel()[query.cell(value)], 0.0] for value in values]
    alarms = 0
    for _ in range(400):
        tallies = np.array([rng.multinomial(500, np.array(row) / sum(row)) for row in rows])
        alarms += epsilon_bound(tallies, own_sets(query, values), 0.1) > float(query.epsilon)
    assert alarms <= 65
    assert binom.sf(65, 400, 0.1) < 1e-4


def test_all_sets_of_few_answers_are_looked_at_and_tails_of_many() -> None:
    query = QUESTIONS["laplace"](ONE)
    sets = own_sets(query, values_of(query))
    assert len(sets) == len(set(sets)) == 2**5 - 2 + 1
    fine = own_sets(FINE, [-1e9, 32.2, 1e9])
    assert {frozenset({-1}), frozenset({0}), frozenset({32}), frozenset({64}), frozenset(range(33))} <= set(fine)


def test_values_lie_on_both_sides_of_an_edge() -> None:
    for make, epsilon in product(QUESTIONS.values(), (ONE, Fraction(3))):
        query = make(epsilon)
        cells = [query.cell(value) for value in values_of(query)]
        if isinstance(query, GroupedRandomizedResponse):
            assert cells == list(range(query.n_cells))
            continue
        if isinstance(query, JointQuery):
            assert set(cells) == set(range(query.n_cells))
            continue
        assert cells[:3] == [0, 0, 1]
        assert cells[-1] == query.n_cells - 1


@pytest.mark.slow
def test_what_is_detectable_grows_near_to_what_is_charged() -> None:
    few, many = (detectable(QUESTIONS["randomized_response"], ONE, answers) for answers in (500, 20_000))
    assert 1 < many < 1.15 < few < 2.5
