"""Groups that are estimated alone: a learner for each, whatever is learnt."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dither_client import Query
from dither_estimator.families import FloatArray
from dither_estimator.learning.count_learner import CountLearner
from dither_estimator.learning.group_posterior import GroupPopulation, GroupPosterior, GroupPosteriors
from dither_estimator.learning.learners import new_learner
from dither_estimator.learning.recomputed_learner import SEED
from dither_estimator.learning.summary import Posterior
from dither_estimator.likelihood.counts import Counts
from dither_estimator.specification.specification import Specification

__all__ = ["SeparateGroups"]


class SeparateGroups:
    """A learner for each group. Draws of different groups are independent."""

    def __init__(self, specification: Specification, seeds: np.random.SeedSequence, outstanding: int) -> None:
        assert specification.groups is not None
        self._specification = specification
        alone, labels = replace(specification, groups=None), specification.groups.labels
        each = -(-outstanding // len(labels))
        self.generator = np.random.default_rng(seeds)
        """For snapshots, which have one of every model: each learner has its own, and begins anew once restored."""
        self._learners: dict[str, CountLearner] = {
            label: new_learner(alone, seed, outstanding=each)
            for label, seed in zip(labels, seeds.spawn(len(labels)), strict=True)
        }

    @property
    def moves(self) -> int:
        return sum(learner.moves for learner in self._learners.values())

    @property
    def counts(self) -> Mapping[str, Counts]:
        return {label: learner.counts for label, learner in self._learners.items()}

    def answers_of(self, group: str) -> int:
        return self._learners[group].answers

    def pool(self, size: int, epsilon: Fraction | None, group: str) -> tuple[Query, ...]:
        return self._learners[group].pool(size, epsilon)

    def ask(self, epsilon: Fraction | None, group: str) -> Query:
        return self._learners[group].ask(epsilon)

    @property
    def renew_at(self) -> float:
        answers = sum(learner.answers for learner in self._learners.values())
        return answers + min((each.renew_at - each.answers for each in self._learners.values()), default=math.inf)

    def learn(self, query: Query, answer: int, group: str) -> None:
        self._learners[group].learn(query, answer)

    def learn_counts(self, counts: Counts, group: str) -> None:
        self._learners[group].learn_counts(counts)

    def posteriors(self) -> Callable[[], GroupPosteriors]:
        known = {label: learner.posterior() for label, learner in self._learners.items()}
        return lambda: GroupPosteriors(_of_groups(known))

    def update(self) -> None:
        for learner in self._learners.values():
            learner.update()

    @staticmethod
    def together(groups: Mapping[str, GroupPosterior], size: int) -> list[GroupPopulation]:
        """`size` draws of each group, in random order, since those of different groups are independent."""
        rng = np.random.default_rng(SEED)
        populations = [group.population for group in groups.values()]
        return [population.at(_order(rng, population.draw_count, size)) for population in populations]

    def particles(self, group: str) -> tuple[tuple[str, ...], FloatArray, FloatArray]:
        learner = self._learners[group]
        return learner.particle_names, *learner.particles()


def _of_groups(known: Mapping[str, Posterior]) -> dict[str, GroupPosterior]:
    """The posterior of each group: one and the same of all without answers, which may be hundreds."""
    first = next((each for each in known.values() if not each.answers), None)
    prior = None if first is None else _of_group(first)
    return {label: _of_group(each) if each.answers or prior is None else prior for label, each in known.items()}


def _of_group(posterior: Posterior) -> GroupPosterior:
    population = posterior.population
    assert isinstance(population, GroupPopulation)
    return GroupPosterior(posterior.parameters, posterior.covariance, posterior.answers, population)


def _order(rng: np.random.Generator, draws: int, size: int) -> npt.NDArray[np.intp]:
    """`size` of the draws in random order; some occur twice if there are fewer."""
    return np.concatenate([rng.permutation(draws) for _ in range(-(-size // draws))])[:size]
