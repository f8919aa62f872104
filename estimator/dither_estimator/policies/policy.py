"""Which questions next: by expected variance reduction (`adaptive`), by posterior draws (`thompson`), or always one.

A policy turns the posterior's particles into a pool of questions, each to be asked of as many respondents as another.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Protocol

import numpy as np

from dither_client import InvalidQuery, Query
from dither_estimator.design.design import DesignError, Mechanism, optimal_design
from dither_estimator.design.goal import Goal
from dither_estimator.design.registry import MECHANISMS
from dither_estimator.design.transfer import carried
from dither_estimator.families import Family, FloatArray
from dither_estimator.mechanisms.lattice import threshold, with_fewer_levels
from dither_estimator.particles.system import ParticleSystem, systematic_resample
from dither_estimator.policies.transport import Offers, anchor, offers
from dither_estimator.policies.variance_reduction import Predictions, choose_batch, with_normal_scores
from dither_estimator.specification.specification import Specification

__all__ = ["Adaptive", "Fixed", "QuestionPolicy", "Thompson", "question_policy"]

_SUBSAMPLE = 256
"""Particles that judge the candidates."""
_CANDIDATES = 32
_EDGES = 1_000
"""Fewer candidates do where each has many cells: so many edges in all, though at least `_FEWEST_DRAWS` draws."""
_FEWEST_DRAWS = 8
_PROBES = np.array([0.067, 0.227, 0.5, 0.773, 0.933])
"""Single cuts at these quantiles join randomised response over many cells, for a posterior that is still wide."""


class QuestionPolicy(Protocol):
    """Chooses questions given the posterior."""

    def pool(
        self, rng: np.random.Generator, particles: ParticleSystem, size: int, repeats: float, epsilon: Fraction
    ) -> tuple[Query, ...]:
        """`size` questions at ε, in the order in which to ask them; each is asked of about `repeats` respondents."""


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
    """A question of the optimal mixture at one posterior draw: exploration and exploitation of Yıldırım 2024."""

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
        pool = tuple(offer.query(0) for some in asked for offer in some)
        return pool or _single_cuts(spec, members, epsilon)


@dataclass(frozen=True)
class Adaptive:
    """Of many questions at posterior draws, those with the largest expected reduction of the goal's variances.

    The variances are of the parameters themselves in location-scale families, of their unconstrained coordinates in
    others, and in equal parts of these and of their normal scores.
    """

    specification: Specification

    def pool(
        self, rng: np.random.Generator, particles: ParticleSystem, size: int, repeats: float, epsilon: Fraction
    ) -> tuple[Query, ...]:
        family = self.specification.family
        sample = systematic_resample(rng, particles.weights, min(_SUBSAMPLE, len(particles.log_weights)))
        coordinates = particles.coordinates[sample]
        theta = family.constrain(coordinates)
        offered = self._candidates(particles, rng.permutation(theta), size, epsilon)
        if not offered:
            return _single_cuts(self.specification, theta[:size], epsilon)
        values, weights = self._aims(theta if family.location_scale else coordinates)
        chosen = choose_batch(Predictions.of(family, theta, values, offered), weights, size, repeats)
        places = [(some, column) for some in offered for column in range(some.edges.shape[1])]
        return tuple(some.query(column) for some, column in (places[i] for i in chosen))

    def _aims(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What to reduce the variances of, and their weights."""
        return with_normal_scores(values, self.specification.goal.vector(self.specification.family))

    def _candidates(self, particles: ParticleSystem, members: FloatArray, size: int, epsilon: Fraction) -> list[Offers]:
        spec = self.specification
        home, queries, _ = _questions(spec, particles, epsilon)
        questions = (*queries, *_probes(spec, home, epsilon))
        n_edges = sum(len(with_fewer_levels(query).edges) for query in questions)
        n_draws = max(_FEWEST_DRAWS, min(-(-max(_CANDIDATES, 2 * size) // len(questions)), _EDGES // n_edges))
        return offers(spec.family, home, questions, members[:n_draws], spec.transform)


def question_policy(specification: Specification) -> QuestionPolicy:
    """The policy that a specification names, with the first design it needs already made."""
    if specification.policy.name == "fixed":
        return Fixed(specification)
    for epsilon in specification.epsilon_choices:
        _designed(specification, specification.family.standard, epsilon)
    return Thompson(specification) if specification.policy.name == "thompson" else Adaptive(specification)


def _questions(
    spec: Specification, particles: ParticleSystem, epsilon: Fraction
) -> tuple[FloatArray, tuple[Query, ...], FloatArray]:
    """The member whose design is asked from, (d,), the design's queries at ε, and their weights."""
    home = anchor(spec.family, particles.coordinates, particles.weights)
    try:
        return home, *_designed(spec, home, epsilon)
    except (DesignError, InvalidQuery, np.linalg.LinAlgError):  # of a shape that has none: too few values, say
        return spec.family.standard, *_designed(spec, spec.family.standard, epsilon)


def _designed(spec: Specification, home: FloatArray, epsilon: Fraction) -> tuple[tuple[Query, ...], FloatArray]:
    return _cached_design(spec.family, tuple(home.tolist()), spec.mechanism, epsilon, spec.goal, spec.levels, spec.rho)


@lru_cache(maxsize=1024)
def _cached_design(
    family: Family,
    home: tuple[float, ...],
    mechanism: Mechanism,
    epsilon: Fraction,
    goal: Goal,
    levels: int | None,
    rho: Fraction | None,
) -> tuple[tuple[Query, ...], FloatArray]:
    """The optimal design of the standard member; of others what is left of it when it is carried over, at once."""
    design = optimal_design(family, family.standard, mechanism, epsilon, goal, levels, rho=rho)
    if home != tuple(family.standard.tolist()):
        return carried(design, home)
    return design.queries, np.asarray(design.weights)


def _single_cuts(spec: Specification, members: FloatArray, epsilon: Fraction) -> tuple[Query, ...]:
    """One cut at the median of each member: the narrowest questions that there are.

    For a posterior so narrow, against its location, that floating point holds no interval of a design.
    """
    cuts = np.unique(spec.family.quantiles(members, np.array([0.5]))[:, 0]).tolist()
    question = MECHANISMS[spec.mechanism].question(1, epsilon, spec.rho)
    return tuple(threshold(cut, question, spec.transform) for cut in cuts)


def _probes(spec: Specification, home: FloatArray, epsilon: Fraction) -> tuple[Query, ...]:
    """Single cuts for mechanisms whose designs have many cells: the first questions need no more."""
    kind = MECHANISMS[spec.mechanism]
    if not kind.many_cells or spec.levels is not None:
        return ()
    question = kind.question(1, epsilon, spec.rho)
    cuts = np.unique(spec.family.quantiles(home[None], _PROBES)[0])
    return tuple(threshold(cut, question, "identity") for cut in cuts.tolist())
