"""The test of whether completion depends on the question: its false alarms, its power, and what it must not mind."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pytest
from scipy import stats

from dither_estimator.checks import completion
from dither_estimator.checks.completion import ALPHA, CompletionLook, Slices, _mantel_haenszel, next_look

PLACES = np.array([-0.9, -0.8, -0.7, 0.7, 0.8, 0.9])
"""Thresholds of the optimal design, as the lattice spreads them, in σ."""


class Slice(NamedTuple):
    """The tickets of one period about one place."""

    period: int
    place: float
    tickets: int
    completed: int
    group: int = 0


def completion_looks(slices: Sequence[Slice], known: Sequence[CompletionLook] = ()) -> list[CompletionLook]:
    """The looks at these slices."""
    table = np.array(slices, dtype=float).reshape(-1, 5)
    periods, _, tickets, completed, groups = table.astype(np.int64).T
    return completion.completion_looks(Slices(periods, table[:, 1], tickets, completed, groups), known)


def collected(
    rng: np.random.Generator, tickets: int, among_above: float, overall: float = 0.8, periods: int = 12
) -> list[Slice]:
    """Tickets at the design's thresholds; a share of those above a threshold drop out, as do others at random."""
    slices = []
    for period in range(periods):
        for place in PLACES:
            n = int(rng.poisson(tickets / periods / len(PLACES)))
            above = rng.binomial(n, stats.norm.sf(place))
            stay = rng.binomial(above, 1 - among_above) + n - above
            slices.append(Slice(period, float(place), n, int(rng.binomial(stay, overall))))
    return slices


def drifting(rng: np.random.Generator) -> list[Slice]:
    """Questions that move with time, completion that falls with time: nothing depends on the question in a period."""
    slices = []
    for period in range(40):
        rate = 0.95 - 0.015 * period
        for place in PLACES + 0.5 * period:
            n = int(rng.poisson(20))
            slices.append(Slice(period, float(place), n, int(rng.binomial(n, rate))))
    return slices


def of_groups(rng: np.random.Generator) -> list[Slice]:
    """Two public groups with questions and a rate of completion of their own: nothing depends on the question."""
    slices = []
    for period in range(12):
        for group, (middle, rate) in enumerate(((0.0, 0.9), (3.0, 0.6))):
            for place in PLACES + middle:
                n = int(rng.poisson(30))
                slices.append(Slice(period, float(place), n, int(rng.binomial(n, rate)), group))
    return slices


def alarms(looks: list[CompletionLook]) -> bool:
    return any(look.alarm for look in looks)


def crude(slices: list[Slice]) -> bool:
    """The broken variant: all periods thrown together."""
    return alarms(completion_looks([Slice(0, one.place, one.tickets, one.completed) for one in slices]))


@pytest.mark.parametrize(
    "make", [lambda rng: collected(rng, 4_000, 0.0), drifting, of_groups], ids=["steady", "drifting", "groups"]
)
def test_false_alarms_are_rarer_than_stated(make: object) -> None:
    """At most 1% of collections, over all looks. Of 100, more than 7 in less than 1e-5 of all tests if it is 1%."""
    assert callable(make)
    found = sum(alarms(completion_looks(make(np.random.default_rng([1, seed])))) for seed in range(100))
    assert found <= 7


def test_a_test_without_periods_minds_that_questions_and_completion_change_with_time() -> None:
    assert sum(crude(drifting(np.random.default_rng([1, seed]))) for seed in range(15)) >= 12


def test_a_test_across_groups_minds_that_their_questions_and_rates_differ() -> None:
    """The broken variant takes all people as one group."""
    found = [of_groups(np.random.default_rng([1, seed])) for seed in range(15)]
    as_one = [[Slice(one.period, one.place, one.tickets, one.completed) for one in slices] for slices in found]
    assert sum(alarms(completion_looks(slices)) for slices in as_one) >= 12


def test_drop_out_within_groups_is_found() -> None:
    """A fifth of those above a threshold drop out in both groups, of which one lies three σ above the other."""
    found = 0
    for seed in range(20):
        rng = np.random.default_rng([4, seed])
        parts = [collected(rng, 2_000, 0.2, 1.0), collected(rng, 2_000, 0.2, 1.0)]
        slices = [
            Slice(one.period, one.place + 3 * group, one.tickets, one.completed, group)
            for group, part in enumerate(parts)
            for one in part
        ]
        found += alarms(completion_looks(slices))
    assert found >= 19


@pytest.mark.parametrize(("tickets", "least"), [(2_000, 0.75), (4_000, 0.97)])
def test_drop_out_of_a_tenth_of_those_above_is_found(tickets: int, least: float) -> None:
    """The example of the design, when nobody else drops out; 40 collections each, four standard errors allowed."""
    found = np.mean(
        [alarms(completion_looks(collected(np.random.default_rng([2, seed]), tickets, 0.1, 1.0))) for seed in range(40)]
    )
    assert found >= least - 4 * (least * (1 - least) / 40) ** 0.5


def test_with_two_groups_it_is_mantel_haenszel() -> None:
    rng = np.random.default_rng(4)
    n = rng.integers(5, 40, size=(8, 2)).astype(float)
    x = rng.binomial(n.astype(int), 0.7).astype(float)
    excess = variance = 0.0
    for tickets, completed in zip(n, x, strict=True):
        law = stats.hypergeom(int(tickets.sum()), int(completed.sum()), int(tickets[0]))
        excess += completed[0] - law.mean()
        variance += law.var()
    assert _mantel_haenszel(n, x) == pytest.approx(stats.chi2.sf(excess**2 / variance, 1))


def test_with_one_period_it_is_pearsons_test_but_for_the_hypergeometric_variance() -> None:
    n, x = np.array([[60.0, 80.0, 70.0]]), np.array([[40.0, 61.0, 60.0]])
    pearson = stats.chi2_contingency([x[0], (n - x)[0]], correction=False).statistic
    assert _mantel_haenszel(n, x) == pytest.approx(stats.chi2.sf(pearson * 209 / 210, 2))


def test_looks_stay_as_they_are() -> None:
    slices = collected(np.random.default_rng(3), 3_000, 0.1)
    all_looks = completion_looks(slices)
    assert len(all_looks) == 4
    for periods in range(12):
        early = completion_looks([one for one in slices if one.period < periods])
        assert early == all_looks[: len(early)]
        assert completion_looks(slices, early) == all_looks
        assert not early or next_look(early) > early[-1].tickets
    assert sum(look.alpha for look in all_looks) < ALPHA


def test_known_looks_are_not_made_again() -> None:
    slices = collected(np.random.default_rng(3), 3_000, 0.1)
    first = completion_looks(slices)[0]
    known = [CompletionLook(first.tickets, 0.123, first.alpha)]
    assert completion_looks(slices, known) == known + completion_looks(slices)[1:]


def test_too_few_tickets_say_nothing() -> None:
    assert completion_looks([]) == []
    assert completion_looks([Slice(0, 1.0, 200, 100)]) == []
    assert [look.p_value for look in completion_looks([Slice(0, 1.0, 300, 299), Slice(0, 2.0, 300, 298)])] == [1.0]
