"""The goodness-of-fit check: whether the family fits at all, judged by answers that were held out.

Two thresholds fit any two-parameter family, and p-values from answers that the posterior has learnt are not uniform.
Therefore an independent coin gives some respondents a *check question*, at one of four points of the posterior's mean
member. The answers are counted in a table of their own, on which neither the posterior nor any question depends. Given
θ and the questions they are thus independent of the posterior, and replicates under posterior draws have, averaged over
the prior, exactly the same distribution.
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
from dither_estimator.weighted.moments import weighted_mean

__all__ = ["Look", "MisfitCheck", "check_questions", "misfit_p_value", "misfit_report"]

_ALPHA = 0.05
"""The false-alarm rate over all looks."""
_POINTS = np.array([-1.5, -0.3, 0.3, 1.5])
"""Standard normal quantiles at which check questions are asked."""
_REPLICATES = 999
_MIN_PROBABILITY = 1e-12
_BLOCK_SIZE = 1 << 18
"""The most probabilities that are computed at once."""


@dataclass(frozen=True)
class Look:
    """One interim look at the check answers, made once."""

    planned: int
    """The number of check answers at which the look was due."""
    check_answers: int
    """The number of check answers when the look was made."""
    answers: int
    """The number of other answers that had been learnt by then."""
    p_value: float


@dataclass(frozen=True)
class MisfitCheck:
    """How many respondents get check questions and when to look; fixed before the first answer."""

    share: float
    """The probability that a respondent gets a check question, above 0 and at most 0.5."""
    looks: tuple[int, ...]
    """The increasing numbers of check answers at which to look."""

    @property
    def alpha(self) -> float:
        """The false-alarm rate of one look; over all looks it is at most 5% (Bonferroni)."""
        return _ALPHA / len(self.looks)

    def due(self, check_answers: int, made: Sequence[Look]) -> int | None:
        """The look to make now: the last one due since the previous look, or None."""
        last = made[-1].planned if made else 0
        return max((look for look in self.looks if last < look <= check_answers), default=None)


def misfit_report(
    check: MisfitCheck, family: Family, transform: Transform, check_answers: int, made: Sequence[Look]
) -> Misfit:
    """What is published about the check. An alarm is a p-value of at most `alpha` at any look."""
    last = made[-1].planned if made else 0
    return Misfit(
        family=family.name,
        check_answers=check_answers,
        looks=tuple(MisfitLook(look.check_answers, look.answers, look.p_value, check.alpha) for look in made),
        alarm=any(look.p_value <= check.alpha for look in made),
        next_look=min((look for look in check.looks if look > last), default=None),
        transform=transform,
    )


def check_questions(
    family: Family,
    theta: FloatArray,
    weights: FloatArray,
    one_level: Query,
    transform: Transform,
) -> tuple[Query, ...]:
    """The check questions, all equally likely, for particles `theta` (n, d) with normalised `weights` (n,).

    Each is `one_level` on an interval of its own, with its threshold at a quantile Φ(z), z = ±0.3 or ±1.5, of the
    posterior's mean member: `m + z s` for the normal. Thresholds are rounded to about a tenth of the scale, so that
    there are few distinct questions; for integer values they lie halfway between two. Thresholds that floating point
    cannot represent are left out.
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
    """The p-value: the rank of the check answers' misfit among replicates under 999 draws from the posterior.

    `theta` (n, d) and normalised `weights` (n,) are the posterior given the other answers; `counts` are those of check
    questions. The statistic is `T = Σ_z (Σ (y - p̄))² / Σ p̄ (1 - p̄)`, where the inner sums run over the answers `y`
    to questions near z and p̄ is the posterior mean of the probability of 1. The z for which a question was issued is
    not stored, so a question counts for the nearest z under this posterior. Replicates count for the same z, so the
    p-value is still uniform on 1/1000, …, 1. Ties are broken at random. Raises `ValueError` if there are no answers or
    if a question is not a check question.
    """
    if not total_answers(counts) or any(query.n_answers != 2 for query in counts):
        raise ValueError("the goodness-of-fit check needs answers to questions with two answers")
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
    """T, shape (n,), for the numbers `ones` (n, q) of answers 1; `near` (z, q) says which question is near which z."""
    variances = near @ (totals * expected * (1 - expected))
    # Integers are summed before anything is subtracted, so that equal answers have exactly equal T.
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
    return float(rounded(np.array(cut), np.array(step)))  # finer close to 0, where a cut at the end would tell nothing


def _nearest(family: Family, member: FloatArray, queries: Sequence[Query]) -> npt.NDArray[np.bool_]:
    """Which of the points is nearest to each query under `member`, shape (z, q)."""
    below = family.cdf(member[None], np.array([query.edges[0] for query in queries]))[0]
    distance = np.abs(ndtri(np.clip(below, _MIN_PROBABILITY, 1 - _MIN_PROBABILITY)) - _POINTS[:, None])
    return np.arange(len(_POINTS))[:, None] == distance.argmin(axis=0)


def _probabilities(family: Family, theta: FloatArray, queries: Sequence[Query]) -> FloatArray:
    """`P(1 | θ, query)`, shape (n, q)."""
    probabilities = np.empty((len(theta), len(queries)))
    for group in group_queries(queries):
        probabilities[:, list(group.indices)] = group.probabilities(family, theta)[:, 1]
    return np.clip(probabilities, _MIN_PROBABILITY, 1 - _MIN_PROBABILITY, out=probabilities)


def _mean_probabilities(family: Family, theta: FloatArray, weights: FloatArray, queries: Sequence[Query]) -> FloatArray:
    """The posterior mean of `P(1 | θ, query)`, shape (q,)."""
    size = max(1, _BLOCK_SIZE // len(queries))
    parts = [
        weights[start : start + size] @ _probabilities(family, theta[start : start + size], queries)
        for start in range(0, len(theta), size)
    ]
    return np.clip(np.sum(parts, axis=0), _MIN_PROBABILITY, 1 - _MIN_PROBABILITY)
