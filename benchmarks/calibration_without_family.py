"""Simulation-based calibration without a family: is the posterior right, whatever its prior says the truth may be?

    python -m benchmarks.calibration_without_family [DRAWS [ANSWERS [EPSILON [FOLDER]]]]

A truth is drawn from the prior: it has a base with its location, scale and shape, and deviates from it, or, in half of
the draws and fewer where many answers come, it is a member of a smooth family of the whole line. Everyone answers what
the learner of a collection asks, which knows none of this. Then the posterior probability below each quantile of the
truth is uniform over the draws, and so is that of a lower log-likelihood than the truth's. The tests are those of
`benchmarks.calibration`; the false-alarm rate of all of them together is `FALSE_ALARMS`.

What is done is kept in `FOLDER`, so that the same command goes on where it stopped; after a change to the estimator it
needs another folder.
"""

import math
import sys
from collections.abc import Iterator, Sequence

import numpy as np
from joblib import Memory, Parallel, delayed
from scipy import stats
from threadpoolctl import threadpool_limits

from benchmarks.any_distribution import learner_on
from benchmarks.calibration import FALSE_ALARMS, pvalues
from dither_estimator.checks.averaging import against_families
from dither_estimator.checks.family_fits import families_on
from dither_estimator.families import FloatArray, find_family
from dither_estimator.learning.population import FamilyPopulation
from dither_estimator.likelihood.counts import Counts, merge_counts
from dither_estimator.mechanisms.channels import channel_of
from dither_estimator.nonparametric.base import SHAPE_SD, Base, ShapedBase, Z
from dither_estimator.nonparametric.deviations import BINS, COSINES, LOG_PRIOR, SCALES, softmax
from dither_estimator.nonparametric.distribution import Distribution
from dither_estimator.nonparametric.known import KnownPopulation
from dither_estimator.nonparametric.support import ANYWHERE
from dither_estimator.priors.prior import parse_prior
from testing.tables import print_table

__all__ = ["LEVELS", "drawn_member", "drawn_population", "main", "ranks"]

LEVELS = np.array([0.03, 0.1, 0.25, 0.5, 0.75, 0.9, 0.97])
"""The levels of the quantiles."""
_DRAWS = 250
_ANSWERS = 2_000
_EPSILON = "2"
_FIRST_SEED = 50_000
"""Smaller seeds were looked at before prior and questions were what they are."""
_PARTS = 6_144
"""So many equally likely parts of the base have densities of their own."""
_MARGIN = 1e-15
_PLACE_SD = (3.0, 1.0)
"""The sd of the location and of the log scale of truths; the posterior's prior of them is nearly flat."""


def main(arguments: Sequence[str]) -> None:
    """Prints the table; the arguments are those of the command."""
    draws = int(arguments[0]) if arguments else _DRAWS
    size = int(arguments[1]) if len(arguments) > 1 else _ANSWERS
    epsilon = arguments[2] if len(arguments) > 2 else _EPSILON
    run = Memory(arguments[3] if len(arguments) > 3 else None, verbose=0).cache(_run)
    seeds = range(_FIRST_SEED, _FIRST_SEED + draws)
    found = np.array(Parallel(n_jobs=-1)(delayed(run)(seed, size, epsilon) for seed in seeds))
    limit = FALSE_ALARMS / (2 * found.shape[1])
    print(f"\nA right estimator has any p-value below {limit:.1e} once in {1 / FALSE_ALARMS:,.0f} times.")
    title = f"Calibration without a family: {draws} draws from the prior, {size:,} answers, ε = {epsilon}"
    print_table(title, ("posterior probability below", "mean", "in 5% to 95%", "p-value", "folded"), _rows(found))


def _rows(found: FloatArray) -> Iterator[tuple[object, ...]]:
    names = [*(f"the {level:.0%} quantile" for level in LEVELS), "the log-likelihood"]
    for name, column, (plain, folded) in zip(names, found.T, pvalues(found), strict=True):
        inside = ((column > 0.05) & (column < 0.95)).mean()
        yield name, f"{column.mean():.3f}", f"{inside:.0%}", f"{plain:.2g}", f"{folded:.2g}"


def _run(seed: int, size: int, epsilon: str) -> FloatArray:
    """The ranks of one truth, in a collection in which questions follow the answers."""
    rng = np.random.default_rng([seed, 5])
    odds = math.exp(-against_families(size * math.tanh(float(epsilon) / 2) ** 2))
    truth = drawn_member(rng) if rng.random() < odds / (1 + odds) else drawn_population(rng)
    learner = learner_on(ANYWHERE, epsilon, seed)
    known = KnownPopulation(lambda x: truth.cdf(x).values[0], truth.quantile(LEVELS).values[0])
    with threadpool_limits(1):
        while learner.answers < size:
            queries = learner.pool()
            people = min(size, int(learner.renew_at)) - learner.answers
            table: Counts = {}
            for turn, query in enumerate(queries[:people]):
                answers = rng.multinomial(len(range(turn, people, len(queries))), known.chances(query))
                table = merge_counts(table, {query: answers})
            learner.learn_counts(table)
        return ranks(learner.distribution, truth, learner.counts)


def drawn_population(rng: np.random.Generator, place_sd: tuple[float, float] = _PLACE_SD) -> Distribution:
    """A distribution drawn from the prior, as a single draw; `place_sd` are those of location and log scale.

    Deviations are functions here: the estimator's bins are nearly as fine as it can tell, and lie elsewhere.
    """
    base = ShapedBase(np.concatenate([rng.normal(0.0, place_sd), rng.normal(0.0, SHAPE_SD)]))
    sds = SCALES[rng.choice(len(LOG_PRIOR), p=np.exp(LOG_PRIOR))]
    waves = np.sqrt(2) * np.cos(np.pi * np.outer((np.arange(_PARTS) + 0.5) / _PARTS, np.arange(1, COSINES + 1)))
    below = np.append(0.0, np.cumsum(softmax(waves @ rng.normal(0.0, sds))))
    levels = np.interp(stats.norm.cdf(Z), below, np.linspace(0.0, 1.0, _PARTS + 1)).clip(_MARGIN, 1 - _MARGIN)
    return Distribution(ANYWHERE, Base(base.quantile(levels)), np.full((1, BINS), 1 / BINS))


def drawn_member(rng: np.random.Generator, place_sd: tuple[float, float] = _PLACE_SD) -> FamilyPopulation:
    """A member of a smooth family of the whole line, whose location and scale are drawn as those of a base."""
    smooth = [find_family(each.family) for each in families_on(ANYWHERE) if find_family(each.family).smooth]
    family = smooth[rng.integers(len(smooth))]
    theta = family.constrain(parse_prior(family, family.range_prior(-1.0, 1.0)).sample(rng, 1))
    location, log_scale = rng.normal(0.0, place_sd)
    theta[0, :2] = location, np.exp(log_scale)
    return FamilyPopulation(family, "identity", theta)


def ranks(found: Distribution, truth: Distribution | FamilyPopulation, counts: Counts) -> FloatArray:
    """The posterior probability below each of the truth's quantiles, and below its log-likelihood."""
    below = (found.quantile(LEVELS).values < truth.quantile(LEVELS).values).mean(axis=0)
    lower = _log_likelihood(found, counts) < _log_likelihood(truth, counts)
    return np.append(below, lower.mean())


def _log_likelihood(draws: Distribution | FamilyPopulation, counts: Counts) -> FloatArray:
    total = np.zeros(draws.draw_count)
    for query, row in counts.items():
        shares = np.diff(draws.cdf(np.array(query.edges)).values, prepend=0.0, append=1.0, axis=1)
        total += np.log(shares @ channel_of(query).matrix) @ row
    return total


if __name__ == "__main__":
    main(sys.argv[1:])
