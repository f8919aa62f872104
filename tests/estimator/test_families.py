"""Every family against SciPy: CDF, gradient, draws, and the map to unconstrained coordinates."""

from typing import Any

import numpy as np
import pytest
from populations import interview
from scipy import stats

from dither_estimator.families import Family, families
from dither_estimator.learner import Learner
from dither_estimator.specification import Specification

ORACLES: dict[str, Any] = {
    "normal": stats.norm,
    "laplace": stats.laplace,
    "logistic": stats.logistic,
    "gumbel": stats.gumbel_r,
}
THETA = np.array([[0.0, 1.0], [3.0, 0.2], [-50.0, 12.0]])


@pytest.fixture(params=sorted(families))
def family(request: pytest.FixtureRequest) -> Family:
    return families[request.param]


def test_every_family_has_an_oracle() -> None:
    assert set(ORACLES) == set(families)


def test_cdf(family: Family) -> None:
    edges = np.linspace(-80, 40, 61)
    exact = [ORACLES[family.name].cdf(edges, *theta) for theta in THETA]
    assert family.cdf(THETA, edges) == pytest.approx(np.array(exact), abs=1e-14)


def test_cdf_is_finite_far_away(family: Family) -> None:
    found = family.cdf(np.array([[0.0, 1e-9], [1e12, 1e-3]]), np.array([-1e12, 0.0, 1e12]))
    assert np.isfinite(found).all()
    assert (np.diff(found, axis=1) >= 0).all()


def test_gradient(family: Family) -> None:
    """Against central differences of SciPy's CDF."""
    edges = np.array([-60.0, -48.0, 0.3, 2.9, 3.5])
    for theta in THETA:
        found = family.cdf_gradient(theta[None], edges)[0]
        for j in range(len(theta)):
            step = np.eye(len(theta))[j] * 1e-6 * theta[1]
            above, below = (ORACLES[family.name].cdf(edges, *(theta + sign * step)) for sign in (1, -1))
            assert found[:, j] == pytest.approx((above - below) / (2 * step[j]), abs=1e-8 / theta[1])


def test_draws(family: Family) -> None:
    """Kolmogorov-Smirnov at a false-alarm rate of 1e-4 for each family. Seeded."""
    drawn = family.sample(np.random.default_rng(4), THETA[1], 20_000)
    assert stats.kstest(drawn, ORACLES[family.name](*THETA[1]).cdf).pvalue > 1e-4


def test_coordinates_go_there_and_back(family: Family) -> None:
    assert family.constrain(family.unconstrain(THETA)) == pytest.approx(THETA)


def test_a_population_is_found(family: Family) -> None:
    """2,000 answers at ε = 2 with the default prior: the truth within five posterior sd, sds of a few percent of σ."""
    rng = np.random.default_rng(9)
    truth = np.array([-30.0, 4.0])
    learner = Learner(Specification.from_json({"family": family.name, "epsilon": 2}), 9)
    interview(learner, family.sample(rng, truth, 2_000), rng)
    for (name, summary), exact in zip(learner.posterior().parameters.items(), truth, strict=True):
        assert abs(summary.mean - exact) < 5 * summary.sd, name
        assert summary.sd < 0.6
