"""The learner of several numbers of each person: a learner for each of them, and the answers about several at once.

Each person answers one question. A share of them is asked about one number, as that number's own learner asks, and the
others about two or three, at the present medians. The posterior of the numbers and their correlations is computed from
the counts when somebody looks at it (`several_numbers`).
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import chain, combinations, cycle, islice
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from dither_client import ComponentQuery, Query
from dither_estimator.dependence.questions import JointQuestion, OddOneOut, PairCells, SameSide, question_of
from dither_estimator.dependence.shares import cells_near, question_shares
from dither_estimator.dependence.sketch import sketch_dependence
from dither_estimator.families import FloatArray
from dither_estimator.learning.learner import Learner
from dither_estimator.learning.nonparametric_learner import NonparametricLearner
from dither_estimator.learning.population import Population
from dither_estimator.learning.recomputed_learner import SEED, RecomputedLearner
from dither_estimator.learning.several_numbers import Part, SeveralNumbers, column_names, estimate_several_numbers
from dither_estimator.learning.summary import Posterior
from dither_estimator.likelihood.counts import Counts
from dither_estimator.mechanisms.several_numbers import about_one, about_several
from dither_estimator.policies.pool_size import answers_until_renewal, pool_size
from dither_estimator.specification.specification import Specification
from dither_estimator.weighted.moments import Moments
from dither_estimator.weighted.sample import weighted_quantiles

__all__ = ["JointLearner"]

_POOL = 60
"""A pool has at least this many questions, so that each kind has its share; many of them are the same."""
_OF_ONE = 8
"""The most different questions about one number in a pool, but where many people are asked at a time."""
_KNOWN, _WELL_KNOWN = 0.4, 0.2
"""Several numbers are asked about once each median is known to so many standard deviations of a normal population, and
half of the people about one alone until all medians are known well: where a number is cut decides what an answer tells.
"""
_WHOLE, _LEAST_PARTICLES = 3, 100
"""For up to 3 numbers the posterior has the specification's particles, and for more numbers at least 100."""
_OFF_CENTRE = 0.15
"""A cut stays where it is while its distance from where it would be now is at most this times its scale."""
_GROWTH, _WELL_KNOWN_GROWTH = 1.25, 2.0
"""Cuts move only when the answers have grown by this factor, so that there are not too many different questions."""
_STEPS_PER_SD = 4
"""Each cut is a multiple of a power of two that is at most its scale divided by this."""
_APART = 0.9
_SCORES = _APART * np.array([-1.0, 0.0, 1.0])
"""The normal scores of the cuts of `PairCells`, the middle one of which is that of questions about sides."""
_HEAP = 0.01
"""A value that a larger share of the people has may be cut on either side; so many are more than nobody."""
_DENSITY = float(np.exp(-0.5 * _SCORES[1] ** 2) / np.sqrt(2 * np.pi))
"""How much the share below the middle cut changes with its normal score."""


class _Cuts(NamedTuple):
    """Where a number is cut, on its transformed scale, and what that rests on."""

    at: tuple[float, float, float]
    scales: tuple[float, float, float]
    """About the standard deviation of a normal population with as many people around each cut."""
    error: float
    """What was not known of the share below the median when the cuts were last looked at, as an sd of its score."""

    def near(self, others: "_Cuts") -> bool:
        pairs = zip(self.at, others.at, others.scales, strict=True)
        return all(abs(one - other) <= _OFF_CENTRE * scale for one, other, scale in pairs)


class JointLearner(RecomputedLearner[SeveralNumbers]):
    """The posterior of several numbers, of their correlations, and of how each goes with the others."""

    _most_questions = _POOL

    def __init__(self, specification: Specification, seed: int | np.random.SeedSequence, outstanding: int = 1) -> None:
        seeds = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
        own, *others = seeds.spawn(1 + len(specification.components))
        super().__init__(specification, own, outstanding)
        self._margins = [
            _margin(each.specification, seed, outstanding)
            for each, seed in zip(specification.components, others, strict=True)
        ]
        self._transforms = [each.specification.transform for each in specification.components]
        self._cuts: list[_Cuts | None] = [None] * len(self._margins)
        self._correlations: dict[tuple[int, ...], float] = {}
        """The approximate correlation of each two numbers, for questions about them."""
        self._cut_at = 0
        """The number of answers when cuts and correlations were last looked at."""

    def _taken(self) -> Counts:
        new = super()._taken()
        self._learn_margins(new)
        return new

    def _learn_margins(self, counts: Counts) -> None:
        for component, margin in enumerate(self._margins):
            margin.learn_counts(about_one(counts, component))

    def update(self) -> None:
        _ = self.counts
        for margin in self._margins:
            margin.update()

    def _estimation(self, counts: Counts) -> Callable[[], SeveralNumbers]:
        parts = [
            Part(
                each.name,
                each.specification.transform,
                margin.posterior(),
                margin.system if isinstance(margin, Learner) else None,
            )
            for each, margin in zip(self.specification.components, self._margins, strict=True)
        ]
        joint = {question_of(query): row for query, row in about_several(counts).items()}
        particles = self._particles
        return lambda: estimate_several_numbers(np.random.default_rng(SEED), parts, joint, particles)

    def _draws(self, population: SeveralNumbers) -> FloatArray:
        return population.draws()

    @property
    def _particles(self) -> int:
        """How many draws the posterior has: fewer for many numbers, which have many more correlations."""
        count = len(self._margins)
        return max(self.specification.particles * _WHOLE // max(count, _WHOLE), _LEAST_PARTICLES)

    @property
    def particle_names(self) -> tuple[str, ...]:
        names = [each.name for each in self.specification.components]
        return column_names(names, [margin.particle_names for margin in self._margins])

    def posterior(self) -> Posterior:
        parts = zip(self.specification.components, self._margins, strict=True)
        return replace(super().posterior(), components={each.name: margin.posterior() for each, margin in parts})

    @property
    def _renews(self) -> bool:
        return True

    def _begin_epoch(self, epsilon: Fraction) -> int:
        return answers_until_renewal(self._answers, epsilon)

    def _questions(self, size: int, repeats: float, epsilon: Fraction) -> tuple[Query, ...]:
        size, repeats = max(size, _POOL), repeats * size / max(size, _POOL)
        self._look_again()
        few_alone = self._well_known and all(isinstance(each, Learner) for each in self._margins)
        shares = question_shares(len(self._margins), few_alone, epsilon)
        wanted = self._numbers_by_kind(shares, size, repeats)
        several = {
            name: islice(self._several(name, epsilon, repeats), number) for name, number in wanted.items() if name
        }
        found: list[Query] = [question.query(self._transforms) for question in chain.from_iterable(several.values())]
        alone = size - len(found)  # whose medians are not known yet
        of_one = max(_OF_ONE, pool_size(self._answers, self._outstanding))
        for component, margin in enumerate(self._margins):
            number = (alone + component) // len(self._margins)
            own = margin.pool(min(number, of_one), epsilon) if number else ()
            found += [ComponentQuery(component, query) for query in islice(cycle(own), number)]
        return tuple(found[place] for place in self._rng.permutation(len(found)))

    def _numbers_by_kind(self, shares: Mapping[str, float], size: int, repeats: float) -> dict[str, int]:
        """How many of the next `size` questions are of each kind, so that all answers come nearest to its share.

        Each question gets about `repeats` answers.
        """
        asked = Counter({"": self._answers})
        for query, row in about_several(self.counts).items():
            asked[query.states] += int(row.sum())
            asked[""] -= int(row.sum())
        total = self._answers + size * repeats
        missing = {name: max(share * total - asked[name], 0.0) for name, share in shares.items()}
        scale = size / sum(missing.values())
        return {name: round(scale * number) for name, number in missing.items()}

    def _several(self, name: str, epsilon: Fraction, repeats: float) -> Iterator[JointQuestion]:
        """Questions of this kind, each about the pair or triple with the fewest answers; none if no medians are known.

        Each is asked of about `repeats` people.
        """
        known = [component for component, cuts in enumerate(self._cuts) if cuts is not None]
        about = 3 if name == OddOneOut.name else 2
        asked = dict.fromkeys(combinations(known, about), 0.0)
        for query, row in about_several(self.counts).items():
            if query.components in asked:
                asked[query.components] += float(row.sum())
        questions = {components: self._question(name, components, epsilon) for components in asked}
        while asked:
            components = min(asked, key=asked.__getitem__)
            asked[components] += repeats
            yield questions[components]

    def _question(self, name: str, components: Sequence[int], epsilon: Fraction) -> JointQuestion:
        at = [cuts.at for component in components if (cuts := self._cuts[component]) is not None]
        middles = [cuts[1] for cuts in at]
        if name == OddOneOut.name:
            first, second, third = components
            return OddOneOut.at((first, second, third), (middles[0], middles[1], middles[2]), epsilon)
        first, second = components
        if name == PairCells.name and all(low < middle < high for low, middle, high in at):
            return PairCells.at(
                (first, second),
                (at[0], at[1]),
                cells_near(self._correlations.get((first, second), 0.0), epsilon).channel,
            )
        return SameSide.at((first, second), (middles[0], middles[1]), epsilon)

    @property
    def _well_known(self) -> bool:
        return all(cuts is not None and cuts.error <= _WELL_KNOWN for cuts in self._cuts)

    def _look_again(self) -> None:
        """Moves cuts that are too far from where they should be, and follows the correlations, if it is time to.

        A number whose median turns out to be less well known than it seemed is asked about alone again.
        """
        growth = _WELL_KNOWN_GROWTH if self._well_known else _GROWTH
        if None not in self._cuts and self._answers < growth * self._cut_at:
            return
        self._cut_at = self._answers
        logs = [transform == "log" for transform in self._transforms]
        sketches = [margin.sketch() for margin in self._margins]
        found = sketch_dependence(
            {question_of(query): row for query, row in about_several(self.counts).items()},
            [partial(_shares, sketch, log) for sketch, log in zip(sketches, logs, strict=True)],
        )
        self._correlations = dict(found.correlations)
        for component, (sketch, log) in enumerate(zip(sketches, logs, strict=True)):
            best, known = _best_cuts(sketch, found.weights[component], log), self._cuts[component]
            if best is not None and best.error > _KNOWN:
                best = None
            if best is None or known is None or not known.near(best):
                self._cuts[component] = best
            else:
                self._cuts[component] = known._replace(error=best.error)

    @classmethod
    def restore(cls, specification: Specification, snapshot: bytes) -> "JointLearner":
        """The learner that wrote the snapshot, but for the seeds of single numbers. Raises `InvalidSnapshot`.

        Each number's learner learns its answers again, at once and with a seed of its own.
        """
        learner = super().restore(specification, snapshot)
        learner._learn_margins(learner._counts)
        return learner


def _margin(
    specification: Specification, seed: np.random.SeedSequence, outstanding: int
) -> Learner | NonparametricLearner:
    """The learner of one number."""
    if specification.nonparametric:
        return NonparametricLearner(specification, seed, outstanding)
    return Learner(specification, seed, outstanding=outstanding)


def _shares(sketch: Population, log: bool, cuts: FloatArray) -> FloatArray:
    """The share of the population at or below each cut (k,) on the transformed scale, by draw, shape (n, k)."""
    return sketch.cdf(np.exp(cuts) if log else cuts).values


def _best_cuts(sketch: Population, weights: FloatArray, log: bool) -> _Cuts | None:
    """Cuts at the present quantiles; None while nobody can say where these are.

    As long as the place of a number without a family is sought, its sketch is a single draw, which knows no error.
    """
    if len(weights) < 2:
        return None
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        draws = sketch.quantile(ndtr(_SCORES)).values
        draws = np.log(draws) if log else draws
        if not np.isfinite(draws).all():
            return None
        found = np.array([weighted_quantiles(column, weights, [0.5])[0] for column in draws.T])
        scales, at = _steps(found)
        if not np.isfinite(at).all():
            return None
        known = Moments.of(_shares(sketch, log, found[1:2]), weights).sd[0] / _DENSITY
        low, middle, high = _on_the_right_side(at, partial(_shares, sketch, log), weights).tolist()
    return _Cuts((low, middle, high), (float(scales[0]), float(scales[1]), float(scales[2])), float(known))


def _steps(quantiles: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The scale around each of three quantiles, and each rounded in steps that suit it."""
    gaps = np.diff(quantiles)
    if gaps.max() <= 0:  # most people have the same number
        return np.ones(3), quantiles
    gaps = np.where(gaps > 0, gaps, gaps.max())
    scales = np.array([gaps[0], gaps.min(), gaps[1]]) / _APART
    units = 2.0 ** np.floor(np.log2(scales / _STEPS_PER_SD))
    return scales, np.round(quantiles / units) * units + 0.0  # no -0.0


def _on_the_right_side(at: FloatArray, shares: Callable[[FloatArray], FloatArray], weights: FloatArray) -> FloatArray:
    """Different cuts (3,), where many people have a value on the side of it that is nearer to the share wanted.

    Whoever has 1, of 0 and 1, is not above 1. A cut with nobody on one side tells nothing.
    """

    def wrong(cuts: FloatArray) -> FloatArray:
        below = weights @ shares(cuts)
        return np.asarray(np.abs(below - ndtr(_SCORES)) + (np.minimum(below, 1 - below) < _HEAP))

    before = np.nextafter(at, -np.inf)
    low, middle, high = np.where(wrong(before) < wrong(at) - _HEAP, before, at)
    return np.array(
        [
            min(low, np.nextafter(middle, -np.inf)),
            middle,
            max(high, np.nextafter(middle, np.inf)),
        ]
    )
