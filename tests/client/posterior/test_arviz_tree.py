"""ArviZ's tree of a posterior: its groups, and the values in them against SciPy and the estimator's own likelihood."""

import json
import math
from collections.abc import Mapping, Sequence

import arviz_base
import numpy as np
import pytest
from scipy import stats

from dither_client import Laplace, Query, RandomizedResponse
from dither_client.posterior.particles import Particles
from dither_client.posterior.posterior import Posterior
from dither_client.posterior.reading import parse_posterior
from dither_client.posterior.wire import to_json
from dither_estimator.hierarchy.group_likelihood import GroupLikelihood
from dither_estimator.learning.arviz_model import ParametricModel
from dither_estimator.learning.grouped_learner import GroupedLearner
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


LABELS = ("north", "south")
GROUPED = SPEC | {"groups": {"name": "region", "labels": list(LABELS)}}
GROUP_COUNTS: Mapping[str, Mapping[Query, Sequence[int]]] = {
    "north": COUNTS,
    "south": {CUT: [200, 100], Laplace(20, 60, 3, 1): [10, 30, 40, 20]},
}


@pytest.fixture(scope="module")
def grouped() -> tuple[GroupedLearner, Posterior]:
    learner = GroupedLearner(Specification.from_json(GROUPED), 1)
    learner.learn_group_counts(GROUP_COUNTS)
    found = learner.posterior()

    def particles(label: str) -> Particles:
        names, values, weights = learner.group_particles(label)
        return Particles(names, tuple(map(tuple, values.tolist())), tuple(weights.tolist()))

    reply = to_json(found.described(found.reply()))
    return learner, parse_posterior("wages", reply, lambda: particles("north"), dict, particles, lambda: GROUP_COUNTS)


def test_groups_are_a_dimension(grouped: tuple[GroupedLearner, Posterior]) -> None:
    learner, posterior = grouped
    tree = posterior.to_arviz(ParametricModel.from_json(GROUPED))
    for group, name in (("posterior", "mu"), ("prior", "sigma"), ("sample_stats", "particle")):
        assert tree[group][name].dims == ("chain", "draw", "group")
        assert tree[group][name].shape == (1, 400, 2)
        assert tree[group]["group"].to_numpy().tolist() == list(LABELS)
    for label in LABELS:
        drawn = tree["posterior"].dataset.sel(group=label)
        assert drawn["mu"].to_numpy()[0].tolist() == learner.group_particles(label)[1][:, 0].tolist()
    assert tree["constant_data"]["label"].to_numpy().tolist() == ["north"] * 6 + ["south"] * 6
    assert tree["observed_data"]["count"].to_numpy().tolist() == [130, 170, 60, 70, 90, 80, 200, 100, 10, 30, 40, 20]
    assert tree.attrs["answers"] == posterior.answers == 1_000


def test_the_log_likelihood_is_that_of_each_groups_own_parameters(grouped: tuple[GroupedLearner, Posterior]) -> None:
    """Against the hierarchy's own likelihood; with the groups' draws exchanged it is another."""
    learner, posterior = grouped
    spec = learner.specification
    found = posterior.to_arviz(ParametricModel.from_json(GROUPED))["log_likelihood"]["count"].to_numpy()[0]
    theta = np.stack([learner.group_particles(label)[1] for label in LABELS])
    coordinates = np.stack([spec.family.unconstrain(each) for each in theta], axis=-1).swapaxes(0, 1)
    tables = [{query: np.array(row) for query, row in GROUP_COUNTS[label].items()} for label in LABELS]
    likelihood = GroupLikelihood.of(spec.family, tables)
    by_group = np.column_stack([found[:, :6].sum(axis=1), found[:, 6:].sum(axis=1)])
    assert by_group == pytest.approx(likelihood.log_likelihood(coordinates))
    assert by_group != pytest.approx(likelihood.log_likelihood(coordinates[:, :, ::-1]))


def test_arviz_reads_groups(grouped: tuple[GroupedLearner, Posterior]) -> None:
    tree = grouped[1].to_arviz(ParametricModel.from_json(GROUPED))
    drawn = arviz_base.extract(tree, keep_dataset=True)
    assert dict(drawn["mu"].sizes) == {"group": 2, "sample": 400}
    table = arviz_base.dataset_to_dataframe(tree["posterior"].dataset)
    assert set(table.columns) == {f"{name}[{label}]" for name in ("mu", "sigma") for label in LABELS}
    for label in LABELS:
        assert table[f"mu[{label}]"].mean() == pytest.approx(grouped[1].group(label).mean["mu"], rel=1e-6)


def test_the_prior_of_groups_is_as_wide_as_their_middles_and_what_lies_between(
    grouped: tuple[GroupedLearner, Posterior],
) -> None:
    """Groups share their middle: their differences are narrower than two independent draws of the prior."""
    prior = grouped[1].to_arviz(ParametricModel.from_json(GROUPED, seed=3))["prior"]["mu"].to_numpy()[0]
    middle, apart = prior.mean(axis=1), prior[:, 0] - prior[:, 1]
    assert stats.kstest(middle, stats.norm(40, 15).cdf).statistic < 0.1
    assert np.median(np.abs(apart)) < 0.7 * np.median(np.abs(stats.norm(0, 15 * math.sqrt(2)).rvs(4_000, 1)))
