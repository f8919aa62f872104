"""Extremes: a million answers at once, few and many particles, scales from 1e-6 to 1e9, ε from 0.01 to 20.

Warnings are errors here, as everywhere: whatever comes out came out of finite arithmetic.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from oracle import quadrature
from populations import PAPER_PRIOR, interview, specification
from scipy import stats
from scipy_distributions import scipy_distribution

from dither_client import Laplace, Query, RandomizedResponse
from dither_client.commands import run
from dither_client.posterior.wire import QUANTILES
from dither_estimator.families import families, find_family
from dither_estimator.learning.learner import Learner
from dither_estimator.learning.summary import Posterior
from dither_estimator.specification.specification import Specification, SpecificationError

MECHANISMS = ("laplace", "randomized_response")


def check_sound(posterior: Posterior) -> None:
    """Every number is finite, and quantiles are in order."""
    assert np.isfinite(posterior.covariance).all()
    assert posterior.log_evidence is not None
    assert math.isfinite(posterior.log_evidence)
    assert 1 <= posterior.ess <= posterior.particles * (1 + 1e-9)
    for summary in posterior.parameters.values():
        assert math.isfinite(summary.mean)
        assert summary.sd >= 0
        quantiles = [getattr(summary, name) for name in QUANTILES]
        assert np.isfinite(quantiles).all()
        assert quantiles == sorted(quantiles)
    bounds = posterior.poison.shift.values()
    assert all(bound is None or (math.isfinite(bound) and bound >= 0) for bound in bounds)


def interviewed(seed: int, theta: Mapping[str, float], answers: int, **fields: Any) -> tuple[Posterior, list[bool]]:
    """The posterior of a simulated population, and for each parameter whether the 90% interval covers the truth."""
    spec = Specification.from_json({"particles": 300, "epsilon": 1, **fields})
    rng = np.random.default_rng([seed, 7])
    values = spec.family.sample(rng, np.array(list(theta.values())), answers)
    learner = Learner(spec, seed)
    interview(learner, np.exp(values) if spec.transform == "log" else values, rng)
    posterior = learner.posterior()
    check_sound(posterior)
    summaries = [posterior.parameters[name] for name in theta]
    return posterior, [one.q05 <= x <= one.q95 for one, x in zip(summaries, theta.values(), strict=True)]


def check_coverage(covered: list[bool]) -> None:
    """As many intervals of 90% as that cover the truth: false alarms below 1 in 1,000, if they are exactly that.

    Intervals of one posterior are dependent, so half as many count.
    """
    effective = len(covered) // 2
    least = stats.binom.ppf(0.001, effective, 0.9) / effective
    assert np.mean(covered) >= least


QUICK = {"normal", "exponential", "bernoulli", "poisson"}
"""Families whose designs at a large ε take no time."""


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize(
    ("family", "epsilon"),
    [
        pytest.param(family, epsilon, marks=[] if epsilon == "0.01" or family in QUICK else pytest.mark.slow)
        for family in [*families, "student_t:4"]
        for epsilon in ("0.01", "0.1", "20")
    ],
)
def test_every_family_at_every_epsilon(family: str, epsilon: str, mechanism: str) -> None:
    standard = find_family(family)
    theta = dict(zip(standard.names, standard.standard.tolist(), strict=True))
    answers = 100 if epsilon == "20" else 60
    interviewed(1, theta, answers, family=family, epsilon=epsilon, mechanism=mechanism, particles=100)


@pytest.mark.parametrize("mechanism", ["staircase", "gaussian"])
@pytest.mark.parametrize("family", ["normal", "exponential", "bernoulli"])
@pytest.mark.parametrize("epsilon", ["0.01", "0.1", pytest.param("20", marks=pytest.mark.long)])
def test_the_other_mechanisms_at_every_epsilon(family: str, epsilon: str, mechanism: str) -> None:
    theta = dict(zip(families[family].names, families[family].standard.tolist(), strict=True))
    interviewed(1, theta, 60, family=family, epsilon=epsilon, mechanism=mechanism, particles=100)


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian", "randomized_response", "staircase"])
@pytest.mark.parametrize(
    ("family", "theta"), [("poisson", {"rate": 0.1}), ("negative_binomial", {"mean": 0.05, "size": 1})]
)
def test_counts_that_are_nearly_always_zero(family: str, theta: Mapping[str, float], mechanism: str) -> None:
    """An interval of several levels has no room between the quantiles of such a member: others are asked."""
    for epsilon in (5, 10):
        posterior, _ = interviewed(3, theta, 300, family=family, mechanism=mechanism, epsilon=epsilon)
        mean = posterior.parameters[next(iter(theta))].mean
        assert mean == pytest.approx(next(iter(theta.values())), abs=0.08)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", [*MECHANISMS, "staircase", "gaussian"])
@pytest.mark.parametrize(
    ("location", "scale"),
    [
        *(pytest.param(0.0, scale, marks=pytest.mark.long) for scale in (1e-6, 1e9)),
        (1e9, 1.0),
        (-1e6, 1e-6),
        (1e9, 1e-6),
    ],
)
def test_intervals_cover_at_extreme_scales(location: float, scale: float, mechanism: str) -> None:
    """Truths drawn from the prior, as calibration is defined; far from 0 values have few digits left for them."""
    prior = {
        "mu": {"dist": "norm", "loc": location, "scale": 3 * scale},
        "sigma": {"dist": "lognorm", "s": 0.7, "scale": scale},
    }
    covered = []
    for seed in range(10):
        rng = np.random.default_rng([seed, 8])
        theta = {"mu": location + 3 * scale * rng.normal(), "sigma": scale * math.exp(0.7 * rng.normal())}
        covered += interviewed(seed, theta, 300, family="normal", prior=prior, mechanism=mechanism)[1]
    check_coverage(covered)


@pytest.mark.slow
@pytest.mark.parametrize("family", ["exponential", "gamma", "weibull"])
def test_intervals_cover_at_extreme_scales_of_positive_values(family: str) -> None:
    covered = []
    for seed in range(16):
        scale = (1e-6, 1e9)[seed % 2]
        rng = np.random.default_rng([seed, 9])
        prior: dict[str, Any] = {"scale": {"dist": "lognorm", "s": 1.0, "scale": scale}}
        theta = {"scale": scale * math.exp(rng.normal())}
        if family != "exponential":
            prior = {"shape": {"dist": "lognorm", "s": 0.5, "scale": 2}, **prior}
            theta = {"shape": 2 * math.exp(0.5 * rng.normal()), **theta}
        covered += interviewed(seed, theta, 300, family=family, prior=prior, mechanism=MECHANISMS[seed // 8])[1]
    check_coverage(covered)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize(("transform", "sigma"), [("identity", 1e-6), ("identity", 1e9), ("log", 1e-6)])
def test_a_range_finds_its_scale(transform: str, sigma: float, mechanism: str) -> None:
    ends = [-3 * sigma, 3 * sigma] if transform == "identity" else [math.exp(-3 * sigma), math.exp(3 * sigma)]
    theta = {"mu": 0.0, "sigma": sigma}
    fields = {"family": "normal", "transform": transform, "range": ends, "mechanism": mechanism}
    posterior, _ = interviewed(2, theta, 1_000, **fields)
    for name, truth in theta.items():
        # Five standard deviations: about one false alarm in a million normal posteriors.
        assert abs(posterior.parameters[name].mean - truth) < 5 * posterior.parameters[name].sd
        assert posterior.parameters[name].sd < sigma


@pytest.mark.parametrize("policy", ["adaptive", "thompson"])
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("more", [{}, {"levels": 4}, {"epsilon": 10}], ids=["design's", "levels", "high"])
def test_posteriors_narrower_than_floating_point_go_on_asking(mechanism: str, policy: str, more: Any) -> None:
    """Numbers near 1e9 are 1e-7 apart, and sigma is a tenth of that: no interval of a design is left, one cut is."""
    prior = {
        "mu": {"dist": "norm", "loc": 1e9, "scale": 1e-7},
        "sigma": {"dist": "lognorm", "s": 1, "scale": 1e-8},
    }
    theta = {"mu": 1e9, "sigma": 1e-8}
    posterior, _ = interviewed(3, theta, 200, family="normal", prior=prior, mechanism=mechanism, policy=policy, **more)
    assert posterior.parameters["mu"].mean == pytest.approx(1e9, abs=1e-5)


def test_particles_that_are_all_equal_go_on_asking() -> None:
    spec = specification(particles=100, prior={**PAPER_PRIOR, "mu": {"dist": "uniform", "loc": 1e16, "scale": 2}})
    learner = Learner(spec, 1)
    rng = np.random.default_rng(1)
    interview(learner, np.full(300, 1e16 + 2), rng)
    check_sound(learner.posterior())


@pytest.mark.parametrize(
    "prior",
    [
        {"dist": "norm", "loc": 1e300, "scale": 1e200},
        {"dist": "norm", "loc": 0, "scale": 1e200},
        {"dist": "norm", "loc": 1e16, "scale": 1e-6},
        {"dist": "norm", "loc": 0, "scale": 1e-200},
    ],
)
def test_priors_that_floating_point_cannot_hold_are_refused(prior: Any) -> None:
    with pytest.raises(SpecificationError, match="quartiles must lie"):
        specification(prior={**PAPER_PRIOR, "mu": prior})


@pytest.mark.parametrize(
    "truth", ["mu=1e300,sigma=1e200", "mu=1e300,sigma=1e-6", "mu=0,sigma=1e-300", "mu=-1e9,sigma=1e-6"]
)
@pytest.mark.parametrize("epsilon", ["0.01", "20"])
def test_simulate_takes_any_truth(truth: str, epsilon: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Beyond the prior the posterior is wrong, as any is, but a posterior."""
    arguments = ["--truth", truth, "--respondents", "200", "--seed", "1", "--epsilon", epsilon, "--particles", "100"]
    assert run(["simulate", "--in-process", "--json", *arguments]) == 0
    printed = capsys.readouterr()
    assert not printed.err
    assert "NaN" not in printed.out
    assert "Infinity" not in printed.out


@pytest.mark.parametrize("text", ["[0, 1e300]", "[-1e308, 1e308]", "[1e-300, 1e-299]", "[1e16, 1.0000000000000002e16]"])
def test_simulate_refuses_ranges_that_it_cannot_hold(
    text: str, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = tmp_path / "spec.json"
    spec.write_text(f'{{"family": "normal", "epsilon": 1, "range": {text}}}')
    arguments = ["--truth", "mu=0,sigma=1", "--respondents", "10", "--spec", str(spec)]
    assert run(["simulate", "--in-process", *arguments]) == 2
    assert (
        capsys.readouterr().err.count("range must be of numbers that are at most about 1e99 and not all but equal") == 1
    )


def million(query: Query) -> list[int]:
    """A million answers about N(50, 3²)."""
    cells = np.diff(stats.norm.cdf([-np.inf, *query.edges, np.inf], 50, 3))
    law = cells @ np.array(query.channel())
    counts: list[int] = np.random.default_rng(1).multinomial(1_000_000, law / law.sum()).tolist()
    return counts


@pytest.mark.parametrize("particles", [100, 1_000, pytest.param(100_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("query", [Laplace(45, 55, 8, 5), RandomizedResponse((47, 50, 54), 1)], ids=["levels", "cells"])
def test_a_million_answers_at_once_to_one_query(query: Query, particles: int) -> None:
    """In one update from the prior, against quadrature.

    Seeded; with at least half the particles effective a mean errs by `sqrt(2 / N)` sds, a sd by as much of itself or
    less, and five times that is allowed: below one false alarm in 100,000.
    """
    prior = {"mu": {"dist": "norm", "loc": 0, "scale": 100}, "sigma": {"dist": "lognorm", "s": 1, "scale": 5}}
    learner = Learner(specification(particles=particles, prior=prior), 4)
    learner.learn_counts({query: million(query)})
    posterior = learner.posterior()
    check_sound(posterior)
    laws = [scipy_distribution(part.distribution) for part in learner.specification.prior.parts]
    exact = quadrature((laws[0], laws[1]), {query: million(query)}, (50.0, 3.0))
    limit = 5 * math.sqrt(2 / particles)
    for summary, mean, sd in zip(posterior.parameters.values(), exact.mean, exact.sd, strict=True):
        assert summary.mean == pytest.approx(mean, abs=limit * sd)
        assert summary.sd == pytest.approx(sd, rel=limit)


def test_a_million_answers_to_one_threshold_tell_the_share_above_it() -> None:
    """They tell nothing else: μ and σ stay as wide as the prior leaves them, on a curve."""
    query = Laplace(49, 55, 1, "0.5")
    counts = million(query)
    learner = Learner(specification(), 4)
    learner.learn_counts({query: counts})
    check_sound(learner.posterior())
    theta, weights = learner.particles()
    above = stats.norm.sf(query.edges[0], theta[:, 0], theta[:, 1])
    honest = math.exp(0.5) / (1 + math.exp(0.5))
    slope = 2 * honest - 1
    expected = (counts[1] / 1e6 - (1 - honest)) / slope
    sd = math.sqrt(0.25 / 1e6) / slope
    assert weights @ above == pytest.approx(expected, abs=0.5 * sd)
    assert weights @ (above - expected) ** 2 == pytest.approx(sd**2, rel=0.3)
    assert learner.posterior().parameters["mu"].sd > 1
