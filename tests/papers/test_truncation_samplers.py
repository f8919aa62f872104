"""The paper's samplers and Dither's, each against quadrature of the same posterior; broken variants must fail.

Seeded; a Kolmogorov-Smirnov test raises a false alarm once in 10,000, a mean beyond five standard errors once in 1e6.
"""

from dataclasses import dataclass
from functools import cache, partial

import numpy as np
import pytest
from scipy import stats

from dither_estimator.families import FloatArray
from dither_papers.truncation import latent_smc, marginal_smc, mhaar
from dither_papers.truncation.clipped import Answers, Interval
from dither_papers.truncation.intervals import best_interval, best_mixture
from dither_papers.truncation.interview import interview, posterior_mean, same, thompson
from dither_papers.truncation.latent_smc import LatentParticles, Rejuvenation
from dither_papers.truncation.online_gradient import averaged, estimates
from dither_papers.truncation.prior import NormalPrior

PRIOR = NormalPrior(mean_variance=4.0, shape=4.0, scale=4.0)
"""Narrow, so that a grid holds the posterior of a few answers."""
ANSWERS = Answers(
    np.array([0.4, -1.2, 2.9, 1.1, 0.2, 1.9, -0.3, 1.4]), np.full(8, -1.0), np.full(8, 2.0), 5.0
)  # fmt: skip


@dataclass(frozen=True)
class Quadrature:
    """The posterior of θ on a grid: distribution functions of μ and of log σ, means and standard deviations."""

    mu: FloatArray
    log_sigma: FloatArray
    cdfs: tuple[FloatArray, FloatArray]
    mean: FloatArray
    sd: FloatArray

    def pvalues(self, theta: FloatArray) -> list[float]:
        """P-values for μ and log σ of independent draws (n, 2)."""
        draws = (theta[:, 0], np.log(theta[:, 1]))
        grids = (self.mu, self.log_sigma)
        return [
            float(stats.kstest(x, partial(np.interp, xp=grid, fp=cdf)).pvalue)
            for x, grid, cdf in zip(draws, grids, self.cdfs, strict=True)
        ]


@cache
def quadrature(answers: Answers = ANSWERS) -> Quadrature:
    """From the definition: a sum over a fine grid of values in place of the closed form; SciPy's prior densities."""
    mu, log_sigma = np.linspace(-5.0, 6.0, 140), np.linspace(-1.6, 1.8, 90)
    x = np.linspace(answers.low[0], answers.high[0], 801)
    weights = np.full(len(x), x[1] - x[0])
    weights[[0, -1]] /= 2.0
    sigma = np.exp(log_sigma)
    log_posterior = stats.norm.logpdf(mu, 0.0, 2.0)[:, None] + stats.invgamma.logpdf(sigma**2, 4.0, scale=4.0)
    log_posterior = log_posterior + 2.0 * log_sigma
    law = stats.norm(mu[:, None, None], sigma[:, None])
    inside, below, above = law.pdf(x) * weights, law.cdf(x[0])[..., 0], law.sf(x[-1])[..., 0]
    for y, scale in zip(answers.y, answers.scale, strict=True):
        noise = stats.laplace.pdf(y, x, scale)
        log_posterior += np.log(inside @ noise + below * noise[0] + above * noise[-1])
    mass = np.exp(log_posterior - log_posterior.max())
    mass /= mass.sum()
    parts = mass.sum(axis=1), mass.sum(axis=0)
    means = np.array([parts[0] @ mu, parts[1] @ sigma])
    squares = np.array([parts[0] @ mu**2, parts[1] @ sigma**2])
    cdfs = [np.cumsum(part) - part / 2.0 for part in parts]
    return Quadrature(mu, log_sigma, (cdfs[0], cdfs[1]), means, np.sqrt(squares - means**2))


def rejuvenated(rejuvenation: Rejuvenation, rounds: int, size: int = 2_000) -> LatentParticles:
    """Independent chains of Algorithm 4 from the prior."""
    rng = np.random.default_rng(5)
    mu, sigma = PRIOR.sample(rng, size)
    latents = mu[:, None] + sigma[:, None] * rng.standard_normal((size, len(ANSWERS)))
    state = LatentParticles(mu, sigma, latents, np.full(size, -np.log(size)), ANSWERS)
    for _ in range(rounds):
        moved = latent_smc.rejuvenate(rng, PRIOR, state, np.arange(size), rejuvenation)
        state = LatentParticles(moved.mu, moved.sigma, moved.latents[:, :-1], moved.log_weights, ANSWERS)
    return state


@pytest.mark.parametrize(
    "rejuvenation",
    [Rejuvenation(), Rejuvenation("metropolis"), Rejuvenation(subset=3), Rejuvenation("metropolis", 5)],
    ids=str,
)
def test_rejuvenation_leads_to_the_posterior(rejuvenation: Rejuvenation) -> None:
    assert min(quadrature().pvalues(rejuvenated(rejuvenation, 120).theta)) > 1e-4


def test_rejuvenation_that_ignores_the_answers_would_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(latent_smc, "_distance", lambda values, answers: np.zeros_like(values))
    assert min(quadrature().pvalues(rejuvenated(Rejuvenation(), 30).theta)) < 1e-10


@pytest.mark.parametrize("theta", ["gibbs", "metropolis"])
def test_algorithm_2_comes_to_the_posterior(theta: str) -> None:
    """4,000 particles: within 0.12 standard deviations of the exact means, spreads within 12%."""
    rng, state = np.random.default_rng(6), None
    rejuvenation = Rejuvenation("gibbs" if theta == "gibbs" else "metropolis")
    state = latent_smc.init(rng, PRIOR, 4_000, ANSWERS.epsilon)
    for y in ANSWERS.y.tolist():
        state = latent_smc.step(rng, PRIOR, state, y, (-1.0, 2.0), rejuvenation)
    assert state.latents.shape == (4_000, 8)
    check_moments(state.theta, state.weights)


def test_dithers_particles_come_to_the_posterior() -> None:
    rng = np.random.default_rng(7)
    state = marginal_smc.init(rng, PRIOR, 4_000, ANSWERS.epsilon)
    for y in ANSWERS.y.tolist():
        state = marginal_smc.step(rng, PRIOR, state, y, (-1.0, 2.0))
    check_moments(state.theta, state.weights)


def check_moments(theta: FloatArray, weights: FloatArray) -> None:
    exact = quadrature()
    mean = weights @ theta
    sd = np.sqrt(weights @ (theta - mean) ** 2)
    assert np.abs(mean - exact.mean) == pytest.approx(0.0 * exact.sd, abs=float(0.12 * exact.sd.min()))
    assert sd == pytest.approx(exact.sd, rel=0.12)


def chain_errors() -> FloatArray:
    """How many standard errors, from 20 batches, MHAAR is off, with two values of each z: its worst case."""
    found = mhaar.sample(np.random.default_rng(8), PRIOR, ANSWERS, (0.0, 1.0), 20_000, 2)
    assert 0.1 < found.rate < 0.5
    batches = found.theta.reshape(20, -1, 2).mean(axis=1)
    errors: FloatArray = (batches.mean(axis=0) - quadrature().mean) / (batches.std(axis=0, ddof=1) / 20**0.5)
    return np.abs(errors)


def test_mhaar_samples_the_posterior() -> None:
    assert chain_errors().max() < 5.0


def test_mhaar_without_weights_would_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in the published program, whose differences of a logarithm from itself make every latent value as likely."""
    pick = mhaar._Kernel.pick

    def careless(self: mhaar._Kernel, rng: np.random.Generator, pool: FloatArray, weights: FloatArray) -> FloatArray:
        return pick(self, rng, pool, np.cumsum(np.ones_like(weights), axis=0))  # type: ignore[arg-type, return-value]

    monkeypatch.setattr(mhaar._Kernel, "pick", careless)
    assert chain_errors().max() > 5.0


def test_particles_that_cannot_explain_an_answer_say_so() -> None:
    rng = np.random.default_rng(9)
    state = latent_smc.init(rng, PRIOR, 50, 1.0)
    with pytest.raises(latent_smc.Degenerate):
        latent_smc.step(rng, PRIOR, state, float("nan"), (0.0, 1.0), Rejuvenation())


@pytest.mark.long
def test_adaptive_questions_beat_constant_ones() -> None:
    """ε = 5, 300 respondents, three seeds: both samplers find μ by the same rule; μ ± 10σ leaves half as much error
    again and more. The paper's prior."""
    prior, sigma = NormalPrior(), 10**0.5
    wide: Interval = (50.0 - 10.0 * sigma, 50.0 + 10.0 * sigma)
    errors: dict[str, list[float]] = {"latent": [], "marginal": [], "constant": []}
    for seed in range(3):
        rng = np.random.default_rng([seed, 10])
        values = rng.normal(50.0, sigma, 300)
        ask = thompson([best_interval("mean", 5.0)])
        latent = latent_smc.init(rng, prior, 250, 5.0)
        *_, last = interview(
            rng, latent, lambda r, s, y, i: latent_smc.step(r, prior, s, y, i, Rejuvenation()), ask, values
        )
        errors["latent"].append(posterior_mean(last[1])[0] - 50.0)
        for name, rule in (("marginal", ask), ("constant", same(wide))):
            state = marginal_smc.init(rng, prior, 500, 5.0)
            *_, end = interview(rng, state, lambda r, s, y, i: marginal_smc.step(r, prior, s, y, i), rule, values)
            errors[name].append(posterior_mean(end[1])[0] - 50.0)
    rmse = {name: float(np.sqrt(np.mean(np.square(found)))) for name, found in errors.items()}
    assert max(rmse["latent"], rmse["marginal"]) < 0.6
    assert rmse["constant"] > 1.5 * max(rmse["latent"], rmse["marginal"])


def test_online_gradients_are_efficient_in_the_end() -> None:
    """ε = 5, 3,000 respondents, from σ = 100, six seeds: errors of 0.3 to 2.1 times the asymptotic ones (1e-3 each)."""
    mixture = best_mixture(5.0)
    expected = np.sqrt(10.0 * np.diag(np.linalg.inv(mixture.information)) / 3_000)
    found = []
    for seed in range(6):
        rng = np.random.default_rng([seed, 11])
        values = rng.normal(50.0, 10**0.5, 3_000)
        found.append(averaged(np.array(list(estimates(rng, values, mixture, 5.0, (0.0, 100.0))))))
    rmse = np.sqrt(np.mean((np.array(found) - [50.0, 10**0.5]) ** 2, axis=0))
    assert (rmse > 0.3 * expected).all()
    assert (rmse < 2.1 * expected).all()


def test_online_gradients_by_monte_carlo() -> None:
    """Algorithm 5 in place of exact scores: the estimate comes as near."""
    rng = np.random.default_rng(12)
    values = rng.normal(50.0, 10**0.5, 800)
    path = np.array(list(estimates(rng, values, best_mixture(10.0), 10.0, (45.0, 10.0), n_samples=300)))
    mu, sigma = averaged(path)
    assert abs(mu - 50.0) < 1.0
    assert abs(sigma - 10**0.5) < 1.0
