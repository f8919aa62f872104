"""The posterior of one public group."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from dither_client.posterior.wire import GroupReply, ParameterSummary
from dither_estimator.families import FloatArray
from dither_estimator.learning.population import CategoryShares, Population, population_fields

__all__ = ["GroupPosterior"]

_POINTS = 33
"""About how many points the distribution of a group has: there may be hundreds of groups."""


@dataclass(frozen=True)
class GroupPosterior:
    """The posterior of one public group after `answers` answers of people in it."""

    parameters: Mapping[str, ParameterSummary]
    """Empty without a family."""
    covariance: FloatArray
    answers: int
    population: Population | CategoryShares = field(repr=False)
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
