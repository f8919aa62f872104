"""How many respondents a precision needs in each of several public groups, which borrow from each other.

How much they borrow depends on how they differ, on how well that is known, and on where the questions are while it is
not: a few collections are simulated, as without a family, with equally many people in every group.
"""

import math
from collections.abc import Mapping
from statistics import median

import numpy as np

from dither_estimator.design.design import DesignError
from dither_estimator.families import FloatArray
from dither_estimator.learning.grouped_learner import GroupedLearner
from dither_estimator.learning.population import FamilyPopulation
from dither_estimator.likelihood.counts import Counts, merge_counts
from dither_estimator.mechanisms.channels import channel_of
from dither_estimator.planning.foreseen import (
    MAX_RESPONDENTS,
    Foreseen,
    check_enough,
    enough,
    first_enough,
    medians,
    sds_at,
    shared,
)
from dither_estimator.planning.precision import precise_names
from dither_estimator.specification.specification import Specification

__all__ = ["foresee_groups", "foresee_groups_precision"]

_COLLECTIONS = 3
_POOL = 8
_SMALL_BATCH, _LARGE_BATCH, _LARGE_BATCH_FROM = 8, 4, 100
"""A batch of answers is one for each so many that are there; larger once a group has many."""
_LOOKS_GROWTH = 1.5
"""From one look at the posterior to the next."""
_MIN_ANSWERS = 10
"""With fewer answers a group knows hardly more than its prior."""
_LEVELS = (np.arange(99) + 1) / 100
"""The levels at which the distribution is looked at."""

Sds = Mapping[str, Mapping[str, float]]
"""Posterior standard deviations by group, then by name."""


def foresee_groups(spec: Specification, theta: FloatArray, targets: Mapping[str, float]) -> tuple[int, Sds]:
    """The fewest people in each group with whom no group's sd is above its target, and their sds, on average.

    `theta` (groups, d) are the members of the family that the groups are. Raises `DesignError`.
    """
    assert spec.groups is not None
    wanted = {_key(name, label): target for label in spec.groups.labels for name, target in targets.items()}
    most = MAX_RESPONDENTS // len(theta)
    collections = [_collect(spec, theta, wanted, most, seed) for seed in range(_COLLECTIONS)]
    number = math.ceil(median(first_enough(known, wanted) for known in collections))
    return number, _by_label(spec, medians([sds_at(number, known) for known in collections]))


def foresee_groups_precision(spec: Specification, theta: FloatArray, people: int) -> Sds:
    """The standard deviations with so many people in each group: medians of simulated collections."""
    if not _MIN_ANSWERS <= people <= MAX_RESPONDENTS // len(theta):
        raise DesignError(
            f"give at least {_MIN_ANSWERS} respondents for each group, and at most {MAX_RESPONDENTS:,} in all"
        )
    found = [_collect(spec, theta, {}, people, seed)[-1].sds for seed in range(_COLLECTIONS)]
    return _by_label(spec, medians(found))


def _collect(
    spec: Specification, theta: FloatArray, targets: Mapping[str, float], most: int, seed: int
) -> list[Foreseen]:
    """What one collection knows at each look, until it knows enough or each group has so many answers."""
    assert spec.groups is not None
    learner, rng = GroupedLearner(spec, seed), np.random.default_rng(seed)
    people, look, known = 0, _MIN_ANSWERS, list[Foreseen]()
    while people < most:
        batch = min(most - people, max(1, people // (_SMALL_BATCH if people < _LARGE_BATCH_FROM else _LARGE_BATCH)))
        tables = {
            label: _answered(rng, learner, label, row, batch)
            for label, row in zip(spec.groups.labels, theta, strict=True)
        }
        learner.learn_group_counts(tables)
        people += batch
        if people == most or (targets and people >= look):
            known.append(Foreseen(people, _sds(learner, theta)))
            look = math.ceil(_LOOKS_GROWTH * people)
            if len(known) > 1 and targets and enough(known[-1], targets):
                break
    check_enough(known[-1], targets)
    return known


def _answered(rng: np.random.Generator, learner: GroupedLearner, label: str, theta: FloatArray, number: int) -> Counts:
    """The answers of so many people of a group to the questions that are due."""
    family = learner.specification.family
    counts: Counts = {}
    queries = learner.pool(min(_POOL, number), group=label)
    for query, some in zip(queries, rng.permutation(shared(number, len(queries))), strict=True):
        if some:
            below = family.cdf(theta[None], np.array(query.edges))
            chances = channel_of(query).probabilities_of(np.arange(query.n_answers), below)[0]
            counts = merge_counts(counts, {query: rng.multinomial(some, chances / chances.sum())})
    return counts


def _sds(learner: GroupedLearner, theta: FloatArray) -> dict[str, float]:
    spec, groups = learner.specification, learner.posterior().groups
    assert groups is not None
    found: dict[str, float] = {}
    for row, (label, group) in zip(theta, groups().by_label.items(), strict=True):
        population = group.population
        assert isinstance(population, FamilyPopulation)
        goal, above = spec.goal, np.array(spec.goal.values)
        more = [*population.quantile(np.array(goal.levels)).sd.tolist()] if goal.levels else []
        more += population.cdf(above).sd.tolist() if len(above) else []
        if goal.distribution:
            people = FamilyPopulation(spec.family, spec.transform, row[None]).quantile(_LEVELS).values[0]
            more.append(math.sqrt(float(np.square(population.cdf(people).sd).mean())))
        sds = [*(summary.sd for summary in group.parameters.values()), *more]
        found |= {_key(name, label): sd for name, sd in zip(precise_names(spec), sds, strict=True)}
    return found


def _by_label(spec: Specification, sds: Mapping[str, float]) -> Sds:
    assert spec.groups is not None
    names = precise_names(spec)
    return {label: {name: sds[_key(name, label)] for name in names} for label in spec.groups.labels}


def _key(name: str, label: str) -> str:
    return f"{name} {label}"
