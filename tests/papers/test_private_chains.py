"""What chains of private steps cost, annealing, and Lemma 1: by enumeration, closed forms and quadrature."""

import math
from itertools import pairwise, product

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import beta, binom

from dither_papers.conjugate.composition import (
    Cost,
    advanced_composition,
    approximate_sample_cost,
    basic_composition,
    chain_cost,
    step_epsilon,
)
from dither_papers.conjugate.divergence import beta_divergence, mean_divergence
from dither_papers.conjugate.metropolis import (
    acceptance,
    annealed_samples,
    annealing_cost,
    annealing_powers,
    normalised_weights,
)


def composed_delta(epsilon: float, steps: int, total: float) -> float:
    """The exact δ of `steps` randomised responses at ε each, the worst of all pure mechanisms."""
    honest = 1 / (1 + math.exp(-epsilon))
    k = np.arange(steps + 1)
    p, q = binom.pmf(k, steps, honest), binom.pmf(k, steps, 1 - honest)
    return float(np.maximum(p - np.exp(total) * q, 0).sum())


@pytest.mark.parametrize(("epsilon", "steps"), [(0.05, 200), (0.3, 40), (1.0, 10)])
def test_advanced_composition_is_above_the_exact_one(epsilon: float, steps: int) -> None:
    slack = 1e-5
    cost = advanced_composition(Cost(epsilon), steps, slack)
    assert composed_delta(epsilon, steps, cost.epsilon) <= slack
    assert composed_delta(epsilon, steps, cost.epsilon / 2.5) > slack, "not by much"
    assert advanced_composition(Cost(epsilon, 1e-9), steps, slack).delta == pytest.approx(slack + steps * 1e-9)


def test_a_whole_chain_costs_the_lesser_of_both() -> None:
    step = Cost(0.01)
    assert chain_cost(step, 5, 100) == basic_composition(step, 500) == Cost(5.0)
    assert chain_cost(step, 5, 100, 1e-6).epsilon < 2
    assert chain_cost(step, 5, 100, parallel=True) == Cost(1.0)
    assert chain_cost(Cost(2.0), 1, 3, 1e-6) == Cost(6.0)
    for steps in (1, 10, 10_000):
        each = step_epsilon(1.0, steps, 1e-6)
        assert chain_cost(Cost(each), 1, steps, 1e-6).epsilon == pytest.approx(1.0, abs=1e-6)
        assert each >= 1 / steps * (1 - 1e-9)
    assert step_epsilon(1.0, 10_000, 1e-6) > 10 / 10_000
    with pytest.raises(ValueError, match="slack"):
        advanced_composition(step, 2, 0.0)


def test_a_sampler_near_a_private_one_by_every_event() -> None:
    """Proposition 3 on random distributions over five outcomes, all events; half as much would fail."""
    rng = np.random.default_rng(1)
    events = np.array(list(product([0, 1], repeat=5)))
    epsilon, worst = 0.7, 0.0
    for _ in range(300):
        p = rng.dirichlet(np.ones(5))
        q = p * np.exp(rng.uniform(-epsilon, epsilon, 5) / 2)
        q /= q.sum()
        near = []
        for exact, sign in ((p, 1), (q, -1)):
            moved = exact.copy()
            up, down = np.argsort(p / q)[::-sign][[0, -1]]
            step = min(0.02, moved[down])
            moved[up] += step
            moved[down] -= step
            near.append(moved)
        distance = max(np.abs(near[0] - p).sum(), np.abs(near[1] - q).sum())
        delta = float((events @ near[0] - np.exp(epsilon) * (events @ near[1])).max())
        allowed = approximate_sample_cost(epsilon, distance).delta
        assert delta <= allowed + 1e-12
        worst = max(worst, delta / allowed)
    assert worst > 0.5


def test_metropolis_keeps_accepted_moves_private_and_not_rejections() -> None:
    """Log joints of two neighbouring data sets on four points, at most Δ apart, and every move between these."""
    rng = np.random.default_rng(2)
    epsilon, sensitivity = 0.8, 1.5
    rejects = False
    for _ in range(200):
        first = rng.normal(0, 2, 4)
        second = first + rng.uniform(-sensitivity, sensitivity, 4)
        one, other = (acceptance(logs[None] - logs[:, None], epsilon, sensitivity) for logs in (first, second))
        assert np.abs(np.log(one) - np.log(other)).max() <= epsilon + 1e-12
        rejects |= bool(((one == 1) & (other < 1)).any())
    assert rejects, "a rejection that is impossible with the one data set"


def test_annealing_costs_and_weights() -> None:
    """The mean weight is the ratio of normalising constants, on six points, with exact Gibbs updates.

    20,000 weights, whose mean has a standard error of about 0.5%: 4% are eight of them. Weights by the new state in
    place of the old one are found out.
    """
    rng = np.random.default_rng(3)
    logs = np.array([0.0, -1.0, -2.5, 0.7, -0.3, -4.0])
    epsilons, sensitivity = [0.2, 0.5, 1.0, 2.0], 0.5
    powers = annealing_powers(epsilons, sensitivity)
    assert powers.tolist() == [0.2, 0.5, 1.0, 2.0]
    assert annealing_cost(epsilons, 3) == pytest.approx(11.1)
    assert annealing_cost(epsilons, 3, parallel=True) == pytest.approx(3.7)

    def draw(rng: np.random.Generator, theta: np.ndarray, power: float) -> np.ndarray:
        shares = np.exp(power * logs)
        return rng.choice(6, len(theta), p=shares / shares.sum())

    def lazy(rng: np.random.Generator, theta: np.ndarray, power: float) -> np.ndarray:
        return np.where(rng.random(len(theta)) < 0.5, theta, draw(rng, theta, power))

    start = draw(rng, np.zeros(20_000), powers[0])
    theta, weights = annealed_samples(rng, start, lambda theta: logs[theta], lazy, powers.tolist())
    exact = np.exp(2.0 * logs).sum() / np.exp(0.2 * logs).sum()
    assert np.exp(weights).mean() == pytest.approx(exact, rel=0.04)
    assert np.exp(weights[::-1] * 0 + 1.8 * logs[theta]).mean() != pytest.approx(exact, rel=0.04)
    shares = np.bincount(theta, np.exp(weights), 6) / np.exp(weights).sum()
    assert shares == pytest.approx(np.exp(2 * logs) / np.exp(2 * logs).sum(), abs=0.02)
    noisy = normalised_weights(rng, weights[:50], 100.0)
    assert noisy.sum() == pytest.approx(1.0)
    assert (noisy >= 0).all()


def test_lemma_1_in_numbers() -> None:
    """KL in closed form, and a mean that falls as 1/n: each tenfold n divides it by 10, give or take a third."""
    exact = quad(lambda p: beta.pdf(p, 3, 4) * (beta.logpdf(p, 3, 4) - beta.logpdf(p, 5, 2.5)), 0, 1)[0]
    assert beta_divergence(*(np.asarray(x) for x in (3.0, 4.0, 5.0, 2.5))) == pytest.approx(exact, rel=1e-6)
    rng = np.random.default_rng(4)
    means = [mean_divergence(rng, 0.3, n, 1.0, 2_000) for n in (1_000, 10_000, 100_000)]
    for (larger, _), (smaller, error) in pairwise(means):
        assert error < 0.1 * smaller
        assert 0.67 * 10 < larger / smaller < 1.5 * 10
