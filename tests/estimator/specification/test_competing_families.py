"""Several families in a specification and in a learner: what is accepted, which priors agree, what is remembered."""

import io
import json
from typing import Any

import numpy as np
import pytest
from oracle import quadrature
from populations import interview
from scipy import stats
from scipy_distributions import scipy_distribution
from scipy_families import ORACLES

from dither_client import Query, RandomizedResponse
from dither_estimator.families import FloatArray, families
from dither_estimator.families.rescaled import on_scale
from dither_estimator.learning.learner import InvalidSnapshot, Learner
from dither_estimator.priors.matching import agreeing_prior
from dither_estimator.priors.prior import Prior, parse_prior
from dither_estimator.specification.specification import Specification, SpecificationError

TWO = [{"family": "normal", "transform": "log"}, {"family": "normal"}]
SPEC: dict[str, Any] = {"families": TWO, "epsilon": 2, "range": [100, 2000], "particles": 200}


def _interviewed(answers: int = 300, **fields: Any) -> Learner:
    rng = np.random.default_rng(21)
    learner = Learner(Specification.from_json(SPEC | fields), 21)
    interview(learner, np.exp(rng.normal(6, 0.7, answers)), rng)
    return learner


def test_the_first_family_asks_and_the_others_are_mapped_to_its_scale() -> None:
    spec = Specification.from_json(SPEC)
    assert (spec.family.name, spec.transform, spec.discriminate) == ("normal", "log", 0.3)
    [other] = spec.rivals
    assert other.transform == "identity"
    edges = np.array([5.0, 6.0])
    assert other.prior.family.cdf(np.array([[400.0, 300.0]]), edges)[0] == pytest.approx(
        stats.norm.cdf(np.exp(edges), 400, 300)
    )


def test_one_family_is_as_it_was() -> None:
    spec = Specification.from_json({"family": "normal", "epsilon": 1})
    assert (spec.rivals, spec.discriminate) == ((), 0.0)
    body = Learner(spec, 1).posterior().to_json()
    assert "families" not in body
    assert "verdict" not in body


def test_fields_that_agree_with_the_first_family_may_be_there() -> None:
    spec = Specification.from_json(SPEC | {"family": "normal", "transform": "log"})
    assert spec.transform == "log"
    prior = {"mu": {"dist": "norm", "loc": 6, "scale": 1}, "sigma": {"dist": "lognorm", "s": 1, "scale": 0.5}}
    given = {"families": [{**TWO[0], "prior": prior}, TWO[1]], "epsilon": 1, "prior": prior}
    assert scipy_distribution(Specification.from_json(given).prior.parts[0].distribution).mean() == 6


@pytest.mark.parametrize("name", ["gamma", "weibull", "exponential"])
def test_positive_families_beside_a_normal_need_no_range(name: str) -> None:
    """Half of the default prior's members are negative, and have no counterpart: the median of the others is met."""
    specification = Specification.from_json({"epsilon": 1, "families": [{"family": "normal"}, {"family": name}]})
    [rival] = specification.rivals
    members = rival.prior.family.constrain(rival.prior.sample(np.random.default_rng(1), 4_000))
    half = np.median(rival.prior.family.quantiles(members, np.array([0.5])))
    assert 2.5e4 < half < 2.5e5  # half of the values above 0 have at most 77,000


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"families": []}, "a list of 2 to 8"),
        ({"families": "normal"}, "a list of 2 to 8"),
        ({"families": TWO[:1]}, "a list of 2 to 8"),
        ({"families": TWO * 5}, "a list of 2 to 8"),
        ({"families": ["normal", "gamma"]}, "each of families must be an object"),
        ({"families": [*TWO, {"transform": "log"}]}, "each of families must be an object"),
        ({"families": [*TWO, {"family": "gamma", "range": [0, 1]}]}, "each of families must be an object"),
        ({"families": [*TWO, {"family": "normal"}]}, "normal with transform identity twice"),
        ({"families": [*TWO, {"family": "cauchyy"}]}, "family must be one of"),
        ({"families": [{"family": "cauchyy"}, *TWO]}, "family must be one of"),
        ({"families": [*TWO, {"family": "gamma", "transform": "log"}]}, "transform of gamma must be one of identity"),
        ({"families": [*TWO, {"family": "gamma", "prior": {}}]}, "gamma among families: prior must name exactly"),
        ({"families": [*TWO, {"family": "beta"}]}, "few members"),
        ({"families": [{"family": "normal", "prior": {}}, {"family": "gamma"}]}, "either prior or range"),
        ({"family": "gamma"}, "family must be left out or equal that of the first"),
        ({"transform": "identity"}, "transform must be left out or equal that of the first"),
        ({"prior": {}, "range": None}, "prior must be left out or equal that of the first"),
        ({"discriminate": -0.1}, "from 0 to 1"),
        ({"discriminate": 1.1}, "from 0 to 1"),
        ({"discriminate": True}, "from 0 to 1"),
        ({"discriminate": "0.3"}, "from 0 to 1"),
        ({"discriminate": float("nan")}, "from 0 to 1"),
        ({"discriminate": 0.3, "policy": "fixed:5:7"}, "must be 0 with a fixed policy"),
        ({"families": None, "family": "normal", "discriminate": 0.3}, "needs families"),
    ],
)
def test_bad_families(change: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecificationError, match=message) as caught:
        Specification.from_json(SPEC | change)
    assert "\n" not in str(caught.value)


def _centres_and_spreads(prior: Prior) -> FloatArray:
    """Quartiles over the prior of the members' medians, and the median of the distances between their quartiles."""
    theta = prior.family.constrain(prior.sample(np.random.default_rng(3), 20_000))
    low, middle, high = prior.family.quantiles(theta, np.array([0.25, 0.5, 0.75])).T
    return np.array([*np.quantile(middle, [0.25, 0.5, 0.75]), np.median(high - low)])


@pytest.mark.parametrize(
    ("name", "transform"),
    [
        ("normal", "identity"),
        ("logistic", "identity"),
        ("laplace", "log"),
        ("student_t", "log"),
        ("weibull", "identity"),
        ("gamma", "identity"),
    ],
)
def test_priors_agree_on_median_and_spread(name: str, transform: Any) -> None:
    """With the lognormal of `range` [100, 2000], by medians over the prior, to a factor of 1.35; defaults do not."""
    first, family = Specification.from_json(SPEC).prior, families[name]
    wanted = _centres_and_spreads(Prior(on_scale(first.family, "log", transform), first.parts))
    agreeing = _centres_and_spreads(parse_prior(family, agreeing_prior(first, "log", family, transform)))
    default = _centres_and_spreads(parse_prior(family, family.default_prior(transform)))
    on_a_scale_of_ratios = np.exp if transform == "log" else np.asarray
    factors = on_a_scale_of_ratios(agreeing) / on_a_scale_of_ratios(wanted)
    assert np.abs(np.log(factors[[1, 3]])).max() < np.log(1.35)
    assert np.abs(np.log(np.abs(on_a_scale_of_ratios(default) / on_a_scale_of_ratios(wanted))))[[1, 3]].max() > 0.5


@pytest.mark.parametrize("name", ["laplace", "logistic"])
def test_a_range_that_is_wrong_refuses_no_family(name: str) -> None:
    """400 answers of people about 80 in place of 0 to 10, with the ratio of the evidences within 0.5 of quadrature.

    Members of two symmetric families with the same quartiles have the same `mu`, and their `sigma` differ by a factor,
    so the prior that agrees exactly is known. With a normal prior of the rival's `mu`, of the same quartiles, the ratio
    was 38 nats too low: 80 lies 19 of the first prior's scales away.
    """
    rng = np.random.default_rng(5)
    values = rng.logistic(80, 2, 400)
    table: dict[Query, list[int]] = {}
    for cut, some in zip((76.0, 78.0, 80.0, 82.0, 84.0), np.array_split(values, 5), strict=True):
        query = RandomizedResponse((cut,), 2)
        above = rng.random(len(some)) < np.array(query.channel())[(some > cut).astype(int), 1]
        table[query] = [int((~above).sum()), int(above.sum())]
    spec = Specification.from_json(
        {"families": [{"family": "normal"}, {"family": name}], "epsilon": 2, "range": [0, 10]}
    )
    learner = Learner(spec, 5)
    learner.learn_counts(table)
    first, rival = (each["log_evidence"] for each in learner.posterior().to_json()["families"])
    location, scale = (scipy_distribution(part.distribution) for part in spec.prior.parts)
    factor = stats.norm.ppf(0.75) / getattr(stats, name).ppf(0.75)
    agreeing = stats.lognorm(scale.kwds["s"], scale=factor * scale.kwds["scale"])
    exact = quadrature((location, scale), table, (80, 3)).log_evidence
    other = quadrature((location, agreeing), table, (80, 3 * factor), ORACLES[name]).log_evidence
    assert first == pytest.approx(exact, abs=0.2)
    assert rival - first == pytest.approx(other - exact, abs=0.5)


@pytest.mark.parametrize("name", ["exponential", "weibull"])
def test_a_range_that_is_wrong_refuses_no_positive_family(name: str) -> None:
    """With a range from 100 to 200, one in 200 members of the normal above 0 has a median of at most 20.

    Of the rival's at least one in 10,000 does; of those of a lognormal scale with the same quartiles, one in 10⁸.
    """
    spec = Specification.from_json(
        {"families": [{"family": "normal"}, {"family": name}], "epsilon": 1, "range": [100, 200]}
    )
    prior = spec.rivals[0].prior
    members = prior.family.constrain(prior.sample(np.random.default_rng(2), 200_000))
    assert 1e-4 < (prior.family.quantiles(members, np.array([0.5])) < 20).mean() < 5e-3


def test_a_missing_range_refuses_no_positive_family() -> None:
    """The members that match are those above 0: their scales reach far below the median, and not above it.

    Of the first family's about one in 10,000 has a median of at most 10. Of a lognormal scale with the same quartiles
    none of 10¹⁸ would, and 500 answers of an exponential with the mean 1 were 51 nats likelier under the Gumbel.
    """
    spec = Specification.from_json({"families": [{"family": "gumbel"}, {"family": "exponential"}], "epsilon": 1})
    shares = []
    for prior in (spec.prior, spec.rivals[0].prior):
        members = prior.family.constrain(prior.sample(np.random.default_rng(3), 2_000_000))
        medians = prior.family.quantiles(members, np.array([0.5])).ravel()
        shares.append((medians[medians > 0] < 10).mean())
    assert 0.2 < shares[1] / shares[0] < 5


@pytest.mark.parametrize("name", ["normal", "exponential", "gamma"])
def test_families_that_nothing_of_zeros_and_ones_matches_need_a_prior(name: str) -> None:
    spec = {"families": [{"family": "bernoulli"}, {"family": name}], "epsilon": 1}
    with pytest.raises(SpecificationError, match=f"too few members of family {name} match .* give it a prior"):
        Specification.from_json(spec)


@pytest.mark.parametrize(("name", "shape"), [("weibull", 2.5), ("gamma", 5.0)])
def test_a_shape_of_which_the_first_family_says_nothing_is_learnt(name: str, shape: float) -> None:
    """2,000 answers at ε = 2 of a Weibull or gamma beside exponentials, seeded: ten nats tell them apart.

    All exponentials are members with the shape 1, and a prior with these members alone tells nothing.
    """
    rng = np.random.default_rng(8)
    spec = {"families": [{"family": "exponential"}, {"family": name}], "epsilon": 2, "range": [0, 100]}
    learner = Learner(Specification.from_json(spec), 8)
    theta = np.array([shape, 40 / shape])
    interview(learner, families[name].sample(rng, theta, 2_000), rng)
    exponential, other = (entry["log_evidence"] for entry in learner.posterior().to_json()["families"])
    assert other > exponential + 10


def test_whole_numbers_take_their_prior_from_the_range() -> None:
    spec = Specification.from_json(
        {"families": [{"family": "poisson"}, {"family": "negative_binomial"}], "epsilon": 1, "range": [0, 20]}
    )
    assert scipy_distribution(spec.rivals[0].prior.parts[0].distribution).median() == pytest.approx(10)
    spec = Specification.from_json({"families": [{"family": "poisson"}, {"family": "negative_binomial"}], "epsilon": 1})
    assert scipy_distribution(spec.rivals[0].prior.parts[0].distribution).median() == pytest.approx(5)


def test_the_posterior_says_which_family_holds() -> None:
    posterior = _interviewed().posterior()
    body = json.loads(json.dumps(posterior.to_json(), allow_nan=False))
    assert [(each["family"], each["transform"]) for each in body["families"]] == [
        ("normal", "log"),
        ("normal", "identity"),
    ]
    assert sum(each["probability"] for each in body["families"]) == pytest.approx(1)
    assert body["log_evidence"] == body["families"][0]["log_evidence"]
    assert isinstance(body["verdict"], str)


@pytest.mark.parametrize("mechanism", ["laplace", "randomized_response"])
def test_discriminating_questions_are_asked_in_their_share(mechanism: str) -> None:
    """Questions that only the discrimination asks: all of them if the share is 1, none if it is 0, and learnt alike."""
    asked = {}
    for share in (0.0, 0.5, 1.0):
        learner = _interviewed(150, discriminate=share, mechanism=mechanism)
        assert sum(int(row.sum()) for row in learner.counts.values()) == 150
        asked[share] = learner.counts
    assert asked[0.0].keys() != asked[0.5].keys()
    if mechanism == "randomized_response":
        cuts = [query.cuts for query in asked[1.0] if isinstance(query, RandomizedResponse)]
        assert max(max(some) for some in cuts) > 7.0


@pytest.mark.parametrize("size", [1, 2, 16])
def test_pools_of_every_size_have_their_share(size: int) -> None:
    """One question discriminates best, so half of a pool is that one; in a pool of one a coin says."""
    learner = _interviewed(0, discriminate=0.5)
    for answers in range(20):
        pool = learner.pool(size)
        assert len(pool) >= size
        assert max(pool.count(query) for query in pool) >= len(pool) // 2
        learner.learn(pool[0], answers % 2)


@pytest.mark.parametrize("answers", [0, 5, 200])
def test_a_snapshot_holds_the_competing_families(answers: int) -> None:
    learner = _interviewed(answers)
    for read_first in (False, True):
        if read_first:
            learner.posterior()
        resumed = Learner.restore(learner.specification, learner.snapshot())
        assert resumed.posterior().to_json() == learner.posterior().to_json()
        for one in (learner, resumed):
            one.learn_counts({RandomizedResponse((5.0, 7.0), 2, "log"): [13, 39, 24]})
        assert resumed.posterior().to_json() == learner.posterior().to_json()
        assert resumed.pool(8) == learner.pool(8)


@pytest.mark.parametrize("policy", ["thompson", "fixed:5:7"])
def test_every_policy_compares(policy: str) -> None:
    learner = _interviewed(60, policy=policy)
    assert learner.specification.discriminate == (0.3 if policy == "thompson" else 0.0)
    assert learner.posterior().comparison is not None


def test_a_snapshot_of_an_older_version_is_refused() -> None:
    learner = _interviewed(5)
    with np.load(io.BytesIO(learner.snapshot())) as archive:
        arrays = {name: archive[name] for name in archive.files}
    older = json.loads(str(arrays["header"])) | {"version": 1}
    buffer = io.BytesIO()
    np.savez(buffer, **(arrays | {"header": np.array(json.dumps(older))}))
    with pytest.raises(InvalidSnapshot, match="another version"):
        Learner.restore(learner.specification, buffer.getvalue())


def test_reading_twice_says_the_same() -> None:
    learner = _interviewed(100)
    assert learner.posterior().to_json() == learner.posterior().to_json()


def test_a_snapshot_of_other_families_is_refused() -> None:
    learner = _interviewed(5)
    other = Specification.from_json(SPEC | {"families": [*TWO, {"family": "gamma"}]})
    with pytest.raises(InvalidSnapshot):
        Learner.restore(other, learner.snapshot())
    alone = Specification.from_json({"family": "normal", "transform": "log", "epsilon": 2, "particles": 200})
    with pytest.raises(InvalidSnapshot, match="another specification"):
        Learner.restore(alone, learner.snapshot())
