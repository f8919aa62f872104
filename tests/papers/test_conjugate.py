"""Conjugate families with noisy statistics and with one posterior sample, against densities, brute force and theory."""

import math
from collections import defaultdict
from collections.abc import Callable
from itertools import combinations, pairwise, product
from typing import Any

import numpy as np
import pytest
from scipy.integrate import dblquad, quad
from scipy.stats import beta, binom, dirichlet, gamma, kstest, laplace, norm, poisson

from dither_estimator.families import FloatArray
from dither_papers.conjugate.adversary import greedy_adversary, local_cost
from dither_papers.conjugate.base import ConjugateFamily
from dither_papers.conjugate.costs import (
    posterior_sample_cost,
    random_scan_cost,
    temperature,
)
from dither_papers.conjugate.counts import BetaBernoulli, DirichletMultinomial, GammaPoisson
from dither_papers.conjugate.mechanisms import noisy_statistics, one_posterior_sample
from dither_papers.conjugate.noisy_count import (
    draw_geometric,
    geometric_noise,
    laplace_pair_noise,
    noisy_count_posterior,
)
from dither_papers.conjugate.normals import NormalKnownVariance, NormalUnknownVariance

BETA = BetaBernoulli(0.3, least=0.05)
DIRICHLET = DirichletMultinomial((0.5, 0.3, 0.2), least=0.1)
POISSON = GammaPoisson(3.0, most=8, low=0.5, high=9.0)
KNOWN = NormalKnownVariance(0.6, 0.3)
UNKNOWN = NormalUnknownVariance(0.1, 0.3, least=0.04)
FAMILIES = [BETA, DIRICHLET, POISSON, KNOWN, UNKNOWN]

LINE = np.linspace(-1, 1, 201)

Statistic = Callable[[float], list[float]]


def log_likelihoods(family: ConjugateFamily) -> tuple[list[list[float]], FloatArray]:
    """Brute force: `S(x)` of every entry x, and `log Pr(x | θ)`, shape (entries, members)."""
    if isinstance(family, DirichletMultinomial):
        k = len(family.shares)
        corners = [[family.least if j != i else 1 - (k - 1) * family.least for j in range(k)] for i in range(k)]
        inner = np.random.default_rng(0).dirichlet(np.ones(k), 500) * (1 - k * family.least) + family.least
        return np.eye(k).tolist(), np.log(np.concatenate([corners, inner])).T
    if isinstance(family, GammaPoisson):
        x = np.arange(family.most + 1)
        rates = np.linspace(family.low, family.high, 301)
        return [[float(v)] for v in x], np.array([poisson.logpmf(v, rates) for v in x])
    if isinstance(family, NormalKnownVariance):
        return [[v] for v in LINE.tolist()], np.asarray(norm.logpdf(LINE[:, np.newaxis], LINE, family.sd))
    assert isinstance(family, NormalUnknownVariance)
    sds = np.sqrt(np.linspace(family.least, 1, 15))
    members = [norm.logpdf(LINE[:, np.newaxis], mean, sds) for mean in np.linspace(-1, 1, 21)]
    return [[v, v**2] for v in LINE.tolist()], np.concatenate(members, axis=1)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: type(family).__name__)
def test_sensitivities(family: ConjugateFamily) -> None:
    """(17) and (13) by brute force over pairs of entries and members on a grid that has the worst ones."""
    statistics, logs = log_likelihoods(family)
    moved = max(sum(abs(a - b) for a, b in zip(s, t, strict=True)) for s, t in product(statistics, repeat=2))
    assert family.statistics_sensitivity == pytest.approx(moved, rel=1e-9)
    assert family.likelihood_sensitivity == pytest.approx(float(np.ptp(logs, axis=0).max()), rel=1e-6)


def test_the_papers_temperature() -> None:
    """(15) at a_0 = 0.2 and ε = 1: 2.7 in the paper's Figure 1."""
    assert temperature(BetaBernoulli(0.3, 0.2).likelihood_sensitivity, 1.0) == pytest.approx(2.77, abs=0.01)
    assert temperature(1.0, 5.0) == 1.0, "never colder than the posterior"


def uniform_places(cdf: Any, draws: FloatArray) -> float:
    """The p-value of Kolmogorov and Smirnov."""
    return float(kstest(draws, cdf).pvalue)


def repeated(statistics: list[float], times: int = 4_000) -> FloatArray:
    return np.tile(np.array(statistics), (times, 1))


def tempered(
    log_joint: Callable[[FloatArray], Any], low: float, high: float, heat: float
) -> Callable[[FloatArray], FloatArray]:
    """The distribution function of a density to the power `1 / heat`, by quadrature on a fine grid."""
    grid = np.linspace(low, high, 20_001)
    logs = log_joint(grid) / heat
    density = np.exp(logs - logs.max())
    steps = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    return lambda x: np.interp(x, grid, steps / steps[-1])


@pytest.mark.parametrize("heat", [1.0, 6.0])
def test_posteriors_at_a_temperature(heat: float) -> None:
    """Prior times likelihood to the power 1/T, written out. Eight tests at 1e-5 each, seeded."""
    rng = np.random.default_rng(7)
    n, tiny = 12, 1e-9
    draws = BETA.draw_posterior(rng, repeated([4, 8]), n, heat)[:, 0]
    assert uniform_places(tempered(lambda p: binom.logpmf(4, 12, p), tiny, 1 - tiny, heat), draws) > 1e-5
    draws = POISSON.draw_posterior(rng, repeated([30]), n, heat)[:, 0]
    assert (
        uniform_places(tempered(lambda t: poisson.logpmf(30, n * t) + gamma.logpdf(t, 1), tiny, 30, heat), draws) > 1e-5
    )
    draws = KNOWN.draw_posterior(rng, repeated([3.0]), n, heat)[:, 0]

    def joint(mean: FloatArray) -> FloatArray:
        return np.asarray(norm.logpdf(0.25, mean, 0.3 / math.sqrt(n)) + norm.logpdf(mean))

    assert uniform_places(tempered(joint, -2, 2, heat), draws) > 1e-5
    wrong = KNOWN.draw_posterior(rng, repeated([3.0]), n, 1.5 * heat)[:, 0]
    assert uniform_places(tempered(joint, -2, 2, heat), wrong) < 1e-5, "another temperature is seen"
    shares = DIRICHLET.draw_posterior(rng, repeated([3.0, 7.0, 2.0]), n, heat)
    assert np.allclose(shares.sum(axis=1), 1)
    weights = np.array([3.0, 7.0, 2.0]) / heat + 1
    for j in range(3):
        marginal = beta(weights[j], weights.sum() - weights[j])
        assert uniform_places(marginal.cdf, shares[:, j]) > 1e-5
    assert dirichlet.mean(weights) == pytest.approx(shares.mean(axis=0), abs=0.02)


@pytest.mark.parametrize("heat", [1.0, 4.0])
def test_the_normal_posterior_with_unknown_variance(heat: float) -> None:
    """Means of μ and of σ² from the joint density by quadrature in two dimensions; six standard errors (2e-9)."""
    n, total, squares = 30, 3.0, 3.6
    family = UNKNOWN

    def weight(variance: float, mean: float) -> float:
        log = -(n / 2) * math.log(variance) - (squares - 2 * mean * total + n * mean**2) / (2 * variance)
        log += -0.5 * math.log(variance) - family.strength * mean**2 / (2 * variance)
        log += -(family.shape + 1) * math.log(variance) - family.scale / variance
        return math.exp(log / heat)

    def moment(value: Callable[[float, float], float]) -> float:
        whole = dblquad(lambda v, m: value(m, v) * weight(v, m), -1.5, 1.5, 0.005, 6.0, epsabs=0, epsrel=1e-6)
        return float(whole[0])

    moments = [moment(lambda m, v: 1.0), moment(lambda m, v: m), moment(lambda m, v: v)]
    draws = family.draw_posterior(np.random.default_rng(3), repeated([total, squares], 40_000), n, heat)
    for j in (0, 1):
        error = draws[:, j].std() / math.sqrt(len(draws))
        assert abs(draws[:, j].mean() - moments[j + 1] / moments[0]) < 6 * error + 2e-4
    if heat == 1:
        assert family.posterior_mean(np.array([[total, squares]]), n)[0] == pytest.approx(
            [moments[1] / moments[0], moments[2] / moments[0]], rel=1e-3
        )


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: type(family).__name__)
def test_noisy_statistics(family: ConjugateFamily) -> None:
    """The noise's scale (six standard errors), and that a projection is one."""
    rng = np.random.default_rng(11)
    n, epsilon = 2_000, 2.0
    statistics = family.draw_statistics(rng, n, 4_000)
    noisy = noisy_statistics(np.random.default_rng(12), family, statistics, n, epsilon)
    away = np.abs(noisy - statistics).mean(axis=0)
    scale = family.statistics_sensitivity / epsilon
    assert np.allclose(away, scale, rtol=6 / math.sqrt(4_000))
    wild = statistics + rng.laplace(0, n, statistics.shape)
    projected = family.project(wild, n)
    assert np.allclose(family.project(projected, n), projected)
    assert np.isfinite(family.posterior_mean(projected, n)).all()
    assert not np.allclose(projected, wild)


@pytest.mark.parametrize(
    "family",
    [
        BetaBernoulli(0.06, least=0.05),
        DirichletMultinomial((0.75, 0.13, 0.12), least=0.1),
        GammaPoisson(0.6, most=8, low=0.5, high=9.0),
        NormalKnownVariance(0.95, 0.1),
        NormalUnknownVariance(0.1, 0.25, least=0.06),
    ],
    ids=lambda family: type(family).__name__,
)
def test_a_truncated_sample_stays_within(family: ConjugateFamily) -> None:
    """All of 500 samples at members near the edge, where some of as many samples that are not truncated are outside."""
    rng = np.random.default_rng(13)
    n = 2_000
    statistics = family.draw_statistics(rng, n, 500)
    heat = temperature(family.likelihood_sensitivity, 0.5)
    assert family.within(one_posterior_sample(rng, family, statistics, n, 0.5)).all()
    assert not family.within(family.draw_posterior(rng, statistics, n, heat)).all()


def test_data_far_from_the_truncation_are_refused() -> None:
    with pytest.raises(RuntimeError, match="next to no mass"):
        one_posterior_sample(np.random.default_rng(0), BETA, np.array([[0.0, 1e6]]), 1_000_000, 1.0)


def test_one_posterior_sample_is_as_private_as_its_temperature_says() -> None:
    """The exact density of OPS for every number of successes among 12: no ratio above `e^ε`, and more than ε/2."""
    epsilon, n = 0.7, 12
    heat = temperature(BETA.likelihood_sensitivity, epsilon)
    p = np.linspace(0.05, 0.95, 901)
    rows = []
    for ones in range(n + 1):
        law = beta(1 + ones / heat, 1 + (n - ones) / heat)
        rows.append(law.logpdf(p) - math.log(law.cdf(0.95) - law.cdf(0.05)))
    largest = max(float(np.abs(a - b).max()) for a, b in pairwise(rows))
    assert epsilon / 2 < largest <= epsilon


def test_costs() -> None:
    assert posterior_sample_cost(1.5) == 3.0
    assert random_scan_cost(0.7, 1.0) == pytest.approx(1.4)
    assert random_scan_cost(5.0, 0.1) == pytest.approx(7.7, abs=0.02)
    small = random_scan_cost(1e-4, 0.1)
    assert small < 4 * 1e-4 * 0.1


@pytest.mark.parametrize("n", [1, 2, 10])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_the_random_scan_cost_is_attained(n: int, epsilon: float) -> None:
    """The bit of one of n people, drawn at random, answered by randomised response at `ε₀`, costs exactly that.

    Everybody's bit is 0, and then the last one's is 1. So the cost is no lower, as the paper's `4ΔQ/N` is for large Δ.
    """
    honest = 1 / (1 + math.exp(-epsilon))
    says_one = {bit: honest if bit else 1 - honest for bit in (0, 1)}
    chance = {last: sum(says_one[bit] for bit in (*[0] * (n - 1), last)) / n for last in (0, 1)}
    attained = math.log(chance[1] / chance[0])
    assert attained == pytest.approx(random_scan_cost(epsilon / 2, 1 / n))
    if n == 10 and epsilon == 10.0:
        assert 4 * (epsilon / 2) / n < 0.3 * attained


def scan_cost_by_enumeration(n: int, chosen: int, epsilon: float, seen: bool) -> float:
    """The largest log ratio of any output's chances under any two neighbours among all 2ⁿ data sets of n bits.

    `chosen` of n people, drawn at random, answer by randomised response at `epsilon`. The output is how many say one;
    if `seen`, it is who was drawn, and what each said.
    """
    honest = 1 / (1 + math.exp(-epsilon))
    draws = list(combinations(range(n), chosen))
    chances: dict[tuple[int, ...], dict[Any, float]] = {}
    for bits in product((0, 1), repeat=n):
        law: dict[Any, float] = defaultdict(float)
        for drawn, said in product(draws, product((0, 1), repeat=chosen)):
            chance = math.prod(honest if bits[i] == a else 1 - honest for i, a in zip(drawn, said, strict=True))
            law[(drawn, said) if seen else sum(said)] += chance / len(draws)
        chances[bits] = law
    neighbours = (
        (law, chances[(*bits[:i], 1 - bits[i], *bits[i + 1 :])]) for bits, law in chances.items() for i in range(n)
    )
    return max(math.log(p / other[output]) for law, other in neighbours for output, p in law.items())


@pytest.mark.parametrize(("n", "chosen"), [(1, 1), (3, 2), (4, 2), (4, 4), (5, 1)])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_a_random_scan_costs_that_and_no_more(n: int, chosen: int, epsilon: float) -> None:
    """The worst of all ratios is the formula's, neither more nor less.

    No share helps where it is seen who was drawn. The paper's `4ΔQ/N` is above it where Δ is small, and far
    below where Δ is large.
    """
    exact = scan_cost_by_enumeration(n, chosen, epsilon, seen=False)
    assert exact == pytest.approx(random_scan_cost(epsilon / 2, chosen / n), rel=1e-9)
    assert scan_cost_by_enumeration(n, chosen, epsilon, seen=True) == pytest.approx(epsilon, rel=1e-9)
    paper = 4 * (epsilon / 2) * chosen / n
    if epsilon < 1:
        assert exact < paper
    if epsilon == 10.0 and n == 5 and chosen == 1:
        assert paper < 0.5 * exact


def test_the_exact_posterior_of_a_noisy_count() -> None:
    """Against quadrature of prior × Σ_k binomial × noise, for both kinds of noise, with an asymmetric prior."""
    n, p = 7, np.linspace(0.01, 0.99, 9)
    pair = np.array([[9.3, -2.1]])
    cases = [
        (
            laplace_pair_noise(pair, n, 1.7),
            lambda k: laplace.pdf(9.3 - k, scale=1.7) * laplace.pdf(-2.1 - (n - k), scale=1.7),
        ),
        (geometric_noise(np.array([7.0]), 0.6), lambda k: math.exp(-0.6 * (n - k)) / (1 + math.exp(-0.6))),
        (geometric_noise(np.array([3.0]), 0.6), lambda k: math.exp(-0.6 * abs(3 - k)) * math.tanh(0.3)),
    ]
    for log_noise, noise in cases:

        def joint(t: float, noise: Callable[[int], float] = noise) -> float:
            return float(beta.pdf(t, 2, 3)) * sum(float(binom.pmf(k, n, t)) * noise(k) for k in range(n + 1))

        total = quad(joint, 0, 1)[0]
        found = noisy_count_posterior(n, log_noise, 2.0, 3.0)
        assert found.density(p)[0] == pytest.approx([joint(t) / total for t in p], rel=1e-6)
        assert found.mean[0] == pytest.approx(quad(lambda t: t * joint(t), 0, 1)[0] / total, rel=1e-6)
        assert found.cdf(np.array([0.4]))[0] == pytest.approx(quad(joint, 0, 0.4)[0] / total, rel=1e-6)


def test_the_exact_posterior_is_calibrated_and_the_plain_one_is_not() -> None:
    """Places of the truth and of samples are uniform (Kolmogorov–Smirnov, three tests at 1e-6); a posterior that takes
    the noisy statistics as they are fails the same test."""
    rng = np.random.default_rng(17)
    n, epsilon, size = 60, 0.3, 3_000
    p = rng.random(size)
    ones = rng.binomial(n, p).astype(np.float64)
    counts = np.stack([ones, n - ones], axis=1)
    noisy = counts + rng.laplace(0, 2 / epsilon, counts.shape)
    exact = noisy_count_posterior(n, laplace_pair_noise(noisy, n, 2 / epsilon))
    released = draw_geometric(rng, ones, n, epsilon)
    dither = noisy_count_posterior(n, geometric_noise(released, epsilon))
    for posterior in (exact, dither):
        assert kstest(posterior.cdf(p), "uniform").pvalue > 1e-6
    assert kstest(dither.cdf(dither.sample(rng)), "uniform").pvalue > 1e-6
    plain = BETA.project(noisy, n) + 1
    assert kstest(np.asarray(beta.cdf(p, plain[:, 0], plain[:, 1])), "uniform").pvalue < 1e-6
    errors = [float(((mean - p) ** 2).mean()) for mean in (dither.mean, exact.mean, plain[:, 0] / plain.sum(axis=1))]
    assert errors[0] < errors[1] < errors[2]


def test_the_geometric_release_has_its_law() -> None:
    """Chi-square-like: frequencies within six standard errors of Dither's channel."""
    from dither_papers.bayes_point.geometric import geometric_channel

    drawn = draw_geometric(np.random.default_rng(5), np.full(100_000, 2.0), 5, 0.8)
    law = geometric_channel(5, 0.8)[2]
    found = np.bincount(drawn.astype(int), minlength=6) / len(drawn)
    assert (np.abs(found - law) < 6 * np.sqrt(law / len(drawn))).all()


def test_local_cost() -> None:
    """The cost equals that of brute force over a grid of p, with the masses by quadrature, as the paper does."""
    for ones, zeros in ((0, 0), (3, 0), (10, 2)):
        masses = [
            quad(lambda p, s=s, f=f: p**s * (1 - p) ** f, 0.1, 0.9, epsabs=0, epsrel=1e-10)[0]
            for s, f in ((ones + 1, zeros), (ones, zeros + 1))
        ]
        p = np.linspace(0.1, 0.9, 1_001)
        brute = np.abs(np.log(p / masses[0]) - np.log((1 - p) / masses[1])).max()
        assert local_cost(ones, zeros, 0.1) == pytest.approx(float(brute), rel=1e-9)
    costs = greedy_adversary(0.1, 50)
    assert (np.diff(costs) > 0).all()
    assert costs[-1] < posterior_sample_cost(BetaBernoulli(0.5, 0.1).likelihood_sensitivity)
