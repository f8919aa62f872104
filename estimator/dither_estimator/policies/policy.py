"""Which questions to ask next: `adaptive` (expected variance reduction), `thompson` (posterior draws) or `fixed`.

A policy turns the posterior's particles into a pool of questions, each asked of equally many respondents.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Protocol

import numpy as np

from dither_client import InvalidQuery, Query
from dither_estimator.design.design import DesignError, Mechanism, optimal_design
from dither_estimator.design.functionals import SCORE_STEP, goal_at
from dither_estimator.design.goal import DISTRIBUTION, Goal
from dither_estimator.design.registry import MECHANISMS
from dither_estimator.design.transfer import carried
from dither_estimator.families import Family, FloatArray
from dither_estimator.mechanisms.lattice import threshold, with_fewer_levels
from dither_estimator.particles.system import ParticleSystem
from dither_estimator.policies.aims import WHOLE_SHARE, aims
from dither_estimator.policies.bounds import between_bounds
from dither_estimator.policies.transport import Offers, anchor, offers
from dither_estimator.policies.variance_reduction import Predictions, choose_batch
from dither_estimator.specification.specification import Specification
from dither_estimator.weighted.sample import systematic_sample

__all__ = ["Adaptive", "Fixed", "QuestionPolicy", "Thompson", "question_policy"]

_JUDGING_PARTICLES = 256
"""Particles with which candidates are judged."""
_MIN_CANDIDATES = 32
_MAX_EDGES = 1_000
"""The most edges over all candidates, which limits the number of draws if questions have many cells."""
_MIN_DRAWS = 8
_PROBE_PROBABILITIES = np.array([0.067, 0.227, 0.5, 0.773, 0.933])
"""Quantiles of single cuts that supplement designs with many cells while the posterior is still wide."""

_COARSE_SCORE = 1.0
"""The normal scores of shares are rounded to multiples of this for designs that are carried over to others."""


class QuestionPolicy(Protocol):
    """Chooses questions given the posterior."""

    def pool(
        self, rng: np.random.Generator, particles: ParticleSystem, size: int, repeats: float, epsilon: Fraction
    ) -> tuple[Query, ...]:
        """Up to `size` questions at ε in the order in which to ask them, each of about `repeats` respondents."""


@dataclass(frozen=True)
class Fixed:
    """The same question for everyone: the papers' non-adaptive method."""

    specification: Specification

    def pool(
        self, rng: np.random.Generator, particles: ParticleSystem, size: int, repeats: float, epsilon: Fraction
    ) -> tuple[Query, ...]:
        query = self.specification.fixed_query(epsilon)
        assert query is not None
        return (query,)


@dataclass(frozen=True)
class Thompson:
    """A random question of the design at each posterior draw: the exploration and exploitation of Yıldırım 2024."""

    specification: Specification

    def pool(
        self, rng: np.random.Generator, particles: ParticleSystem, size: int, repeats: float, epsilon: Fraction
    ) -> tuple[Query, ...]:
        spec = self.specification
        home, queries, weights = _questions(spec, particles, epsilon)
        members = particles.theta[rng.choice(len(particles.weights), size, p=particles.weights)]
        picks = rng.choice(len(queries), size, p=weights)
        drawn = zip(picks, members, strict=True)
        asked = [offers(spec.family, home, [queries[i]], one[None], spec.transform) for i, one in drawn]
        offered = between_bounds(spec, particles, [offer for some in asked for offer in some])
        pool = tuple(offer.query(0) for offer in offered)
        return pool or _single_cuts(spec, members, epsilon)


@dataclass(frozen=True)
class Adaptive:
    """The candidates at posterior draws with the largest expected reduction of the goal's variances.

    The variances (`aims`) and those of normal scores count equally.
    """

    specification: Specification

    def pool(
        self, rng: np.random.Generator, particles: ParticleSystem, size: int, repeats: float, epsilon: Fraction
    ) -> tuple[Query, ...]:
        family = self.specification.family
        sample = systematic_sample(particles.weights, min(_JUDGING_PARTICLES, len(particles.log_weights)), rng.random())
        coordinates = particles.coordinates[sample]
        theta = family.constrain(coordinates)
        offered = self._candidates(particles, rng.permutation(theta), size, epsilon)
        if not offered:
            return _single_cuts(self.specification, theta[:size], epsilon)
        values, weights = self._aims(theta, coordinates)
        chosen = choose_batch(Predictions.of(family, theta, values, offered), weights, size, repeats)
        places = [(some, column) for some in offered for column in range(some.edges.shape[1])]
        return tuple(some.query(column) for some, column in (places[i] for i in chosen))

    def _aims(self, theta: FloatArray, coordinates: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The values (n, m) whose variances are to be reduced, and their weights (m,)."""
        return aims(self.specification.goal, self.specification.family, theta, coordinates)

    def _candidates(self, particles: ParticleSystem, members: FloatArray, size: int, epsilon: Fraction) -> list[Offers]:
        spec = self.specification
        home, queries, _ = _questions(spec, particles, epsilon)
        questions = (*queries, *_probes(spec, home, epsilon))
        n_edges = sum(len(with_fewer_levels(query).edges) for query in questions)
        n_draws = max(_MIN_DRAWS, min(-(-max(_MIN_CANDIDATES, 2 * size) // len(questions)), _MAX_EDGES // n_edges))
        offered = offers(spec.family, home, questions, members[:n_draws], spec.transform)
        return between_bounds(spec, particles, offered)


def question_policy(specification: Specification) -> QuestionPolicy:
    """The policy that a specification names; its first designs are already computed."""
    if specification.policy.name == "fixed":
        return Fixed(specification)
    for epsilon in specification.epsilon_choices:
        _first_design(specification, epsilon)
    return Thompson(specification) if specification.policy.name == "thompson" else Adaptive(specification)


def _questions(
    spec: Specification, particles: ParticleSystem, epsilon: Fraction
) -> tuple[FloatArray, tuple[Query, ...], FloatArray]:
    """The member (d,) whose design is used, the design's queries at ε, and their weights."""
    home = anchor(spec.family, particles.coordinates, particles.weights)
    below = np.empty(0)
    if spec.goal.above:
        below = particles.weights @ spec.family.cdf(particles.theta, np.array(spec.goal.cuts))
    for member in (home, spec.family.standard):
        try:
            return member, *_designed(spec, member, epsilon, below)
        except (DesignError, InvalidQuery, np.linalg.LinAlgError):
            continue  # this shape has no design: too few distinct values, say; or these shares have none
    return spec.family.standard, *_first_design(spec, epsilon)


def _first_design(spec: Specification, epsilon: Fraction) -> tuple[tuple[Query, ...], FloatArray]:
    """The design for the standard member under the prior, without which there is no collection."""
    return _designed(spec, spec.family.standard, epsilon, spec.shares_below)


def _designed(
    spec: Specification, home: FloatArray, epsilon: Fraction, below: FloatArray
) -> tuple[tuple[Query, ...], FloatArray]:
    """The design for the goal, where the shares `below` (k,) lie below its values; beside it one for the whole."""
    standard, theta = spec.family.standard, tuple(home.tolist())
    first = goal_at(spec.goal, spec.family, standard, below, _COARSE_SCORE)
    goal = goal_at(spec.goal, spec.family, home, below, SCORE_STEP)
    fields = spec.mechanism, epsilon, spec.levels, spec.rho
    queries, weights = _cached_design(spec.family, theta, first, goal, *fields)
    if goal.of_parameters or goal.distribution:
        return queries, weights
    others, rest = _cached_design(spec.family, theta, DISTRIBUTION, DISTRIBUTION, *fields)
    share = WHOLE_SHARE / (1 + WHOLE_SHARE)
    return (*queries, *others), np.concatenate([(1 - share) * weights, share * rest])


@lru_cache(maxsize=1024)
def _cached_design(
    family: Family,
    home: tuple[float, ...],
    first: Goal,
    goal: Goal,
    mechanism: Mechanism,
    epsilon: Fraction,
    levels: int | None,
    rho: Fraction | None,
) -> tuple[tuple[Query, ...], FloatArray]:
    """The optimal design of the standard member for the goal `first`; for other members or goals carried over, fast."""
    design = optimal_design(family, family.standard, mechanism, epsilon, first, levels, rho=rho)
    if home != tuple(family.standard.tolist()) or goal != first:
        return carried(design, home, goal)
    return design.queries, np.asarray(design.weights)


def _single_cuts(spec: Specification, members: FloatArray, epsilon: Fraction) -> tuple[Query, ...]:
    """A single cut at the median of each member: the narrowest possible questions.

    For a posterior so narrow, relative to its location, that floating point cannot represent a design's intervals.
    """
    cuts = np.unique(spec.family.quantiles(members, np.array([0.5]))[:, 0]).tolist()
    question = MECHANISMS[spec.mechanism].question(1, epsilon, spec.rho)
    return tuple(threshold(cut, question, spec.transform) for cut in cuts)


def _probes(spec: Specification, home: FloatArray, epsilon: Fraction) -> tuple[Query, ...]:
    """Single cuts to supplement designs with many cells, which the first questions do not need."""
    kind = MECHANISMS[spec.mechanism]
    if not kind.many_cells or spec.levels is not None:
        return ()
    question = kind.question(1, epsilon, spec.rho)
    cuts = np.unique(spec.family.quantiles(home[None], _PROBE_PROBABILITIES)[0])
    return tuple(threshold(cut, question, "identity") for cut in cuts.tolist())
