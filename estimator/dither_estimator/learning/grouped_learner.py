"""The learner of a collection with public groups: each group is asked questions of its own, one posterior holds all."""

import io
import json
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial

import numpy as np
import numpy.typing as npt

from dither_client import Query
from dither_client.posterior.wire import PoisonBound
from dither_estimator.families import FloatArray
from dither_estimator.learning.count_tables import flat_counts, read_tables, tables_header
from dither_estimator.learning.deferred import Deferred
from dither_estimator.learning.description import QUANTILE_LEVELS, CategoryShares
from dither_estimator.learning.group_posterior import GroupPopulation, GroupPosterior, GroupPosteriors
from dither_estimator.learning.pooled_categories import PooledCategories
from dither_estimator.learning.pooled_groups import PooledGroups
from dither_estimator.learning.population import Population
from dither_estimator.learning.separate_groups import SeparateGroups
from dither_estimator.learning.snapshot import InvalidSnapshot, check_version, reading
from dither_estimator.learning.stratified_population import stratified
from dither_estimator.learning.summary import Posterior
from dither_estimator.likelihood.counts import Counts, answers_by_epsilon, check_counts, merge_counts
from dither_estimator.specification.groups import Groups
from dither_estimator.specification.specification import Specification

__all__ = ["GroupedLearner", "UnknownGroup"]

_VERSION = 1
_MOST_DRAWS = 1_000
_LEAST_DRAWS = 200
_ALL_DRAWS = 100_000
"""How many draws of all groups together describe the whole population, within the limits above for each group."""


Together = Callable[[Mapping[str, GroupPosterior], int], list[GroupPopulation]]
"""Draws of each group, as many as it is asked for; equally numbered ones belong together."""


class UnknownGroup(ValueError):
    """A label that is none of the collection's groups."""


class GroupedLearner:
    """The posterior of every group of a collection and of all together, and the questions to ask in each group.

    `seed` makes everything reproducible; `outstanding` is the number of respondents who hold a question at any time.
    `group` is always a label of the specification's groups; another raises `UnknownGroup`. Not safe for use by several
    threads at once.
    """

    def __init__(self, specification: Specification, seed: int | np.random.SeedSequence, outstanding: int = 1) -> None:
        if specification.groups is None:
            raise ValueError("the specification has no groups")
        self.specification = specification
        self.groups: Groups = specification.groups
        seeds = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
        self._model: PooledGroups | SeparateGroups = _kind(specification)(specification, seeds, outstanding)

    @property
    def answers(self) -> int:
        """The number of answers learnt, in all groups."""
        return sum(map(self._model.answers_of, self.groups.labels))

    def answers_of(self, group: str) -> int:
        """The number of answers learnt of one group."""
        return self._model.answers_of(self._known(group))

    @property
    def moves(self) -> int:
        """How often estimates were computed."""
        return self._model.moves

    @property
    def group_counts(self) -> Mapping[str, Counts]:
        """Every answer learnt, as a count table for each group, in the order of the labels."""
        return dict(self._model.counts)

    def pool(self, size: int = 1, epsilon: Fraction | None = None, *, group: str) -> tuple[Query, ...]:
        """About `size` questions for respondents of the group, as `CountLearner.pool`."""
        return self._model.pool(size, epsilon, self._known(group))

    def ask(self, epsilon: Fraction | None = None, *, group: str) -> Query:
        """The next question for a respondent of the group, as `CountLearner.ask`."""
        return self._model.ask(epsilon, self._known(group))

    @property
    def renew_at(self) -> float:
        """The number of answers, in all groups, at which pools may be due for renewal; infinite if never."""
        return self._model.renew_at

    def learn(self, query: Query, answer: int, group: str) -> None:
        """Learn one answer of the group. Raises `ValueError` if it is not an answer to the query."""
        self._model.learn(query, answer, self._known(group))

    def learn_group_counts(self, tables: Mapping[str, Mapping[Query, Sequence[int] | npt.NDArray[np.int64]]]) -> None:
        """Learn a table of answers of each group. Raises `ValueError`, and learns nothing, if any is invalid."""
        checked = {label: check_counts(table) for label, table in tables.items()}
        for label in checked:
            self._known(label)
        for label, table in checked.items():
            self._model.learn_counts(table, label)

    def update(self) -> None:
        """Take in what was learnt now, rather than when somebody looks."""
        self._model.update()

    def posterior(self) -> Posterior:
        """The posterior of the whole population, with that of each group as `groups`."""
        spec = self.specification
        groups = Deferred(self._model.posteriors())
        population = Deferred(partial(_whole, self._model.together, groups, self.shares()))
        total: Counts = {}
        for counts in self.group_counts.values():
            total = merge_counts(total, counts)
        return Posterior(
            parameters={},
            covariance=np.empty((0, 0)),
            answers=self.answers,
            ess=float(spec.particles),
            log_evidence=None,
            particles=spec.particles,
            moves=self.moves,
            queries=len(total),
            poison=PoisonBound(0.01, {}),
            deferred_population=population,
            draws=lambda: self._draws(population()),
            answers_by_epsilon={**dict.fromkeys(spec.epsilon_choices, 0), **answers_by_epsilon(total)},
            levels=spec.goal.levels,
            above=spec.goal.values,
            groups=groups,
        )

    def shares(self) -> FloatArray:
        """The share of the people in each group: those given, else of those who answered; shape (groups,)."""
        if self.groups.shares is not None:
            return np.array(self.groups.shares)
        answers = np.array([self._model.answers_of(label) for label in self.groups.labels], dtype=float)
        return answers / answers.sum() if answers.any() else np.full(len(answers), 1 / len(answers))

    @property
    def particle_names(self) -> tuple[str, ...]:
        """The names of the columns of `particles`: quantiles of the whole population, or its categories."""
        return self.specification.categories or tuple(f"quantile_{level:.12g}" for level in self._levels)

    def particles(self) -> tuple[FloatArray, FloatArray]:
        """Draws of the whole population (n, d), in the values' own units, and normalised weights (n,)."""
        return self.posterior().draws()

    def _draws(self, population: Population | CategoryShares) -> tuple[FloatArray, FloatArray]:
        values = (
            population.shares
            if isinstance(population, CategoryShares)
            else population.quantile(np.array(self._levels)).values
        )
        return values, np.full(len(values), 1 / len(values))

    def group_particles(self, group: str) -> tuple[tuple[str, ...], FloatArray, FloatArray]:
        """The names of one group's numbers, draws of them (n, d), and normalised weights (n,)."""
        return self._model.particles(self._known(group))

    def snapshot(self) -> bytes:
        """Everything learnt as bytes, for `restore`; groups that are estimated alone begin with new seeds then."""
        tables = self.group_counts.values()
        header = {
            "version": _VERSION,
            "labels": list(self.groups.labels),
            **tables_header(tables),
            "generator": self._model.generator.bit_generator.state,
        }
        buffer = io.BytesIO()
        np.savez(buffer, groups=np.array(json.dumps(header)), counts=flat_counts(tables))
        return buffer.getvalue()

    @classmethod
    def restore(cls, specification: Specification, snapshot: bytes) -> "GroupedLearner":
        """The learner that wrote the snapshot. Raises `InvalidSnapshot`."""
        learner = cls(specification, 0)
        with reading(snapshot) as archive:
            header = json.loads(str(archive["groups"]))
            check_version(header, _VERSION)
            if header["labels"] != list(learner.groups.labels):
                raise InvalidSnapshot("the snapshot belongs to another specification")
            tables = read_tables(header, archive["counts"])
            learner.learn_group_counts(dict(zip(header["labels"], tables, strict=True)))
            learner._model.generator.bit_generator.state = header["generator"]
        return learner

    def _known(self, group: str) -> str:
        if group not in self.groups.labels:
            raise UnknownGroup("group must be one of the labels of the collection's groups")
        return group

    @property
    def _levels(self) -> list[float]:
        return sorted({*QUANTILE_LEVELS, *self.specification.goal.levels})


def _kind(specification: Specification) -> type[PooledGroups | SeparateGroups]:
    if specification.parametric:
        return PooledGroups
    return PooledCategories if specification.categories else SeparateGroups


def _whole(
    together: Together, groups: Callable[[], GroupPosteriors], shares: FloatArray
) -> Population | CategoryShares:
    """All groups together, draw by draw; those without people are left out."""
    size = min(_MOST_DRAWS, max(_LEAST_DRAWS, _ALL_DRAWS // len(shares)))
    parts, some = together(groups().by_label, size), np.flatnonzero(shares)
    return stratified([parts[i] for i in some], shares[some])
