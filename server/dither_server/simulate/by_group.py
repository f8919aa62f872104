"""A population of public groups."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import numpy.typing as npt

from dither_client import Transform
from dither_estimator.families import Family, FloatArray
from dither_server.simulate.population import (
    InvalidPopulation,
    Population,
    draw_categories,
    draw_population,
    parse_shares,
    parse_truth,
)

__all__ = ["GroupedPeople", "categories_by_group", "draw_groups", "members_by_group"]

Draw = Callable[[int], Population]
"""Draws so many people."""


@dataclass(frozen=True)
class GroupedPeople:
    """People in the order in which they are asked."""

    values: FloatArray = field(repr=False)
    """In their own units; shape (n,)."""
    groups: npt.NDArray[np.intp] = field(repr=False)
    """The number of each one's group, shape (n,)."""
    truth: Mapping[str, Mapping[str, float]]
    """The parameters of each group, or its shares of categories, by its label, in the order of the groups' numbers."""

    @property
    def labels(self) -> list[str]:
        """The label of each one's group."""
        known = list(self.truth)
        return [known[number] for number in self.groups.tolist()]


def members_by_group(
    rng: np.random.Generator,
    families: Sequence[Family],
    text: str,
    labels: Sequence[str],
    transform: Transform,
    decimals: int | None = None,
) -> dict[str, Draw]:
    """What draws people of each group from a member of its family, by label. Raises `InvalidPopulation`.

    `text` has the parameters of each group, in the order of the labels, separated by semicolons, or one set for all.
    `decimals` as for `draw_population`.
    """
    return {
        label: partial(draw_population, rng, family, parse_truth(part, family), transform, decimals=decimals)
        for label, family, part in zip(labels, families, _parts(text, labels), strict=True)
    }


def categories_by_group(
    rng: np.random.Generator, categories: Sequence[str], text: str | None, labels: Sequence[str]
) -> dict[str, Draw]:
    """The same of people with categories: `text` has the shares of each group, as `parse_shares` reads them."""
    parts = [None] * len(labels) if text is None else _parts(text, labels)
    shares = [parse_shares(part, categories) for part in parts]
    return {label: partial(draw_categories, rng, categories, each) for label, each in zip(labels, shares, strict=True)}


def _parts(text: str, labels: Sequence[str]) -> list[str]:
    parts = text.split(";")
    if len(parts) not in (1, len(labels)):
        raise InvalidPopulation(
            f"the truth must have what holds in each of the {len(labels)} groups, separated by semicolons, or what "
            "holds in all"
        )
    return parts * len(labels) if len(parts) == 1 else parts


def draw_groups(rng: np.random.Generator, draws: Mapping[str, Draw], size: int) -> GroupedPeople:
    """`size` people, each in any group with the same chance; `draws` says what draws those of each, by label.

    Raises `InvalidPopulation`.
    """
    groups = rng.integers(len(draws), size=size)
    values = np.empty(size)
    truth = {}
    for number, (label, draw) in enumerate(draws.items()):
        here = groups == number
        people = draw(int(here.sum()))
        values[here], truth[label] = people.values, people.truth
    return GroupedPeople(values, groups, truth)
