"""The methods that the studies of Yıldırım 2024 compare on the same people: the paper's three, and Dither's."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dither_estimator.families import FloatArray
from dither_estimator.learning.learner import Learner
from dither_estimator.mechanisms.channels import channel_of
from dither_estimator.specification.specification import Specification
from dither_papers.truncation import latent_smc, marginal_smc, mhaar
from dither_papers.truncation.clipped import Answers, Interval, answer
from dither_papers.truncation.intervals import PAPER_INTERVALS, best_interval, best_mixture
from dither_papers.truncation.interview import Particles, interview, same, thompson
from dither_papers.truncation.latent_smc import LatentParticles, Rejuvenation
from dither_papers.truncation.marginal_smc import MarginalParticles
from dither_papers.truncation.online_gradient import averaged, estimates
from dither_papers.truncation.prior import NormalPrior

__all__ = ["DITHERS", "PAPER", "PAPERS", "Seen", "Setting", "estimate", "follow"]

PAPER = "Yıldırım"
PRIOR = NormalPrior()
PRIOR_TERMS = {
    "mu": {"dist": "norm", "loc": 0, "scale": 100},
    "sigma": {"dist": "invgamma", "a": 1, "scale": 1, "of": "variance"},
}
PARTICLES = 1_000
"""The number of particles in the paper, and in Dither."""
START = (0.0, 100.0)
"""The start of online gradients: the prior's mean and standard deviation of μ."""

PAPERS = ("SMC-adaptive", "SMC-nonadaptive", "MCMC")
DITHERS = ("laplace", "laplace, goal mu", "randomized_response", "randomized_response, goal mu")


@dataclass(frozen=True)
class Setting:
    """What is asked: the best interval for a score, or the same wide interval for everyone."""

    epsilon: float
    score: str
    wide: Interval
    iterations: int = 100_000
    """Iterations of MHAAR, with 20 proposals each."""


@dataclass(frozen=True, eq=False)
class Seen:
    """The state after `answers` answers: the last interval, if any, and weighted particles of (μ, σ)."""

    answers: int
    interval: Interval | None
    theta: FloatArray
    weights: FloatArray

    @property
    def mean(self) -> tuple[float, float]:
        """The posterior means of μ and σ."""
        mu, sigma = (self.weights @ self.theta).tolist()
        return mu, sigma


def estimate(method: str, setting: Setting, rng: np.random.Generator, values: FloatArray) -> tuple[float, float]:
    """The method's estimates of μ and σ after all holders of `values` have answered."""
    if method == "MCMC":
        return _mcmc(setting, rng, values)
    if method == "online gradient":
        path = estimates(rng, values, best_mixture(setting.epsilon), setting.epsilon, START)
        return averaged(np.array(list(path)))
    *_, last = follow(method, setting, rng, values, len(values))
    return last.mean


def follow(method: str, setting: Setting, rng: np.random.Generator, values: FloatArray, every: int) -> Iterator[Seen]:
    """Run a method that learns one answer at a time; yields its state after every `every` answers."""
    name, _, variant = method.partition(", ")
    if name in ("laplace", "randomized_response"):
        return _dither(setting, name, "mu" if variant == "goal mu" else "all", rng, values, every)
    noise_epsilon = None
    if name == "SMC-nonadaptive":
        ask = same(setting.wide)
    elif variant == "published noise":
        half = PAPER_INTERVALS[int(setting.epsilon)]
        ask, noise_epsilon = thompson([(-half, half)]), setting.epsilon * 2**0.5
    elif variant == "marginal, mixture":
        mixture = best_mixture(setting.epsilon)
        ask = thompson(mixture.intervals, mixture.weights)
    else:
        ask = thompson([best_interval(setting.score, setting.epsilon)])
    if variant.startswith("marginal"):
        marginal = marginal_smc.init(rng, PRIOR, PARTICLES, setting.epsilon)
        learnt = interview(rng, marginal, _marginal_step, ask, values)
        return _looks(learnt, len(values), every)
    latent = latent_smc.init(rng, PRIOR, PARTICLES, setting.epsilon)
    asked = interview(rng, latent, _latent_step, ask, values, noise_epsilon)
    return _looks(asked, len(values), every)


def _latent_step(rng: np.random.Generator, state: LatentParticles, y: float, interval: Interval) -> LatentParticles:
    return latent_smc.step(rng, PRIOR, state, y, interval, Rejuvenation())


def _marginal_step(
    rng: np.random.Generator, state: MarginalParticles, y: float, interval: Interval
) -> MarginalParticles:
    return marginal_smc.step(rng, PRIOR, state, y, interval)


def _looks(asked: Iterator[tuple[Interval, Particles]], total: int, every: int) -> Iterator[Seen]:
    for t, (interval, particles) in enumerate(asked, 1):
        if t % every == 0 or t == total:
            yield Seen(t, interval, particles.theta, particles.weights)


def _mcmc(setting: Setting, rng: np.random.Generator, values: FloatArray) -> tuple[float, float]:
    """Starts at the middle of the interval with a tenth of its width, for lack of a better choice."""
    low, high = setting.wide
    y = answer(rng, values, low, high, setting.epsilon)
    answers = Answers(y, np.full_like(y, low), np.full_like(y, high), setting.epsilon)
    chain = mhaar.sample(rng, PRIOR, answers, ((low + high) / 2.0, (high - low) / 10.0), setting.iterations)
    mu, sigma = chain.theta.mean(axis=0).tolist()
    return mu, sigma


def _dither(
    setting: Setting, mechanism: str, goal: str, rng: np.random.Generator, values: FloatArray, every: int
) -> Iterator[Seen]:
    """The policy `adaptive`, with answers drawn from the exact channel by inversion."""
    fields = {"family": "normal", "epsilon": f"{setting.epsilon:g}", "prior": PRIOR_TERMS, "particles": PARTICLES}
    learner = Learner(
        Specification.from_json(fields | {"mechanism": mechanism, "goal": goal}), int(rng.integers(2**62))
    )
    for t, (value, uniform) in enumerate(zip(values.tolist(), rng.random(len(values)).tolist(), strict=True), 1):
        query = learner.ask()
        chances = np.cumsum(channel_of(query).matrix[query.cell(value)])[:-1]
        learner.learn(query, bisect_right(chances.tolist(), uniform))
        if t % every == 0 or t == len(values):
            theta, weights = learner.particles()
            yield Seen(t, None, theta, weights)
