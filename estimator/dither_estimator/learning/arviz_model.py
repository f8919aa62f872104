"""What ArviZ's tree of a posterior needs of a model: draws of the prior, and log probabilities of answers.

posterior.to_arviz(ParametricModel.from_json(spec))
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dither_client import Query
from dither_estimator.hierarchy.sought import groups_around
from dither_estimator.mechanisms.channels import channel_of
from dither_estimator.specification.specification import Specification

__all__ = ["ParametricModel"]


@dataclass(frozen=True)
class ParametricModel:
    """The family and the prior of a specification. Raises `ValueError` for one that has no family."""

    specification: Specification
    seed: int = 0
    """Seed of the prior's draws."""

    def __post_init__(self) -> None:
        if not self.specification.parametric:
            raise ValueError("a model for ArviZ needs a family: without one there are no parameters")

    @classmethod
    def from_json(cls, spec: Mapping[str, Any], seed: int = 0) -> "ParametricModel":
        """The model of a specification in JSON. Raises `SpecificationError`."""
        return cls(Specification.from_json(spec), seed)

    def prior(self, size: int) -> dict[str, list[Any]]:
        """Independent draws from the prior, by parameter, in the particles' units.

        Where there are groups, each draw is a row of one for each: around a middle from the prior, as far apart as the
        prior of how groups differ says, in units of a fit to this middle.
        """
        found, rng = self.specification, np.random.default_rng(self.seed)
        coordinates = found.prior.sample(rng, size)
        if found.groups is None:
            theta = found.family.constrain(coordinates)
        else:
            spread = groups_around(rng, found.family, coordinates, len(found.groups.labels))
            theta = found.family.constrain(spread.reshape(-1, coordinates.shape[1])).reshape(spread.shape)
        return {name: theta[..., j].tolist() for j, name in enumerate(found.family.names)}

    def log_probabilities(self, draws: Mapping[str, Sequence[float]], query: Query) -> list[list[float]]:
        """The log probability of each answer to the query, for each draw, shape (n, n_answers)."""
        family = self.specification.family
        theta = np.column_stack([np.asarray(draws[name], dtype=float) for name in family.names])
        channel = channel_of(query)
        cdf = family.cdf(theta, np.array(query.edges))
        found: list[list[float]] = np.log(channel.probabilities_of(np.arange(query.n_answers), cdf)).tolist()
        return found
