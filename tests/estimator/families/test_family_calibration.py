"""The probability of a family is calibrated: over draws from the priors, it is how often the family is the true one."""

import numpy as np
import pytest
from populations import interview
from scipy.special import expit

from dither_estimator.families import FloatArray
from dither_estimator.learning.learner import Learner
from dither_estimator.specification.specification import Specification

_DRAWS = 100
_ANSWERS = 300
SPEC = Specification.from_json(
    {
        "families": [{"family": "normal", "transform": "log"}, {"family": "normal"}],
        "range": [100, 2000],
        "epsilon": 2,
        "particles": 200,
    }
)


def _misfits(probabilities: FloatArray, true: FloatArray) -> FloatArray:
    """Standard scores of how often and how clearly the first family is the true one; for calibration, about N(0, 1).

    They sum `y - p`, and `(y - p)(p - ½)`: whether small probabilities are too small and large ones too large.
    """
    spread = probabilities * (1 - probabilities)
    centred = probabilities - 0.5
    return np.array(
        [
            (true - probabilities).sum() / np.sqrt(spread.sum()),
            ((true - probabilities) * centred).sum() / np.sqrt((spread * centred**2).sum()),
        ]
    )


@pytest.mark.slow
def test_probabilities_of_families_are_calibrated() -> None:
    """Two scores below 3.5, a false alarm in 1,000. Seeded.

    Evidence that takes every answer for three fails it.
    """
    priors = [(SPEC.prior, "log"), (SPEC.rivals[0].prior, "identity")]
    log_odds, true = np.empty(_DRAWS), np.empty(_DRAWS)
    for draw in range(_DRAWS):
        rng = np.random.default_rng([draw, 31])
        first = rng.random() < 0.5
        prior = priors[0 if first else 1][0]
        theta = prior.family.constrain(prior.sample(rng, 1))[0]
        learner = Learner(SPEC, draw)
        with np.errstate(over="ignore"):
            values = np.exp(np.clip(prior.family.sample(rng, theta, _ANSWERS), -700, 700))
        interview(learner, values, rng)
        comparison = learner.posterior().comparison
        assert comparison is not None
        one, other = comparison.families
        log_odds[draw], true[draw] = np.clip(one.log_evidence - other.log_evidence, -30, 30), first
        assert one.probability == pytest.approx(expit(one.log_evidence - other.log_evidence))
    assert np.abs(_misfits(expit(log_odds), true)).max() < 3.5
    assert np.abs(_misfits(expit(3 * log_odds), true)).max() > 3.5
