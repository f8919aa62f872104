"""The posterior of a population's distribution given counts, from none at all to many thousands."""

import math

import numpy as np

from dither_client import Query
from dither_estimator.families import FloatArray
from dither_estimator.likelihood.counts import Counts
from dither_estimator.nonparametric.approximation import approximate_around
from dither_estimator.nonparametric.base import FittedBase
from dither_estimator.nonparametric.deviations import BINS
from dither_estimator.nonparametric.distribution import Distribution
from dither_estimator.nonparametric.fitting import fit_base
from dither_estimator.nonparametric.heap import numbers_asked, with_heap
from dither_estimator.nonparametric.likelihood import Expansion, MassLikelihood
from dither_estimator.nonparametric.place import Place, find_place, known_by
from dither_estimator.nonparametric.sampler import effective_share, importance_sample, resampled, sample
from dither_estimator.nonparametric.support import ANYWHERE, Support

__all__ = ["estimate_around", "estimate_distribution", "estimate_mean", "sketch_distribution"]

_ENOUGH, _ENOUGH_WITHIN = 400.0, 40.0
"""The information in all, and about each half of the base, from which on the place is no longer searched for."""
_CHECKED = 100
"""How many draws show whether the expansion is exact enough."""
_EXACT_SHARE = 0.98
_SKETCHED = 500
"""How many draws a sketch has: the cells that they choose come within 0.5% of the criterion that many draws reach."""
_PARTS = ((0.1, 0.45), (0.55, 0.9))
_STILL_MANY = 0.1
"""A number that was found stays an atom while so many people have it: half as many as to be found, so that it does not
come and go."""


def estimate_distribution(
    rng: np.random.Generator,
    counts: Counts,
    support: Support = ANYWHERE,
    size: int = 1_000,
    around: tuple[float, float] | None = None,
) -> Distribution:
    """`size` draws from the posterior given `counts`, whose queries have cuts in the units of values.

    Stateless: the same counts give the same posterior, in whatever order the answers came. Few answers say only where
    the population lies, and how wide it is; without any this is the prior. `around` are two numbers between which most
    values are expected, for the first questions; it hardly affects a posterior of many answers. A number that many
    people turn out to have is one more atom of the support of what is returned (`heap`).
    Raises `ValueError` if a query has a transform.
    """
    support, found = _find(counts, support, around)
    if isinstance(found, FittedBase):
        return estimate_around(rng, counts, found, support, size)
    base = found.base()
    return Distribution(support, base, found.masses(rng, base, BINS, size))


def estimate_mean(
    counts: Counts, support: Support = ANYWHERE, around: tuple[float, float] | None = None
) -> Distribution:
    """Nearly the posterior mean, as a single draw: by normal approximations alone, which is faster than draws."""
    support, found = _find(counts, support, around)
    if isinstance(found, FittedBase):
        likelihood = MassLikelihood.of(counts, found, BINS, support)
        deviations, normal, _ = approximate_around(likelihood, found, support)
        modes = deviations.masses(normal.means * deviations.scales)
        return Distribution(support, found, np.exp(normal.log_weights)[np.newaxis] @ modes)
    return _middle(found, support)


def sketch_distribution(
    rng: np.random.Generator,
    counts: Counts,
    support: Support = ANYWHERE,
    around: tuple[float, float] | None = None,
    last: Distribution | None = None,
) -> Distribution:
    """What questions need to know of the posterior, in a fraction of the time: some draws that are nearly from it.

    As long as the place is sought it is the mean alone, as a single draw. `last` is the sketch of fewer answers: the
    place is sought again only if too little is known around where that one had it, and a number that it had found stays
    an atom while many have it. So two sketches of the same counts may differ, which posteriors do not.
    """
    support, found = _find(counts, support, around, last)
    if isinstance(found, Place):
        return _middle(found, support)
    likelihood = MassLikelihood.of(counts, found, BINS, support)
    deviations, normal, expansion = approximate_around(likelihood, found, support)
    return Distribution(support, found, importance_sample(rng, deviations, normal, expansion, _SKETCHED))


def _middle(place: Place, support: Support) -> Distribution:
    """The predictive distribution, as a single draw."""
    bins = np.full(BINS, place.shares[-1] / BINS)
    return Distribution(support, place.base(), np.concatenate([bins, place.shares[:-1]])[np.newaxis])


def _find(
    counts: Counts, support: Support, around: tuple[float, float] | None, last: Distribution | None = None
) -> tuple[Support, FittedBase | Place]:
    """The support with what many people turn out to have, and what the answers tell of all else."""
    known = () if last is None else last.support.atoms
    numbers = sorted({*numbers_asked(support, counts), *known} - {*support.atoms})
    beside = support.beside(numbers) if numbers else support
    found = _base_or_place(counts, beside, around, _parameters(last, beside))
    if numbers:
        many = [number for number in numbers if _share_at(number, counts, found, beside) >= _STILL_MANY]
        if many != numbers:
            beside = support.beside(many)
            found = _base_or_place(counts, beside, around, _parameters(last, beside))
    base = found if isinstance(found, FittedBase) else found.base()
    more = with_heap(beside, base)
    if more is not beside and support.decimals is not None:
        more = with_heap(beside, base, _share_of_all_else(counts, found, beside))
    return (beside, found) if more is beside else (more, _base_or_place(counts, more, around))


def _parameters(last: Distribution | None, support: Support) -> FloatArray | None:
    """Those of the base of the last sketch, if it was found and has the same support."""
    if last is None or last.support != support or not isinstance(last.base, FittedBase):
        return None
    return last.base.parameters


def _share_at(atom: float, counts: Counts, found: FittedBase | Place, support: Support) -> float:
    """The share of the people who probably have an atom of the support."""
    return float(_shares(counts, found, support)[support.points.index(atom)])


def _share_of_all_else(counts: Counts, found: FittedBase | Place, support: Support) -> float:
    """The share of the people who probably have no point of the support."""
    return 1 - float(_shares(counts, found, support).sum())


def _shares(counts: Counts, found: FittedBase | Place, support: Support) -> FloatArray:
    """The probable shares of the support's points, shape (points,)."""
    if isinstance(found, Place):
        return found.shares[:-1]
    deviations, normal, _ = approximate_around(MassLikelihood.of(counts, found, BINS, support), found, support)
    return deviations.masses(normal.mode)[BINS:]


def _base_or_place(
    counts: Counts, support: Support, around: tuple[float, float] | None, near: FloatArray | None = None
) -> FittedBase | Place:
    """The base; as long as the answers do not tell where it lies, what they tell about its place."""
    known = known_by(counts)
    if near is not None or sum(known.values()) >= _ENOUGH:
        base = fit_base(counts, support, near)
        if min(_known_within(base, known, support, *part) for part in _PARTS) >= _ENOUGH_WITHIN:
            return base
    place = find_place(counts, support, around)
    return fit_base(counts, support, place.middle) if place.found else place


def _known_within(base: FittedBase, known: dict[Query, float], support: Support, low: float, high: float) -> float:
    """How much is known by the answers to queries with a cut between these quantiles of the base, or next to them."""
    values = support.value(base.quantile(np.array([low, high]))).tolist()
    first, last = support.next_cut(values[0], -math.inf), support.next_cut(values[1], math.inf)
    return sum(number for query, number in known.items() if any(first <= cut <= last for cut in query.edges))


def estimate_around(
    rng: np.random.Generator, counts: Counts, base: FittedBase, support: Support, size: int = 1_000
) -> Distribution:
    """The posterior around a base that is given."""
    likelihood = MassLikelihood.of(counts, base, BINS, support)
    deviations, normal, expansion = approximate_around(likelihood, base, support)
    masses = sample(rng, deviations, normal, expansion, size)
    return Distribution(support, base, _corrected(rng, likelihood, expansion, masses))


def _corrected(
    rng: np.random.Generator, likelihood: MassLikelihood, expansion: Expansion, masses: FloatArray
) -> FloatArray:
    """The draws, resampled by the likelihood's ratio to its expansion unless some of them show that it is constant."""
    some = masses[:: max(1, len(masses) // _CHECKED)]
    if effective_share(likelihood(some) - expansion(some)) > _EXACT_SHARE:
        return masses
    return masses[resampled(rng, likelihood(masses) - expansion(masses), len(masses))]
