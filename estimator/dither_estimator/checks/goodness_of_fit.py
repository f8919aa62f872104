"""The misfit check: does the family hold at all, judged by answers that nobody has learnt.

Two thresholds fit any two-parameter family, and p-values on answers that the posterior has learnt are not uniform. So
an independent coin makes some respondents' questions *check questions*, at four points of the member that the posterior
has in mind. Their answers have a count table of their own, and neither the posterior nor any question depends on it.
Given θ and the questions they are therefore independent of the posterior, and replicates of them under posterior draws
have, over the prior, exactly their law.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from dither_client import InvalidQuery, Query, Transform
from dither_client.posterior.wire import Misfit, MisfitLook
from dither_estimator.families import Family, FloatArray
from dither_estimator.likelihood.counts import Counts, total_answers
from dither_estimator.mechanisms.channels import group_queries
from dither_estimator.mechanisms.lattice import rounded, threshold
from dither_estimator.particles.moments import weighted_mean

__all__ = ["Look", "MisfitCheck", "check_questions", "misfit_p_value", "misfit_report"]

_ALPHA = 0.05
_POINTS = np.array([-1.5, -0.3, 0.3, 1.5])
"""Where check questions are asked, as standard normal quantiles."""
_REPLICATES = 999
_RIM = 1e-12
_BLOCK = 1 << 18


@dataclass(frozen=True)
class Look:
    """One look at the check answers. Made once and never again."""

    planned: int
    """The number of check answers at which it was due."""
    check_answers: int
    """How many there were when it was made."""
    answers: int
    """How many others had been learnt by then."""
    p_value: float


@dataclass(frozen=True)
class MisfitCheck:
    """How often, and when: fixed before the first answer."""

    share: float
    """The chance that a respondent gets a check question, above 0 and at most 0.5."""
    looks: tuple[int, ...]
    """The numbers of check answers at which to look, increasing."""

    @property
    def alpha(self) -> float:
        """The false-alarm rate of one look; over all of them it is at most 5% (Bonferroni)."""
        return _ALPHA / len(self.looks)

    def due(self, check_answers: int, made: Sequence[Look]) -> int | None:
        """The look that is to be made at so many check answers: of those passed by since the last one, the last."""
        last = made[-1].planned if made else 0
        return max((look for look in self.looks if last < look <= check_answers), default=None)


def misfit_report(check: MisfitCheck, family: Family, check_answers: int, made: Sequence[Look]) -> Misfit:
    """What is told of the check: an alarm is a p-value of at most `alpha` at any look."""
    last = made[-1].planned if made else 0
    return Misfit(
        family=family.name,
        check_answers=check_answers,
        looks=tuple(MisfitLook(look.check_answers, look.answers, look.p_value, check.alpha) for look in made),
        alarm=any(look.p_value <= check.alpha for look in made),
        next_look=min((look for look in check.looks if look > last), default=None),
    )


def check_questions(
    family: Family,
    theta: FloatArray,
    weights: FloatArray,
    one_level: Query,
    transform: Transform,
) -> tuple[Query, ...]:
    """The check questions, equally likely ones, given particles: `theta` (n, d) and `weights` (n,), which sum to 1.

    Each is `one_level` on an interval of its own: thresholds at the quantiles Φ(z), z = ±0.3 and ±1.5, of the
    posterior's mean member: `m + z s` for the normal. They are rounded to about a tenth of the scale, so that there are
    few; those of whole numbers lie halfway between two.
    Those that floating point cannot hold are left out.
    """
    member = _mean_member(family, theta, weights)
    *cuts, low, high = family.quantiles(member[None], ndtr([*_POINTS, -1.0, 1.0]))[0].tolist()
    questions: list[Query] = []
    for cut in cuts:
        try:
            questions.append(threshold(_rounded(family, cut, (high - low) / 2), one_level, transform))
        except (InvalidQuery, ValueError, OverflowError):
            continue
    return tuple(questions)


def misfit_p_value(
    rng: np.random.Generator, family: Family, theta: FloatArray, weights: FloatArray, counts: Counts
) -> float:
    """The rank, of 1,000, of the check answers' misfit among replicates under 999 draws from the posterior.

    `theta` (n, d) and normalised `weights` (n,) are the posterior of the other answers, `counts` those of check
    questions. `T = Σ_z (Σ (y - p̄))² / Σ p̄ (1 - p̄)`, the inner sums over the answers `y` to questions near z, p̄ the
    posterior mean of the probability of 1. At which z a question was issued is not kept, so it counts for the z that
    is nearest to it under this posterior; as replicates count for the same one, the p-value is uniform on
    1/1000, …, 1 all the same. Ties are broken at random. Raises `ValueError` if there are no answers, or a question is
    none of the check's.
    """
    if not total_answers(counts) or any(query.n_answers != 2 for query in counts):
        raise ValueError("the misfit check needs answers to questions with two answers")
    queries = tuple(counts)
    totals = np.array([counts[query].sum() for query in queries])
    expected = _mean_probabilities(family, theta, weights, queries)
    drawn = theta[rng.choice(len(theta), _REPLICATES, p=weights)]
    replicates = rng.binomial(totals, _probabilities(family, drawn, queries))
    observed = np.array([counts[query][1] for query in queries])
    near = _nearest(family, _mean_member(family, theta, weights), queries)
    misfit = _misfit(np.vstack([observed, replicates]), totals, expected, near)
    worse, ties = (misfit[1:] > misfit[0]).sum(), (misfit[1:] == misfit[0]).sum()
    return float(1 + worse + rng.integers(ties + 1)) / (1 + _REPLICATES)


def _misfit(
    ones: npt.NDArray[np.int64], totals: npt.NDArray[np.int64], expected: FloatArray, near: npt.NDArray[np.bool_]
) -> FloatArray:
    """T, shape (n,), of answers of 1 to q questions, shape (n, q); `near` (z, q) says which are near which z."""
    variances = near @ (totals * expected * (1 - expected))
    # Whole numbers are added before anything is subtracted, so that equal answers have equal T to the last digit.
    excess = ones @ near.T.astype(np.int64) - near @ (totals * expected)
    asked = variances > 0
    return (excess[:, asked] ** 2 / variances[asked]).sum(axis=1)


def _mean_member(family: Family, theta: FloatArray, weights: FloatArray) -> FloatArray:
    """The member at the posterior mean of the unconstrained coordinates, shape (d,)."""
    return family.constrain(weighted_mean(family.unconstrain(theta), weights)[None])[0]


def _rounded(family: Family, cut: float, scale: float) -> float:
    step = 2.0 ** round(math.log2(scale / 10)) if scale > 0 else 1.0
    if family.discrete:
        step = max(step, 1.0)
        return math.floor(cut / step) * step + 0.5
    if family.location_scale:
        return round(cut / step) * step
    return float(rounded(np.array(cut), np.array(step)))  # finer close to 0: a cut at the very end asks nothing


def _nearest(family: Family, member: FloatArray, queries: Sequence[Query]) -> npt.NDArray[np.bool_]:
    """Which of the points each query is nearest to under `member`, shape (z, q)."""
    below = family.cdf(member[None], np.array([query.edges[0] for query in queries]))[0]
    distance = np.abs(ndtri(np.clip(below, _RIM, 1 - _RIM)) - _POINTS[:, None])
    return np.arange(len(_POINTS))[:, None] == distance.argmin(axis=0)


def _probabilities(family: Family, theta: FloatArray, queries: Sequence[Query]) -> FloatArray:
    """`P(1 | θ, query)`, shape (n, q)."""
    probabilities = np.empty((len(theta), len(queries)))
    for group in group_queries(queries):
        probabilities[:, list(group.indices)] = group.probabilities(family, theta)[:, 1]
    return np.clip(probabilities, _RIM, 1 - _RIM, out=probabilities)


def _mean_probabilities(family: Family, theta: FloatArray, weights: FloatArray, queries: Sequence[Query]) -> FloatArray:
    """The posterior mean of `P(1 | θ, query)`, shape (q,)."""
    size = max(1, _BLOCK // len(queries))
    parts = [
        weights[start : start + size] @ _probabilities(family, theta[start : start + size], queries)
        for start in range(0, len(theta), size)
    ]
    return np.clip(np.sum(parts, axis=0), _RIM, 1 - _RIM)
