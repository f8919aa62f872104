"""ArviZ's tree of a posterior: its groups, and the values in them against SciPy and the estimator's own likelihood."""

import json
import math
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from scipy import stats

from dither_client import Laplace, Query, RandomizedResponse
from dither_client.posterior.posterior import Particles, Posterior, parse_posterior
from dither_client.posterior.wire import to_json
from dither_estimator.learning.arviz_model import ParametricModel
from dither_estimator.learning.learners import new_learner
from dither_estimator.likelihood.table import CountLikelihood
from dither_estimator.specification.specification import Specification

SPEC = {
    "family": "normal",
    "epsilon": 1,
    "particles": 400,
    "prior": {"mu": {"dist": "norm", "loc": 40, "scale": 15}, "sigma": {"dist": "gamma", "a": 4, "scale": 3}},
}
CUT, SEVERAL = RandomizedResponse([50], 1), Laplace(30, 70, 3, 1)
COUNTS: Mapping[Query, Sequence[int]] = {CUT: [130, 170], SEVERAL: [60, 70, 90, 80]}


@pytest.fixture(scope="module")
def posterior() -> Posterior:
    learner = new_learner(Specification.from_json(SPEC), 1)
    learner.learn_counts(COUNTS)
    found = learner.posterior()
    rng = np.random.default_rng(1)
    values = rng.normal([50, 10], [1, 0.5], (400, 2))
    weights = rng.dirichlet(np.ones(400))
    particles = Particles(("mu", "sigma"), tuple(map(tuple, values.tolist())), tuple(weights.tolist()))
    return parse_posterior("wages", to_json(found.described(found.reply())), lambda: particles, lambda: COUNTS)


def test_the_groups_and_what_they_hold(posterior: Posterior) -> None:
    tree = posterior.to_arviz(ParametricModel.from_json(SPEC))
    assert set(tree.children) == {
        "posterior", "sample_stats", "observed_data", "constant_data", "prior", "log_likelihood"
    }  # fmt: skip
    for group in ("posterior", "prior", "sample_stats"):
        assert {name: tree[group].sizes[name] for name in ("chain", "draw")} == {"chain": 1, "draw": 400}
    assert tree["log_likelihood"]["count"].dims == ("chain", "draw", "cell")
    assert tree["observed_data"]["count"].to_numpy().tolist() == [130, 170, 60, 70, 90, 80]
    assert tree["constant_data"]["answer"].to_numpy().tolist() == [0, 1, 0, 1, 2, 3]
    asked = [json.loads(text) for text in tree["constant_data"]["question"].to_numpy().tolist()]
    assert [each["mechanism"] for each in asked] == ["randomized_response"] * 2 + ["laplace"] * 4
    assert (tree.attrs["collection"], tree.attrs["answers"], tree.attrs["particles"]) == ("wages", 600, 400)
    assert tree.attrs["ess"] == posterior.ess
    assert tree.attrs["log_evidence"] == posterior.log_evidence


def test_draws_are_the_particles_that_sample_stats_names(posterior: Posterior) -> None:
    tree, particles = posterior.to_arviz(), posterior.particles()
    places = tree["sample_stats"]["particle"].to_numpy()[0]
    for column, name in enumerate(particles.parameters):
        drawn = tree["posterior"][name].to_numpy()[0]
        assert drawn.tolist() == [particles.values[place][column] for place in places]
    # Systematic resampling takes each particle as often as its weight says, to less than one.
    assert (np.abs(np.bincount(places, minlength=400) - 400 * np.array(particles.weights)) < 1).all()


def test_the_log_likelihood_of_a_count_is_that_of_its_answer(posterior: Posterior) -> None:
    """Randomized response at a cut has the probability (1 + (e - 1) F) / (e + 1) of its lower answer, at ε = 1."""
    tree = posterior.to_arviz(ParametricModel.from_json(SPEC))
    found = tree["log_likelihood"]["count"].to_numpy()[0]
    draws = np.column_stack([tree["posterior"][name].to_numpy()[0] for name in ("mu", "sigma")])
    lower = (1 + (math.e - 1) * stats.norm.cdf(50, draws[:, 0], draws[:, 1])) / (math.e + 1)
    assert found[:, 0] == pytest.approx(130 * np.log(lower))
    assert found[:, 1] == pytest.approx(170 * np.log1p(-lower))
    counts = {query: np.array(row) for query, row in COUNTS.items()}
    whole = CountLikelihood.of(Specification.from_json(SPEC).family, counts).log_likelihood(draws)
    assert found.sum(axis=1) == pytest.approx(whole)


def test_the_prior_is_the_specifications(posterior: Posterior) -> None:
    """Kolmogorov's test fails by chance once in a million."""
    prior = posterior.to_arviz(ParametricModel.from_json(SPEC, seed=3))["prior"]
    assert stats.kstest(prior["mu"].to_numpy()[0], stats.norm(40, 15).cdf).pvalue > 1e-6
    assert stats.kstest(prior["sigma"].to_numpy()[0], stats.gamma(4, scale=3).cdf).pvalue > 1e-6
    assert stats.kstest(prior["mu"].to_numpy()[0], stats.norm(50, 15).cdf).pvalue < 1e-6


def test_without_counts_and_without_a_model_there_are_fewer_groups(posterior: Posterior) -> None:
    assert set(posterior.to_arviz().children) == {"posterior", "sample_stats", "observed_data", "constant_data"}
    hidden = parse_posterior("wages", _reply(), posterior.particles)
    assert set(hidden.to_arviz().children) == {"posterior", "sample_stats"}
    assert set(hidden.to_arviz(ParametricModel.from_json(SPEC)).children) == {"posterior", "sample_stats", "prior"}


def test_a_model_needs_a_family() -> None:
    with pytest.raises(ValueError, match="needs a family"):
        ParametricModel.from_json({"epsilon": 1})


def _reply() -> object:
    learner = new_learner(Specification.from_json(SPEC), 1)
    found = learner.posterior()
    return to_json(found.described(found.reply()))
