"""Summaries of weighted particles: what an analyst reads."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dither_client.mechanisms.epsilon import epsilon_text
from dither_estimator.checks.competing_families import Comparison
from dither_estimator.checks.contamination import PoisonBound
from dither_estimator.families import FloatArray

__all__ = ["LEVELS", "ParameterSummary", "Posterior", "summarise", "weighted_quantiles"]

LEVELS = {"q05": 0.05, "q25": 0.25, "q50": 0.5, "q75": 0.75, "q95": 0.95}
"""The quantiles that every summary gives."""


@dataclass(frozen=True)
class ParameterSummary:
    """Mean, standard deviation and quantiles of one parameter."""

    mean: float
    sd: float
    quantiles: Mapping[str, float]

    def to_json(self) -> dict[str, float]:
        """`{"mean", "sd", "q05", …}`."""
        return {"mean": self.mean, "sd": self.sd, **self.quantiles}


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

    def to_json(self) -> dict[str, Any]:
        """The object of the wire format."""
        return {
            "posterior": {name: summary.to_json() for name, summary in self.parameters.items()},
            "covariance": self.covariance.tolist(),
            "answers": self.answers,
            "answers_by_epsilon": {epsilon_text(e): n for e, n in sorted(self.answers_by_epsilon.items())},
            "members": self.members,
            "ess": self.ess,
            "log_evidence": self.log_evidence,
            "particles": self.particles,
            "moves": self.moves,
            "queries": self.queries,
            "poison": self.poison.to_json(),
            **(self.comparison.to_json() if self.comparison else {}),
        }


def summarise(
    names: tuple[str, ...], theta: FloatArray, weights: FloatArray
) -> tuple[dict[str, ParameterSummary], FloatArray]:
    """A summary of each parameter, and the covariance, of particles (n, d) with normalised weights (n,)."""
    # About one of them: far from 0, the rounding of the weights' sum would be wider than a narrow posterior.
    mean = theta[0] + weights @ (theta - theta[0])
    centred = theta - mean
    covariance: FloatArray = (centred * weights[:, None]).T @ centred
    quantiles = [weighted_quantiles(column, weights, list(LEVELS.values())) for column in theta.T]
    summaries = {
        name: ParameterSummary(
            float(mean[j]),
            float(np.sqrt(covariance[j, j])),
            dict(zip(LEVELS, (float(q) for q in quantiles[j]), strict=True)),
        )
        for j, name in enumerate(names)
    }
    return summaries, covariance


def weighted_quantiles(values: FloatArray, weights: FloatArray, levels: list[float]) -> FloatArray:
    """Quantiles of a weighted sample by linear interpolation of its distribution function, shape (len(levels),)."""
    order = np.argsort(values)
    cumulative = np.cumsum(weights[order])
    middle = cumulative - 0.5 * weights[order]
    return np.interp(levels, middle / cumulative[-1], values[order])
