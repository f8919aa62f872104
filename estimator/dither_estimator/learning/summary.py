"""Summaries of weighted particles, as analysts read them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from dither_client.mechanisms.epsilon import epsilon_text
from dither_client.posterior.wire import ComponentReply, Misfit, ParameterSummary, PoisonBound, PosteriorReply, to_json
from dither_estimator.checks.competing_families import Comparison
from dither_estimator.families import FloatArray
from dither_estimator.learning.description import Unscaled, with_population
from dither_estimator.learning.group_posterior import GroupPosteriors
from dither_estimator.learning.over_time import OverTime
from dither_estimator.learning.population import Population

__all__ = ["Posterior"]

_SERVER_FIELDS = {"institutions", "misfit", "updated_at"}
"""Fields of a reply that only a server can fill."""


@dataclass(frozen=True)
class Posterior:
    """Summaries of the posterior after `answers` answers."""

    parameters: Mapping[str, ParameterSummary]
    """Those that are known at once: empty without a family, and with drift; see `summaries`."""
    covariance: FloatArray
    """Theirs."""
    answers: int
    ess: float
    log_evidence: float | None
    """None without a family."""
    particles: int
    moves: int
    queries: int
    """The number of distinct queries that were answered."""
    answers_by_epsilon: Mapping[Fraction, int]
    """The number of answers at each ε, including 0 for choices of ε without answers."""
    poison: PoisonBound
    deferred_population: Callable[[], Population | Unscaled] = field(repr=False)
    """What the posterior says about the population's distribution. Any thread may call it. Takes a moment."""
    draws: Callable[[], tuple[FloatArray, FloatArray]] = field(repr=False)
    """Draws from the posterior (n, d), and normalised weights (n,); like `deferred_population`."""
    members: int = 0
    """The number of members that institutions counted."""
    levels: tuple[float, ...] = ()
    """The levels of the quantiles that the goal names."""
    above: tuple[float, ...] = ()
    """The values, in their own units, of which the goal asks for the share of the people above."""
    comparison: Comparison | None = None
    """Which family holds; None if only one is considered."""
    groups: Callable[[], GroupPosteriors] | None = field(default=None, repr=False)
    """The posterior of each public group, which any thread may compute; None without groups. The rest then describes
    all groups together."""
    over_time: Callable[[], OverTime] | None = field(default=None, repr=False)
    """The posterior of each period, which any thread may compute; None without periods."""
    components: "Mapping[str, Posterior] | None" = field(default=None, repr=False)
    """The posterior of each of several numbers, from the questions about it alone; None where people have one."""
    refusal: Callable[[], Comparison | None] = field(default=lambda: None, repr=False)
    """The comparison of the only family with none, if the answers refuse it; takes some hundredths of a second."""

    @property
    def population(self) -> Population | Unscaled:
        """What the posterior says about the population's distribution."""
        return self.deferred_population()

    @property
    def summaries(self) -> tuple[Mapping[str, ParameterSummary], FloatArray]:
        """The parameters and their covariance: with drift those in the latest period, like `deferred_population`."""
        if self.parameters or self.over_time is None:
            return self.parameters, self.covariance
        return self.over_time().summaries(-1)

    def reply(self, *, institutions: int = 0, misfit: Misfit | None = None, updated_at: str = "") -> PosteriorReply:
        """The reply to a request for this posterior, with what only the server knows, but without the population."""
        return PosteriorReply(
            posterior=dict(self.parameters),
            covariance=tuple(map(tuple, self.covariance.tolist())),
            answers=self.answers,
            answers_by_epsilon={epsilon_text(e): n for e, n in sorted(self.answers_by_epsilon.items())},
            institutions=institutions,
            members=self.members,
            ess=self.ess,
            log_evidence=self.log_evidence,
            particles=self.particles,
            moves=self.moves,
            queries=self.queries,
            poison=self.poison,
            misfit=misfit,
            families=self.comparison.families if self.comparison else None,
            verdict=self.comparison.verdict if self.comparison else None,
            groups=None if self.groups is None else {},
            periods=None if self.over_time is None else {},
            components=None if self.components is None else {n: each.part() for n, each in self.components.items()},
            updated_at=updated_at,
        )

    def part(self) -> ComponentReply:
        """This posterior as that of a component, without the population."""
        covariance = tuple(map(tuple, self.covariance.tolist()))
        return ComponentReply(answers=self.answers, posterior=dict(self.parameters), covariance=covariance)

    def described(self, reply: PosteriorReply) -> PosteriorReply:
        """The reply with what this posterior says about the population, and of a family that the answers refuse."""
        found = with_population(reply, self.population, self.levels, self.above)
        if self.groups is not None:
            found = replace(found, **self.groups().fields(self.levels, self.above))
        if self.over_time is not None:
            parameters, covariance = self.summaries
            found = replace(found, posterior=dict(parameters), covariance=tuple(map(tuple, covariance.tolist())))
            found = replace(found, **self.over_time().fields(self.levels, self.above))
        if found.families is None and (refused := self.refusal()) is not None:
            return replace(found, families=refused.families, verdict=refused.verdict)
        return found

    def to_json(self) -> dict[str, Any]:
        """The reply's JSON without the fields that only a server can fill."""
        known = to_json(self.described(self.reply()))
        return {name: value for name, value in known.items() if name not in _SERVER_FIELDS}
