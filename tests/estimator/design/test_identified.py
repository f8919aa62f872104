"""Which parameters a few fixed cuts cannot tell, held against pairs of members that no answer tells apart."""

from typing import Any

import numpy as np
import pytest

from dither_estimator.design.identified import cannot_tell
from dither_estimator.families import families
from dither_estimator.specification.caution import caution
from dither_estimator.specification.specification import Specification


@pytest.mark.parametrize(
    ("fields", "unknown"),
    [
        ({"policy": "fixed:40:60", "levels": 1}, "mu and sigma"),
        ({"policy": "fixed:40:60", "levels": 1, "mechanism": "randomized_response"}, "mu and sigma"),
        ({"policy": "fixed:40:60", "levels": 2}, None),
        ({"policy": "fixed:40:60"}, None),
        ({"policy": "fixed:40:60", "levels": 1, "member_cuts": [55]}, None),
        ({"policy": "fixed:3:6", "levels": 1, "transform": "log"}, "mu and sigma"),
        ({"policy": "adaptive", "levels": 1}, None),
        ({"family": "student_t", "policy": "fixed:40:60", "levels": 2}, "mu, sigma and df"),
        ({"family": "gamma", "policy": "fixed:4:6", "levels": 1}, "shape and scale"),
        ({"family": "exponential", "policy": "fixed:4:6", "levels": 1}, None),
        ({"family": "bernoulli", "policy": "fixed:0:1", "levels": 1}, None),
        ({"family": "bernoulli", "policy": "fixed:4:6", "levels": 1}, "p"),
        ({"family": "nonparametric", "policy": "fixed:4:6", "levels": 1}, None),
    ],
)
def test_a_fixed_question_says_what_it_cannot_tell(fields: dict[str, Any], unknown: str | None) -> None:
    found = caution(Specification.from_json({"family": "normal", "epsilon": 1, **fields}))
    if unknown is None:
        assert found is None
    else:
        assert found is not None
        assert f" cannot tell {unknown}, however many there are" in found


def test_the_sentence_has_cuts_in_the_values_own_units_and_the_fix() -> None:
    fields = {"policy": "fixed:4:6", "levels": 1, "transform": "log", "range": [50, 500]}
    assert caution(Specification.from_json({"family": "normal", "epsilon": 1, **fields})) == (
        "answers at 1 cut alone (148.413) cannot tell mu and sigma, however many there are, for they say only how many "
        "people lie below: ask at 2 or more cuts, or with policy adaptive"
    )


def test_members_that_are_not_told_apart_differ_in_the_parameters_that_are_named() -> None:
    """Two normals with one share below 50, whose mu and sigma both differ; at a second cut their shares differ too."""
    normal = families["normal"]
    alike = np.array([[48.0, 2.0], [46.0, 4.0]])
    assert np.ptp(normal.cdf(alike, np.array([50.0]))) < 1e-15
    assert cannot_tell(normal, alike, [50.0]) == ("mu", "sigma")
    assert np.ptp(normal.cdf(alike, np.array([52.0]))) > 0.01
    assert cannot_tell(normal, alike, [50.0, 52.0]) == ()
