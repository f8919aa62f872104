"""A population of public groups, and its simulation in this process."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from dither_client import Transform
from dither_estimator.families import Family, FloatArray
from dither_estimator.learning.grouped_learner import GroupedLearner
from dither_server.simulate.in_turn import learn_in_turn
from dither_server.simulate.outcome import Outcome
from dither_server.simulate.population import InvalidPopulation, draw_population, parse_truth

__all__ = ["GroupedPeople", "draw_groups", "simulate_groups"]


@dataclass(frozen=True)
class GroupedPeople:
    """People in the order in which they are asked."""

    values: FloatArray = field(repr=False)
    """In the family's own units, before `transform` is undone; shape (n,)."""
    groups: npt.NDArray[np.intp] = field(repr=False)
    """The number of each one's group, shape (n,)."""
    truth: Mapping[str, Mapping[str, float]]
    """The parameters of each group, by its label, in the order of the groups' numbers."""

    @property
    def labels(self) -> list[str]:
        """The label of each one's group."""
        known = list(self.truth)
        return [known[number] for number in self.groups.tolist()]

    def values_of(self, transform: Transform) -> FloatArray:
        """The values themselves."""
        return np.exp(self.values) if transform == "log" else self.values


def draw_groups(
    rng: np.random.Generator, family: Family, text: str, labels: Sequence[str], transform: Transform, size: int
) -> GroupedPeople:
    """`size` people, each in any group with the same chance.

    `text` has the parameters of each group, in the order of the labels, separated by semicolons, or one set for all.
    Raises `InvalidPopulation`.
    """
    parts = [parse_truth(part, family) for part in text.split(";")]
    if len(parts) not in (1, len(labels)):
        raise InvalidPopulation(
            f"the truth must have the parameters of each of the {len(labels)} groups, separated by semicolons, or one "
            "set for all"
        )
    truths = parts * len(labels) if len(parts) == 1 else parts
    groups = rng.integers(len(labels), size=size)
    values = np.empty(size)
    for number, truth in enumerate(truths):
        here = groups == number
        values[here] = draw_population(rng, family, truth, "identity", int(here.sum())).values
    if transform == "log" and not np.isfinite(np.exp(np.minimum(values, 1e3))).all():
        raise InvalidPopulation("the truth is too large: with transform log the values themselves must be finite")
    return GroupedPeople(values, groups, dict(zip(labels, truths, strict=True)))


def simulate_groups(
    learner: GroupedLearner,
    people: GroupedPeople,
    rng: np.random.Generator,
    progress: Callable[[int], None] = lambda done: None,
) -> Outcome:
    """Asks one person after the other, and learns each answer before the next question, as `simulate_in_process`."""
    labels, values = people.labels, people.values.tolist()
    return learn_in_turn(
        learner,
        len(values),
        lambda number: learner.ask(group=labels[number]),
        lambda number, query: int(np.searchsorted(query.edges, values[number])),
        lambda number, query, answer: learner.learn(query, answer, labels[number]),
        rng,
        progress,
    )
