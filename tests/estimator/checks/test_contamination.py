"""What a contaminated share can do: the design's figures, brute force over every attack, and simulated adversaries."""

import math
from collections.abc import Iterable
from itertools import product
from typing import Any

import numpy as np
import pytest
from oracle import answer_probabilities
from populations import answer, specification
from scipy.optimize import minimize
from scipy.stats import norm

from dither_client import Laplace, Query, RandomizedResponse
from dither_estimator.checks.contamination import Survey, poison_bound
from dither_estimator.families import Family, FloatArray, find_family
from dither_estimator.learning.learner import Learner
from dither_estimator.likelihood.counts import Counts

NORMAL = find_family("normal")
STANDARD = np.array([0.0, 1.0])


def thresholds(epsilon: float, *cuts: float, location: float = 0.0, scale: float = 1.0) -> Counts:
    """As many answers to each cut, in units of the scale from the location."""
    places = [(location + scale * (cut - 1), location + scale * (cut + 1)) for cut in cuts]
    return {Laplace(low, high, 1, epsilon): np.array([500, 500]) for low, high in places}


def survey(family: Family, counts: Counts, member: FloatArray) -> Survey:
    """The maximum-likelihood estimate `member` (d,) of answers that follow its law."""
    centre = family.unconstrain(member[None])[0]
    return Survey._of(family, counts, centre, np.eye(len(centre)))


def test_the_figures_of_the_thresholds_at_eight_tenths() -> None:
    """Two thresholds, at μ ± 0.8 σ, asked equally often: what limits.md says."""
    added = survey(NORMAL, thresholds(1, -0.8, 0.8), STANDARD).shifts(0.05)[0]
    assert added[:, 0] == pytest.approx([-0.19, 0.19], abs=0.005)
    assert added[1, 1] == pytest.approx(0.38, abs=0.006)
    added = survey(NORMAL, thresholds(0.1, -0.8, 0.8), STANDARD).shifts(0.01)[0]
    assert added[1, 0] == pytest.approx(0.34, abs=0.005)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("share", [0.001, 0.01, 0.03])
def test_one_probability_moves_by_the_closed_form(epsilon: float, share: float) -> None:
    """A share `f` raises the chance h of a 1 to (1 - f) h + f; taken out, it leaves (h - f) / (1 - f) or less."""
    p, honest = 0.4, math.exp(epsilon) / (1 + math.exp(epsilon))
    h = 1 - honest + (2 * honest - 1) * p
    ends = np.array([[(1 - share) * h, (1 - share) * h + share], [(h - share) / (1 - share), h / (1 - share)]])
    expected = (ends - h) / (2 * honest - 1)
    if not np.all((p + expected > 0) & (p + expected < 1)):
        expected = np.where((p + expected > 0) & (p + expected < 1), expected, np.inf)
    table: Counts = {Laplace(0.0, 1.0, 1, epsilon): np.array([500, 500])}
    shifts = survey(find_family("bernoulli"), table, np.array([p])).shifts(share)[:, :, 0]
    assert np.abs(shifts) == pytest.approx(np.abs(expected), rel=2e-3)
    assert np.nanmax(np.where(np.isfinite(shifts), shifts, 0)) <= share / (1 - share) * honest / (2 * honest - 1) + 1e-9


@pytest.mark.parametrize("epsilon", [1.0, 3.0])
def test_no_choice_of_answers_does_more(epsilon: float) -> None:
    """Every pure attack on three questions, each estimate found by a simplex search in the textbook formula."""
    share = 0.04
    table: dict[Query, Any] = {
        RandomizedResponse((-0.7, 0.9), epsilon): np.array([100, 100, 100]),
        Laplace(-0.2, 1.8, 1, epsilon): np.array([100, 50]),
        Laplace(-2.0, 1.0, 2, epsilon): np.array([100, 40, 100]),
    }
    laws = answer_laws(table, 0.0, 1.0)
    found = []
    for attack in product(*(range(query.n_answers) for query in table)):
        contaminated = {
            query: (1 - share) * laws[query] + share * np.eye(query.n_answers)[s]
            for query, s in zip(table, attack, strict=True)
        }
        found.append(best_fit({query: contaminated[query] * row.sum() for query, row in table.items()}))
    shifts = survey(NORMAL, table, STANDARD).shifts(share)[0]
    assert shifts[1] == pytest.approx(np.max(found, axis=0) - STANDARD, rel=3e-3)
    assert shifts[0] == pytest.approx(np.min(found, axis=0) - STANDARD, rel=3e-3)


def answer_laws(queries: Iterable[Query], mu: float, sigma: float) -> dict[Query, Any]:
    """The probabilities of each question's answers in N(μ, σ²)."""
    values = norm(mu, sigma)
    return {query: answer_probabilities(query, values) for query in queries}


def best_fit(table: dict[Query, Any]) -> tuple[float, float]:
    """The maximum-likelihood estimate of μ and σ."""

    def loss(point: Any) -> float:
        laws = answer_laws(table, point[0], math.exp(point[1]))
        return -float(sum(row @ np.log(laws[query]) for query, row in table.items()))

    found = minimize(loss, [0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-5, "fatol": 1e-7})
    return float(found.x[0]), math.exp(found.x[1])


def test_nothing_is_bounded_before_the_first_answer() -> None:
    learner = Learner(specification(particles=100), 1)
    assert learner.posterior().to_json()["poison"] == {"share": 0.01, "shift": {"mu": None, "sigma": None}}


def test_more_contamination_than_the_noise_leaves_room_for_has_no_bound() -> None:
    """ε = 0.01: 1% of the answers look like everybody above the threshold."""
    shifts = survey(NORMAL, thresholds(0.01, -0.8, 0.8), STANDARD).shifts(0.05)
    assert np.isinf(shifts[:, :, 0]).all()


def test_a_bound_moves_with_the_units() -> None:
    """Theorem 3: the bound of N(m, c²) is c times that of N(0, 1), also far from 0."""
    rng = np.random.default_rng(3)
    z = rng.normal(size=(500, 2)) * 0.02
    weights = np.full(500, 1 / 500)
    near = poison_bound(NORMAL, thresholds(1, -0.5, 1.0), z, weights).shift
    for m, c in ((0.0, 1e-6), (1e9, 1e3), (-1e6, 1e9)):
        moved = thresholds(1, -0.5, 1.0, location=m, scale=c)
        far = poison_bound(NORMAL, moved, np.column_stack([m + c * z[:, 0], np.log(c) + z[:, 1]]), weights).shift
        for name, bound in near.items():
            assert bound is not None
            assert far[name] == pytest.approx(c * bound, rel=1e-4)


def contaminated_learner(seed: int, share: float, target: str, mechanism: str) -> Learner:
    """5,000 answers about N(0, 1); adversaries send what raises the target."""
    learner = Learner(specification(particles=500, mechanism=mechanism), seed)
    rng = np.random.default_rng([seed, 4])
    for value, adversarial in zip(rng.normal(size=5_000).tolist(), (rng.random(5_000) < share).tolist(), strict=True):
        query = learner.ask()
        honest = answer(rng, query, value)
        worst = query.n_answers - 1 if target == "mu" or sum(query.edges) > 0 else 0
        learner.learn(query, worst if adversarial else honest)
    return learner


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["laplace", "randomized_response"])
@pytest.mark.parametrize("target", ["mu", "sigma"])
def test_adversaries_stay_below_the_bound(target: str, mechanism: str) -> None:
    """ε = 1, 5% of contamination, 12 seeds, against the bound that the contaminated posterior itself reports.

    The mean shift may exceed the bound by 4 standard errors: were the bound exact, below 0.2% false alarms each (t with
    11 degrees of freedom), so below 1% in all four. A bound that forgets how noise amplifies lies is exceeded.
    """
    share, j = 0.05, NORMAL.names.index(target)
    moved, bounds = [], []
    for seed in range(12):
        learner = contaminated_learner(seed, share, target, mechanism)
        theta, weights = learner.particles()
        moved.append((weights @ theta - STANDARD)[j])
        bound = poison_bound(NORMAL, learner.counts, NORMAL.unconstrain(theta), weights, share).shift[target]
        assert bound is not None
        bounds.append(bound)
    error = np.std(moved, ddof=1) / math.sqrt(len(moved))
    assert np.mean(moved) <= np.mean(bounds) + 4 * error
    assert np.mean(moved) > 0.5 * np.mean(bounds)
    # The same share of people whose true cell is the last one, believed without noise: f times what a cell is worth.
    unamplified = share * float(norm.pdf(0.8) / norm.sf(0.8))
    assert np.mean(moved) > unamplified + 3 * error
