"""Summaries of weighted particles: what an analyst reads."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dither_client.mechanisms.epsilon import epsilon_text
from dither_client.posterior.wire import QUANTILES, Misfit, ParameterSummary, PoisonBound, PosteriorReply, to_json
from dither_estimator.checks.competing_families import Comparison
from dither_estimator.families import FloatArray
from dither_estimator.particles.moments import Moments

__all__ = ["Posterior", "summarise", "weighted_quantiles"]

_THE_SERVERS = {"institutions", "misfit", "updated_at"}
"""Fields of a reply that a count table says nothing of."""


@dataclass(frozen=True)
class Posterior:
    """The posterior after `answers` answers."""

    parameters: Mapping[str, ParameterSummary]
    covariance: FloatArray
    answers: int
    ess: float
    log_evidence: float
    particles: int
    moves: int
    queries: int
    """How many distinct queries were answered."""
    answers_by_epsilon: Mapping[Fraction, int]
    """How many answers came at each ε, zero where none did at an ε that may be chosen."""
    poison: PoisonBound
    members: int = 0
    """How many members of institutions were counted."""
    comparison: Comparison | None = None
    """Which family holds, where several are compared."""

    def reply(self, *, institutions: int = 0, misfit: Misfit | None = None, updated_at: str = "") -> PosteriorReply:
        """This posterior as it is sent, with what the server knows besides."""
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
            updated_at=updated_at,
        )

    def to_json(self) -> dict[str, Any]:
        """The reply's JSON, without the fields that a server adds."""
        return {name: value for name, value in to_json(self.reply()).items() if name not in _THE_SERVERS}


def summarise(
    names: tuple[str, ...], theta: FloatArray, weights: FloatArray
) -> tuple[dict[str, ParameterSummary], FloatArray]:
    """A summary of each parameter, and the covariance, of particles (n, d) with normalised weights (n,)."""
    moments = Moments.of(theta, weights)
    quantiles = [weighted_quantiles(column, weights, list(QUANTILES.values())) for column in theta.T]
    summaries = {
        name: ParameterSummary(
            mean=float(moments.mean[j]),
            sd=float(moments.sd[j]),
            **dict(zip(QUANTILES, quantiles[j].tolist(), strict=True)),
        )
        for j, name in enumerate(names)
    }
    return summaries, moments.covariance


def weighted_quantiles(values: FloatArray, weights: FloatArray, levels: list[float]) -> FloatArray:
    """Quantiles of a weighted sample by linear interpolation of its distribution function, shape (len(levels),)."""
    order = np.argsort(values)
    cumulative = np.cumsum(weights[order])
    middle = cumulative - 0.5 * weights[order]
    return np.interp(levels, middle / cumulative[-1], values[order])
