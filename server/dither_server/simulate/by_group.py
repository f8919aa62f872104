"""A population of public groups."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from dither_client import Transform
from dither_estimator.families import Family, FloatArray
from dither_server.simulate.population import InvalidPopulation, draw_population, parse_truth

__all__ = ["GroupedPeople", "draw_groups"]


@dataclass(frozen=True)
class GroupedPeople:
    """People in the order in which they are asked."""

    values: FloatArray = field(repr=False)
    """In their own units; shape (n,)."""
    groups: npt.NDArray[np.intp] = field(repr=False)
    """The number of each one's group, shape (n,)."""
    truth: Mapping[str, Mapping[str, float]]
    """The parameters of each group, by its label, in the order of the groups' numbers."""

    @property
    def labels(self) -> list[str]:
        """The label of each one's group."""
        known = list(self.truth)
        return [known[number] for number in self.groups.tolist()]


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
        values[here] = draw_population(rng, family, truth, transform, int(here.sum())).values
    return GroupedPeople(values, groups, dict(zip(labels, truths, strict=True)))
