"""The posterior of one public group."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dither_client.posterior.wire import GroupReply, ParameterSummary
from dither_estimator.families import FloatArray
from dither_estimator.learning.description import CategoryShares, population_fields
from dither_estimator.learning.population import DistributionPopulation, FamilyPopulation

__all__ = ["GroupPopulation", "GroupPosterior", "GroupPosteriors", "drawn_together"]

_POINTS = 33
"""The approximate number of points of a group's distribution: there may be hundreds of groups."""
_MANY, _PICTURED = 100, 24
"""If there are more than 100 groups, only 24 have a distribution: as many as a collection's page draws."""
_DIGITS = 7
"""The significant digits of a group's numbers where there are very many."""

GroupPopulation = FamilyPopulation | DistributionPopulation | CategoryShares
"""What is known of one group's population, draw by draw."""


@dataclass(frozen=True)
class GroupPosterior:
    """The posterior of one public group after `answers` answers of people in it."""

    parameters: Mapping[str, ParameterSummary]
    """Empty without a family."""
    covariance: FloatArray
    answers: int
    population: GroupPopulation = field(repr=False)
    """What it says about the group's distribution."""
    borrowed: Mapping[str, float] | None = None
    """How much of each coordinate's estimate comes from the other groups, 0 to 1; None where each is alone."""

    def reply(self) -> GroupReply:
        """The group's part of a reply, but for what it says about the group's distribution."""
        return GroupReply(
            answers=self.answers,
            posterior=dict(self.parameters),
            covariance=tuple(map(tuple, self.covariance.tolist())),
            borrowed=None if self.borrowed is None else dict(self.borrowed),
        )

    def described(self, levels: Sequence[float], above: Sequence[float]) -> GroupReply:
        """The whole part, with the quantiles and shares that a goal names."""
        return replace(self.reply(), **population_fields(self.population, levels, above, _POINTS))

    def in_short(self, levels: Sequence[float], above: Sequence[float]) -> GroupReply:
        """The part with fewer digits and without the distribution."""
        found = replace(self.reply(), **population_fields(self.population, levels, above, points=0))
        short = {each.name: _shortened(getattr(found, each.name)) for each in fields(found)}
        return replace(found, **short)


@dataclass(frozen=True)
class GroupPosteriors:
    """The posterior of each public group, by its label, and what is known of how they differ."""

    by_label: Mapping[str, GroupPosterior]
    between: Mapping[str, ParameterSummary] | None = None
    """The standard deviation between groups of each coordinate; None where groups do not borrow from each other."""

    def fields(self, levels: Sequence[float], above: Sequence[float]) -> dict[str, Any]:
        """The fields of a reply, with the quantiles and shares that a goal names."""
        between = {} if self.between is None else {"between_groups": dict(self.between)}
        return {"groups": _described(self.by_label, levels, above), **between}


def _described(
    groups: Mapping[str, GroupPosterior], levels: Sequence[float], above: Sequence[float]
) -> dict[str, GroupReply]:
    """The part of each group; of very many, only those with the most answers have a distribution."""
    if len(groups) <= _MANY:
        return {label: group.described(levels, above) for label, group in groups.items()}
    most = sorted(groups, key=lambda label: groups[label].answers, reverse=True)[:_PICTURED]
    others = {
        id(group): group for label, group in groups.items() if label not in most
    }  # groups without answers share one
    in_short = {each: group.in_short(levels, above) for each, group in others.items()}
    return {
        label: group.described(levels, above) if label in most else in_short[id(group)]
        for label, group in groups.items()
    }


def _shortened(value: Any) -> Any:
    """A summary, or summaries by name, with fewer digits; anything else as it is."""
    if isinstance(value, dict):
        return {name: _shortened(each) for name, each in value.items()}
    if not isinstance(value, ParameterSummary):
        return value
    return ParameterSummary(*(float(f"{getattr(value, each.name):.{_DIGITS}g}") for each in fields(value)))


def drawn_together(groups: Mapping[str, GroupPosterior], size: int) -> list[GroupPopulation]:
    """At most `size` draws of each group, the same of every group, since equally numbered ones belong together."""
    populations = [group.population for group in groups.values()]
    return [population.at(_spaced(population.draw_count, size)) for population in populations]


def _spaced(draws: int, size: int) -> npt.NDArray[np.intp]:
    return np.linspace(0, draws - 1, min(size, draws)).astype(np.intp)
