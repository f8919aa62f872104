"""Simulation-based calibration in short; `python -m benchmarks.calibration` is the whole of it, for every family."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from benchmarks.calibration import FALSE_ALARMS, MODELS, pvalues, ranks
from dither_client import Query, parse_query
from dither_estimator.design.registry import MECHANISMS
from dither_estimator.families import FloatArray, families
from dither_estimator.learning.learner import Learner
from dither_estimator.priors.prior import ParameterPrior, Prior
from dither_estimator.specification.specification import Specification

CASES = {
    "laplace": [("normal", 1), ("poisson", 1)],
    "randomized_response": [("gumbel", 1), ("bernoulli", 5)],
}
"""A few families for each mechanism; of a mechanism that is not listed, the normal at ε = 1."""

LIMIT = FALSE_ALARMS / 100
"""For each p-value of this module, of which there are fewer than 100."""


def specification(family: str, **fields: Any) -> Specification:
    return Specification.from_json({"family": family, "prior": MODELS[family], "particles": 300, **fields})


def test_every_family_has_a_prior() -> None:
    assert set(MODELS) == {*families, "student_t:4"}


@pytest.mark.parametrize(
    ("mechanism", "family", "epsilon"),
    [(mechanism, *case) for mechanism in MECHANISMS for case in CASES.get(mechanism, [("normal", 1)])],
)
def test_ranks_are_uniform(mechanism: str, family: str, epsilon: int) -> None:
    spec = specification(family, epsilon=epsilon, mechanism=mechanism)
    assert pvalues(ranks(spec, range(40), 80)).min() > LIMIT


def test_a_logarithm_changes_nothing_but_the_values() -> None:
    plain, log = (specification("normal", epsilon=2, transform=transform) for transform in ("identity", "log"))
    assert ranks(plain, range(3), 50) == pytest.approx(ranks(log, range(3), 50), abs=1e-6)


class _WithoutJacobian(ParameterPrior):
    """A prior's density at the parameter, taken for that of its coordinate."""

    def log_density(self, coordinate: FloatArray) -> FloatArray:
        density: FloatArray = self.distribution.log_density(self.parameter.constrain(coordinate))
        return density


class _Doubled(Learner):
    """Takes answers for less private than they are."""

    def learn(self, query: Query, answer: int) -> None:
        super().learn(parse_query({**query.to_json(), "epsilon": 2 * query.epsilon}), answer)


class _Forgetful(Learner):
    """Loses what it is told."""

    def learn(self, query: Query, answer: int) -> None:
        pass


def test_a_prior_without_its_jacobian_is_rejected() -> None:
    """Few answers under the default prior, so that the posterior is wide and yet the particles have to move."""
    spec = Specification.from_json({"family": "exponential", "epsilon": 1, "particles": 300})
    (scale,) = spec.prior.parts
    wrong = Prior(spec.family, (_WithoutJacobian(scale.parameter, scale.distribution, scale.of_variance),))
    assert pvalues(ranks(spec, range(120), 40)).min() > LIMIT
    believed = dataclasses.replace(spec, prior=wrong)
    assert pvalues(ranks(believed, range(120), 40, truth=spec.prior))[0].min() < LIMIT


@pytest.mark.parametrize(("broken", "shown_by"), [(_Doubled, [0, 1, 2]), (_Forgetful, [2])])
def test_a_broken_learner_is_rejected(broken: type[Learner], shown_by: list[int]) -> None:
    """One that loses answers is shown by the likelihood alone: its posterior is the prior, and ranks are uniform."""
    found = pvalues(ranks(specification("normal", epsilon=1), range(40), 100, learner=broken)).min(axis=1)
    assert found[shown_by].min() < LIMIT
    assert found[np.setdiff1d(range(3), shown_by)].min(initial=1) > LIMIT
