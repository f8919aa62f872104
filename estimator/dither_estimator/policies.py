"""Which questions next: by expected variance reduction (`adaptive`), by posterior draws (`thompson`), or always one.

A policy turns the posterior's particles into a pool of questions, each to be asked of as many respondents as another.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dither_client import InvalidQuery, Query, RandomizedResponse
from dither_estimator.design import optimal_design
from dither_estimator.families import FloatArray
from dither_estimator.lattice import address, query_at
from dither_estimator.particles import ParticleSystem, systematic_resample
from dither_estimator.reduction import choose_batch, expected_reductions
from dither_estimator.specification import Specification

__all__ = ["Adaptive", "Fixed", "QuestionPolicy", "Thompson", "question_policy"]

_SUBSAMPLE = 1_000
"""Particles that judge the candidates."""
_CANDIDATES = 96
_EDGES = 1_000
"""Fewer candidates do where each has many cells: so many edges in all, though at least `_FEWEST_DRAWS` draws."""
_FEWEST_DRAWS = 8
_PROBES = (-1.5, -0.75, 0.0, 0.75, 1.5)
"""Single cuts, in standard units, that join randomised response over many cells while the posterior is wide."""


class QuestionPolicy(Protocol):
    """Chooses questions given the posterior."""

    def pool(self, rng: np.random.Generator, particles: ParticleSystem, size: int, repeats: float) -> tuple[Query, ...]:
        """`size` questions, in the order in which to ask them; each will be asked of about `repeats` respondents."""


@dataclass(frozen=True)
class Fixed:
    """The same question for everyone: the papers' non-adaptive method."""

    query: Query

    def pool(self, rng: np.random.Generator, particles: ParticleSystem, size: int, repeats: float) -> tuple[Query, ...]:
        return (self.query,)


@dataclass(frozen=True)
class Thompson:
    """A question of the optimal mixture at one posterior draw: exploration and exploitation of Yıldırım 2024."""

    specification: Specification
    questions: tuple[Query, ...]
    """In units of the standard member."""
    weights: FloatArray

    def pool(self, rng: np.random.Generator, particles: ParticleSystem, size: int, repeats: float) -> tuple[Query, ...]:
        members = particles.theta[rng.choice(len(particles.weights), size, p=particles.weights)]
        picks = rng.choice(len(self.questions), size, p=self.weights)
        return _transported(self.specification, [self.questions[i] for i in picks], members)


@dataclass(frozen=True)
class Adaptive:
    """Of many questions at posterior draws, those with the largest expected reduction of the goal's variances."""

    specification: Specification
    questions: tuple[Query, ...]
    """Candidates in units of the standard member."""

    def pool(self, rng: np.random.Generator, particles: ParticleSystem, size: int, repeats: float) -> tuple[Query, ...]:
        spec = self.specification
        sample = systematic_resample(rng, particles.weights, min(_SUBSAMPLE, len(particles.weights)))
        theta = particles.theta[sample]
        n_edges = sum(query.n_answers - 1 for query in self.questions)
        n_draws = max(_FEWEST_DRAWS, min(-(-_CANDIDATES // len(self.questions)), _EDGES // n_edges))
        members = rng.permutation(theta)[:n_draws]
        candidates = tuple(
            dict.fromkeys(
                _transported(spec, self.questions * len(members), np.repeat(members, len(self.questions), axis=0))
            )
        )
        reductions = expected_reductions(spec.family, theta, theta, candidates)
        goal = spec.goal.vector(spec.family)
        chosen = choose_batch(np.cov(theta.T, bias=True), reductions, goal, size, repeats)
        return tuple(candidates[i] for i in chosen)


def question_policy(specification: Specification) -> QuestionPolicy:
    """The policy that a specification names, with the optimal design that it asks from."""
    spec = specification
    fixed = spec.fixed_query()
    if fixed is not None:
        return Fixed(fixed)
    design = optimal_design(spec.family, spec.family.standard, spec.mechanism, spec.epsilon, spec.goal, spec.levels)
    if spec.policy.name == "thompson":
        return Thompson(spec, design.queries, np.asarray(design.weights))
    probes: tuple[Query, ...] = ()
    if spec.mechanism == "randomized_response":
        probes = tuple(RandomizedResponse((cut,), spec.epsilon) for cut in _PROBES)
    return Adaptive(spec, tuple(dict.fromkeys((*design.queries, *probes))))


def _transported(spec: Specification, questions: Sequence[Query], members: FloatArray) -> tuple[Query, ...]:
    """Each question asked of the member beside it, on the lattice, without those that floating point cannot hold."""
    moved = []
    for question, (location, scale) in zip(questions, members.tolist(), strict=True):
        try:
            moved.append(query_at(question, address(question, location, scale), spec.transform))
        except InvalidQuery:
            continue
    return tuple(moved)
