"""The score of discriminating questions against its definition, the candidates, and the share of the questions."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither_client import Laplace, Query, RandomizedResponse
from dither_estimator.design.registry import MECHANISMS
from dither_estimator.families import Family, families
from dither_estimator.families.rescaled import Rescaled
from dither_estimator.mechanisms.channels import channel_of
from dither_estimator.particles.system import ParticleSystem
from dither_estimator.policies.discrimination import (
    candidate_cuts,
    candidate_edges,
    discriminating_power,
    most_discriminating,
    number_discriminating,
)
from dither_estimator.priors.prior import Prior, parse_prior

NORMAL = families["normal"]
COMPETING: list[Family] = [NORMAL, Rescaled(NORMAL, "identity"), Rescaled(families["gamma"], "identity")]


def _members(sizes: list[int]) -> list[Any]:
    rng = np.random.default_rng(2)
    centres = ([6.0, 0.7], [450.0, 350.0], [2.0, 250.0])
    return [np.array(centre) * np.exp(0.1 * rng.normal(size=(n, 2))) for centre, n in zip(centres, sizes, strict=False)]


def _power(members: list[Any], queries: list[Query]) -> list[float]:
    """The score of each, by itself."""
    found = []
    for query in queries:
        pairs = zip(COMPETING, members, strict=False)
        below = np.array([family.cdf(theta, np.array(query.edges)).mean(axis=0) for family, theta in pairs])
        found += discriminating_power(below[:, :, None], channel_of(query)).tolist()
    return found


@pytest.mark.parametrize("count", [2, 3])
def test_the_score_is_the_covariance_with_the_families_indicators(count: int) -> None:
    """From its definition, over the mixture of the families' draws."""
    members = _members([300, 300, 300])[:count]
    queries: list[Query] = [Laplace(4, 7, 3, 2), RandomizedResponse((5.0, 6.5), 1), Laplace(5, 7, 1, "0.5")]
    for query, score in zip(queries, _power(members, queries), strict=True):
        shares = []
        for family, theta in zip(COMPETING, members, strict=False):
            cells = np.diff(family.cdf(theta, np.array(query.edges)), axis=1, prepend=0.0, append=1.0)
            shares.append(cells @ channel_of(query).matrix)
        mixture = np.concatenate(shares)
        by_hand = 0.0
        for f in range(count):
            indicator = np.repeat(np.arange(count) == f, 300).astype(float)
            for column in mixture.T:
                by_hand += np.cov(column, indicator, bias=True)[0, 1] ** 2 / column.mean()
        assert score == pytest.approx(by_hand)


def _systems(members: list[Any]) -> list[ParticleSystem]:
    """Particle systems of these draws; their priors do not matter here."""
    terms = {"mu": {"dist": "norm"}, "sigma": {"dist": "lognorm", "s": 1}}
    return [
        ParticleSystem(
            Prior(family, parse_prior(NORMAL, terms).parts),
            family.unconstrain(theta),
            np.full(len(theta), -np.log(len(theta))),
            {},
            0.0,
            0,
        )
        for family, theta in zip(COMPETING, members, strict=False)
    ]


@pytest.mark.parametrize("mechanism", ["laplace", "randomized_response"])
@pytest.mark.parametrize("epsilon", [1, 5])
def test_the_choice_is_nearly_the_best_of_a_fine_grid(mechanism: Any, epsilon: int) -> None:
    """The grid has all single cuts; at ε = 5 the choice has more cells and beats it. The median cut fails."""
    members = _members([100, 100])
    asked = most_discriminating(np.random.default_rng(1), _systems(members), mechanism, None, Fraction(epsilon), "log")
    assert asked is not None
    assert (asked.epsilon, asked.transform, asked.mechanism) == (Fraction(epsilon), "log", mechanism)
    fine: list[Query] = [RandomizedResponse((cut,), epsilon, "log") for cut in np.linspace(0, 12, 1_201).tolist()]
    bar = 0.98 * max(_power(members, fine))
    assert _power(members, [asked])[0] > bar > _power(members, [RandomizedResponse((6.0,), epsilon, "log")])[0]


@pytest.mark.parametrize("epsilon", [1, 5])
@pytest.mark.parametrize("levels", [17, 64, 200])
def test_of_many_levels_the_choice_is_nearly_the_best_of_a_fine_grid(levels: int, epsilon: int) -> None:
    members = _members([100, 100])
    system = _systems(members)
    asked = most_discriminating(np.random.default_rng(1), system, "laplace", levels, Fraction(epsilon), "log")
    assert isinstance(asked, Laplace)
    assert asked.levels == levels
    fine: list[Query] = [
        Laplace(centre - half, centre + half, levels, epsilon, "log")
        for centre in np.linspace(3, 9, 49).tolist()
        for half in np.geomspace(0.05, 4, 12).tolist()
    ]
    assert _power(members, [asked])[0] > 0.9 * max(_power(members, fine))


@pytest.mark.parametrize("levels", [1, 2, 5, 63])
@pytest.mark.parametrize("mechanism", ["laplace", "randomized_response"])
def test_given_levels_are_kept_and_every_edge_is_dyadic(mechanism: Any, levels: int) -> None:
    members = _members([50, 50])
    cuts = candidate_cuts(COMPETING[:2], members)
    edges = candidate_edges(cuts, MECHANISMS[mechanism], levels)
    assert edges.shape[1] == levels
    assert np.array_equal(np.round(edges * 2**30), edges * 2**30)
    asked = most_discriminating(np.random.default_rng(1), _systems(members), mechanism, levels, Fraction(1), "log")
    if len(edges):
        assert asked is not None
        assert len(asked.edges) == levels
        assert all((edge * 2**30).is_integer() for edge in asked.edges)
    else:
        assert asked is None


def test_questions_stay_few_once_the_posterior_is_narrow() -> None:
    rng = np.random.default_rng(4)
    centres = np.array([[6.0, 0.7], [450.0, 350.0]])
    narrow = [centre * np.exp(0.005 * rng.normal(size=(400, 2))) for centre in centres]
    assert len(candidate_cuts(COMPETING[:2], narrow)) < 70


def test_whole_numbers_are_cut_halfway() -> None:
    rng = np.random.default_rng(4)
    members = [np.exp(rng.normal(1, 0.1, (50, 1))), np.exp(rng.normal(1, 0.1, (50, 2)))]
    cuts = candidate_cuts([families["poisson"], families["negative_binomial"]], members)
    assert all((cut - 0.5).is_integer() for cut in cuts)


@pytest.mark.parametrize("theta", [(0.0, 1e-6), (1e9, 1e-6), (0.0, 1e9), (-30.0, 20.0)])
def test_extreme_posteriors_have_questions_too(theta: tuple[float, float]) -> None:
    systems = _systems([np.repeat([theta], 100, axis=0)] * 2)
    asked = most_discriminating(np.random.default_rng(1), systems, "laplace", None, Fraction(1), "log")
    assert isinstance(asked, Laplace)


@pytest.mark.parametrize("size", [1, 3, 16, 256])
def test_the_share_is_exact_in_the_long_run(size: int) -> None:
    """Within five standard errors, a false alarm in 1e6; rounding down without a coin fails at every size."""
    rng = np.random.default_rng(5)
    counts = np.array([number_discriminating(rng, 0.3, size) for _ in range(20_000)])
    error = max(counts.std(), 1e-9) / np.sqrt(len(counts))
    assert abs(counts.mean() - 0.3 * size) < 5 * error
    assert abs(int(0.3 * size) - 0.3 * size) > 5 * error


def test_all_or_none() -> None:
    rng = np.random.default_rng(5)
    assert {number_discriminating(rng, 1.0, 7) for _ in range(100)} == {7}
    assert {number_discriminating(rng, 0.0, 7) for _ in range(100)} == {0}
