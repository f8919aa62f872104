"""The exact likelihood of many count tables, of groups or periods, in units of a pooled fit."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from dither_estimator.families import FloatArray
from dither_estimator.hierarchy.group_likelihood import GroupLikelihood
from dither_estimator.hierarchy.pooled_fit import Units
from dither_estimator.likelihood.counts import Counts
from dither_estimator.priors.prior import Prior

__all__ = ["ScaledLikelihood"]

_DIFFERENCE = 1e-3


@dataclass(frozen=True)
class ScaledLikelihood:
    """The likelihood of each table at places v in these units."""

    likelihood: GroupLikelihood
    units: Units

    @classmethod
    def of(cls, prior: Prior, tables: Sequence[Counts], units: Units) -> Self:
        return cls(GroupLikelihood.of(prior.family, tables), units)

    def log_likelihood(self, v: FloatArray) -> FloatArray:
        """Shape (k, tables), at v (d, k, tables)."""
        return self.likelihood.log_likelihood(self.outer(v))

    def score_and_information(self, v: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Slope (tables, d) and expected information (tables, d, d) at v (d, tables)."""
        unit = self.units.unit
        at = self.units.centre[:, None] + unit[:, None] * v
        score, information = self.likelihood.score_and_information(at, _DIFFERENCE * unit)
        return score * unit, information * np.outer(unit, unit)

    def outer(self, v: FloatArray) -> FloatArray:
        """Unconstrained coordinates of v (d, k, tables)."""
        return np.asarray(self.units.centre[:, None, None] + self.units.unit[:, None, None] * v)
