"""Where values are known to lie between two bounds, people are asked there, and the population is found there."""

import numpy as np
import pytest

from dither_client import Transform
from dither_estimator.families import families, find_family
from dither_estimator.learning.learners import new_learner
from dither_estimator.priors.prior import parse_prior
from dither_estimator.specification.specification import Specification
from dither_server.simulate.in_process import simulate_in_process

_SHARES = {"minimum": 0, "maximum": 1}
_TRUTH, _SD = 0.4, 0.1


def _run(seed: int, respondents: int, **fields: object) -> tuple[float, float]:
    """The error of the median in standard deviations, and the share of the questions that tell nothing of anybody."""
    spec = Specification.from_json({"family": "normal", "epsilon": 1, **fields})
    rng = np.random.default_rng(seed)
    values = rng.normal(_TRUTH, _SD, respondents).clip(0, 1)
    learner = new_learner(spec, seed, outstanding=32)
    simulate_in_process(learner, values, None, rng, outstanding=32)
    beyond = [row.sum() for query, row in learner.counts.items() if max(query.edges) <= 0 or min(query.edges) >= 1]
    return abs(learner.posterior().parameters["mu"].q50 - _TRUTH) / _SD, sum(beyond) / respondents


@pytest.mark.parametrize("policy", ["adaptive", "thompson"])
def test_shares_are_found_and_nobody_is_asked_beyond_the_bounds(policy: str) -> None:
    """600 people at ε = 1, 32 at once, whose median has an sd of .1 of theirs.

    Each of eight errors is below .6, six such sds, and less than a question in twenty is beyond. The broken variant,
    the wide prior, asks nine in ten there.
    """
    found = [_run(seed, 600, policy=policy, **_SHARES) for seed in range(8)]
    assert max(error for error, _ in found) < 0.6
    assert max(beyond for _, beyond in found) < 0.05
    wide = find_family("normal").default_prior("identity")
    assert min(_run(seed, 600, policy=policy, prior=wide, **_SHARES)[1] for seed in range(2)) > 0.5


@pytest.mark.parametrize(
    ("bounds", "location", "spread", "scale"),
    [
        ({"minimum": 0, "maximum": 120}, 60, 30, 1),
        ({"minimum": -4, "maximum": 0}, -2, 1, 0.5),
        ({"minimum": 0, "maximum": 1e9}, 1e5, 1e5, 1),
        ({"minimum": 1e6, "maximum": 1e6 + 40}, 1e6 + 20, 10, 1),
        ({"minimum": 0}, 0, 1e5, 1),
        ({"maximum": 1}, 0, 1e5, 1),
        ({}, 0, 1e5, 1),
    ],
)
def test_two_bounds_narrow_the_prior(bounds: dict[str, float], location: float, spread: float, scale: float) -> None:
    spec = Specification.from_json({"family": "logistic", "epsilon": 1, **bounds})
    mu, sigma = (part.distribution.numbers for part in spec.prior.parts)
    assert (mu["loc"], mu["scale"], sigma["scale"]) == (location, spread, scale)
    assert spec.has_default_prior


def test_bounds_are_on_the_scale_of_the_family() -> None:
    spec = Specification.from_json({
        "family": "normal", "transform": "log", "epsilon": 1, "minimum": 1, "maximum": np.exp(8),
    })  # fmt: skip
    assert spec.support.bounds("log") == pytest.approx((0, 8))
    assert spec.prior.parts[0].quantiles(np.array([0.5])) == pytest.approx(4)
    for minimum in (-5, 0):  # without a logarithm
        half = Specification.from_json({**_LOG, "minimum": minimum, "maximum": 100})
        assert half.prior == parse_prior(half.family, half.family.default_prior("log"))


_LOG = {"family": "normal", "transform": "log", "epsilon": 1}


@pytest.mark.parametrize("said", [{"range": [0.2, 0.6]}, {"prior": find_family("normal").default_prior("identity")}])
def test_who_says_where_values_lie_is_believed(said: dict[str, object]) -> None:
    without, between = (
        Specification.from_json({"family": "normal", "epsilon": 1, **said, **bounds}) for bounds in ({}, _SHARES)
    )
    assert between.prior == without.prior


@pytest.mark.parametrize("name", sorted(families))
@pytest.mark.parametrize("transform", ["identity", "log"])
def test_every_family_has_a_prior_between_bounds(name: str, transform: Transform) -> None:
    family = find_family(name)
    if transform in family.transforms:
        parse_prior(family, family.bounded_prior(transform, 0.25, 0.75))
